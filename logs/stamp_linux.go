package logs

import (
	"io/fs"
	"syscall"
)

// stampOf is what shows that a file has changed without reading it.
func stampOf(st fs.FileInfo) fileStamp {
	s := fileStamp{size: st.Size(), mtime: st.ModTime().UnixNano()}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		s.ctime, s.inode, s.dev = sys.Ctim.Nano(), sys.Ino, uint64(sys.Dev)
	}
	return s
}
