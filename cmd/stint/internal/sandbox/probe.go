package sandbox

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Finding is one thing that was tried on this host.
type Finding struct {
	Name   string
	OK     bool
	Detail string
	Hint   string // the way out when it is not OK
}

// Probe tries what this package needs of the host, for `stint doctor`. It takes about a second.
func Probe(ctx context.Context) []Finding {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	finding := func(name, detail string, err error) Finding {
		f := Finding{Name: name, OK: err == nil, Detail: detail}
		if err != nil {
			f.Detail = err.Error()
			var hint interface{ Hint() string }
			if errors.As(err, &hint) {
				f.Hint = hint.Hint()
			}
		}
		return f
	}
	sb, err := New(ctx, Options{Kind: KindBubblewrap})
	detail := ""
	if err == nil {
		began := time.Now()
		_, err = sb.Run(ctx, Command{Argv: []string{"true"}, Workspace: os.TempDir(), Timeout: 20 * time.Second})
		detail = sb.Fingerprint() + ", a start takes " + time.Since(began).Round(100*time.Microsecond).String()
	}
	out := []Finding{finding("sandbox bubblewrap", detail, err)}
	detail, err = probeEngine(ctx, exec.LookPath)
	out = append(out, finding("sandbox container", detail, err))
	for _, name := range []string{"python3", "node", "go"} {
		found, err := findRuntimes(ctx, Options{Runtimes: []string{name}, LookPath: exec.LookPath})
		detail := ""
		if err == nil {
			detail = found[0].version + " at " + found[0].path
		}
		out = append(out, finding("runtime "+name, detail, err))
	}
	return out
}

// probeEngine says which program can start containers here. Whether an image works is known when a study names it.
func probeEngine(ctx context.Context, lookPath func(string) (string, error)) (string, error) {
	var tried []string
	for _, name := range []string{"podman", "docker"} {
		path, err := lookPath(name)
		if err != nil {
			tried = append(tried, name+" is not installed")
			continue
		}
		// docker exits with 0 when nobody answers, but only for info without a format.
		version, err := containerOutput(ctx, path, "info", "--format", map[string]string{"podman": "{{.Version.Version}}", "docker": "{{.ServerVersion}}"}[name])
		if err == nil && version != "" {
			return name + "-" + version + " answers; a study names the image: sandbox: {kind: container, image: NAME@sha256:…}", nil
		}
		tried = append(tried, name+": "+version)
	}
	return "", &UnavailableError{KindContainer, strings.Join(tried, "; "), "it is needed only for images of your own: `apt-get install podman`"}
}
