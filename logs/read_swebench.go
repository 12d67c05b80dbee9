package logs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

func sweBenchFormat() Format {
	return Format{Name: "swe-bench", Title: "SWE-bench predictions and reports", recognise: claimSWEBench, read: readSWEBench}
}

// sweRoot is the folder in which an evaluation was started: its logs lie in logs/run_evaluation/RUN/MODEL/INSTANCE, and
// predictions and the report of the run beside logs.
func sweRoot(h *head) (root string, inRun bool) {
	dir := h.dir() + "/"
	i := strings.Index("/"+dir, "/run_evaluation/")
	if i < 0 {
		return h.dir(), false
	}
	above := path.Clean("./" + dir[:i])
	if path.Base(above) == "logs" {
		above = path.Dir(above)
	}
	return above, true
}

func claimSWEBench(h *head) (claim, bool) {
	root, inRun := sweRoot(h)
	c := claim{dir: root}
	d := h.document()
	switch {
	case h.lines && d == nil && h.any(isPrediction) != nil, h.lines && d != nil && isPrediction(d):
		c.part = "predictions.jsonl"
	case d != nil && !h.lines && (d.has("[].instance_id", "[].model_patch") || d.hasUnder(".instance_id", ".model_patch")):
		c.part = "predictions.json"
	case d != nil && d.has("total_instances", "submitted_instances", "resolved_instances"):
		c.part = "run.json"
	case d != nil && d.hasUnder(".patch_successfully_applied", ".resolved"):
		c.part = "report.json"
	case inRun && (h.base() == "patch.diff" || h.base() == "run_instance.log"):
		c.part = h.base()
	case inRun && (h.base() == "test_output.txt" || h.base() == "eval.sh"):
		c.beside = true
	default:
		return claim{}, false
	}
	return c, true
}

func isPrediction(f fields) bool { return f.has("instance_id", "model_patch") }

