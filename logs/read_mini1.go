package logs

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// miniIsV1 knows trajectories of mini-swe-agent 1: the format "mini-swe-agent-1", or in the oldest files a bare list
// of messages.
func miniIsV1(data []byte) bool {
	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] == '[' {
		var first []struct {
			Role string `json:"role"`
		}
		return json.Unmarshal(data, &first) == nil && len(first) > 0 && first[0].Role != ""
	}
	var v struct {
		Format string `json:"trajectory_format"`
	}
	return json.Unmarshal(data, &v) == nil && v.Format == "mini-swe-agent-1"
}

// miniV1 reads messages that are text alone: the command stands in a block of the answer, its result in the next
// message of the user.
type miniV1 struct {
	*eventBuilder
	n       int    // messages so far, without those of the system
	command string // the call that waits for its result
	calls   int
}

type miniV1Message struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Timestamp float64         `json:"timestamp"`
	Extra     struct {
		Response json.RawMessage `json:"response"`
	} `json:"extra"`
}

func (b *eventBuilder) readMiniV1(p programFiles) {
	r := miniV1{eventBuilder: b}
	f := p.get("traj.json")
	if data := bytes.TrimSpace(f.Data); data[0] == '[' {
		// The places are those in the file: the list is put under a key, which moves them by a known number of bytes.
		const before = `{"messages":`
		at := int64(bytes.IndexByte(f.Data, '['))
		wrapped := append(append([]byte(before), data...), '}')
		list := programFiles{blob: p.blob, files: []placedFile{{LogFile{Name: "traj.json", Data: wrapped}, f.offset + at - int64(len(before)), f.input, f.err}}}
		b.jsonList(list, "traj.json", "messages", r.message)
		return
	}
	b.jsonList(p, "traj.json", "messages", r.message)
	var v struct {
		Info struct {
			Status string `json:"exit_status"`
		} `json:"info"`
	}
	if json.Unmarshal(f.Data, &v) != nil {
		return // told by the list
	}
	b.place(p.pathOf(f), f.offset, f.Data)
	b.time = nil
	switch v.Info.Status {
	case "":
	case "Submitted", "LimitsExceeded":
		b.harnessSaid(EventEnd, v.Info.Status)
	default:
		b.failed(clip(v.Info.Status, 100), nil, false)
		b.harnessSaid(EventEnd, clip(v.Info.Status, 100))
	}
}

var (
	miniV1Block  = regexp.MustCompile("(?s)```(?:bash|mswea_bash_command)\\s*\n(.*?)\n```")
	miniV1Result = regexp.MustCompile(`(?s)\A<returncode>(-?\d{1,9})</returncode>\n(.*)`)
)

func (r *miniV1) message(raw []byte) error {
	var m miniV1Message
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	r.time = unixTime(m.Timestamp)
	said := contentText(m.Content)
	switch m.Role {
	case "system":
		return nil
	case "assistant":
		r.miniAnswer(m.Extra.Response)
		r.modelSaid(said)
		r.command = ""
		if blocks := miniV1Block.FindAllStringSubmatch(said, 2); len(blocks) == 1 {
			r.calls++
			r.command = "command_" + strconv.Itoa(r.calls)
			r.toolCalled("bash", r.command, blocks[0][1])
		}
	case "user":
		r.user(said)
	default:
		r.unknownRecord(m.Role)
	}
	r.n++
	return nil
}

// user is the task, the result of the command before it, a complaint about the form of the answer, or, at the end,
// what is handed in.
func (r *miniV1) user(said string) {
	id := r.command
	r.command = ""
	if r.n == 0 {
		r.prompted(said)
		return
	}
	if m := miniV1Result.FindStringSubmatch(said); m != nil && id != "" {
		n, err := strconv.Atoi(m[1])
		if err == nil {
			r.toolGave("bash", id, m[2], &n, nil)
			return
		}
	}
	switch {
	case id == "":
		r.harnessSaid(EventRejectedCall, "bad_call: FormatError")
	case strings.Contains(said[:min(len(said), 300)], "timed out"):
		r.toolGave("bash", id, said, nil, nil)
		r.toolEnded("bash", id, "by=limit limit=time")
	default:
		r.toolGave("bash", id, said, nil, nil)
	}
}
