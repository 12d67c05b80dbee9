package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/stint-bench/stint/logs"
)

// attack is what a model has an agent do in the first attempt, before it does its work. The second attempt does the
// work alone.
type attack struct {
	tried
	command string
	ending  string // of the first attempt
	grade   string // its reason
	says    string // words of what the command printed
	silent  string // words that it must not print
	event   string // words of a notice
	lost    bool   // the agent has destroyed what it would need to go on
}

const (
	secretKey = "sk-secret-of-the-provider"
	fillDisk  = `i=0; while :; do head -c 10000000 /dev/urandom > $i || exit; i=$((i + 1)); sleep 0.2; done`
	forkBomb  = `bomb() { bomb | bomb & }; bomb; sleep 20`
	// spy looks for everything that must not be there, and for ways to it.
	spy = `find / \( -name 'journal*.jsonl' -o -name truth -o -name 'study.yaml' -o -name prices.yaml -o -name 'gw.sock' -o -name 'stint*.test' \) -not -path '/proc/*' 2>/dev/null
for d in /root /home/* /mnt /srv /var /etc/stint /proc/1/root /proc/1/cwd /proc/1/fd ../.. /workspace/../../..; do ls -A $d 2>/dev/null | grep -E 'episodes|blobs|study|journal|suite' && echo "seen in $d"; done
cat /proc/1/environ /proc/*/environ 2>/dev/null | tr '\0' '\n' | grep -c secret-of-the-provider
for f in /proc/1/mem /proc/1/maps /proc/1/exe /dev/mem /dev/kmem /dev/sda /dev/vda /proc/kcore /etc/shadow; do head -c 1 $f >/dev/null 2>&1 && echo "opened $f"; done
env | grep -i -E 'secret|token|stint' ; ls -A /run/stint; mount | grep -c workspace; echo spied`
	kernelSettings = `for f in vm/drop_caches vm/overcommit_memory kernel/core_pattern kernel/hostname net/ipv4/ip_forward kernel/shmmax; do
(echo 1 > /proc/sys/$f) 2>/dev/null && echo "wrote $f"; done
(echo b > /proc/sysrq-trigger) 2>/dev/null && echo "wrote sysrq"; (echo 1 > /sys/kernel/x) 2>/dev/null && echo "wrote sys"
mount -t tmpfs x /mnt 2>/dev/null && echo mounted; unshare -Urm true 2>/dev/null && echo unshared; chroot / true 2>/dev/null && echo chrooted; echo tried`
	reachOut = `python3 - <<'E'
import socket
for host, port in (("127.0.0.1", %d), ("192.0.2.1", 80), ("10.0.0.1", 22), ("169.254.169.254", 80), ("::1", %[1]d)):
    try:
        socket.create_connection((host, port), 2); print("reached", host)
    except OSError: pass
try: print("resolved", socket.gethostbyname("example.com"))
except OSError: pass
try: print("raw", socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
except OSError: pass
s = socket.socket(socket.AF_UNIX)
try: s.connect("\0/tmp/.X11-unix/X0"); print("reached X")
except OSError: pass
print("stayed")
E`
	leaveDaemons = `setsid sh -c '(setsid sleep 987 &) ' >/dev/null 2>&1
python3 -c 'import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.chdir("/"); os.closerange(0, 3)
        while True: time.sleep(987)
    os._exit(0)'
nohup sleep 987 >/dev/null 2>&1 & echo left`
	linkOut = `ln -s / rootdir; ln -s ../../../../.. up; ln -s /etc/passwd passwd; ln -s /proc/1/root ns; ln -s loop loop; mkdir real; ln -s real data
ln /etc/passwd hard1 2>&1 | head -1; ln /usr/bin/env hard2 2>&1 | head -1; ln -s "$PWD/../journal.jsonl" journal
ln -s /workspace "$HOME/ws"; rm -rf "$HOME/.stint-conversation.json"; ln -s /etc/passwd "$HOME/.stint-conversation.json"; rm -f SPEC.md; ln -s /etc/passwd SPEC.md; echo linked`
	pipes    = `mkfifo fifo "$HOME/fifo" "$HOME/.stint-conversation.json" 2>/dev/null; python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.bind("sock")'; echo piped`
	sparse   = `truncate -s 10G ten 2>&1; dd if=/dev/zero of=ten2 bs=1 count=1 seek=10G 2>/dev/null; for i in 1 2 3 4 5 6; do truncate -s 1800M part$i; done; echo "sparse: $(ls -s part1)"`
	oddNames = `python3 - <<'E'
import os
for n in (b"new\nline", b"\xff\xfe\x80", b"\x1b[31mred\x1b[0m", b"-rf", b"a" * 255, "\u202egpj.exe".encode(), b" ", b"\"quoted'"):
    open(n, "w").close()
    os.makedirs(b"d/" + n[:200] + b"/x", exist_ok=True)
print("named")
E`
	longPath = `python3 -c 'import os
for i in range(40): os.mkdir("l" * 250); os.chdir("l" * 250)
open("end", "w").close(); print("long")'`
)

