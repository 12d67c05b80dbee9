package study

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stint-bench/stint/cmd/stint/internal/suite"
)

// A model of the study chooses its scenarios once; the run never asks it again.
func TestModelChoosesScenarios(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		content := fmt.Sprintf(`{\"choice\": \"o1\", \"rename\": null, \"title\": \"change %d\", \"reason\": \"so\"}`, n)
		if n == 2 {
			content = "o1"
		}
		fmt.Fprintf(w, `{"model": "m-1", "choices": [{"message": {"role": "assistant", "content": "%s"}, "finish_reason": "stop"}]}`, content)
	}))
	defer srv.Close()
	text := strings.Replace(small, "{count: 4, changes: 1}", "{count: 2, changes: 2, sampler: {llm: chooser}}", 1)
	text = strings.Replace(text, "models:\n", "models:\n  chooser: {url: \""+srv.URL+"/v1\", id: m, temperature: 0.5, key_env: CHOOSER_KEY}\n", 1)
	dir := filepath.Join(t.TempDir(), "run")
	none := func(string) string { return "" }
	if _, err := start(t, dir, text, &fakeLoop{}, RunOptions{Getenv: none}); err == nil || !strings.Contains(err.Error(), "CHOOSER_KEY") {
		t.Errorf("without its key: %v", err)
	}
	key := func(string) string { return "k" }
	sum, err := start(t, dir, text, &fakeLoop{}, RunOptions{Getenv: key})
	if err != nil || sum.Valid != 4 {
		t.Fatalf("%+v, %v", sum, err)
	}
	f, err := suite.ReadFile(filepath.Join(dir, "scenarios", "s01.json"))
	if err != nil {
		t.Fatal(err)
	}
	if f.Sampler != "llm" || f.Chosen == nil || f.Chosen.Model != "m" || f.Chosen.Rules != 0 || !strings.HasPrefix(f.Turns[1].Title, "change ") {
		t.Errorf("%+v", f)
	}
	if _, err := os.Stat(filepath.Join(dir, "scenarios", "transcripts", "s02.jsonl")); err != nil {
		t.Error(err)
	}
	if asked.Load() != 5 {
		t.Errorf("%d requests for four turns and one bad answer", asked.Load())
	}
	sum, err = start(t, dir, text+"repeats: 2\n", &fakeLoop{}, RunOptions{Getenv: none})
	if err != nil || sum.Valid != 8 || asked.Load() != 5 {
		t.Errorf("%+v, %v after %d requests", sum, err, asked.Load())
	}
}
