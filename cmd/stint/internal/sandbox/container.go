package sandbox

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// containerProgram is the installed podman or docker, how it works here, and the image.
type containerProgram struct {
	path    string
	name    string // podman or docker
	version string
	image   string
	extra   []string // options that this host needs
}

// insideStart is the folder in which a container finds stint and the socket to us when it starts. Both are gone before
// the command begins.
const insideStart = "/run/stint-start"

const (
	startBinary  = "stint"
	startSocket  = "socket"
	containerUp  = time.Minute      // for a container to come up
	containerEnd = 20 * time.Second // for a container to end when it is told to
)

// imageForm is an image by digest, or by the hash that is its id.
var imageForm = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._:/-]*@)?sha256:[0-9a-f]{64}$`)

// ValidImage says whether an image is named in a way that always means the same one.
func ValidImage(image string) bool { return imageForm.MatchString(image) }

// containerVariants are sets of options of which some hosts need one. The defaults come first: with them more files can
// be open. Older versions want to raise limits that they may not; crun refuses hosts with cgroups of both versions.
var containerVariants = [][]string{
	nil,
	{"--ulimit", "nofile=1024:1024", "--ulimit", "nproc=4096:4096"},
	{"--runtime", "runc", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=4096:4096"},
}

// tryContainer finds a program, its image, and the options with which a container runs here.
func (s *Sandbox) tryContainer(ctx context.Context) error {
	unavailable := func(reason, way string) error { return &UnavailableError{KindContainer, reason, way} }
	image := s.opt.Image
	if !ValidImage(image) {
		return unavailable(fmt.Sprintf("the image %q is not named by its digest", image),
			"write sandbox: {kind: container, image: NAME@sha256:…}; `podman image inspect --format '{{.Digest}}' NAME` prints it")
	}
	var tried []string
	for _, name := range []string{"podman", "docker"} {
		path, err := s.opt.LookPath(name)
		if err != nil {
			tried = append(tried, name+" is not installed")
			continue
		}
		if said, err := containerOutput(ctx, path, "image", "inspect", "--format", "{{.Id}}", image); err != nil {
			tried = append(tried, name+": the image is not here: "+said)
			continue
		}
		s.kind = KindContainer
		for _, extra := range containerVariants {
			version, _ := containerOutput(ctx, path, "--version")
			s.container = containerProgram{path: path, name: name, version: firstVersion(version), image: image, extra: extra}
			err := s.probe(ctx, time.Minute)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err == nil {
				_, err := s.runtimes()
				return err
			}
			tried = append(tried, strings.TrimSpace(name+" "+strings.Join(extra, " "))+": "+err.Error())
		}
	}
	return unavailable(strings.Join(tried, "; "), "install podman (`apt-get install podman`) and load the image (`podman pull IMAGE`, `podman build`, "+
		"or a root folder: `tar -C ROOT -c . | podman import - NAME`); or use `sandbox: bubblewrap`")
}

// containerOutput runs the program for a short answer; when it fails, the answer is the last line of its complaint.
func containerOutput(ctx context.Context, path string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = time.Second
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return lastLine([]byte(stderr.String())), err
	}
	return strings.TrimSpace(string(out)), nil
}

// containerRuntimes asks the image for the runtimes: those of the host are not visible.
func (s *Sandbox) containerRuntimes(ctx context.Context) ([]runtimeFound, error) {
	names, optional := s.opt.wantedRuntimes()
	var found []runtimeFound
	for _, name := range names {
		const ask = `p=$(command -v "$1") || exit 9; echo "$p"; "$1" --version 2>/dev/null || "$1" version`
		exit, err := s.runEmpty(ctx, time.Minute, "/bin/sh", "-c", ask, "sh", name)
		if err != nil {
			return nil, err
		}
		path, version, _ := strings.Cut(string(exit.Stdout), "\n")
		switch {
		case exit.Code != nil && *exit.Code != 9 && path != "":
			found = append(found, runtimeFound{name: name, path: path, version: firstVersion(version)})
		case slices.Contains(s.opt.Needs, name), !optional:
			return nil, &UnavailableError{"runtime " + name, "it is not in the image", fmt.Sprintf("build an image with %s, or take it out of `sandbox: {runtimes: …}`", name)}
		}
	}
	return found, nil
}

// containerArgs is the command line. The process has all rights taken from it; it is root's, so that the files of the
// workspace are its own, or those of whoever runs stint where docker maps no users.
func (s *Sandbox) containerArgs(c Command, l Limits, start, name string) ([]string, error) {
	user := "0:0"
	if s.container.name == "docker" && os.Geteuid() != 0 {
		user = fmt.Sprintf("%d:%d", os.Geteuid(), os.Getegid())
	}
	megabytes := func(n int64) string { return strconv.FormatInt(max(n>>20, 16), 10) + "m" }
	memory := megabytes(l.Memory + l.Memory/4) // the watcher comes first and says why
	a := []string{
		"run", "--rm", "--name", name, "--pull", "never", "--log-driver", "none", "--network", "none", "--hostname", "sandbox",
		"--read-only", "--cap-drop", "all", "--security-opt", "no-new-privileges", "--security-opt", "label=disable", "--user", user,
		"--memory", memory, "--memory-swap", memory, "--pids-limit", strconv.Itoa(l.Processes + 64), "--shm-size", megabytes(l.Memory / 4),
		"--tmpfs", "/tmp:rw,mode=1777,size=" + megabytes(l.Memory/4), "--tmpfs", "/run:rw,mode=755,size=1m",
		"--ulimit", "core=0:0", "--ulimit", fmt.Sprintf("data=%d:%[1]d", l.Memory), "--ulimit", fmt.Sprintf("fsize=%d:%[1]d", l.FileSize),
	}
	if s.container.name == "podman" {
		a = append(a, "--read-only-tmpfs=false", "--http-proxy=false", "--image-volume", "ignore")
	}
	if l.CPU > 0 {
		a = append(a, "--ulimit", fmt.Sprintf("cpu=%d:%[1]d", int64((l.CPU+time.Second-1)/time.Second)))
	}
	if c.Stdin != nil {
		a = append(a, "--interactive")
	}
	a = append(a, s.container.extra...)
	a = append(a, bindArgs(start, insideStart, true)...)
	a = append(a, bindArgs(c.Workspace, insideWorkspace, true)...)
	if c.Home != "" {
		a = append(a, bindArgs(c.Home, insideHome, true)...)
	} else {
		a = append(a, "--tmpfs", insideHome+":rw,mode=777,size="+megabytes(l.Memory/4))
	}
	if s.opt.Trusted || c.Own {
		a = append(a, bindArgs(s.opt.Stint, insideStint, false)...)
	}
	port, socket := "0", "-"
	if f := c.Forward; f != nil {
		a = append(a, bindArgs(filepath.Dir(f.Socket), insideGateway, false)...)
		port, socket = strconv.Itoa(f.Port), insideGateway+"/"+filepath.Base(f.Socket)
	}
	if c.Interpreter != "" {
		extra, err := s.interpreter(c.Interpreter)
		if err != nil {
			return nil, err
		}
		for _, b := range extra.binds {
			a = append(a, bindArgs(b, b, false)...)
		}
	}
	for _, b := range c.Binds {
		if _, err := os.Stat(b.Host); err != nil { // some engines would make a folder
			return nil, err
		}
		a = append(a, bindArgs(b.Host, b.Inside, b.Writable)...)
	}
	for _, kv := range append(append(s.Environ(), "HOME="+insideHome), c.Env...) {
		a = append(a, "--env", kv)
	}
	merge := "apart"
	if c.Merge {
		merge = "merged"
	}
	a = append(a, "--workdir", insideWorkspace, "--entrypoint", insideStart+"/"+startBinary, s.container.image, ContainedVerb, merge, port, socket)
	argv := slices.Clone(c.Argv)
	if argv[0] == s.opt.Stint {
		argv[0] = insideStint
	}
	return append(a, argv...), nil
}

// bindArgs shows a host folder or file inside. Values are CSV fields.
func bindArgs(host, inside string, writable bool) []string {
	field := func(k, v string) string {
		if strings.ContainsAny(v, ",\"\n") {
			return `"` + strings.ReplaceAll(k+"="+v, `"`, `""`) + `"`
		}
		return k + "=" + v
	}
	v := "type=bind," + field("source", host) + "," + field("target", inside)
	if !writable {
		v += ",readonly"
	}
	return []string{"--mount", v}
}

