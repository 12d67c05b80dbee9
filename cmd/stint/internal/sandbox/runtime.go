package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// runtimeFound is one runtime of this host: the real program behind the name, what must be visible for
// it to work, and what must be hidden so that only its standard library is seen.
type runtimeFound struct {
	name    string
	version string   // exact, digits and dots
	path    string   // the real executable, no shim
	binds   []string // host folders outside /usr that it needs, read-only at the same path
	hide    []string // folders of third-party packages
	keep    []string // parts of hidden folders that the runtime itself needs
}

// label is what SPEC.md calls it: "Python 3.11", "Node 20".
func (r runtimeFound) label() string {
	parts := strings.Split(r.version, ".")
	switch r.name {
	case "python3":
		return "Python " + strings.Join(parts[:min(2, len(parts))], ".")
	case "node":
		return "Node " + parts[0]
	case "go":
		return "Go " + strings.Join(parts[:min(2, len(parts))], ".")
	}
	if r.version == "" {
		return r.name
	}
	return r.name + " " + r.version
}

// wantedRuntimes names the runtimes to look for, sorted, and says whether those that nothing needs may be missing.
func (opt *Options) wantedRuntimes() (names []string, optional bool) {
	names, optional = opt.Runtimes, opt.Trusted
	if names == nil {
		names, optional = []string{"python3", "node"}, true
	}
	names = slices.Concat(names, opt.Needs)
	slices.Sort(names)
	return slices.Compact(names), optional
}

// findRuntimes resolves the runtimes of opt, sorted by name. In a trusted sandbox a missing one is left
// out, unless something there needs it.
func findRuntimes(ctx context.Context, opt Options) ([]runtimeFound, error) {
	names, optional := opt.wantedRuntimes()
	var found []runtimeFound
	for _, name := range names {
		path, err := opt.LookPath(name)
		if err == nil {
			var r runtimeFound
			if r, err = probeRuntime(ctx, name, path); err == nil {
				found = append(found, r)
				continue
			}
		}
		switch {
		case slices.Contains(opt.Needs, name):
			return nil, &UnavailableError{"runtime " + name, err.Error(), fmt.Sprintf("install %s: the servers of this study are written for it", name)}
		case !optional:
			return nil, &UnavailableError{"runtime " + name, err.Error(), fmt.Sprintf("install %s, or take it out of `sandbox: {runtimes: …}`", name)}
		}
	}
	return found, nil
}

