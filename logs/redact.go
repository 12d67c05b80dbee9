package logs

import (
	"regexp"
	"strings"
)

// redacted stands in place of a secret.
const redacted = "[redacted]"

// secretTokens are keys that their makers' prefixes give away wherever they stand. The lengths are
// the shortest real ones, so that words such as "sk-learn" or a commit hash stay.
var secretTokens = regexp.MustCompile(strings.Join([]string{
	`\bsk-[A-Za-z0-9_-]{20,}`,                                // OpenAI, Anthropic, OpenRouter, many compatible providers
	`\bgh[pousr]_[A-Za-z0-9]{30,}`,                           // GitHub
	`\bgithub_pat_[A-Za-z0-9_]{30,}`,                         // GitHub, fine-grained
	`\bglpat-[A-Za-z0-9_-]{20,}`,                             // GitLab
	`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`,                          // AWS key id
	`\bAIza[0-9A-Za-z_-]{35}`,                                // Google
	`\bxox[abeoprs]-[A-Za-z0-9-]{10,}`,                       // Slack
	`\bhf_[A-Za-z0-9]{30,}`,                                  // Hugging Face
	`\bgsk_[A-Za-z0-9]{40,}`,                                 // Groq
	`\bnpm_[A-Za-z0-9]{36}`,                                  // npm
	`\bpypi-[A-Za-z0-9_-]{50,}`,                              // PyPI
	`\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[\w-]+`, // JSON web token
}, "|"))

// authHeader finds the credentials of an HTTP header, as text or as JSON.
var authHeader = regexp.MustCompile(`(?i)\b((?:proxy-)?authorization\\?["']?\s*[:=]\s*\[?\s*\\?["']?(?:(?:bearer|basic|token)\s+)?)([^\s"'\\,\[\]}]{4,})`)

// bearer finds a bearer token that stands without its header. Sixteen characters keep prose out.
var bearer = regexp.MustCompile(`(?i)\b(bearer\s+)([A-Za-z0-9._~+/=-]{16,})`)

// namedSecret finds KEY=value and "api_key": "value". The value must be long enough to be one, so
// that code such as key=lambda or token: str stays readable.
var namedSecret = regexp.MustCompile(`(?i)((?:\b|_|-)(?:api[_-]?key|x-api-key|access[_-]?key|secret[_-]?key|secret[_-]?access[_-]?key|client[_-]?secret|auth[_-]?token|access[_-]?token|refresh[_-]?token|password|passwd|key)\\?["']?\s*[:=]\s*\\?["']?)([A-Za-z0-9+/_~.-]{16,}=*)`)

// userinfo finds the password of a URL.
var userinfo = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://[^/\s:@"']*:)([^/\s@"']{3,})(@)`)

// privateKey finds a PEM block, in JSON text too.
var privateKey = regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`)

// Redact replaces API keys, bearer tokens and the like by "[redacted]". It is conservative: it knows
// the shapes of real keys, and of header and variable names that announce one, and leaves the rest
// of the text byte for byte. It is no proof that a text is free of secrets.
func Redact(s string) string {
	s = privateKey.ReplaceAllString(s, redacted)
	s = secretTokens.ReplaceAllString(s, redacted)
	s = authHeader.ReplaceAllStringFunc(s, func(m string) string {
		part := authHeader.FindStringSubmatch(m)
		switch strings.ToLower(part[2]) {
		case "bearer", "basic", "token": // what follows it is redacted already
			return m
		}
		return part[1] + redacted
	})
	s = bearer.ReplaceAllString(s, "${1}"+redacted)
	s = userinfo.ReplaceAllString(s, "${1}"+redacted+"${3}")
	return namedSecret.ReplaceAllStringFunc(s, func(m string) string {
		part := namedSecret.FindStringSubmatch(m)
		if !looksRandom(part[2]) {
			return m
		}
		return part[1] + redacted
	})
}

// looksRandom tells a key from an identifier or a path: it has digits and letters mixed.
func looksRandom(v string) bool {
	digits, letters := 0, 0
	for _, c := range v {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			letters++
		}
	}
	return digits >= 3 && letters >= 3
}
