package sandbox

import (
	"context"
	"errors"
	"os"
	"os/exec"
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
