package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/sandbox"
)

// usableFolder makes a folder that commands of the agent may have removed or locked usable again.
func usableFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the agent's folder: %w", err)
	}
	st, err := os.Stat(dir)
	if err == nil && st.Mode().Perm()&0o700 != 0o700 {
		err = os.Chmod(dir, st.Mode().Perm()|0o700)
	}
	if err != nil {
		return fmt.Errorf("opening the agent's folder: %w", err)
	}
	return nil
}

// runTool carries out a call whose arguments are a JSON object.
func (l *builtinLoop) runTool(ctx context.Context, name, id string, args json.RawMessage) (string, *ending) {
	bad := func(reason string) (string, *ending) {
		l.rec.Event("bad_call", map[string]string{"tool": name, "call_id": id, "reason": reason})
		return "Error: " + reason + " The call was not run.", nil
	}
	switch name {
	case toolBash:
		var v struct {
			Command *string         `json:"command"`
			Timeout json.RawMessage `json:"timeout"`
		}
		if err := json.Unmarshal(args, &v); err != nil || v.Command == nil || strings.TrimSpace(*v.Command) == "" {
			return bad(`the argument "command" (text) is missing.`)
		}
		timeout := l.agent.opt.BashTimeout
		if len(v.Timeout) > 0 && string(v.Timeout) != "null" {
			var s float64
			if err := json.Unmarshal(bytes.Trim(v.Timeout, `"`), &s); err != nil || s <= 0 {
				return bad(`the argument "timeout" is no positive number of seconds.`)
			}
			timeout = l.agent.opt.BashTimeoutMax
			if s < timeout.Seconds() {
				timeout = time.Duration(s * float64(time.Second))
			}
		}
		return l.bash(ctx, id, *v.Command, timeout)
	case toolWrite:
		var v struct {
			Path    *string `json:"path"`
			Content *string `json:"content"`
		}
		if err := json.Unmarshal(args, &v); err != nil || v.Path == nil || v.Content == nil {
			return bad(`the arguments "path" and "content" (texts) are both needed.`)
		}
		return l.write(id, *v.Path, *v.Content)
	}
	l.rec.Event("unknown_tool", map[string]string{"tool": name, "call_id": id})
	return fmt.Sprintf("Error: there is no tool %q. The tools are %s and %s.", firstLine(name), toolBash, toolWrite), nil
}

// startShell becomes bash, or the plain shell on a host without it.
const startShell = `if command -v bash >/dev/null 2>&1; then exec bash -c "$1"; fi; exec sh -c "$1"`

// maxCommand is what Linux takes as one argument, 128 KiB, with some room.
const maxCommand = 120 << 10

func unrunnable(command string) string {
	switch {
	case strings.ContainsRune(command, 0):
		return "the command holds a NUL character."
	case len(command) > maxCommand:
		return fmt.Sprintf("the command is longer than %d bytes; write long texts with %s.", maxCommand, toolWrite)
	}
	return ""
}

// bash runs one command in a sandbox of its own. The text is what the model reads; an ending means that the
// attempt is over.
func (l *builtinLoop) bash(ctx context.Context, id, command string, timeout time.Duration) (string, *ending) {
	r := l.request
	l.progress("bash " + firstLine(command))
	for _, dir := range []string{r.Workspace, r.Home} {
		if err := usableFolder(dir); err != nil {
			return "", &ending{err: err}
		}
	}
	if reason := unrunnable(command); reason != "" {
		l.rec.Event("bad_call", map[string]string{"tool": toolBash, "call_id": id, "reason": reason})
		return "Error: " + reason + " The call was not run.", nil
	}
	exit, err := r.Sandbox.Run(ctx, sandbox.Command{
		Role: sandbox.Work, Argv: []string{"/bin/sh", "-c", startShell, "sh", command}, Workspace: r.Workspace, Home: r.Home,
		MaxOutput: int64(l.agent.opt.MaxOutput), Timeout: timeout, Merge: true,
	})
	if err != nil {
		return "", &ending{err: fmt.Errorf("running a command of the agent: %w", err)}
	}
	fields := map[string]any{"tool": toolBash, "call_id": id, "duration_s": exit.Duration.Seconds(), "text": string(exit.Stdout), "by": exit.By}
	if exit.Code != nil {
		fields["exit_code"] = *exit.Code
	}
	if exit.Signal != "" {
		fields["signal"] = exit.Signal
	}
	if exit.Limit != "" {
		fields["limit"] = exit.Limit
	}
	l.rec.Event("tool_result", fields)
	text := exitLine(exit, timeout) + "\n" + printable(exit.Stdout)
	if len(bytes.TrimSpace(exit.Stdout)) == 0 {
		text = exitLine(exit, timeout) + " (no output)"
	}
	return text, l.afterTool(ctx, exit)
}

