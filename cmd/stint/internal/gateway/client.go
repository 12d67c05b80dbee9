package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"github.com/stint-bench/stint/logs"
)

// Model is a model as the study names it.
type Model struct {
	Name        string   // in the study
	API         string   // chat, responses or anthropic; "" = whatever the agent speaks
	ID          string   // what the provider is asked for; "" = Name
	URL         string   // base URL of an OpenAI-compatible endpoint, usually ending with /v1
	Key         string   // "" = no key is sent
	Context     int      // tokens of the window; 0 = unknown
	MaxOutput   int      // tokens of one answer; 0 = the provider's default
	Temperature *float64 // nil = the provider's default; zero is sent as zero
	Tools       string   // native (also "") or text
}

func (m Model) id() string { return cmp.Or(m.ID, m.Name) }

// Options configures a Client. Only Model.URL and a name or id are needed.
type Options struct {
	Model        Model
	Retry        bool          // wait out rate limits, server errors and refused connections
	ProviderWait time.Duration // at most so long per request; 0 = 10 min
	MinWait      time.Duration // first waiting time; 0 = 1 s; doubles up to a minute
	Prices       *logs.Prices  // nil = cost unknown
	Recorder     *Recorder     // nil = nothing is recorded
	HTTP         http.RoundTripper
	Now          func() time.Time // nil = time.Now; decides the day of a price
	Budget       *Budget          // nil = none
	// OnWait is told before a request waits for the provider; nil = nobody is. Several goroutines may call it.
	OnWait func(class string, pause time.Duration)
}

// Client calls one model for one attempt. It is safe for concurrent use.
type Client struct {
	*upstream
	api *openai.Client
}

// SetupError says that a model cannot be called as the study describes it.
type SetupError struct {
	Model, Reason, Way string
}

func (e *SetupError) Error() string { return fmt.Sprintf("model %s: %s", e.Model, e.Reason) }

// Hint is the way out.
func (e *SetupError) Hint() string { return e.Way }

// ExitCode is 2: the study file must change.
func (e *SetupError) ExitCode() int { return 2 }

// NewClient checks the options; it makes no request.
func NewClient(opt Options) (*Client, error) {
	u, err := newUpstream(opt)
	if err != nil {
		return nil, err
	}
	c := &Client{upstream: u}
	config := openai.DefaultConfig(opt.Model.Key)
	config.BaseURL = u.base
	config.HTTPClient = doer{c}
	c.api = openai.NewClientWithConfig(config)
	return c, nil
}

// CreateChatCompletion makes one request, with the model's id, temperature and output limit filled in. The
// error is a *BudgetError (the request was not made), a *ProviderError, a *SetupError (the client library
// refuses this model) or the context's.
func (c *Client) CreateChatCompletion(ctx context.Context, r openai.ChatCompletionRequest) (openai.ChatCompletionResponse, error) {
	var none openai.ChatCompletionResponse
	if err := ctx.Err(); err != nil {
		return none, context.Cause(ctx)
	}
	if err := c.admit(); err != nil {
		return none, err
	}
	r.Model = c.opt.Model.id()
	call := &call{dialect: chat{}}
	resp, err := c.api.CreateChatCompletion(context.WithValue(ctx, callKey{}, call), r)
	if call.tries == 0 && err != nil && ctx.Err() == nil {
		return none, &SetupError{r.Model, err.Error(), "the client library refuses this request; change the model's settings in the study"}
	}
	if err != nil && !errors.As(err, new(*ProviderError)) && ctx.Err() == nil {
		// JSON, but not the JSON of an answer: arguments that are no text, for example.
		err = &ProviderError{Class: ClassProviderError, Status: http.StatusOK, Tries: call.tries, Message: "the answer does not decode: " + oneLine(err.Error()), Err: err}
		c.opt.Recorder.Event("error", map[string]any{"class": ClassProviderError, "try": call.tries, "status": http.StatusOK, "message": err.Error()})
	}
	c.settle(call, err)
	if err != nil && !errors.As(err, new(*ProviderError)) && ctx.Err() != nil {
		return none, context.Cause(ctx)
	}
	return resp, err
}

type callKey struct{}