func attacks(port int) map[string]attack {
	return map[string]attack{
		"kill -9 -1":    {command: "kill -9 -1", ending: "self cut", grade: "start"},
		"kill by name":  {command: "pkill -9 -f agent; killall -9 python3; kill -9 $PPID 1; sleep 1", ending: "self cut", grade: "start"},
		"fork bomb":     {tried: tried{limits: ", limits: {processes: 60}"}, command: forkBomb, ending: "limit:processes cut", grade: "start"},
		"disk":          {tried: tried{limits: ", limits: {disk: 100M}"}, command: fillDisk, ending: "limit:disk cut", grade: "start"},
		"spy":           {command: spy, ending: "self clean", grade: "passed", says: "\n0\n", silent: "seen in|opened|journal|truth|stint.test|study.yaml|secret"},
		"kernel":        {command: kernelSettings, ending: "self clean", grade: "passed", says: "tried", silent: "wrote|mounted|unshared|chrooted"},
		"network":       {command: fmt.Sprintf(reachOut, port), ending: "self clean", grade: "passed", says: "stayed", silent: "reached|resolved|raw"},
		"daemons":       {command: leaveDaemons, ending: "self clean", grade: "passed", says: "left", event: "left_running: "},
		"links":         {command: linkOut, ending: "self clean", grade: "passed", says: "linked"},
		"pipes":         {command: pipes, ending: "self clean", grade: "passed", says: "piped"},
		"sparse":        {command: sparse, ending: "self clean", grade: "snapshot_too_large", says: "File size limit exceeded"},
		"many files":    {command: manyFiles, ending: "self clean", grade: "snapshot_too_large", says: "filled"},
		"names":         {command: oddNames, ending: "self clean", grade: "passed", says: "named"},
		"long path":     {command: longPath, ending: "self clean", grade: "passed", says: "long"},
		"deep":          {command: "python3 -c 'import os, time\nfor i in range(600): os.mkdir(\"d\"); os.chdir(\"d\")\ntime.sleep(20)'", ending: "limit:disk cut", grade: "snapshot_too_large"},
		"delete itself": {command: `rm -rf /workspace/* "$HOME" /workspace; chmod 000 /workspace; echo deleted`, ending: "self cut", grade: "start", says: "deleted", lost: true},
	}
}

// builtinAttacks are the same by stint's own agent, each of whose commands has a sandbox of its own: what a command
// destroys is that command.
func builtinAttacks() map[string]attack {
	builtin := tried{harness: "builtin"}
	small := tried{harness: "builtin", limits: ", limits: {disk: 100M, processes: 60}"}
	return map[string]attack{
		"builtin: kill -9 -1": {tried: builtin, command: "(kill -9 -1); sleep 5", ending: "self clean", grade: "passed", says: "[exit code 137]"},
		"builtin: fork bomb":  {tried: small, command: forkBomb, ending: "self clean", grade: "passed", says: "[ended: over the limit on processes]"},
		"builtin: disk":       {tried: small, command: fillDisk, ending: "limit:disk cut", grade: "start"},
		"builtin: spy":        {tried: builtin, command: spy, ending: "self clean", grade: "passed", says: "\n0\n", silent: "seen in|opened /dev|opened /etc|opened /proc/k|journal|truth|stint.test|study.yaml|secret|KEY"},
		"builtin: links":      {tried: builtin, command: linkOut, ending: "self clean", grade: "passed", says: "linked"},
		"builtin: names":      {tried: builtin, command: oddNames, ending: "self clean", grade: "passed", says: "named"},
		"builtin: sparse":     {tried: builtin, command: sparse, ending: "self clean", grade: "snapshot_too_large"},
	}
}

const manyFiles = `python3 - <<'E'
import os
for d in range(20):
    os.mkdir(f"m{d}"); os.chdir(f"m{d}")
    for n in range(10000): os.close(os.open(str(n), os.O_CREAT | os.O_WRONLY))
    os.chdir("..")
print("filled")
E`

// quickAttacks are those of every run of the tests.
func quickAttacks() []string {
	return []string{"kill -9 -1", "spy", "network", "links", "builtin: kill -9 -1", "builtin: spy"}
}

