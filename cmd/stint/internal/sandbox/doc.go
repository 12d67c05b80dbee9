// Package sandbox decides where programs of an agent run.
//
// There are two roles. Work is where an agent and its tools run; Grade is a second, clean place where
// the delivered server is started and checked. Both see the same read-only toolchain and no network.
//
// The kind bubblewrap puts every command into its own PID, network, IPC, UTS, mount and user
// namespaces: nothing it kills by name can be ours, and when the command ends the whole namespace ends.
// The kind none runs ordinary processes: own session, minimal environment, own HOME, limits; daemons are
// found and ended by process id. The network and the user's files stay open to them.
//
// Limits: memory is bounded per process by RLIMIT_DATA and, for the sum over all processes, by a watcher
// that ends the sandbox; processes by RLIMIT_NPROC (where the kernel applies it: not for root) and the
// same watcher; single files by RLIMIT_FSIZE; workspace and HOME are measured every few seconds.
//
//	sb, err := sandbox.New(ctx, sandbox.Options{Kind: "auto", Runtimes: []string{"python3"}})
//	exit, err := sb.Run(ctx, sandbox.Command{Argv: []string{"bash", "-c", "ls"}, Workspace: dir, Home: home})
//
// StartServer starts a server as a plain process of the current process: inside the grade sandbox that
// is the runner itself, under none it is stint.
package sandbox