// startContainer starts a container, learns its first process, and lets the command begin.
func (r *running) startContainer() (err error) {
	s := r.sandbox
	if r.folder, err = os.MkdirTemp("", "stint-start-"); err != nil {
		return &SpawnError{What: s.container.name, Err: err}
	}
	fail := func(err error) error {
		os.RemoveAll(r.folder)
		return &SpawnError{What: s.container.name, Err: err, Way: "stint doctor tries the sandboxes of this machine"}
	}
	if err := placeStint(s.opt.Stint, filepath.Join(r.folder, startBinary)); err != nil {
		return fail(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(r.folder, startSocket), Net: "unix"})
	if err != nil {
		return fail(err)
	}
	defer l.Close()
	l.SetUnlinkOnClose(false)
	id := make([]byte, 8)
	for i := range id {
		id[i] = byte(rand.IntN(256))
	}
	r.name = "stint-" + hex.EncodeToString(id)
	args, err := s.containerArgs(r.command, r.limits, r.folder, r.name)
	if err != nil {
		return fail(err)
	}
	r.cmd = exec.Command(s.container.path, args...)
	r.cmd.Dir = "/"
	if err := r.start(); err != nil {
		os.RemoveAll(r.folder)
		return err
	}
	done := make(chan error, 1)
	r.done = done
	go func() {
		err := r.cmd.Wait()
		l.Close() // it ended: nobody will come
		done <- err
	}()
	_ = l.SetDeadline(time.Now().Add(containerUp))
	conn, err := l.AcceptUnix()
	if err == nil {
		r.child, err = peer(conn)
	}
	if err == nil {
		_, err = conn.Write([]byte{goOn})
	}
	if err != nil {
		if conn != nil {
			conn.Close()
		}
		r.endContainer(done)
		unregister(r.cmd.Process.Pid)
		r.closeReaders()
		if said := r.stderr.Lines(1, 1000); said != "" {
			err = errors.New(said)
		}
		return fail(err)
	}
	r.conn = conn
	ch := make(chan status, 1)
	r.status = ch
	go func() { ch <- status{report: readReport(conn)} }()
	return nil
}

// placeStint puts our executable under a second name, by a copy where a link cannot be.
func placeStint(from, to string) error {
	if real, err := filepath.EvalSymlinks(from); err == nil && os.Link(real, to) == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

// peer is the process at the other end, by the number it has for us.
func peer(conn *net.UnixConn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) { cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil {
		return 0, err
	}
	if credErr != nil {
		return 0, fmt.Errorf("asking who is in the container: %w", credErr)
	}
	return int(cred.Pid), nil
}

// endContainer ends the container, and waits until the program that started it has gone.
func (r *running) endContainer(done <-chan error) {
	if r.conn != nil {
		r.conn.Close() // its first process goes, and everything with it
	}
	t := time.NewTimer(containerEnd)
	defer t.Stop()
	if r.conn != nil {
		select {
		case <-done:
			return
		case <-t.C:
		}
	}
	_, _ = containerOutput(context.Background(), r.sandbox.container.path, "rm", "--force", "--volumes", r.name) // it may not exist
	_ = r.cmd.Process.Kill()
	<-done
}