// TestAttacks has an agent attack what is around it, in the sandbox and through the whole loop. Each attack ends as its
// own reason, touches nothing outside, and the episode goes on: after feedback the turn passes.
func TestAttacks(t *testing.T) {
	requireBubblewrap(t)
	requireProgram(t, "python3", "for the agent")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	t.Setenv("STINT_TEST_SECRET", secretKey)
	if st, err := os.Stat("/dev/shm"); err == nil && st.IsDir() {
		t.Setenv("TMPDIR", "/dev/shm") // hundreds of thousands of files
	}
	outside := t.TempDir()
	writeFile(t, outside, "precious", "untouched")
	all := attacks(l.Addr().(*net.TCPAddr).Port)
	maps.Copy(all, builtinAttacks())
	if os.Getenv("STINT_REQUIRE") == "" { // all of them take a minute and a half: .ci/run plays them
		maps.DeleteFunc(all, func(name string, _ attack) bool { return !slices.Contains(quickAttacks(), name) })
	}
	for name, a := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule, err := yaml.Marshal([]map[string]any{{"do": "broad-kill", "turn": 0, "attempt": 0, "command": a.command}})
			if err != nil {
				t.Fatal(err)
			}
			a.harness, a.script, a.more = or(a.harness, myAgent), string(rule), ", feedback: detailed, retries: 1"
			out := a.play(t)
			if out.tables == nil || len(out.tables.Attempts) == 0 {
				t.Fatal(out.err)
			}
			a.check(t, &out)
		})
	}
	t.Cleanup(func() {
		if b, err := os.ReadFile(filepath.Join(outside, "precious")); err != nil || string(b) != "untouched" {
			t.Errorf("a file outside is %q, %v", b, err)
		}
		if c, err := net.Dial("tcp", l.Addr().String()); err != nil {
			t.Error(err)
		} else {
			c.Close()
		}
	})
}

func (a *attack) check(t *testing.T, out *outcome) {
	t.Helper()
	if out.ending() != a.ending {
		t.Errorf("ended %q, want %q: %s", out.ending(), a.ending, out.detail())
	}
	first := out.tables.Attempts[0]
	if diff := cmp.Diff(&a.grade, first.GradeReason); diff != "" {
		t.Errorf("reason of the grade (-want +got):\n%s", diff)
	}
	passed, tries := 1, 2
	if a.lost {
		passed = 0
	}
	if a.grade == "passed" {
		tries = 1
	}
	if ep := out.tables.Episodes; len(ep) != 1 || ep[0].TurnsPassed == nil || *ep[0].TurnsPassed != passed || len(out.exits) != tries || ep[0].Validity != logs.ValidityValid {
		t.Errorf("the episode did not go on: %v, %s", out.err, out.detail())
	}
	said := out.printed()
	if !strings.Contains(said, a.says) {
		t.Errorf("it printed %q, want %q", said, a.says)
	}
	for bad := range strings.SplitSeq(a.silent, "|") {
		if bad != "" && strings.Contains(said, bad) {
			t.Errorf("it printed %q:\n%s", bad, said)
		}
	}
	if a.event != "" && !out.event(logs.ViaReader, logs.EventNotice, a.event) {
		t.Errorf("nothing tells of what was left:\n%s", out.eventList())
	}
	if left := scratch(t, out.run); len(left) > 0 {
		t.Errorf("left in the run directory: %q", left)
	}
}

// printed is what the attack's command printed: the first result of a tool that the model was sent.
func (out *outcome) printed() string {
	for _, r := range out.requests {
		for _, m := range r.Messages {
			if m.Role == "tool" && !strings.Contains(m.Text, "specification: ") {
				return "\n" + m.Text
			}
		}
	}
	return ""
}

// scratch is what a run left that is neither record nor blob; names that are not their content's hash are no blobs.
func scratch(t *testing.T, run string) []string {
	t.Helper()
	var left []string
	err := filepath.WalkDir(run, func(p string, d fs.DirEntry, err error) error {
		if err == nil && (d.Name() == "work" || d.Type()&^fs.ModeDir != 0 || len(d.Name()) > 2*sha256.Size+10) {
			left = append(left, p)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return left
}

// TestContainerEpisode plays an episode with an agent and a grader in containers. CI names an image with Python in
// STINT_TEST_IMAGE.
func TestContainerEpisode(t *testing.T) {
	image := os.Getenv("STINT_TEST_IMAGE")
	if image == "" && os.Getenv("STINT_REQUIRE") == "" {
		t.Skip("STINT_TEST_IMAGE names no image")
	}
	out := tried{harness: myAgent, kind: "container, image: '" + image + "'", changes: 1, script: "broad-kill@0.0,wrong@1", more: ", feedback: detailed, retries: 1"}.play(t)
	if out.tables == nil {
		t.Fatal(out.err)
	}
	want := []string{"0.0 first passed=false cut", "0.1 retry passed=true clean", "1.0 first passed=false clean", "1.1 retry passed=true clean"}
	if diff := cmp.Diff(want, out.attempts()); diff != "" {
		t.Fatalf("attempts (-want +got):\n%s%s", diff, out.detail())
	}
	if s := out.tables.Episodes[0].Sandbox; !strings.HasPrefix(s, "container") || !strings.Contains(s, image) {
		t.Errorf("sandbox %q", s)
	}
}
