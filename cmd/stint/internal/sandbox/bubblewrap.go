package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// bwrapProgram is the installed bubblewrap and what it can do.
type bwrapProgram struct {
	path          string
	version       string
	size          bool // --size: tmpfs with a bound
	disableUserns bool // --disable-userns
}

func findBubblewrap(ctx context.Context, opt Options) (bwrapProgram, error) {
	path, err := opt.LookPath("bwrap")
	if err != nil {
		return bwrapProgram{}, &UnavailableError{KindBubblewrap, "the program bwrap is not installed",
			"install it (`apt-get install bubblewrap`, `dnf install bubblewrap`), or ask for `sandbox: none`"}
	}
	help := output(ctx, path, "--help")
	for _, needed := range []string{"--json-status-fd", "--block-fd", "--clearenv", "--as-pid-1"} {
		if !strings.Contains(help, needed) {
			return bwrapProgram{}, &UnavailableError{KindBubblewrap, "the installed bwrap is too old: it has no " + needed,
				"install bubblewrap 0.5 or newer, or ask for `sandbox: none`"}
		}
	}
	return bwrapProgram{
		path:          path,
		version:       firstVersion(output(ctx, path, "--version")),
		size:          strings.Contains(help, "--size"),
		disableUserns: strings.Contains(help, "--disable-userns"),
	}, nil
}

// bubblewrapWayOut guesses from the kernel's settings why namespaces are refused.
func bubblewrapWayOut() string {
	const none = "or ask for `sandbox: none`"
	setting := func(path string) string {
		b, err := os.ReadFile(path)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(b))
	}
	switch {
	case setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1":
		return "AppArmor forbids user namespaces here: `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`, " + none
	case setting("/proc/sys/kernel/unprivileged_userns_clone") == "0":
		return "user namespaces are switched off: `sudo sysctl kernel.unprivileged_userns_clone=1`, " + none
	case setting("/proc/sys/user/max_user_namespaces") == "0":
		return "user namespaces are switched off: `sudo sysctl user.max_user_namespaces=10000`, " + none
	}
	return "inside a container start it with the right to make namespaces (docker: `--privileged`), " + none
}

// etcFile is a file of the private /etc.
type etcFile struct{ name, text string }

