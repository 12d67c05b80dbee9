package logs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func mustWrite(t testing.TB, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func openBlobs(t testing.TB) *Blobs {
	t.Helper()
	b, err := OpenBlobs(filepath.Join(t.TempDir(), "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSnapshotRoundTrip(t *testing.T) {
	b, dir := openBlobs(t), t.TempDir()
	outside := filepath.Join(t.TempDir(), "outside.txt")
	mustWrite(t, outside, "keep me\n", 0o644)
	mustWrite(t, filepath.Join(dir, "main.py"), "import os\n\nprint(1)\n", 0o644)
	mustWrite(t, filepath.Join(dir, "start.sh"), "#!/bin/sh\nexec python3 main.py\n", 0o755)
	mustWrite(t, filepath.Join(dir, "node_modules/x/index.js"), strings.Repeat("x\n", 50), 0o644)
	mustWrite(t, filepath.Join(dir, "data.bin"), "a\x00b\n\n", 0o644)
	mustWrite(t, filepath.Join(dir, "odd \"name\"\n\xff"), "odd\n", 0o600)
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"abs": outside, "up": "../../../etc", "loop": "."} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	snap, err := TakeSnapshot(b, dir, SnapshotOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if snap.Files != 5 || snap.LOC != 2+2+1 {
		t.Errorf("files %d, LOC %d; want 5 and 5", snap.Files, snap.LOC)
	}
	if len(snap.Skipped) != 1 || snap.Skipped[0] != `"fifo"` {
		t.Errorf("skipped %v, want the FIFO", snap.Skipped)
	}
	target := filepath.Join(t.TempDir(), "restored")
	// What stands in the way is replaced, and a link to a folder is not entered.
	mustWrite(t, filepath.Join(target, "main.py/file"), "x", 0o644)
	if err := os.Symlink(filepath.Dir(outside), filepath.Join(target, "empty")); err != nil {
		t.Fatal(err)
	}
	if err := RestoreSnapshot(b, snap.Tree, target); err != nil {
		t.Fatal(err)
	}
	if p, err := os.ReadFile(outside); err != nil || string(p) != "keep me\n" {
		t.Fatalf("the file outside is %q, %v", p, err)
	}
	st, err := os.Stat(filepath.Join(target, "start.sh"))
	if err != nil || st.Mode()&0o111 == 0 || !st.ModTime().Equal(restoredTime) {
		t.Errorf("start.sh: %v %v", st, err)
	}
	again, err := TakeSnapshot(b, target, SnapshotOptions{})
	if err != nil || again.Tree != snap.Tree {
		t.Errorf("the restored folder has tree %s (%v), want %s", again.Tree, err, snap.Tree)
	}
}

func TestSnapshotCache(t *testing.T) {
	b, dir, cache := openBlobs(t), t.TempDir(), &SnapshotCache{}
	path := filepath.Join(dir, "a.txt")
	mustWrite(t, path, "one\n", 0o644)
	mustWrite(t, filepath.Join(dir, "b.txt"), "two\n", 0o644)
	time.Sleep(2 * racy)
	first, err := TakeSnapshot(b, dir, SnapshotOptions{Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	if len(cache.files) != 2 {
		t.Fatalf("%d files remembered, want 2", len(cache.files))
	}
	// Same size and a set-back mtime: ctime alone shows the change.
	st, _ := os.Stat(path)
	mustWrite(t, path, "eno\n", 0o644)
	if err := os.Chtimes(path, st.ModTime(), st.ModTime()); err != nil {
		t.Fatal(err)
	}
	second, err := TakeSnapshot(b, dir, SnapshotOptions{Cache: cache})
	if err != nil || second.Tree == first.Tree {
		t.Fatalf("a changed file went unseen (%v)", err)
	}
	if _, ok := cache.files["a.txt"]; ok {
		t.Error("a file younger than the clock's tick was trusted")
	}
	fresh, err := TakeSnapshot(b, dir, SnapshotOptions{})
	if err != nil || fresh.Tree != second.Tree {
		t.Errorf("with cache %v, without %v (%v)", second, fresh, err)
	}
}

func TestSnapshotLimits(t *testing.T) {
	b, dir := openBlobs(t), t.TempDir()
	for i := range 30 {
		mustWrite(t, filepath.Join(dir, "deps/pkg", fmt.Sprint(i)), strings.Repeat("x", 1000), 0o644)
	}
	mustWrite(t, filepath.Join(dir, "src/main.go"), "package main\n", 0o644)
	var large *TooLargeError
	_, err := TakeSnapshot(b, dir, SnapshotOptions{MaxFiles: 10})
	if !errors.As(err, &large) || !strings.Contains(err.Error(), `"deps/pkg"`) {
		t.Errorf("too many files: %v", err)
	}
	_, err = TakeSnapshot(b, dir, SnapshotOptions{MaxBytes: 20_000})
	if !errors.As(err, &large) || large.Bytes != 30_013 {
		t.Errorf("too many bytes: %v", err)
	}
	if snap, err := TakeSnapshot(b, dir, SnapshotOptions{MaxFiles: 5, Exclude: []string{"de*"}}); err != nil || snap.Files != 1 {
		t.Errorf("with deps left out: %v, %v", snap, err)
	}
	deep := dir
	for range maxDepth + 2 {
		deep = filepath.Join(deep, "d")
	}
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := TakeSnapshot(b, dir, SnapshotOptions{}); !errors.As(err, &large) || !large.TooDeep {
		t.Errorf("too deep: %v", err)
	}
}

func TestRestoreRefusesHostileTrees(t *testing.T) {
	b := openBlobs(t)
	sha, err := b.Put([]byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"slash":     fmt.Sprintf("f %s 1 0 \"../x\"\n", sha),
		"dotdot":    fmt.Sprintf("f %s 1 0 \"..\"\n", sha),
		"duplicate": fmt.Sprintf("l \"a\" \"/tmp\"\nd %s 1 1 0 \"a\"\n", sha),
		"kind":      "p \"a\"\n",
		"inner":     fmt.Sprintf("d %s 1 1 0 \"a\"\nf %s 1 0 \"a/b\"\n", TreeSHA(), sha),
		"no end":    fmt.Sprintf("f %s 1 0 \"a\"", sha),
	} {
		if entries, err := decodeTree([]byte(treeHead + text)); err == nil {
			t.Errorf("%s: read as %v", name, entries)
		}
		tree, err := b.Put([]byte(treeHead + text))
		if err != nil {
			t.Fatal(err)
		}
		if err := RestoreSnapshot(b, tree, t.TempDir()); err == nil {
			t.Errorf("%s: restored", name)
		}
	}
	dir := t.TempDir()
	mustWrite(t, filepath.Join(dir, "a"), "stays", 0o644)
	if err := RestoreSnapshot(b, strings.Repeat("0", 64), dir); err == nil {
		t.Error("restored a tree that is not there")
	}
	if _, err := os.Stat(filepath.Join(dir, "a")); err != nil {
		t.Error("a missing tree emptied the folder")
	}
}

func TestChurn(t *testing.T) {
	b, dir := openBlobs(t), t.TempDir()
	take := func() string {
		t.Helper()
		snap, err := TakeSnapshot(b, dir, SnapshotOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return snap.Tree
	}
	check := func(what, from, to string, added, deleted int64) {
		t.Helper()
		a, d, err := Churn(b, from, to)
		if err != nil || a != added || d != deleted {
			t.Errorf("%s: +%d −%d (%v), want +%d −%d", what, a, d, err, added, deleted)
		}
	}
	mustWrite(t, filepath.Join(dir, "a.py"), "one\ntwo\n\nthree\n", 0o644)
	mustWrite(t, filepath.Join(dir, "src/b.py"), "x\ny\n", 0o644)
	t0 := take()
	check("new", "", t0, 5, 0)
	check("same", t0, t0, 0, 0)
	mustWrite(t, filepath.Join(dir, "a.py"), "two\none\r\nfour\n\n\n", 0o644)
	mustWrite(t, filepath.Join(dir, "vendor/c.py"), "z\n", 0o644)
	t1 := take()
	check("edited", t0, t1, 1, 1)
	if err := os.RemoveAll(filepath.Join(dir, "src")); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, filepath.Join(dir, "src"), "now a file\n", 0o644)
	check("folder became a file", t1, take(), 1, 2)
	check("back", t1, t0, 1, 1)
}

func BenchmarkTakeSnapshotUnchanged(b *testing.B) {
	store, dir, cache := openBlobs(b), b.TempDir(), &SnapshotCache{}
	for i := range 50 {
		mustWrite(b, filepath.Join(dir, fmt.Sprintf("src/d%d/f%d.py", i%5, i)), strings.Repeat(fmt.Sprintf("line %d\n", i), 500), 0o644)
	}
	time.Sleep(2 * racy)
	if _, err := TakeSnapshot(store, dir, SnapshotOptions{Cache: cache}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := TakeSnapshot(store, dir, SnapshotOptions{Cache: cache}); err != nil {
			b.Fatal(err)
		}
	}
}