// hasUnder says whether there are paths of two parts that end so.
func (f fields) hasUnder(ends ...string) bool {
	for _, end := range ends {
		found := false
		for p := range f {
			if found = strings.HasSuffix(p, end) && !strings.Contains(p, "[]"); found {
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// sweTrial is all that is known of one instance in one run.
type sweTrial struct {
	run, model, instance string

	at  Place // of what says most
	sha string

	patch   *swePatch
	status  string // resolved, unresolved, error, empty_patch, incomplete; "" = nobody says
	report  *sweReport
	log     *string // the end of run_instance.log
	why     string  // of an infrastructure's failure
	placeOf int     // 1 prediction, 2 run, 3 report
}

type swePatch struct {
	text           string
	added, deleted int64
	files          int
	at             Place
	sha            string
}

type sweReport struct {
	PatchIsNone bool   `json:"patch_is_None"`
	Applied     bool   `json:"patch_successfully_applied"`
	Resolved    *bool  `json:"resolved"`
	Infra       bool   `json:"infra_failure"`
	InfraReason string `json:"infra_failure_reason"`
	Tests       map[string]struct {
		Success []string `json:"success"`
		Failure []string `json:"failure"`
	} `json:"tests_status"`
}

type sweReader struct {
	*rowSink
	trials  map[[3]string]*sweTrial
	patches map[[2]string]*swePatch // by model and instance
}

// readSWEBench joins predictions, reports of instances and reports of runs: an episode for every instance of every run,
// and for every prediction that no run has judged.
func readSWEBench(in *logInput, out *rowSink) error {
	out.explicit = true
	r := sweReader{rowSink: out, trials: map[[3]string]*sweTrial{}, patches: map[[2]string]*swePatch{}}
	for i := range in.files {
		f := &in.files[i]
		switch f.part {
		case "predictions.jsonl":
			out.jsonLines(loneFile(f.part, f), f.part, func(raw []byte) error { return r.prediction("", raw) })
		case "predictions.json":
			r.each(f, r.prediction)
		case "report.json":
			r.each(f, func(instance string, raw []byte) error { return r.instance(f, instance, raw) })
		case "run.json":
			out.document(loneFile(f.part, f), f.part, func(raw []byte) error { return r.run(f, raw) })
		case "patch.diff", "run_instance.log":
			r.text(f)
		}
	}
	judged := map[[2]string]bool{}
	for _, t := range r.trials {
		judged[[2]string{t.model, t.instance}] = true
		t.patch = r.patches[[2]string{t.model, t.instance}]
	}
	for key, p := range r.patches {
		if !judged[key] {
			t := r.trial("", key[0], key[1], 1)
			t.patch, t.at, t.sha = p, p.at, p.sha
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(r.trials), func(a, b [3]string) int { return slices.Compare(a[:], b[:]) }) {
		if out.stopped() {
			return nil
		}
		r.tell(r.trials[k])
	}
	return nil
}

// each calls f for every member of a document, with the place set.
func (r *sweReader) each(file *inputFile, f func(key string, raw []byte) error) {
	data, ok := r.wholeFile(file, path.Base(file.path))
	if !ok {
		return
	}
	err := eachMember(data, func(key string, at int64, raw []byte) error {
		r.place(file.path, at, raw)
		r.read(raw)
		if err := f(key, raw); err != nil {
			r.unreadable(0, "%q of %s: %s", clip(key, 80), path.Base(file.path), clip(err.Error(), 200))
		}
		return nil
	})
	if err != nil {
		r.unreadable(0, "%s: %s", path.Base(file.path), clip(err.Error(), 200))
	}
}

// eachMember walks through the members of a JSON object, or the elements of a list, whose key is "".
func eachMember(data []byte, f func(key string, at int64, raw []byte) error) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	open, err := dec.Token()
	if err != nil || open != json.Delim('{') && open != json.Delim('[') {
		return fmt.Errorf("it is no JSON object or list")
	}
	var raw json.RawMessage
	for dec.More() {
		key := ""
		if open == json.Delim('{') {
			t, err := dec.Token()
			if err != nil {
				return err
			}
			key, _ = t.(string)
		}
		if err := dec.Decode(&raw); err != nil {
			return err
		}
		if err := f(key, dec.InputOffset()-int64(len(raw)), raw); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return err
}

// sweModel is a model's name as predictions have it; in the names of files each / is written __.
func sweModel(s string) string { return strings.ReplaceAll(s, "__", "/") }

// trial is what is known of an instance; from says which kind of file speaks.
func (r *sweReader) trial(run, model, instance string, from int) *sweTrial {
	key := [3]string{run, model, instance}
	t := r.trials[key]
	if t == nil {
		t = &sweTrial{run: run, model: model, instance: instance}
		r.trials[key] = t
	}
	if from > t.placeOf {
		t.placeOf, t.at, t.sha = from, r.at, r.sha
	}
	return t
}

func (r *sweReader) prediction(key string, raw []byte) error {
	var p struct {
		Instance string  `json:"instance_id"`
		Model    string  `json:"model_name_or_path"`
		Patch    *string `json:"model_patch"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return err
	}
	instance := cmp.Or(p.Instance, key)
	if instance == "" {
		return fmt.Errorf("it names no instance_id")
	}
	r.patches[[2]string{sweModel(p.Model), instance}] = r.newPatch(p.Patch)
	return nil
}

func (r *sweReader) newPatch(patch *string) *swePatch {
	p := &swePatch{at: r.at, sha: r.sha}
	if patch != nil {
		p.text = preview(*patch)
		p.added, p.deleted, p.files = patchLines([]byte(*patch))
	}
	return p
}

// ofRun are run, model and instance by the folder of a file; "" where it does not say.
func ofRun(file string) (run, model, instance string) {
	parts := strings.Split(path.Dir(file), "/")
	if n := len(parts); n >= 3 {
		return parts[n-3], sweModel(parts[n-2]), parts[n-1]
	}
	return "", "", path.Base(path.Dir(file))
}

func (r *sweReader) instance(f *inputFile, instance string, raw []byte) error {
	var rep sweReport
	if err := json.Unmarshal(raw, &rep); err != nil {
		return err
	}
	run, model, _ := ofRun(f.path)
	t := r.trial(run, model, instance, 3)
	t.report = &rep
	return nil
}

// text is a patch, or the log of an instance, in the folder of the instance.
func (r *sweReader) text(f *inputFile) {
	data, ok := r.wholeFile(f, path.Base(f.path))
	if !ok {
		return
	}
	run, model, instance := ofRun(f.path)
	t := r.trial(run, model, instance, 0)
	if t.placeOf == 0 {
		t.at, t.sha = r.at, r.sha
	}
	if f.part == "run_instance.log" {
		tail := strings.ToValidUTF8(string(data[max(0, len(data)-tailBytes):]), "\uFFFD")
		t.log = &tail
		return
	}
	patch := string(data)
	if key := [2]string{model, instance}; r.patches[key] == nil {
		r.patches[key] = r.newPatch(&patch)
	}
}

func (r *sweReader) run(f *inputFile, raw []byte) error {
	var rep map[string]json.RawMessage
	if err := json.Unmarshal(raw, &rep); err != nil {
		return err
	}
	// The file is called MODEL.RUN.json.
	model, run := strings.TrimSuffix(path.Base(f.path), ".json"), ""
	if i := strings.LastIndexByte(model, '.'); i > 0 {
		model, run = model[:i], model[i+1:]
	}
	model = sweModel(model)
	reasons := map[string]string{}
	_ = json.Unmarshal(rep["failure_reasons"], &reasons)
	// Of incomplete_ids there is no prediction: nobody tried, and there is no episode.
	for _, status := range []string{"error", "empty_patch", "unresolved", "resolved"} {
		var ids []string
		if err := json.Unmarshal(rep[status+"_ids"], &ids); err != nil && rep[status+"_ids"] != nil {
			r.unreadable(0, "%s_ids is no list of texts", status)
		}
		for _, id := range ids {
			t := r.trial(run, model, id, 2)
			t.status, t.why = status, reasons[id]
		}
	}
	return nil
}

// tell makes the episode of an instance.
func (r *sweReader) tell(t *sweTrial) {
	r.at, r.sha, r.time = t.at, t.sha, nil
	r.beginEpisode(t.run+" "+t.model+" "+t.instance, EpisodeRow{Study: t.run, Model: t.model, Config: cmp.Or(t.model, "unknown"), Scenario: t.instance})
	a := r.beginTurn(0)
	empty := t.status == "empty_patch" || t.report != nil && t.report.PatchIsNone
	if p := t.patch; p != nil {
		r.at, r.sha = p.at, p.sha
		r.modelSaid(p.text)
		a.LinesAdded, a.LinesDeleted, a.Files = &p.added, &p.deleted, &p.files
		none := strings.TrimSpace(p.text) == ""
		if none && t.report != nil && t.report.Applied {
			r.unreadable(0, "the patch is empty, though it was applied")
		}
		empty = empty || none
		r.at, r.sha = t.at, t.sha
	}
	if empty {
		a.Completion = text("empty")
	}
	g := trialGrade{}
	if rep := t.report; rep != nil {
		g.checks = r.tests(rep)
		r.graded(pairs("resolved", fmt.Sprint(rep.Resolved != nil && *rep.Resolved), "patch_applied", fmt.Sprint(rep.Applied)))
		if t.why = cmp.Or(t.why, rep.InfraReason); rep.Infra && t.why == "" {
			t.why = "infra_failure"
		}
		if rep.Resolved != nil {
			g.value = passGrade(*rep.Resolved)
		}
		if !rep.Applied {
			g.reason = "build"
		}
	} else if t.status != "" {
		r.graded("status=" + t.status)
	}
	switch {
	case g.value != nil:
	case t.status == "resolved":
		g.value = passGrade(true)
	case t.status == "unresolved", empty && t.status != "":
		g.value = passGrade(false)
	case t.log != nil && strings.Contains(*t.log, ">>>>> Patch Apply Failed"): // it counts among the errors, and is the model's doing
		g.value, g.reason = passGrade(false), "build"
	case t.status == "error", t.placeOf == 0 && t.log != nil:
		g.stopped = "bench"
	}
	if t.why != "" {
		r.harnessSaid(EventNotice, "infra_failure: "+clip(t.why, 200))
	}
	if t.log != nil && t.report == nil {
		r.quoted("verifier", "run_instance.log: "+*t.log)
	}
	r.gradeTrial(g)
}

// tests makes a failed check of every test that decides and failed. Those that the change was to make pass are new,
// those that it was to leave alone are old.
func (r *sweReader) tests(rep *sweReport) (checks int) {
	for _, kind := range []string{"FAIL_TO_PASS", "PASS_TO_PASS"} {
		of := rep.Tests[kind]
		checks += len(of.Success) + len(of.Failure)
		age := "new"
		if kind == "PASS_TO_PASS" {
			age = "old"
		}
		for _, test := range of.Failure {
			r.failedCheck(CheckRow{Check: test, Category: kind, Age: age})
		}
	}
	return checks
}
