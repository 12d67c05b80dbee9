package sandbox

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// entryCost is what an entry of a folder counts at least: a file system has a bounded number of them too, and empty
// files take no blocks.
const entryCost = 4096

// maxLevels is how deep folders are measured. Deeper ones count as over every limit: no program needs them, and a
// hostile one could hide there what it writes.
const maxLevels = 256

// DiskUsage is the space that the files under dirs take, in bytes, links not followed, a file with several names
// counted once. Each entry counts at least 4 KiB. A folder whose owner has taken the right to look into it from
// himself gets it back; what else cannot be read is left out. Folders nested deeper than 256 give math.MaxInt64.
func DiskUsage(dirs ...string) int64 {
	m := meter{seen: map[fileID]bool{}}
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			continue
		}
		m.folder(root, 0)
		root.Close()
	}
	if m.tooDeep {
		return math.MaxInt64
	}
	return m.sum
}

type fileID struct{ dev, ino uint64 }

// meter adds up what files take.
type meter struct {
	sum     int64
	seen    map[fileID]bool // files with several names
	tooDeep bool
}

func (m *meter) folder(root *os.Root, level int) {
	if level > maxLevels {
		m.tooDeep = true
	}
	if m.tooDeep {
		return
	}
	f, err := root.Open(".")
	if errors.Is(err, fs.ErrPermission) && root.Chmod(".", 0o700) == nil {
		f, err = root.Open(".")
	}
	if err != nil {
		return
	}
	defer f.Close()
	for {
		names, err := f.Readdirnames(1024)
		for _, name := range names {
			m.entry(root, name, level)
		}
		if err != nil || len(names) == 0 {
			return
		}
	}
}

func (m *meter) entry(root *os.Root, name string, level int) {
	info, err := root.Lstat(name)
	if err != nil {
		return
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	if info.IsDir() {
		m.sum += max(st.Blocks*512, entryCost)
		sub, err := root.OpenRoot(name)
		if errors.Is(err, fs.ErrPermission) && root.Chmod(name, 0o700) == nil {
			sub, err = root.OpenRoot(name)
		}
		if err == nil {
			m.folder(sub, level+1)
			sub.Close()
		}
		return
	}
	if st.Nlink > 1 {
		id := fileID{uint64(st.Dev), st.Ino}
		if m.seen[id] {
			return
		}
		m.seen[id] = true
	}
	m.sum += max(st.Blocks*512, entryCost)
}

// heldFiles is what processes hold open that no folder shows any more: memory in files made by memfd_create, and
// deleted files on the devices of dirs. proc is the proc folder that ps are listed in.
func heldFiles(proc string, ps []process, dirs []string) (memory, disk int64) {
	devices := map[uint64]bool{}
	for _, dir := range dirs {
		var st unix.Stat_t
		if dir != "" && unix.Stat(dir, &st) == nil {
			devices[uint64(st.Dev)] = true
		}
	}
	seen := map[fileID]bool{}
	for _, p := range ps {
		folder := proc + "/" + strconv.Itoa(p.pid) + "/fd"
		f, err := os.Open(folder)
		if err != nil {
			continue // it has ended, or is the first process
		}
		names, _ := f.Readdirnames(1 << 16)
		f.Close()
		for _, name := range names {
			var st unix.Stat_t
			if unix.Stat(folder+"/"+name, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink > 0 {
				continue
			}
			id := fileID{uint64(st.Dev), st.Ino}
			if seen[id] {
				continue
			}
			seen[id] = true
			// A memfd lies on a file system of the kernel's own, so the device alone does not tell it from others.
			target, err := os.Readlink(folder + "/" + name)
			switch {
			case err == nil && strings.HasPrefix(target, "/memfd:"):
				memory += st.Blocks * 512
			case devices[id.dev]:
				disk += st.Blocks * 512
			}
		}
	}
	return memory, disk
}
