package classify

import (
	"encoding/json"
	"path"
	"regexp"
	"strings"
)

// maxCommand bounds the shell text that is analysed.
const maxCommand = 16 << 10

// commandOf is the shell text of a tool call: the arguments themselves, or their command key.
func commandOf(args string) string {
	args = args[:min(len(args), maxCommand)]
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(args), &object) == nil {
		for _, k := range []string{"command", "cmd", "script"} {
			var s string
			if json.Unmarshal(object[k], &s) == nil && s != "" {
				return s
			}
		}
		return ""
	}
	return args
}

var (
	separators = regexp.MustCompile(`\s*(?:&&|\|\||;|\n|&)\s*`)
	portKill   = regexp.MustCompile(`\blsof\b[^;&\n]*\|\s*xargs\s+(?:-\S+\s+)*kill\b|\bkill\b[^;&\n]*\$\(\s*lsof\b`)
)

// broadKill returns the part of a shell text that kills by something other than a recorded pid, or "".
func broadKill(text string) string {
	text = text[:min(len(text), maxCommand)]
	if m := portKill.FindString(text); m != "" {
		return m
	}
	for _, part := range separators.Split(text, -1) {
		words := strings.Fields(part)
		for len(words) > 0 && (words[0] == "sudo" || words[0] == "exec" || words[0] == "nohup" || words[0] == "env" || strings.Contains(words[0], "=")) {
			words = words[1:]
		}
		if len(words) == 0 {
			continue
		}
		args := words[1:]
		switch path.Base(strings.ToLower(words[0])) {
		case "pkill", "killall":
			if len(args) > 0 {
				return part
			}
		case "kill":
			for _, a := range args[min(1, len(args)):] {
				if a == "-1" {
					return part
				}
			}
		case "fuser":
			for _, a := range args {
				if strings.HasPrefix(a, "-") && strings.Contains(a, "k") {
					return part
				}
			}
		case "taskkill", "taskkill.exe":
			for _, a := range args {
				if strings.EqualFold(a, "/im") {
					return part
				}
			}
		}
	}
	return ""
}

var (
	serverLike  = regexp.MustCompile(`(?i)\bstart\.sh\b|\bhttp\.server\b|\b(python3?|node|deno|bun|go run|ruby|php|java|uvicorn|gunicorn|flask run|npm (start|run (dev|start|serve)))\b`)
	interactive = regexp.MustCompile(`^\s*(vim?|nano|less|more|top|htop|man|ssh|ftp|telnet|mysql|psql)\b|\b(read -p|tail -f|watch|sleep (infinity|\d{3,}))\b`)
	detached    = regexp.MustCompile(`&\s*($|\n|;|\))|\bnohup\b|\bsetsid\b|\bdisown\b|\bdaemonize\b|\btimeout\b`)
)

// hangs says what kind of command does not return by itself: "server", "interactive", or "".
func hangs(text string) string {
	text = text[:min(len(text), maxCommand)]
	switch {
	case detached.MatchString(text):
		return ""
	case interactive.MatchString(text):
		return "interactive"
	case serverLike.MatchString(text):
		return "server"
	}
	return ""
}
