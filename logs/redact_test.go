package logs

import (
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	// The secrets are put together here, so that this file holds none a scanner would find.
	openai := "sk-" + "proj-abcdefghij0123456789ABCDEFGHIJ"
	github := "ghp" + "_abcdefghijklmnopqrstuvwxyz0123456789"
	aws := "AKIA" + "IOSFODNN7EXAMPLE"
	for _, c := range []struct{ in, want string }{
		{"key " + openai + " end", "key [redacted] end"},
		{"export GH=" + github, "export GH=[redacted]"},
		{aws, "[redacted]"},
		{"Authorization: Bearer abcdef0123456789xyz", "Authorization: Bearer [redacted]"},
		{`{"Authorization":"Bearer tok.en-123"}`, `{"Authorization":"Bearer [redacted]"}`},
		{`{\"authorization\":[\"Basic dXNlcjpwYXNz\"]}`, `{\"authorization\":[\"Basic [redacted]\"]}`},
		{"curl -H 'authorization: token 12345678'", "curl -H 'authorization: token [redacted]'"},
		{"sent bearer 0123456789abcdef0123", "sent bearer [redacted]"},
		{"GET /v1?key=abc123def456ghi789&x=1", "GET /v1?key=[redacted]&x=1"},
		{`"api_key": "0a1b2c3d4e5f6a7b8c9d"`, `"api_key": "[redacted]"`},
		{"EXAMPLE_API_KEY=0a1b2c3d4e5f6a7b8c9d", "EXAMPLE_API_KEY=[redacted]"},
		{"x-api-key: 0a1b2c3d4e5f6a7b8c9d", "x-api-key: [redacted]"},
		{"https://user:s3cret@host/x", "https://user:[redacted]@host/x"},
		{"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nrest", "[redacted]\nrest"},
	} {
		if got := Redact(c.in); got != c.want {
			t.Errorf("%q\n gives %q\n want  %q", c.in, got, c.want)
		}
		if again := Redact(Redact(c.in)); again != c.want {
			t.Errorf("%q changes when it is redacted twice: %q", c.in, again)
		}
	}
	for _, s := range []string{
		"", "plain text", "import sk-learn", "sorted(rows, key=lambda r: r.name)", "token: str = None",
		"commit 2d711642b726b04401627ca9fbac32f5c8530fb1", `{"id": 17, "field": "unique_key"}`,
		"key=value", "primary_key=customer_identifier_column", "the bearer of this letter",
		"http://127.0.0.1:8080/customers?limit=10", "PORT=8000 ./start.sh", `{"chain":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"}`,
		"total_tokens: 123456789012345678", "password: str = Field(min_length=8)",
	} {
		if got := Redact(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
}

func BenchmarkRedact(b *testing.B) {
	text := strings.Repeat(`{"role":"assistant","content":"def handler(key, value): return {\"id\": 1, \"field\": null} # /customers/17?limit=10"}`+"\n", 2000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if Redact(text) != text {
			b.Fatal("changed")
		}
	}
}
