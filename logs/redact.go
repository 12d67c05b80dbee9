package logs

import (
	"slices"
	"strings"
)

// redacted stands in place of a secret. It holds brackets, which no secret does, so that redacting
// twice changes nothing more.
const redacted = "[redacted]"

// Redact replaces API keys, bearer tokens and the like by "[redacted]". It is conservative: it knows
// the shapes of real keys, and of header and variable names that announce one, and leaves the rest
// of the text byte for byte. It is no proof that a text is free of secrets.
//
// It works on plain text and on JSON, escaped once or not, and is written without regular
// expressions because every model request of a study passes through it.
func Redact(s string) string {
	found := secretsIn(s)
	if len(found) == 0 {
		return s
	}
	var b strings.Builder
	at := 0
	for _, f := range found {
		if f.end <= at {
			continue
		}
		if f.start >= at { // else it begins inside the last one
			b.WriteString(s[at:f.start])
			b.WriteString(redacted)
		}
		at = f.end
	}
	b.WriteString(s[at:])
	return b.String()
}

// Secrets returns the places [start, end) of what [Redact] replaces, in order of their starts; they may overlap.
func Secrets(s string) [][2]int {
	var out [][2]int
	for _, f := range secretsIn(s) {
		out = append(out, [2]int{f.start, f.end})
	}
	return out
}

func secretsIn(s string) []span {
	var found []span
	found = keysByPrefix(s, found)
	found = assignments(s, found)
	found = bearers(s, found)
	found = userinfos(s, found)
	found = privateKeys(s, found)
	slices.SortFunc(found, func(a, b span) int { return a.start - b.start })
	return found
}

