// Package sandbox decides where programs of an agent run.
//
// There are two roles. Work is where an agent and its tools run; Grade is a second, clean place where
// the delivered server is started and checked. Both see the same read-only toolchain and no network.
//
// The kind bubblewrap puts every command into its own PID, network, IPC, UTS, mount and user
// namespaces: nothing it kills by name can be ours, and when the command ends the whole namespace ends.
// It works for root and for an ordinary user alike, where the kernel lets users make namespaces.
//
// The kind container does the same with podman or docker and an image named by its digest. Stint is the first
// process inside, put there through a folder that holds it and a socket to us; both are removed before the command
// begins, and the container ends when the socket closes: a stint that was killed leaves none. The command has no
// rights; it is the container's root, which without a user namespace is the host's, since the files of the
// workspace must be its own.
//
// The kind none runs ordinary processes: own session, minimal environment, own HOME, limits; daemons are
// found and ended by process id. The network and the user's files stay open to them.
//
// # Limits
//
// What is bounded is a command with all its processes, and each limit ends it as a reason of its own:
//
//   - Memory: of one process by RLIMIT_DATA. Over all by a watcher, five times a second: resident private pages, each
//     process's share of shared ones, and once a second files of memfd_create, which no page table shows. /tmp,
//     /dev/shm and, in the Grade role, HOME are tmpfs of a quarter of the limit each (where bwrap has --size).
//     Segments of System V that no process has attached are not seen; should memory run out, oom_score_adj makes
//     the kernel end the agent's processes before any other.
//   - Processes: by the same watcher, and by RLIMIT_NPROC where the kernel applies it, which is not for root.
//   - Disk: workspace, HOME and writable binds are measured every five seconds by the blocks they take, every entry at
//     4 KiB or more, so that empty files count; files that were deleted and are still open count too. Folders nested
//     deeper than 256 are over the limit. A single file is bounded by RLIMIT_FSIZE, holes included.
//   - Output: the head and the tail of each stream are kept, the rest is counted and dropped.
//   - Time: by a timer; CPU time of a process by RLIMIT_CPU.
//
// Containers have the same watcher, and behind it the engine's own bounds on memory and processes, a quarter wider.
// Under bubblewrap and none control groups are not used: they are writable for root on most hosts and for others on few,
// of two versions that count differently, so what ends an attempt would depend on the host. The watcher needs nothing.
//
//	sb, err := sandbox.New(ctx, sandbox.Options{Kind: "auto", Runtimes: []string{"python3"}})
//	exit, err := sb.Run(ctx, sandbox.Command{Argv: []string{"bash", "-c", "ls"}, Workspace: dir, Home: home})
//
// StartServer starts a server as a plain process of the current process: inside the grade sandbox that
// is the runner itself, under none it is stint.
package sandbox