// etcFiles is all the sandbox knows about users and hosts; nothing of the machine's own /etc but links.
var etcFiles = []etcFile{
	{"passwd", "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\nagent:x:1000:1000:agent:/home/agent:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
	{"group", "root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n"},
	{"hosts", "127.0.0.1 localhost sandbox\n"},
	{"nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"},
	{"resolv.conf", ""},
}

// bwrapFDs are the descriptors bwrap inherits, by number inside it.
type bwrapFDs struct {
	status, block int
	ready, gate   int   // see insideGate; single digits, since plain shells know no others
	etc           []int // one per etcFile
	stint         int   // our own executable, where it is the first process; 0 = none
	report        int   // of the first process of a Work with a Forward; 0 = none
}

// bwrapArgs builds the command line. The order matters: later mounts lie on earlier ones, and the root is
// made read-only last.
func (s *Sandbox) bwrapArgs(c Command, fds bwrapFDs) ([]string, error) {
	a := []string{
		"--unshare-all", "--unshare-user", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
		"--uid", "1000", "--gid", "1000", "--hostname", "sandbox", "--clearenv",
		"--json-status-fd", strconv.Itoa(fds.status), "--block-fd", strconv.Itoa(fds.block),
	}
	if s.bwrap.disableUserns {
		a = append(a, "--disable-userns")
	}
	if c.Role == Grade || c.Forward != nil {
		a = append(a, "--as-pid-1")
	}
	a = append(a, "--ro-bind", "/usr", "/usr")
	for _, dir := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		a = append(a, usrMerge(dir)...)
	}
	// For root outside, /proc/sys would be writable in spite of the user namespace.
	a = append(a, "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev")
	a = append(a, s.tmpfs("/tmp", 0)...)
	a = append(a, s.tmpfs("/dev/shm", 0)...)
	a = append(a, s.tmpfs("/run", 1<<20)...)
	for i, fd := range fds.etc {
		a = append(a, "--file", strconv.Itoa(fd), "/etc/"+etcFiles[i].name)
	}
	a = append(a, "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache", "--ro-bind-try", "/etc/alternatives", "/etc/alternatives")
	toolchain, err := s.toolchainArgs(c.Interpreter)
	if err != nil {
		return nil, err
	}
	a = append(a, toolchain...)
	if s.opt.Trusted || c.Own {
		a = append(a, "--ro-bind", s.opt.Stint, insideStint)
	}
	a = append(a, "--bind", c.Workspace, insideWorkspace)
	if c.Home != "" {
		a = append(a, "--bind", c.Home, insideHome)
	} else {
		a = append(a, s.tmpfs(insideHome, 0)...)
	}
	if c.Forward != nil {
		a = append(a, "--ro-bind", filepath.Dir(c.Forward.Socket), insideGateway)
	}
	for _, b := range c.Binds {
		flag := "--ro-bind"
		if b.Writable {
			flag = "--bind"
		}
		a = append(a, flag, b.Host, b.Inside)
	}
	// Whatever else is a tmpfs would take unbounded memory.
	a = append(a, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", insideWorkspace)
	for _, kv := range append(append(s.Environ(), "HOME="+insideHome), c.Env...) {
		k, v, _ := strings.Cut(kv, "=")
		a = append(a, "--setenv", k, v)
	}
	argv := slices.Clone(c.Argv)
	if f := c.Forward; f != nil {
		argv = append([]string{insideStint, InitVerb, strconv.Itoa(f.Port), insideGateway + "/" + filepath.Base(f.Socket), strconv.Itoa(fds.report)}, argv...)
	}
	if argv[0] == s.opt.Stint || argv[0] == insideStint {
		argv[0] = insideStint
		if fds.stint != 0 {
			argv[0] = "/proc/self/fd/" + strconv.Itoa(fds.stint)
		}
	}
	a = append(a, "--", "/bin/sh", "-c", fmt.Sprintf(insideGate, fds.ready, fds.gate, fds.ready, fds.gate), "sh")
	return append(a, argv...), nil
}

// insideGate says that the sandbox is complete and becomes the command when we answer. While bwrap sets things up
// it does not yet die with us: were we killed then, the command would run on without anybody.
const insideGate = `echo >&%d; read -r _ <&%d && exec %d>&- %d<&- && exec "$@"`

// usrMerge shows a top-level folder as this host has it: a link into /usr, or a folder of its own.
func usrMerge(dir string) []string {
	st, err := os.Lstat(dir)
	if err != nil {
		return nil
	}
	if st.Mode()&os.ModeSymlink != 0 {
		if target, err := os.Readlink(dir); err == nil {
			return []string{"--symlink", target, dir}
		}
		return nil
	}
	return []string{"--ro-bind", dir, dir}
}

// tmpfs is a writable folder in memory, bounded where bwrap can: by default a quarter of the memory limit.
func (s *Sandbox) tmpfs(dir string, size int64) []string {
	if !s.bwrap.size {
		return []string{"--tmpfs", dir}
	}
	if size == 0 {
		size = max(s.opt.Limits.Memory/4, 16<<20)
	}
	return []string{"--size", strconv.FormatInt(size, 10), "--tmpfs", dir}
}

// toolchainArgs shows the runtimes and hides every third-party package. /usr/local is hidden unless a
// runtime lives there, because it differs from host to host.
// An interpreter that only the command itself needs is shown like a runtime, but no name on the PATH leads to it.
func (s *Sandbox) toolchainArgs(interpreter string) ([]string, error) {
	found, err := s.runtimes()
	if err != nil {
		return nil, err
	}
	named := found
	if interpreter != "" {
		extra, err := s.interpreter(interpreter)
		if err != nil {
			return nil, err
		}
		found = append(slices.Clone(found), extra)
	}
	local := slices.ContainsFunc(found, func(r runtimeFound) bool { return slices.Contains(r.binds, "/usr/local") })
	var a []string
	var hidden []string
	if !local && isDir("/usr/local") {
		hidden = append(hidden, "/usr/local")
		a = append(a, "--tmpfs", "/usr/local")
	}
	seen := map[string]bool{"/usr/local": true}
	for _, r := range found {
		for _, b := range r.binds {
			if !seen[b] {
				seen[b] = true
				a = append(a, "--ro-bind", b, b)
			}
		}
	}
	for _, r := range found {
		for _, h := range r.hide {
			if real, err := filepath.EvalSymlinks(h); err != nil || !isDir(real) || seen[real] || !s.shown(real, found, local) {
				continue
			} else {
				seen[real] = true
				hidden = append(hidden, real)
				a = append(a, "--tmpfs", real)
			}
		}
	}
	for _, r := range found {
		for _, k := range r.keep {
			a = append(a, "--ro-bind-try", k, k)
		}
	}
	for _, h := range hidden {
		a = append(a, "--remount-ro", h)
	}
	a = append(a, s.hideStint(found, local)...)
	a = append(a, "--dir", insideBin)
	for _, r := range named {
		a = append(a, "--symlink", r.path, filepath.Join(insideBin, r.name))
		if r.name == "python3" {
			a = append(a, "--symlink", r.path, filepath.Join(insideBin, "python"))
		}
	}
	return a, nil
}

// interpreter looks at a Python once.
func (s *Sandbox) interpreter(path string) (runtimeFound, error) {
	if r, ok := s.interpreters.Load(path); ok {
		return r.(runtimeFound), nil
	}
	r, err := probePython(context.Background(), "", path)
	if err == nil {
		s.interpreters.Store(path, r)
	}
	return r, err
}

// hideStint puts nothing in the place of our own executable where it lies among the host's programs: it knows how every
// scenario goes on and can serve it.
func (s *Sandbox) hideStint(found []runtimeFound, local bool) []string {
	if s.opt.Trusted {
		return nil
	}
	real, err := filepath.EvalSymlinks(s.opt.Stint)
	if err != nil || !s.shown(real, found, local) {
		return nil
	}
	return []string{"--ro-bind", "/dev/null", real}
}

// shown tells whether a folder would be visible inside at all; only then can something be mounted on it.
func (s *Sandbox) shown(path string, found []runtimeFound, local bool) bool {
	if underUsr(path) || local && strings.HasPrefix(path, "/usr/local/") {
		return true
	}
	for _, r := range found {
		for _, b := range r.binds {
			if strings.HasPrefix(path, b+"/") {
				return true
			}
		}
	}
	return false
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// fdList hands out descriptor numbers for exec.Cmd.ExtraFiles, which start at 3.
type fdList struct{ files []*os.File }

func (l *fdList) add(f *os.File) int {
	l.files = append(l.files, f)
	return 2 + len(l.files)
}

func (l *fdList) close() {
	for _, f := range l.files {
		f.Close()
	}
}

// addText adds a pipe that already holds text, which must fit into a pipe's buffer.
func (l *fdList) addText(text string) (int, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return 0, fmt.Errorf("making a pipe: %w", err)
	}
	defer w.Close()
	if _, err := w.WriteString(text); err != nil {
		r.Close()
		return 0, fmt.Errorf("filling a pipe: %w", err)
	}
	return l.add(r), nil
}