// span is a secret: s[start:end].
type span struct{ start, end int }

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func isUpperAlnum(c byte) bool { return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' }

func isURLSafe(c byte) bool { return isAlnum(c) || c == '-' || c == '_' }

func isTokenByte(c byte) bool { return isURLSafe(c) || strings.IndexByte("+/~.", c) >= 0 }

// run returns the end of the bytes from i on that satisfy is.
func run(s string, i int, is func(byte) bool) int {
	for i < len(s) && is(s[i]) {
		i++
	}
	return i
}

// keyShapes are keys that their makers' prefixes give away wherever they stand. The lengths, without
// the prefix, are at most the shortest real ones, and long enough that words such as "task-force"
// and commit hashes stay.
var keyShapes = []struct {
	prefix string
	min    int
	is     func(byte) bool
}{
	{"sk-", 20, isURLSafe},         // OpenAI, Anthropic, OpenRouter and many compatible providers
	{"ghp_", 30, isAlnum},          // GitHub, here and below
	{"gho_", 30, isAlnum},          //
	{"ghu_", 30, isAlnum},          //
	{"ghs_", 30, isAlnum},          //
	{"ghr_", 30, isAlnum},          //
	{"github_pat_", 30, isURLSafe}, //
	{"glpat-", 20, isURLSafe},      // GitLab
	{"AKIA", 16, isUpperAlnum},     // AWS
	{"ASIA", 16, isUpperAlnum},     // AWS
	{"AIza", 35, isURLSafe},        // Google
	{"xoxb-", 10, isURLSafe},       // Slack
	{"xoxp-", 10, isURLSafe},       // Slack
	{"hf_", 30, isAlnum},           // Hugging Face
	{"gsk_", 40, isAlnum},          // Groq
	{"npm_", 36, isAlnum},          // npm
	{"pypi-", 50, isURLSafe},       // PyPI
	{"eyJ", 0, nil},                // JSON web token, see webToken
}

func keysByPrefix(s string, found []span) []span {
	for _, k := range keyShapes {
		for at := 0; ; {
			i := strings.Index(s[at:], k.prefix)
			if i < 0 {
				break
			}
			start := at + i
			at = start + len(k.prefix)
			if start > 0 && isAlnum(s[start-1]) {
				continue
			}
			end := webToken(s, start)
			if k.is != nil {
				end = run(s, at, k.is)
				if end-at < k.min {
					continue
				}
			}
			if end > at {
				found, at = append(found, span{start, end}), end
			}
		}
	}
	return found
}

// webToken returns the end of a JSON web token, three parts with dots between them, or 0.
func webToken(s string, start int) int {
	first := run(s, start, isURLSafe)
	if first-start < 13 || !strings.HasPrefix(s[first:], ".eyJ") {
		return 0
	}
	second := run(s, first+1, isURLSafe)
	if second-first < 13 || second >= len(s) || s[second] != '.' {
		return 0
	}
	return run(s, second+1, isURLSafe)
}

// secretNames end the names of variables, keys and headers that hold secrets.
var secretNames = []string{"key", "secret", "token", "password", "passwd"}

// assignments finds NAME=value and "name": "value". The value must look random, so that code such as
// key=lambda, token: str and primary_key=customer_id stays readable. Values of authorization headers
// need not.
func assignments(s string, found []span) []span {
	for i := 0; i < len(s); i++ {
		if s[i] != ':' && s[i] != '=' {
			continue
		}
		name := nameBefore(s, i)
		switch {
		case hasSuffixFold(name, "authorization"):
			if start, end := credentials(s, i+1); end-start >= 4 {
				found = append(found, span{start, end})
			}
		case slices.ContainsFunc(secretNames, func(n string) bool { return hasSuffixFold(name, n) }):
			start := run(s, i+1, isBlank)
			start = skipQuote(s, start)
			end := run(s, start, isTokenByte)
			if end-start >= 16 && looksRandom(s[start:end]) {
				found = append(found, span{start, run(s, end, func(c byte) bool { return c == '=' })})
			}
		}
	}
	return found
}

// nameBefore returns some bytes that end with the name before a separator, quotes around it left out.
func nameBefore(s string, sep int) string {
	end := sep
	for end > 0 && sep-end < 4 && isBlank(s[end-1]) {
		end--
	}
	if end > 0 && (s[end-1] == '"' || s[end-1] == '\'') {
		end--
		if end > 0 && s[end-1] == '\\' {
			end--
		}
	}
	return s[max(0, end-len("authorization")):end]
}

func hasSuffixFold(s, suffix string) bool {
	return len(s) >= len(suffix) && strings.EqualFold(s[len(s)-len(suffix):], suffix)
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func skipQuote(s string, i int) int {
	if i+1 < len(s) && s[i] == '\\' && (s[i+1] == '"' || s[i+1] == '\'') {
		return i + 2
	}
	if i < len(s) && (s[i] == '"' || s[i] == '\'') {
		return i + 1
	}
	return i
}

// credentials finds what follows the scheme in the value of an authorization header, which may be
// the first item of a list.
func credentials(s string, i int) (start, end int) {
	i = run(s, i, isBlank)
	if i < len(s) && s[i] == '[' {
		i = run(s, i+1, isBlank)
	}
	i = skipQuote(s, i)
	for _, scheme := range []string{"bearer", "basic", "token"} {
		after := i + len(scheme)
		if after < len(s) && strings.EqualFold(s[i:after], scheme) && isBlank(s[after]) {
			i = run(s, after, isBlank)
			break
		}
	}
	return i, run(s, i, func(c byte) bool { return c > ' ' && strings.IndexByte("\"'\\,[]}", c) < 0 })
}

// bearers finds bearer tokens that stand without their header. Sixteen bytes keep prose out.
func bearers(s string, found []span) []span {
	for _, word := range []string{"bearer ", "Bearer ", "BEARER "} {
		for at := 0; ; {
			i := strings.Index(s[at:], word)
			if i < 0 {
				break
			}
			start := run(s, at+i+len(word), isBlank)
			end := run(s, start, func(c byte) bool { return isTokenByte(c) || c == '=' })
			if end-start >= 16 {
				found = append(found, span{start, end})
			}
			at = end
		}
	}
	return found
}

// looksRandom tells a key from an identifier or a path: digits and letters alternate in it.
func looksRandom(v string) bool {
	changes := 0
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	for i := 1; i < len(v); i++ {
		if isAlnum(v[i]) && isAlnum(v[i-1]) && digit(v[i]) != digit(v[i-1]) {
			changes++
		}
	}
	return changes >= 4
}

// userinfos finds the password in a URL: scheme://user:password@host.
func userinfos(s string, found []span) []span {
	for at := 0; ; {
		i := strings.Index(s[at:], "://")
		if i < 0 {
			return found
		}
		at += i + len("://")
		end := run(s, at, func(c byte) bool { return c > ' ' && strings.IndexByte("/\"'\\@", c) < 0 })
		colon := strings.IndexByte(s[at:end], ':')
		if end < len(s) && s[end] == '@' && colon >= 0 && end-(at+colon+1) >= 3 && s[at+colon+1] != '[' {
			found = append(found, span{at + colon + 1, end})
		}
	}
}

// privateKeys finds PEM blocks, whose end may be missing.
func privateKeys(s string, found []span) []span {
	const begin, mark = "-----BEGIN ", "PRIVATE KEY-----"
	for at := 0; ; {
		i := strings.Index(s[at:], begin)
		if i < 0 {
			return found
		}
		start := at + i
		at = start + len(begin)
		head := run(s, at, func(c byte) bool { return c >= 'A' && c <= 'Z' || c == ' ' })
		if !strings.HasSuffix(s[at:head]+"-----", mark) || !strings.HasPrefix(s[head:], "-----") {
			continue
		}
		end := len(s)
		if j := strings.Index(s[head:], "-----END "); j >= 0 {
			if k := strings.Index(s[head+j:], mark); k >= 0 {
				end = head + j + k + len(mark)
			}
		}
		found, at = append(found, span{start, end}), end
	}
}
