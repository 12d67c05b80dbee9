package harness

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// The names by which tools of the wanted kind are known, the likeliest first, and those of their arguments.
var (
	shellNames   = []string{"bash", "shell", "run_shell_command", "execute_bash", "terminal", "exec_command", "local_shell", "shell_command", "run_command", "execute_command", "run_commands", "container.exec", "run_terminal_command", "exec"}
	commandNames = []string{"command", "cmd", "script", "commands"}
	writeNames   = []string{"write_file", "write", "create_file", "file_editor", "str_replace_editor", "edit_file", "save_file"}
	pathNames    = []string{"path", "file_path", "filePath", "filepath", "absolute_path", "filename", "file"}
	contentNames = []string{"content", "file_text", "contents", "text", "code"}
)

// shellCall makes a call of the tool that looks like a shell.
func shellCall(tools []SimTool, command, title string) (SimCall, bool) {
	best, at, argument := len(shellNames), -1, ""
	for i, t := range tools {
		name := property(t, commandNames)
		rank := slices.Index(shellNames, strings.ToLower(t.Name))
		if rank < 0 && name != "" && property(t, pathNames) == "" && runsShell.MatchString(t.Name) {
			rank = len(shellNames) - 1
		}
		if rank >= 0 && (rank < best || at < 0) && (name != "" || t.Schema == nil) {
			best, at, argument = rank, i, name
		}
	}
	if at < 0 {
		return SimCall{}, false
	}
	t := tools[at]
	if argument == "" {
		argument = "command"
	}
	values := map[string]any{argument: command}
	if typeOf(schemaOf(t, argument)) == "array" {
		values[argument] = []string{"bash", "-lc", command}
		if argument == "commands" { // a list of commands, not the words of one
			values[argument] = []string{command}
		}
	}
	fillRequired(t, values, title)
	return SimCall{Name: t.Name, Arguments: simArguments(values)}, true
}

var runsShell = regexp.MustCompile(`(?i)shell|bash|terminal|exec|command|run`)

// fileCall makes a call of a tool that writes a file. Where a path must be absolute, the folder is the one that
// the conversation names.
func fileCall(r SimRequest, name, content string) (SimCall, bool) {
	for _, want := range append(writeNames, "") {
		for _, t := range r.Tools {
			p, c := property(t, pathNames), property(t, contentNames)
			if p == "" || c == "" || want != "" && strings.ToLower(t.Name) != want {
				continue
			}
			values := map[string]any{p: path.Join(workFolder(r), name), c: content}
			if s := schemaOf(t, "command"); s != nil {
				values["command"] = "create"
			}
			fillRequired(t, values, "Write "+name)
			return SimCall{Name: t.Name, Arguments: simArguments(values)}, true
		}
	}
	return SimCall{}, false
}

var namesFolder = regexp.MustCompile(`(?i)(?:working directory|current directory|cwd|workspace)[^/\n]{0,40}(/[^\s"'<>` + "`" + `]+)`)

func workFolder(r SimRequest) string {
	for _, m := range r.Messages {
		if f := namesFolder.FindStringSubmatch(m.Text); f != nil && m.Role != "assistant" {
			return strings.TrimRight(f[1], ".,;:)")
		}
	}
	return ""
}

// property is the first of the names that the tool has as an argument.
func property(t SimTool, names []string) string {
	for _, n := range names {
		if schemaOf(t, n) != nil {
			return n
		}
	}
	return ""
}

func schemaOf(t SimTool, name string) map[string]any {
	properties, _ := t.Schema["properties"].(map[string]any)
	s, _ := properties[name].(map[string]any)
	return s
}

// typeOf is the type of a value, whichever way the schema says it.
func typeOf(s map[string]any) string {
	switch v := s["type"].(type) {
	case string:
		return v
	case []any:
		for _, x := range v {
			if name, ok := x.(string); ok && name != "null" {
				return name
			}
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		list, _ := s[key].([]any)
		for _, x := range list {
			if m, ok := x.(map[string]any); ok && typeOf(m) != "" && typeOf(m) != "null" {
				return typeOf(m)
			}
		}
	}
	return ""
}

// fillRequired gives the other required arguments values that their schema allows.
func fillRequired(t SimTool, values map[string]any, title string) {
	required, _ := t.Schema["required"].([]any)
	for _, x := range required {
		name, _ := x.(string)
		s := schemaOf(t, name)
		if _, done := values[name]; done || s == nil {
			continue
		}
		if list, ok := s["enum"].([]any); ok && len(list) > 0 {
			values[name] = list[0]
			if slices.Contains(list, any("LOW")) {
				values[name] = "LOW"
			}
			continue
		}
		switch typeOf(s) {
		case "boolean":
			values[name] = false
		case "integer", "number":
			values[name] = 60
			if least, ok := s["minimum"].(float64); ok && least > 60 {
				values[name] = least
			}
			if most, ok := s["maximum"].(float64); ok && most < 60 {
				values[name] = most
			}
		case "array":
			values[name] = []any{}
		case "object":
			values[name] = map[string]any{}
		default:
			values[name] = title
		}
	}
}
