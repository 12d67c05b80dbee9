package gateway

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRecordedRequests puts every request together again from the record alone: of three conversations that
// take turns, are cut back, condensed and asked with other settings, each line holds only what is new.
func TestRecordedRequests(t *testing.T) {
	u, err := newUpstream(Options{Model: Model{Name: "m", URL: "http://127.0.0.1:1/v1"}, Recorder: NewRecorder(nil)})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	var talks [3][]any
	var sent []map[string]any
	bytes := 0
	for n := range 200 {
		k := r.IntN(len(talks))
		for range 1 + r.IntN(3) {
			talks[k] = append(talks[k], map[string]any{"role": "user", "content": fmt.Sprintf("message %d of conversation %d: %s", len(talks[k]), k, string(make([]byte, 300)))})
		}
		switch r.IntN(20) {
		case 0: // condensed
			talks[k] = append([]any{}, map[string]any{"role": "user", "content": fmt.Sprint("summary ", n)})
		case 1: // cut back
			talks[k] = talks[k][:len(talks[k])/2]
		}
		request := map[string]any{"model": "m", "messages": talks[k], "tools": []any{fmt.Sprint("tool of ", k)}}
		if r.IntN(3) == 0 {
			request["temperature"] = float64(r.IntN(2))
		}
		body, err := json.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		bytes += len(body)
		var plain map[string]any
		if err := json.Unmarshal(body, &plain); err != nil {
			t.Fatal(err)
		}
		sent = append(sent, plain)
		u.recordRequest(&call{dialect: chat{}, proxied: true}, body)
	}
	type whole struct {
		messages []any
		settings map[string]any
	}
	bySeq := map[float64]whole{}
	for i, l := range lines(t, u.opt.Recorder) {
		base := bySeq[-1]
		if seq, ok := l["base"].(float64); ok {
			base = bySeq[seq]
		}
		now := whole{messages: append(append([]any{}, base.messages[:int(l["same"].(float64))]...), l["new"].([]any)...), settings: maps.Clone(base.settings)}
		if now.settings == nil {
			now.settings = map[string]any{}
		}
		dropped, _ := l["dropped"].([]any)
		for _, key := range dropped {
			delete(now.settings, key.(string))
		}
		maps.Copy(now.settings, l["settings"].(map[string]any))
		bySeq[l["seq"].(float64)] = now
		got := maps.Clone(now.settings)
		got["messages"] = now.messages
		if diff := cmp.Diff(sent[i], got); diff != "" {
			t.Fatalf("request %d (-sent +recorded):\n%s", i, diff)
		}
	}
	if recorded := len(u.opt.Recorder.Bytes()); recorded*5 > bytes {
		t.Errorf("%d bytes were recorded of %d that were sent", recorded, bytes)
	}
}
