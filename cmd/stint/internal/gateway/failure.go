package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/stint-bench/stint/logs"
)

// The classes of a ProviderError.
const (
	ClassRateLimit     = "rate_limit"     // 429, may be tried again
	ClassQuota         = "quota"          // the account is out of credit: 402, or 429 that says so
	ClassProviderError = "provider_error" // 5xx, broken connection, an answer that is no answer
	ClassAuth          = "auth"           // 401, 403
	ClassContextLength = "context_length" // the request is longer than the model's window
	ClassCutStream     = "cut_stream"     // the answer broke off after its first byte
	ClassBadRequest    = "bad_request"    // any other 4xx
)

// ProviderError says that a request got no answer from the model, after all tries.
type ProviderError struct {
	Class      string
	Status     int           // HTTP status of the last try; 0 = no answer
	RetryAfter time.Duration // as the provider asked last; 0 = not at all
	Tries      int
	Message    string // one line, bounded, without keys
	Err        error  // cause below HTTP, or the context's error that ended the waiting; may be nil

	ours   bool // the end of the attempt cut the try; nothing is known of the provider
	header http.Header
	body   []byte // as it came, bounded
}

func (e *ProviderError) Error() string {
	s := "the model endpoint failed (" + e.Class
	if e.Status != 0 {
		s += fmt.Sprintf(", HTTP %d", e.Status)
	}
	if e.Tries > 1 {
		s += fmt.Sprintf(", %d tries", e.Tries)
	}
	return s + "): " + e.Message
}

func (e *ProviderError) Unwrap() error { return e.Err }

// Unreadable reports whether an error says that the model did answer, but not in a form that can be read.
func Unreadable(err error) bool {
	var provider *ProviderError
	return errors.As(err, &provider) && provider.Status == http.StatusOK
}

// Hint is the way out where a user has one.
func (e *ProviderError) Hint() string {
	switch e.Class {
	case ClassAuth:
		return "check the variable named by key_env, and the url of the model"
	case ClassQuota:
		return "the account has no credit left; run the same command again when it has"
	case ClassBadRequest:
		if e.Status == http.StatusNotFound {
			return "check the model's url (it usually ends with /v1) and id"
		}
	case ClassProviderError:
		if e.Status == 0 {
			return "see whether the model's server runs, and whether its url is right"
		}
		return "the fault is the model's server's: see its log"
	case ClassCutStream:
		return "the model's server broke off its answer: see its log"
	case ClassRateLimit:
		return "ask less at once, or wait"
	}
	return ""
}

// retryable tells whether the same request may succeed later.
func (e *ProviderError) retryable() bool {
	return e.Class == ClassRateLimit || e.Class == ClassProviderError
}

// The words by which OpenAI-compatible servers (vLLM, llama-server, SGLang, LiteLLM and hosted ones) say that
// a request does not fit into the model's window.
var contextWords = regexp.MustCompile(`(?i)context_length_exceeded|exceed_context_size|context_window_exceeded|` +
	`maximum context length|context (?:length|window|size)[^.]{0,60}exceed|exceeds?[^.]{0,60}context (?:length|window|size)|` +
	`(?:prompt|input|request) is too long|input length[^.]{0,60}exceed|too many (?:input )?tokens|reduce the length of the messages|` +
	`longer than the maximum model length|larger than the maximum|max_prompt_tokens|string_above_max_length`)

// The words for an account without money, which no waiting helps.
var quotaWords = regexp.MustCompile(`(?i)insufficient_quota|insufficient[_ ](?:balance|credits?|funds)|exceeded your current quota[^.]*billing|` +
	`credit balance|out of credits?|billing[_ ](?:hard[_ ]limit|not[_ ]active)|payment required|arrearage`)

// quotaIn400 are those of them that come with the status 400, where a request may be quoted too.
var quotaIn400 = regexp.MustCompile(`(?i)insufficient_quota|credit balance is too low`)

// failure makes a ProviderError of an HTTP answer. Status may also be the code inside the body of a 200.
func failure(status int, header http.Header, body []byte, now time.Time) *ProviderError {
	e := &ProviderError{Status: status, RetryAfter: retryAfter(header, now), Message: errorMessage(body), header: header, body: body[:min(len(body), 64<<10)]}
	text := string(body[:min(len(body), 64<<10)])
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		e.Class = ClassAuth
	case status == http.StatusPaymentRequired:
		e.Class = ClassQuota
	case status == http.StatusTooManyRequests:
		e.Class = ClassRateLimit
		if quotaWords.MatchString(text) {
			e.Class = ClassQuota
		}
	case status >= 400 && contextWords.MatchString(text):
		e.Class = ClassContextLength
	case status == http.StatusBadRequest && quotaIn400.MatchString(text):
		e.Class = ClassQuota
	case status >= 500 || status == http.StatusRequestTimeout || status == http.StatusTooEarly:
		e.Class = ClassProviderError
	case status >= 400:
		e.Class = ClassBadRequest
	default: // a redirect, or an answer that is no JSON
		e.Class = ClassProviderError
	}
	return e
}

// errorMessage finds the sentence in an error body, whatever its shape.
func errorMessage(body []byte) string {
	var v struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &v) == nil {
		var inner struct {
			Message string `json:"message"`
			Type    string `json:"type"`
		}
		if json.Unmarshal(v.Error, &inner) == nil && inner.Message != "" {
			if inner.Type != "" {
				return oneLine(inner.Type + ": " + inner.Message)
			}
			return oneLine(inner.Message)
		}
		for _, raw := range []json.RawMessage{v.Error, v.Message, v.Detail} {
			var s string
			if json.Unmarshal(raw, &s) == nil && s != "" {
				return oneLine(s)
			}
		}
	}
	if len(body) == 0 {
		return "the answer is empty"
	}
	return oneLine(string(body[:min(len(body), 4096)]))
}

// errorInside finds an error object in the body of a successful answer, as some routers send it, and its
// status.
func errorInside(body []byte) (status int, found bool) {
	var v struct {
		Error *struct {
			Code any `json:"code"`
		} `json:"error"`
		Choices []json.RawMessage `json:"choices"`
	}
	if json.Unmarshal(body, &v) != nil || v.Error == nil || len(v.Choices) > 0 {
		return 0, false
	}
	switch c := v.Error.Code.(type) {
	case float64:
		if c >= 400 && c < 600 {
			return int(c), true
		}
	case string:
		if n, err := strconv.Atoi(c); err == nil && n >= 400 && n < 600 {
			return n, true
		}
	}
	return http.StatusBadGateway, true
}

func oneLine(s string) string {
	s = logs.Redact(strings.Join(strings.Fields(strings.ToValidUTF8(s, "�")), " "))
	const most = 500
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// retryAfter reads the waiting time a provider asks for; a date in the past is zero.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 {
		return time.Duration(min(s, 1e6) * float64(time.Second))
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(0, t.Sub(now))
	}
	return 0
}
