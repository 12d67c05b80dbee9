package episode

import (
	"syscall"

	"github.com/stint-bench/stint/cmd/stint/internal/sandbox"
	"github.com/stint-bench/stint/logs"
)

// restoreTree and copyTree write programs that are started soon after. A process that is forked elsewhere in this
// process while such a file is open for writing holds it open too until its own exec, and starting the file
// meanwhile fails with "text file busy": the agent would be blamed for it. So nothing is forked while they write.

func restoreTree(blobs *logs.Blobs, tree, dir string) error {
	return unforked(func() error { return logs.RestoreSnapshot(blobs, tree, dir) })
}

func copyTree(src, dst string) error {
	return unforked(func() error { return sandbox.CopyTree(src, dst) })
}

// unforked runs f while no process can be forked. f must neither start a process nor wait for one that does.
func unforked(f func() error) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return f()
}