func probeRuntime(ctx context.Context, name, path string) (runtimeFound, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	switch name {
	case "python3", "python":
		return probePython(ctx, name, path)
	case "node":
		return probeNode(ctx, path)
	case "go":
		return probeGo(ctx, path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return runtimeFound{}, err
	}
	r := runtimeFound{name: name, path: real, version: firstVersion(output(ctx, path, "--version"))}
	if !underUsr(real) {
		r.binds = []string{filepath.Dir(real)}
	}
	return r, nil
}

// The base interpreter is asked, not a virtual environment: its packages are third-party.
const pythonProbe = `import sys, sysconfig, json, os, site
base = getattr(sys, "_base_executable", None) or sys.executable
v = {"base_prefix": sys.base_prefix}
paths = {sysconfig.get_path(k, vars={"base": sys.base_prefix, "platbase": sys.base_exec_prefix}) for k in ("purelib", "platlib")}
paths.update(site.getsitepackages([sys.base_prefix, sys.base_exec_prefix]))
print(json.dumps({"exe": os.path.realpath(base), "prefix": sys.base_prefix, "exec_prefix": sys.base_exec_prefix,
  "version": ".".join(map(str, sys.version_info[:3])), "hide": sorted(p for p in paths if p)}))`

func probePython(ctx context.Context, name, path string) (runtimeFound, error) {
	out := output(ctx, path, "-I", "-c", pythonProbe)
	var p struct {
		Exe        string   `json:"exe"`
		Prefix     string   `json:"prefix"`
		ExecPrefix string   `json:"exec_prefix"`
		Version    string   `json:"version"`
		Hide       []string `json:"hide"`
	}
	if err := json.Unmarshal([]byte(out), &p); err != nil {
		return runtimeFound{}, fmt.Errorf("%s does not say where its standard library is", path)
	}
	r := runtimeFound{name: name, version: p.Version, path: p.Exe, hide: p.Hide}
	for _, prefix := range []string{p.Prefix, p.ExecPrefix} {
		if !underUsr(prefix) || prefix == "/usr/local" {
			r.binds = append(r.binds, prefix)
		}
	}
	r.hide = append(r.hide, debianPackages(p.Version)...)
	return r, nil
}

// debianPackages are the folders where Debian puts packages for every Python 3, whoever asks.
func debianPackages(version string) []string {
	parts := strings.Split(version, ".")
	minor := strings.Join(parts[:min(2, len(parts))], ".")
	return []string{"/usr/lib/python3/dist-packages", "/usr/local/lib/python" + minor + "/dist-packages",
		"/usr/local/lib/python" + minor + "/site-packages"}
}

// Distributions may keep parts of Node itself among the packages; the build configuration names them.
const nodeProbe = `JSON.stringify({exe: require("fs").realpathSync(process.execPath), version: process.versions.node,
  hide: require("module").globalPaths, builtin: process.config.variables.node_builtin_shareable_builtins || []})`

func probeNode(ctx context.Context, path string) (runtimeFound, error) {
	out := output(ctx, path, "-p", nodeProbe)
	var p struct {
		Exe     string   `json:"exe"`
		Version string   `json:"version"`
		Hide    []string `json:"hide"`
		Builtin []string `json:"builtin"`
	}
	if err := json.Unmarshal([]byte(out), &p); err != nil {
		return runtimeFound{}, fmt.Errorf("%s does not say where it is", path)
	}
	exe, hide := p.Exe, p.Hide
	r := runtimeFound{name: "node", version: p.Version, path: exe}
	for _, file := range p.Builtin {
		if filepath.IsAbs(file) {
			r.keep = append(r.keep, filepath.Dir(file))
		}
	}
	prefix := filepath.Dir(filepath.Dir(exe))
	hide = append(hide, filepath.Join(prefix, "lib/node_modules"), "/usr/share/nodejs", "/usr/share/node_modules",
		"/usr/lib/node_modules", "/usr/local/lib/node_modules")
	for _, h := range hide {
		if strings.HasPrefix(h, "/usr/") || strings.HasPrefix(h, prefix+"/") {
			r.hide = append(r.hide, h)
		}
	}
	if !underUsr(exe) {
		r.binds = []string{exe} // the one binary is enough
	}
	return r, nil
}

func probeGo(ctx context.Context, path string) (runtimeFound, error) {
	lines := strings.Split(strings.TrimSpace(output(ctx, path, "env", "GOROOT", "GOVERSION")), "\n")
	if len(lines) != 2 || lines[0] == "" {
		return runtimeFound{}, fmt.Errorf("%s does not say where its standard library is", path)
	}
	root := lines[0]
	r := runtimeFound{name: "go", version: strings.TrimPrefix(lines[1], "go"), path: filepath.Join(root, "bin/go")}
	if !underUsr(root) {
		r.binds = []string{root}
	}
	return r, nil
}

var versionRE = regexp.MustCompile(`\d+(\.\d+)+`)

func firstVersion(s string) string { return versionRE.FindString(s) }

func output(ctx context.Context, path string, args ...string) string {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "PYTHONNOUSERSITE=1", "GOTOOLCHAIN=local", "NODE_PATH=", "GOFLAGS=")
	cmd.WaitDelay = time.Second
	b, err := cmd.Output()
	if err != nil {
		return ""
	}
	return string(b)
}

// underUsr tells whether the standard binds of the sandbox already show path. /usr/local is not among
// them: what lies there differs from host to host.
func underUsr(path string) bool {
	return path == "/usr" || strings.HasPrefix(path, "/usr/") && !strings.HasPrefix(path+"/", "/usr/local/")
}
