package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const ownRules = `leaves:
  - id: infra.tunnel
    title: the tunnel broke
    definition: The tunnel to the model's network is gone.
    includes: a gateway that answers for a tunnel that is down
    excludes: the provider itself (infra.provider_error)
    signature: the word tunnel
    example: tunnel to dc2 lost
rules:
  - id: U-tunnel
    leaf: infra.tunnel
    strength: strong
    channels: [harness, provider]
    anchors: [tunnel]
    pattern: 'tunnel to \w+ lost'
    positive: [tunnel to dc2 lost]
    negative: [the tunnel is up, a tunnel of love]
`

// foreignLog is a session of OpenCode that a provider's error ended.
const foreignLog = `{"type":"step_start","timestamp":1,"sessionID":"ses_1","part":{"type":"step-start"}}
{"type":"error","timestamp":2,"sessionID":"ses_1","error":{"name":"APIError","data":{"message":"tunnel to dc2 lost","statusCode":418,"isRetryable":false}}}
`

// TestClassifyRules: a user's rules are tested, used on a foreign log, kept, and taken away again.
func TestClassifyRules(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "my.yaml", ownRules)
	writeFile(t, dir, "bad.yaml", strings.Replace(ownRules, "positive: [tunnel to dc2 lost]", "positive: [gone]", 1))
	writeFile(t, dir, "log.jsonl", foreignLog)
	if out, _ := stint(t, dir, 0, "classify", "--rules", "my.yaml", "--check"); !strings.Contains(out, "1 leaf and 1 rule added to stint-failures/1.0; 3 examples hold") {
		t.Errorf("%s", out)
	}
	if _, errs := stint(t, dir, 2, "classify", "--rules", "bad.yaml", "--check"); !strings.Contains(errs, "bad.yaml:10: U-tunnel: the rule does not fire on its own example") {
		t.Errorf("%s", errs)
	}
	stint(t, dir, 2, "classify", "--check")
	stint(t, dir, 2, "classify", "--rules", "none.yaml", "--check")
	if out, _ := stint(t, dir, 0, "classify", "--codebook", "--rules", "my.yaml"); !strings.Contains(out, "R-heap") || !strings.Contains(out, "U-tunnel") {
		t.Error("the codebook lacks rules")
	}

	stint(t, dir, 0, "ingest", "log.jsonl", "-o", "tables")
	if out, _ := stint(t, dir, 0, "classify", "tables"); strings.Contains(out, "infra.tunnel") {
		t.Errorf("without the rule: %s", out)
	}
	if _, errs := stint(t, dir, 2, "classify", "tables", "--rules", "bad.yaml"); !strings.Contains(errs, "bad.yaml:10") {
		t.Errorf("%s", errs)
	}
	for _, args := range [][]string{{"--rules", "my.yaml"}, nil} { // the run keeps them
		out, _ := stint(t, dir, 0, append([]string{"classify", "tables"}, args...)...)
		if !strings.Contains(out, "  tunnel") || !strings.Contains(out, "stint-failures/1.0+") || !strings.Contains(out, "how the agent ended 1") {
			t.Errorf("%v: %s", args, out)
		}
	}
	id := strings.Fields(func() string { out, _ := stint(t, dir, 0, "explain", "tables"); return out }())[0]
	if out, _ := stint(t, dir, 0, "explain", "tables", id); !strings.Contains(out, "infra.tunnel: the tunnel broke") || !strings.Contains(out, "U-tunnel") || !strings.Contains(out, "weak") {
		t.Errorf("%s", out)
	}
	stint(t, dir, 0, "classify", "tables", "--rules", "none")
	if _, err := os.Stat(filepath.Join(dir, "tables", "verdicts", "rules.yaml")); !os.IsNotExist(err) {
		t.Errorf("the rules are still there: %v", err)
	}
	if out, _ := stint(t, dir, 0, "classify", "tables"); strings.Contains(out, "tunnel") {
		t.Errorf("%s", out)
	}
}
