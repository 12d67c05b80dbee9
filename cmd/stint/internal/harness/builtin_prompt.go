package harness

import (
	"encoding/json"
	"fmt"
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

// The names of the two tools.
const (
	toolBash  = "bash"
	toolWrite = "write_file"
)

// systemPrompt is what the model is told once. It says nothing of checks, retries or attempts: prompts must
// not depend on them.
func systemPrompt(workspace string, text bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, `You are a software engineer who works alone in the folder %s. Nobody can answer questions: decide, act, and verify your work by running it.

Facts about this place:
- SPEC.md in the folder is the full specification of the program as it must be after the current request. Read it when in doubt.
- Every command runs in a fresh shell whose current folder is %s. All processes of a command end when the command ends, also those in the background. So start, try and stop a server within one command, for example: PORT=8123 DATA_DIR=$(mktemp -d) ./start.sh >log.txt 2>&1 & sleep 1; curl -s localhost:8123/health; kill %%1
- There is no network and nothing can be installed; SPEC.md names what is available.
- Keep the program small and plain. Keep what already works working.
`, workspace, workspace)
	if text {
		b.WriteString(textProtocol)
		return b.String()
	}
	b.WriteString(`
Use the tools to read, change and run things. When the request is done and tried, answer with one short sentence and no tool call; that ends your work.`)
	return b.String()
}

// textProtocol replaces tool calls for models that cannot make them.
const textProtocol = `
You act by fenced blocks in your answer. A block that runs a shell command:

` + "```bash\nls -la\n```" + `

A block that writes a whole file (the path is relative to the folder; use four backticks if the text itself has three):

` + "```write src/hello.txt\nhello\n```" + `

The blocks of an answer are carried out in order, and you get their results back. When the request is done and tried, answer with one short sentence and no block; that ends your work.`

const bashDescription = "Run a command with bash in the project folder and get its exit code and output (stdout and stderr together; long output loses its middle). " +
	"Each call is a fresh shell. Background processes end when the call ends, so start, try and stop a server within one call."

const writeDescription = "Write a text file in the project folder; folders are made, an existing file is replaced. A file that begins with #! becomes executable."

// tools are the definitions the model gets.
func (a *builtin) tools() []openai.Tool {
	if a.text {
		return nil
	}
	schema := func(s string) json.RawMessage { return json.RawMessage(s) }
	return []openai.Tool{
		{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{Name: toolBash, Description: bashDescription, Parameters: schema(fmt.Sprintf(
			`{"type":"object","properties":{"command":{"type":"string","description":"the command line"},"timeout":{"type":"number","description":"seconds until it is ended; default %d, at most %d"}},"required":["command"]}`,
			int(a.opt.BashTimeout.Seconds()), int(a.opt.BashTimeoutMax.Seconds())))}},
		{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{Name: toolWrite, Description: writeDescription, Parameters: schema(
			`{"type":"object","properties":{"path":{"type":"string","description":"relative to the project folder"},"content":{"type":"string","description":"the whole text of the file"}},"required":["path","content"]}`)}},
	}
}

// What the model is told when its answer was no use.
const (
	nudgeEmpty  = "Your answer was empty. Go on with the request, or say in one sentence that it is done."
	nudgeLength = "Your answer was cut off because it was too long. Go on in smaller steps; write long files in several parts."
)
