package logs

import (
	"path"
	"strings"
)

// programFormats are the logs of the agents' programs that stint drives, left by stint or by anybody else. They are read
// with the same readers either way.
func programFormats() []Format {
	return []Format{
		programFormat("claude-code", "session.jsonl", "Claude Code session or stream", claimClaude),
		programFormat("codex", "rollout.jsonl", "Codex rollout or exec stream", claimCodex),
		programFormat("kimi-cli", "wire.jsonl", "kimi-cli wire file or stream", claimKimiCLI),
		programFormat("kimi-code", "wire.jsonl", "Kimi Code wire file or stream", claimKimiCode),
		programFormat("mini-swe", "traj.json", "mini-swe-agent trajectory", claimMini),
		programFormat("opencode", "stdout", "OpenCode export or stream", claimOpenCode),
		programFormat("openhands", "events.jsonl", "OpenHands conversation or output", claimOpenHands),
		programFormat("qwen-code", "chat.jsonl", "Qwen Code chat file or stream", claimQwen),
		programFormat("vibe", "journal.jsonl", "Mistral Vibe session, export or stream", claimVibe),
	}
}

// programFormat reads with the reader of a program's logs.
func programFormat(name, part, title string, recognise func(*head) (claim, bool)) Format {
	return Format{Name: name, Title: title, part: part, recognise: recognise, read: func(in *logInput, out *rowSink) error {
		p := programFiles{}
		for i := range in.files {
			f := &in.files[i]
			p.files = append(p.files, placedFile{LogFile: LogFile{Name: f.part}, input: f})
		}
		out.promptTurns = true
		programReaderOf(name)(out.eventBuilder, p)
		return nil
	}}
}

func claimClaude(h *head) (claim, bool) {
	c := claim{session: h.first("sessionId", "session_id"), model: h.first("message.model", "model"), version: h.first("version", "claude_code_version")}
	switch {
	case !h.lines:
		return claim{}, false
	case h.any(func(f fields) bool {
		return f.has("sessionId", "uuid", "parentUuid") && !f.has("message.parts") && !f.has("systemPayload") && !f.has("toolCallResult")
	}) != nil &&
		h.any(isQwenChat) == nil:
		c.part = "session.jsonl"
		return c, true
	case h.any(func(f fields) bool {
		return f["type"] == "system" && f["subtype"] == "init" && (f.has("claude_code_version") || f.has("apiKeySource"))
	}) != nil:
		c.part = "stdout"
		return c, true
	}
	return claim{}, false
}

func isQwenChat(f fields) bool {
	return f.has("sessionId", "uuid") && (f.has("message.parts") || f.has("systemPayload") || f.has("toolCallResult"))
}

func claimQwen(h *head) (claim, bool) {
	c := claim{session: h.first("sessionId", "session_id"), model: h.first("model", "message.model"), version: h.first("version", "qwen_code_version")}
	switch {
	case !h.lines:
		return claim{}, false
	case h.any(isQwenChat) != nil:
		c.part = "chat.jsonl"
		return c, true
	case h.any(func(f fields) bool {
		return f["type"] == "system" && f["subtype"] == "init" && f.has("qwen_code_version")
	}) != nil:
		c.part = "stdout"
		return c, true
	}
	return claim{}, false
}

func claimCodex(h *head) (claim, bool) {
	c := claim{session: h.first("thread_id", "payload.session_id", "payload.id"), model: h.first("payload.model"), version: h.first("payload.cli_version")}
	switch {
	case !h.lines:
		return claim{}, false
	case h.any(func(f fields) bool {
		return f.has("timestamp", "payload") && (f["type"] == "session_meta" || f["type"] == "response_item" || f["type"] == "event_msg" || f["type"] == "turn_context")
	}) != nil:
		c.part = "rollout.jsonl"
		return c, true
	case h.any(func(f fields) bool { return f["type"] == "thread.started" && f.has("thread_id") }) != nil:
		c.part = "stdout"
		return c, true
	}
	return claim{}, false
}

// isKimiWire says whether a file begins as both of Kimi's wire files do.
func isKimiWire(h *head) bool {
	return h.lines && h.any(func(f fields) bool { return f["type"] == "metadata" && f.has("protocol_version") }) != nil
}

func claimKimiCLI(h *head) (claim, bool) {
	switch {
	case isKimiWire(h) && h.any(func(f fields) bool { return f.has("protocol_version") && !f.has("created_at") }) != nil:
		return claim{part: "wire.jsonl"}, true
	case h.lines && h.any(func(f fields) bool { return f.has("timestamp", "message.type", "message.payload") }) != nil:
		return claim{part: "wire.jsonl"}, true
	case h.lines && h.any(func(f fields) bool {
		return f["role"] == "_system_prompt" || f["role"] == "_checkpoint" || f["role"] == "_usage"
	}) != nil:
		return claim{beside: true}, true // the messages of the wire file once more
	case h.lines && h.any(isKimiMeta) == nil && h.any(isKimiChat) != nil:
		return claim{part: "stdout"}, true
	}
	return claim{}, false
}

