package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	openai "github.com/sashabaranov/go-openai"
)

// sessionFile holds the conversation in HOME, so that a snapshot of HOME holds it too.
const sessionFile = ".stint-session.json"

const sessionMax = 64 << 20

// session is the conversation without its system prompt. Calls and results are always paired.
type session struct {
	Version  int                            `json:"version"`
	Turn     int                            `json:"turn"`
	Messages []openai.ChatCompletionMessage `json:"messages"`
}

const sessionVersion = 1

// loadSession reads the conversation in HOME. The file lies where the agent's commands can write: it is read
// without following links, bounded, and dropped (with the reason) when it is not what we wrote.
func loadSession(home string) (s session, lost string) {
	root, err := os.OpenRoot(home)
	if err != nil {
		return session{}, ""
	}
	defer root.Close()
	st, err := root.Lstat(sessionFile)
	if errors.Is(err, fs.ErrNotExist) {
		return session{}, ""
	}
	if err != nil || !st.Mode().IsRegular() || st.Size() > sessionMax {
		return session{}, "it is no regular file of a sensible size"
	}
	f, err := root.Open(sessionFile)
	if err != nil {
		return session{}, "it cannot be read"
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, sessionMax))
	if err != nil || json.Unmarshal(b, &s) != nil || s.Version != sessionVersion || !paired(s.Messages) {
		return session{}, "it is not a conversation that this agent wrote"
	}
	return s, ""
}

// paired tells whether each call has its result right behind it and each result its call.
func paired(messages []openai.ChatCompletionMessage) bool {
	open := map[string]bool{}
	for _, m := range messages {
		switch m.Role {
		case openai.ChatMessageRoleTool:
			if !open[m.ToolCallID] {
				return false
			}
			delete(open, m.ToolCallID)
		case openai.ChatMessageRoleUser, openai.ChatMessageRoleAssistant:
			if len(open) > 0 {
				return false
			}
			for _, c := range m.ToolCalls {
				open[c.ID] = true
			}
		default:
			return false
		}
	}
	return len(open) == 0
}

// save replaces the file in HOME.
func (s *session) save(home string) error {
	s.Version = sessionVersion
	b, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encoding the conversation: %w", err)
	}
	root, err := os.OpenRoot(home)
	if err != nil {
		return fmt.Errorf("saving the conversation: %w", err)
	}
	defer root.Close()
	const beside = sessionFile + ".tmp"
	_ = root.RemoveAll(beside)
	f, err := root.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = f.Write(b)
		err = errors.Join(err, f.Close())
	}
	if err == nil {
		if st, serr := root.Lstat(sessionFile); serr == nil && st.IsDir() {
			err = root.RemoveAll(sessionFile) // a folder cannot be replaced by renaming
		}
	}
	if err == nil {
		err = root.Rename(beside, sessionFile)
	}
	if err != nil {
		return fmt.Errorf("saving the conversation: %w", err)
	}
	return nil
}

// say appends a user message; two in a row become one, since many chat templates want turns to alternate.
func (s *session) say(text string) {
	if n := len(s.Messages); n > 0 && s.Messages[n-1].Role == openai.ChatMessageRoleUser {
		s.Messages[n-1].Content += "\n\n" + text
		return
	}
	s.Messages = append(s.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: text})
}

// own tells whether the conversation holds anything the model said.
func (s *session) own() bool {
	for _, m := range s.Messages {
		if m.Role == openai.ChatMessageRoleAssistant {
			return true
		}
	}
	return false
}
