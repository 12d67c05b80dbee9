package fleet

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/stint-bench/stint/cmd/stint/internal/study"
	"github.com/stint-bench/stint/logs"
)

// TestMakeAndFits: shards are made once; a folder that was tampered with, or another stint, is refused by file name.
func TestMakeAndFits(t *testing.T) {
	t.Parallel()
	s := loaded(t, tiny)
	dir := filepath.Join(t.TempDir(), "shards")
	made, err := Make(t.Context(), s, MakeOptions{N: 2, Dir: dir, Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, ShardsName))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Make(t.Context(), s, MakeOptions{N: 2, Dir: dir, Version: "v1"}); err != nil {
		t.Errorf("the same again: %v", err)
	}
	if after, err := os.ReadFile(filepath.Join(dir, ShardsName)); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the same again changed %s (%v)", ShardsName, err)
	}
	var bad *study.InputError
	if _, err := Make(t.Context(), s, MakeOptions{N: 3, Dir: dir}); !errors.As(err, &bad) || !strings.Contains(err.Error(), "dealt out to 2 shards") {
		t.Errorf("another number of shards: %v", err)
	}
	if _, err := Make(t.Context(), loaded(t, tiny+"# more\n"), MakeOptions{N: 2, Dir: dir}); !errors.As(err, &bad) {
		t.Errorf("another study: %v", err)
	}
	_, whole := finished(t)
	if _, err := Make(t.Context(), s, MakeOptions{N: 2, Dir: whole.Root}); !errors.As(err, &bad) || !strings.Contains(err.Error(), "run directory") {
		t.Errorf("into a run directory: %v", err)
	}
	if _, err := Make(t.Context(), s, MakeOptions{N: 5, Dir: dir + "5"}); !errors.As(err, &bad) || !strings.Contains(bad.Advice, "1 to 4") {
		t.Errorf("more shards than episodes: %v", err)
	}

	frozen, err := study.LoadFrozen(&logs.RunDir{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	sh, err := ReadShards(dir)
	if diff := cmp.Diff(made, sh); err != nil || diff != "" {
		t.Errorf("read back: %v\n%s", err, diff)
	}
	if err := sh.Fits(frozen, dir, "v1"); err != nil {
		t.Error(err)
	}
	if err := sh.Fits(frozen, dir, "v2"); !errors.As(err, &bad) || !strings.Contains(err.Error(), "made by stint v1; this is v2") {
		t.Errorf("another version: %v", err)
	}
	scenario := filepath.Join(dir, "scenarios", "s02.json")
	edit(t, scenario, func(b []byte) []byte {
		return bytes.ReplaceAll(b, []byte(sh.Episodes[len(sh.Episodes)-1].Content), []byte(strings.Repeat("0", 64)))
	})
	edit(t, filepath.Join(dir, "scenarios", "s01.json"), func(b []byte) []byte {
		return bytes.ReplaceAll(b, []byte(sh.Episodes[0].Content), []byte(strings.Repeat("0", 64)))
	})
	if err := sh.Fits(frozen, dir, "v1"); !errors.As(err, &bad) || filepath.Dir(bad.File) != filepath.Dir(scenario) || !strings.Contains(err.Error(), "was dealt out with") {
		t.Errorf("other scenarios: %v", err)
	}
	for name, text := range map[string]string{"no JSON": "{", "a newer format": `{"schema":"stint.shards/2"}`, "no shards": `{"schema":"stint.shards/1"}`} {
		edit(t, filepath.Join(dir, ShardsName), func([]byte) []byte { return []byte(text) })
		if _, err := ReadShards(dir); !errors.As(err, &bad) || bad.File != filepath.Join(dir, ShardsName) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// keyed is a study whose model has a key and a limit on episodes at once.
const keyed = `version: 1
name: Keyed_Study.1
seed: 7
scenarios: {count: 8, changes: 1}
configs:
  - {model: m, harness: builtin, feedback: none, retries: 0}
models:
  m: {url: "http://127.0.0.1:9/v1", key_env: M_KEY, id: m}
jobs: {per_model: 3}
`

// TestExamplesForSchedulers holds the examples against what their schedulers document: the script against bash and,
// where it is installed, shellcheck; the manifest against the fields it must have and, where it is installed,
// kubernetes-validate with the schema of Kubernetes.
func TestExamplesForSchedulers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := newExample(loaded(t, keyed), &Shards{N: 8}, filepath.Join(dir, "it's here"))
	slurm, job := filepath.Join(dir, SlurmName), filepath.Join(dir, KubernetesName)
	if err := errors.Join(os.WriteFile(slurm, x.slurm(), 0o644), os.WriteFile(job, x.kubernetes(), 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\n#SBATCH --array=1-8%3\n", "\n#SBATCH --job-name=stint-keyed-study-1\n", "\n: \"${M_KEY:?", `it'\''s here`} {
		if !strings.Contains(string(x.slurm()), want) {
			t.Errorf("the Slurm script has no %q:\n%s", want, x.slurm())
		}
	}
	tool(t, "bash", "-n", slurm)
	tool(t, "shellcheck", slurm)

	var m struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   struct{ Name string }
		Spec       struct {
			CompletionMode       string `yaml:"completionMode"`
			Completions          int
			Parallelism          int
			BackoffLimitPerIndex int `yaml:"backoffLimitPerIndex"`
			Template             struct {
				Spec struct {
					RestartPolicy string `yaml:"restartPolicy"`
					Containers    []struct {
						Command []string
						Env     []struct{ Name string }
					}
				}
			}
		}
	}
	if err := yaml.Unmarshal(x.kubernetes(), &m); err != nil {
		t.Fatal(err)
	}
	pod := m.Spec.Template.Spec
	if m.APIVersion != "batch/v1" || m.Kind != "Job" || m.Metadata.Name != "stint-keyed-study-1" || m.Spec.CompletionMode != "Indexed" ||
		m.Spec.Completions != 8 || m.Spec.Parallelism != 3 || m.Spec.BackoffLimitPerIndex == 0 || pod.RestartPolicy != "Never" ||
		len(pod.Containers) != 1 || len(pod.Containers[0].Env) != 2 || pod.Containers[0].Env[1].Name != "M_KEY" {
		t.Errorf("the manifest says %+v", m)
	}
	script := filepath.Join(dir, "pod.sh")
	if err := os.WriteFile(script, []byte(pod.Containers[0].Command[2]), 0o644); err != nil {
		t.Fatal(err)
	}
	tool(t, "sh", "-n", script)
	tool(t, "shellcheck", "-s", "sh", "-e", "SC2154", script) // JOB_COMPLETION_INDEX and POD come from outside
	if validator := os.Getenv("STINT_TEST_KUBERNETES_VALIDATE"); validator != "" {
		tool(t, validator, "--strict", job)
	} else if os.Getenv("STINT_REQUIRE") != "" {
		t.Error("STINT_TEST_KUBERNETES_VALIDATE is not set: CI installs kubernetes-validate and must set it")
	}
}

// tool runs a program that must succeed. One that is not installed is only missed where CI promises all.
func tool(t *testing.T, name string, args ...string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("STINT_REQUIRE") != "" {
			t.Errorf("%s is not installed: CI installs it", name)
		}
		return
	}
	if out, err := exec.Command(path, args...).CombinedOutput(); err != nil {
		t.Errorf("%s %v: %v\n%s", name, args, err, out)
	}
}

// TestPodScript runs the script of the manifest with a stint that only says how it was called: a first pod runs, a
// later one takes over what the first has left.
func TestPodScript(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := newExample(loaded(t, keyed), &Shards{N: 8}, dir)
	_, script, ok := strings.Cut(string(x.kubernetes()), "            - |\n")
	script, _, ok2 := strings.Cut(script, "          resources:")
	if !ok || !ok2 {
		t.Fatal("the manifest has no script")
	}
	script = strings.ReplaceAll(script, "/shards", dir)
	fake := "#!/bin/sh\necho stint \"$@\"\n[ \"$1\" = run ] && mkdir -p \"$6\"\n[ \"$1\" = run ]  || exit 4\n"
	if err := os.WriteFile(filepath.Join(dir, "stint"), []byte(fake), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, pod := range []struct{ name, want string }{
		{"a", "stint run DIR --shard 3/8 -o DIR/out/3/a\n"},
		{"b", "stint collect DIR/out/3/a/ -o DIR/out/3/b -q\nstint run DIR --shard 3/8 -o DIR/out/3/b\n"},
		{"b", "stint run DIR --shard 3/8 -o DIR/out/3/b\n"},
	} {
		cmd := exec.Command("sh", "-euc", script)
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "JOB_COMPLETION_INDEX=2", "POD="+pod.name)
		out, err := cmd.CombinedOutput()
		if got := strings.ReplaceAll(string(out), dir, "DIR"); err != nil || got != pod.want {
			t.Errorf("pod %s: %v\n%s\nwant\n%s", pod.name, err, got, pod.want)
		}
	}
}
