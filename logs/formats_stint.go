package logs

// stintFormats are stint's own logs where they lie outside of a run directory.
func stintFormats() []Format {
	return []Format{
		{Name: "stint-gateway", Title: "recording of stint's gateway", recognise: claimGateway, read: readRecording},
	}
}

func claimGateway(h *head) (claim, bool) {
	if !h.lines || h.any(func(f fields) bool {
		return f.has("seq", "time", "kind") && (f["kind"] == "request" || f["kind"] == "answer" || f["kind"] == "tool_call" || f["kind"] == "tool_result")
	}) == nil {
		return claim{}, false
	}
	return claim{part: "recording.jsonl", model: h.first("body.model", "model")}, true
}

// readRecording reads what went between an agent and its model.
func readRecording(in *logInput, out *rowSink) error {
	out.via = ViaGateway
	p := programFiles{files: []placedFile{{LogFile: LogFile{Name: "recording.jsonl"}, input: &in.files[0]}}}
	out.jsonLines(p, "recording.jsonl", out.gatewayEvents)
	return nil
}
