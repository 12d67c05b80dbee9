package logs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAnswerUsage(t *testing.T) {
	for name, c := range map[string]struct {
		protocol, body string
		want           Usage
	}{
		"chat": {"chat", `{"model":"m","usage":{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":10},"completion_tokens_details":{"reasoning_tokens":3}}}`,
			Usage{ModelReturned: "m", In: ptr(int64(30)), Cached: ptr(int64(60)), CacheWrite: ptr(int64(10)), Out: ptr(int64(7)), Reasoning: ptr(int64(3))}},
		"chat, older name": {"", `{"usage":{"prompt_tokens":100,"completion_tokens":7,"prompt_cache_hit_tokens":60,"prompt_tokens_details":null}}`,
			Usage{In: ptr(int64(40)), Cached: ptr(int64(60)), Out: ptr(int64(7))}},
		"responses": {"responses", `{"model":"m","usage":{"input_tokens":100,"output_tokens":7,"input_tokens_details":{"cached_tokens":60,"cache_write_tokens":10},"output_tokens_details":{"reasoning_tokens":3}}}`,
			Usage{ModelReturned: "m", In: ptr(int64(30)), Cached: ptr(int64(60)), CacheWrite: ptr(int64(10)), Out: ptr(int64(7)), Reasoning: ptr(int64(3))}},
		"anthropic": {"anthropic", `{"model":"m","usage":{"input_tokens":30,"output_tokens":7,"cache_read_input_tokens":60,"cache_creation_input_tokens":10}}`,
			Usage{ModelReturned: "m", In: ptr(int64(30)), Cached: ptr(int64(60)), CacheWrite: ptr(int64(10)), Out: ptr(int64(7))}},
		"more cached than sent": {"chat", `{"usage":{"prompt_tokens":5,"prompt_tokens_details":{"cached_tokens":6}}}`, Usage{In: ptr(int64(0)), Cached: ptr(int64(6))}},
		"only the cache":        {"responses", `{"usage":{"input_tokens_details":{"cached_tokens":6}}}`, Usage{Cached: ptr(int64(6))}},
		"no usage":              {"anthropic", `{"model":"m"}`, Usage{ModelReturned: "m"}},
		"odd usage":             {"responses", `{"model":"m","usage":{"input_tokens":"many"}}`, Usage{ModelReturned: "m"}},
		"no object":             {"chat", `"text"`, Usage{}},
	} {
		if diff := cmp.Diff(c.want, AnswerUsage(c.protocol, []byte(c.body))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