// afterTool looks for ends of the attempt that a command brought about.
func (l *builtinLoop) afterTool(ctx context.Context, exit sandbox.Exit) *ending {
	r := l.request
	if ctx.Err() != nil {
		e := endLimit("wall", errWall.Error()+" ended a command") // Run replaces it when it was not the limit
		return &e
	}
	if exit.Limit == "disk" || time.Since(l.diskSeen) > diskPause {
		l.diskSeen = time.Now()
		if exit.Limit == "disk" || overDisk(r.Sandbox, r.Workspace, r.Home) {
			e := endLimit("disk", fmt.Sprintf("workspace and home are over the limit of %d bytes", r.Sandbox.Limits().Disk))
			return &e
		}
	}
	return nil
}

func exitLine(e sandbox.Exit, timeout time.Duration) string {
	switch {
	case e.Limit == "wall":
		return fmt.Sprintf("[ended after %s: the time limit of the command]", timeout.Round(time.Second))
	case e.By == "limit" || e.By == "oom":
		return fmt.Sprintf("[ended: over the limit on %s]", e.Limit)
	case e.Code != nil:
		return fmt.Sprintf("[exit code %d]", *e.Code)
	}
	return fmt.Sprintf("[ended by %s]", e.Signal)
}

// printable makes any output fit for JSON and for a model.
func printable(b []byte) string {
	return strings.ReplaceAll(strings.ToValidUTF8(string(b), "\uFFFD"), "\x00", "\uFFFD")
}

// write puts a file into the workspace. No path and no link leads out of it.
func (l *builtinLoop) write(id, name, content string) (string, *ending) {
	r := l.request
	l.progress("write " + firstLine(name))
	if err := usableFolder(r.Workspace); err != nil {
		return "", &ending{err: err}
	}
	text, err := writeInside(r, name, content)
	l.rec.Event("tool_result", map[string]any{"tool": toolWrite, "call_id": id, "text": text, "failed": err != nil})
	if err != nil {
		return "", &ending{err: err}
	}
	return text, nil
}

// writeInside returns what the model is told; its error is the host's fault.
func writeInside(r Request, name, content string) (string, error) {
	rel := strings.TrimPrefix(path.Clean(name), r.Sandbox.WorkspacePath(r.Workspace)+"/")
	if name == "" || strings.HasSuffix(name, "/") || path.IsAbs(rel) || rel == ".." || strings.HasPrefix(rel, "../") || rel == "." || strings.ContainsRune(rel, 0) {
		return fmt.Sprintf("Error: %q is no path of a file inside the project folder. Nothing was written.", firstLine(name)), nil
	}
	if int64(len(content)) > r.Sandbox.Limits().FileSize {
		return "Error: the text is longer than a file may be. Nothing was written.", nil
	}
	root, err := os.OpenRoot(r.Workspace)
	if err != nil {
		return "", fmt.Errorf("opening the workspace: %w", err)
	}
	defer root.Close()
	err = writeRoot(root, rel, content)
	switch {
	case err == nil:
		return fmt.Sprintf("Wrote %d bytes to %s.", len(content), rel), nil
	case errors.Is(err, syscall.ENOSPC):
		return "", fmt.Errorf("writing into the workspace: %w", err)
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err // the host's path stays out of the conversation
	}
	return fmt.Sprintf("Error: writing %s: %v. Nothing was written.", rel, err), nil
}

func writeRoot(root *os.Root, rel, content string) error {
	if dir := path.Dir(rel); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if st, err := root.Stat(rel); err == nil && !st.Mode().IsRegular() {
		return errors.New("it exists and is no regular file")
	}
	f, err := root.OpenFile(rel, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	if err == nil && strings.HasPrefix(content, "#!") {
		err = f.Chmod(0o755)
	}
	return errors.Join(err, f.Close())
}