// isKimiChat is a message on the output of either program, isKimiMeta a record of the newer one alone.
func isKimiChat(f fields) bool {
	return f["role"] == "assistant" && f["tool_calls[].type"] == "function" && !f.has("type") && !f.has("message_id")
}

func isKimiMeta(f fields) bool { return f["role"] == "meta" && f.has("type") }

func claimKimiCode(h *head) (claim, bool) {
	switch {
	case isKimiWire(h) && h.any(func(f fields) bool { return f.has("protocol_version", "created_at") }) != nil:
		return claim{part: "wire.jsonl", model: h.first("modelAlias"), version: h.first("version")}, true
	case h.lines && h.any(isKimiMeta) != nil:
		return claim{part: "stdout", version: h.first("version")}, true
	}
	return claim{}, false
}

func claimMini(h *head) (claim, bool) {
	d := h.document()
	switch {
	case d == nil:
		return claim{}, false
	case strings.HasPrefix(d["trajectory_format"], "mini-swe-agent"), d.has("info.mini_version"), d.has("info.model_stats.instance_cost", "info.config.agent"):
		return claim{part: "traj.json", model: h.first("info.config.model.model_name"), version: h.first("info.mini_version")}, true
	case d[""] == "[" && d.has("[].role", "[].content") && strings.HasSuffix(h.path, ".traj.json"):
		return claim{part: "traj.json"}, true
	}
	return claim{}, false
}

func claimOpenCode(h *head) (claim, bool) {
	c := claim{session: h.first("sessionID", "info.id")}
	switch d := h.document(); {
	case d != nil && !h.lines && d.has("info.id") && (d.has("info.projectID") || d.has("info.slug") || d.has("info.directory")):
		c.part, c.model, c.version = "export.json", h.first("info.model.id", "messages[].info.modelID"), h.first("info.version")
		return c, true
	case h.lines && h.any(func(f fields) bool {
		return f.has("type", "sessionID", "timestamp") && (f.has("part") || f.has("error"))
	}) != nil:
		c.part = "stdout"
		return c, true
	}
	return claim{}, false
}

// claimOpenHands joins a conversation: base_state.json and the events, in its folder or in events/ below it.
func claimOpenHands(h *head) (claim, bool) {
	dir := h.dir()
	if path.Base(dir) == "events" {
		dir = path.Dir(dir)
	}
	event := func(f fields) bool {
		return f.has("id", "timestamp", "source", "kind") && (strings.HasSuffix(f["kind"], "Event") || f["kind"] == "Condensation" || f["kind"] == "CondensationRequest")
	}
	switch d := h.document(); {
	case d != nil && d.has("execution_status") && (d.has("stats.usage_to_metrics") || d.has("agent")):
		return claim{part: "base_state.json", dir: dir, model: h.first("agent.llm.model")}, true
	case d != nil && event(d) && strings.HasSuffix(h.path, ".json"):
		return claim{part: h.base(), dir: dir}, true
	case h.any(event) == nil:
		return claim{}, false
	case h.prelude:
		return claim{part: "stdout"}, true
	}
	return claim{part: "events.jsonl"}, true
}

// claimVibe joins a session: meta.json, the journal below it, messages.jsonl of version 2.
func claimVibe(h *head) (claim, bool) {
	dir := h.dir()
	if path.Base(dir) == "journal" {
		dir = path.Dir(dir)
	}
	switch d := h.document(); {
	case h.lines && h.any(func(f fields) bool { return f.has("recovery_journal_record_version", "sequence", "payload") }) != nil:
		return claim{part: "journal/" + h.base(), dir: dir, session: h.first("payload.params.sessionId")}, true
	case d != nil && d.has("session_id", "outcome", "usage", "stop_reason"):
		return claim{part: "export.json", session: d["session_id"], model: d["config.active_model"]}, true
	case d != nil && (d.has("session_id", "start_time", "environment.working_directory") || d.has("session_id", "stats.session_prompt_tokens")):
		return claim{part: "meta.json", dir: dir, session: d["session_id"], version: d["vibe_version"], beside: !d.has("stats")}, true
	case d != nil && (d.has("manifest_sha256", "store_format") || d.has("manifest_version", "checkpoint", "generation")):
		return claim{beside: true}, true
	case h.lines && h.any(func(f fields) bool { return f.has("sessionId", "turnId", "generationStatus") }) != nil:
		return claim{part: "stdout", session: h.first("sessionId")}, true
	case h.lines && h.any(func(f fields) bool { return f.has("role", "content", "message_id") && !f.has("type") }) != nil:
		return claim{part: "messages.jsonl", dir: dir}, true
	}
	return claim{}, false
}
