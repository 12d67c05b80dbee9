package episode

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// untilSignalled returns a context that ends with SIGTERM or SIGINT, unless this process is the first of a sandbox's
// namespace. There only the agent's processes can send signals: the kernel keeps those away that have no handler, but Go
// installs handlers for nearly all and ends with them. So every signal is taken and none is heeded; stint ends such a
// process by ending bwrap.
func untilSignalled() (context.Context, context.CancelFunc) {
	if os.Getpid() != 1 {
		return signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	}
	taken := make(chan os.Signal, 1)
	// Not signal.Ignore: what is ignored stays so in the servers, which must hear SIGTERM.
	signal.Notify(taken)
	return context.WithCancel(context.Background())
}
