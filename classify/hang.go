package classify

import "strings"

// The kinds of commands that do not return by themselves.
const (
	hangServer      = "server"
	hangInteractive = "interactive"
	hangPipe        = "background" // it returns, and a child of it holds its output open
)

// hangs says what kind of command does not return by itself, or "".
func hangs(text string) string {
	pipe := ""
	list := commands(text)
	for i := range list {
		c := &list[i]
		kind := c.waits()
		switch {
		case kind == "":
		case !c.background:
			return kind
		case kind == hangServer && !c.redirected:
			pipe = hangPipe
		}
	}
	return pipe
}

// waits says what a simple command in the foreground waits for.
func (c *simple) waits() string {
	rest := c.words[1:]
	first := ""
	for _, w := range rest {
		if !strings.HasPrefix(w, "-") {
			first = strings.ToLower(w)
			break
		}
	}
	has := func(words ...string) bool {
		for _, w := range rest {
			for _, o := range words {
				if w == o {
					return true
				}
			}
		}
		return false
	}
	if has("--version", "--help", "-V") {
		return ""
	}
	switch name := strings.TrimSuffix(c.name(), ".exe"); name {
	case "vi", "vim", "nano", "emacs", "less", "more", "top", "htop", "man", "ssh", "ftp", "telnet", "watch":
		return hangInteractive
	case "mysql", "psql", "sqlite3", "redis-cli":
		if !has("-e", "-c", "-f", "-l") && !c.piped && !c.fed && !(name == "sqlite3" && len(rest) > 1) {
			return hangInteractive
		}
	case "tail":
		if has("-f", "-F", "--follow") {
			return hangInteractive
		}
	case "read":
		if !c.piped && !c.fed {
			return hangInteractive
		}
	case "sleep":
		if first == "infinity" || len(strings.Trim(first, "s")) >= 3 && strings.Trim(first, "0123456789s") == "" || strings.HasSuffix(first, "h") {
			return hangInteractive
		}
	case "python", "python3", "py", "python2":
		return pythonWaits(rest, first, c.piped || c.fed)
	case "node", "deno", "bun", "ruby", "php", "java":
		if first != "" && !has("-e", "-c", "-p", "--eval", "--check", "test", "install", "add", "--test", "-l") {
			return hangServer
		}
	case "start.sh", "uvicorn", "gunicorn", "hypercorn", "http-server", "serve", "live-server", "nodemon", "vite", "flask", "rails", "puma", "json-server", "caddy", "nginx":
		if first != "build" && first != "test" && first != "routes" && first != "generate" {
			return hangServer
		}
	case "sh", "bash":
		if strings.HasSuffix(first, "start.sh") {
			return hangServer
		}
	case "npm", "yarn", "pnpm":
		if first == "start" || has("dev", "start", "serve") && (first == "run" || first == "dev" || first == "serve") {
			return hangServer
		}
	case "go", "cargo", "dotnet", "gradle", "mvn":
		if first == "run" || strings.HasSuffix(first, ":run") || first == "bootrun" || first == "watch" {
			return hangServer
		}
	case "docker":
		if first == "compose" && has("up") && !has("-d", "--detach") || first == "logs" && has("-f", "--follow") {
			return hangServer
		}
	}
	return ""
}

// pythonWaits: a script may be a server, a module that tests or installs is none, and without a script it waits for input.
func pythonWaits(rest []string, first string, fed bool) string {
	for i, w := range rest {
		switch {
		case w == "-c":
			return ""
		case w == "-m" && i+1 < len(rest):
			switch m := rest[i+1]; {
			case m == "http.server", m == "flask", m == "uvicorn", m == "gunicorn", m == "hypercorn", m == "aiohttp.web":
				return hangServer
			}
			return ""
		case w == "-" || !strings.HasPrefix(w, "-"):
			if strings.HasSuffix(first, ".py") && !strings.Contains(first, "test") && !strings.HasSuffix(first, "setup.py") || strings.HasSuffix(first, "server") {
				return hangServer
			}
			return ""
		}
	}
	if first == "" && !fed {
		return hangInteractive
	}
	return ""
}
