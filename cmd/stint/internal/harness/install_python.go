package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// probeInterpreter prints an interpreter's minor version, whole version, the file behind it, and what it lacks for a
// virtual environment that can download.
const probeInterpreter = `import os, sys
lacks = []
for m in ("venv", "ensurepip", "ssl"):
    try: __import__(m)
    except Exception: lacks.append(m)
exe = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
print("%d.%d" % sys.version_info[:2], "%d.%d.%d" % sys.version_info[:3], exe, ",".join(lacks), sep="\t")`

// noPython says that no interpreter fits: where was looked, and what was found instead.
type noPython struct {
	version string
	found   []string // interpreters that do not fit, each with the reason
	places  []string
	lacks   string // module that one of the right version lacks
}

func (e *noPython) Error() string {
	text := fmt.Sprintf("needs Python %s; looked at python%s and python3 on PATH, in %s", e.version, e.version, strings.Join(e.places, ", "))
	if len(e.found) > 0 {
		text += "; found " + strings.Join(e.found, ", ")
	}
	return text
}

// python finds an interpreter of a minor version that can make virtual environments: on PATH, where distributions put
// theirs, then where pyenv and uv keep theirs. The error is a *noPython.
func (in Installer) python(ctx context.Context, version string) (string, error) {
	none := &noPython{version: version}
	var tries []string
	for _, name := range []string{"python" + version, "python3"} {
		if p, err := in.lookPath(name); err == nil {
			tries = append(tries, p)
		}
	}
	glob := in.Glob
	if glob == nil {
		glob = func(p string) []string { found, _ := filepath.Glob(p); return found } // the patterns are well formed
	}
	for _, place := range in.pythonPlaces(version) {
		none.places = append(none.places, place[0])
		tries = append(tries, glob(filepath.Join(place[0], place[1], "python"+version))...)
	}
	seen := map[string]bool{}
	for _, p := range tries {
		if seen[p] {
			continue
		}
		seen[p] = true
		out, err := in.output(ctx, p, "-I", "-c", probeInterpreter)
		f := strings.Split(strings.TrimSpace(out), "\t")
		for len(f) < 4 {
			f = append(f, "")
		}
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case err != nil:
			none.found = append(none.found, p+" (which does not run: "+reasonOf(err)+")")
		case f[0] != version:
			none.found = append(none.found, fmt.Sprintf("%s (%s)", p, cmp.Or(clip(f[1], 20), "no Python 3")))
		case f[3] != "":
			none.lacks, _, _ = strings.Cut(f[3], ",")
			none.found = append(none.found, fmt.Sprintf("%s (%s without its module %s)", p, clip(f[1], 20), clip(none.lacks, 20)))
		default:
			return f[2], nil
		}
	}
	return "", none
}

// pythonPlaces are folders beside those of PATH, each with the pattern of the folder of the programs below it.
func (in Installer) pythonPlaces(version string) [][2]string {
	home := in.getenv("HOME")
	data := cmp.Or(in.getenv("XDG_DATA_HOME"), filepath.Join(home, ".local/share"))
	uv := filepath.Join("cpython-"+version+".*", "bin")
	places := [][2]string{
		{"/usr/local/bin", ""}, {"/usr/bin", ""},
		{filepath.Join(cmp.Or(in.getenv("PYENV_ROOT"), filepath.Join(home, ".pyenv")), "versions"), filepath.Join(version+".*", "bin")},
		{filepath.Join(data, "uv/python"), uv},
	}
	if own := in.getenv("UV_PYTHON_INSTALL_DIR"); own != "" {
		places = slices.Insert(places, 3, [2]string{own, uv})
	}
	return places
}

// reasonOf is why a program did not run, in few words.
func reasonOf(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		line, _, _ := strings.Cut(strings.TrimSpace(string(exit.Stderr)), "\n")
		return clip(lastWords([]byte(line)), 80)
	}
	return clip(err.Error(), 80)
}

// pythonWay says which tool or package of this machine provides the interpreter.
func (in Installer) pythonWay(ctx context.Context, e *noPython) string {
	has := func(name string) string { p, _ := in.lookPath(name); return p }
	apt := has("apt-cache")
	if e.lacks != "" && e.lacks != "ssl" && apt != "" {
		return fmt.Sprintf("`apt-get install python%s-venv`, then run the same command again", e.version)
	}
	var ways []string
	if has("uv") != "" {
		ways = append(ways, "`uv python install "+e.version+"`")
	}
	if has("pyenv") != "" {
		ways = append(ways, "`pyenv install "+e.version+"`")
	}
	if apt != "" {
		if _, err := in.output(ctx, apt, "show", "--no-all-versions", "python"+e.version); err == nil {
			ways = append(ways, fmt.Sprintf("`apt-get install python%s python%s-venv`", e.version, e.version))
		}
	}
	if has("dnf") != "" {
		ways = append(ways, "`dnf install python"+e.version+"`")
	}
	if len(ways) == 0 {
		return fmt.Sprintf("`python3 -m pip install --user uv` and `python3 -m uv python install %s` provide it; then run the same command again", e.version)
	}
	return strings.Join(ways, " or ") + " provides it; then run the same command again"
}
