// Package harness answers requests: it holds the agents a configuration can name.
//
// An [Agent] gets one [Request] (the prompt of one attempt, a workspace, a HOME and limits) and
// returns one [Result]: how the program ended, what it consumed and where its raw log is. Everything
// about the agent, also a crash, a limit or a provider that does not answer, is in the Result; a Go
// error means that our own side failed (the sandbox could not be started, a disk is full).
//
// The built-in agent (builtin*.go) is a lean loop of model call, tool calls and results. The simulated
// agent (simulated*.go) plants faults of known kind and needs no model. The reference agent always
// delivers a correct server. ModelSim is a scripted OpenAI-compatible endpoint for tests and demos.
package harness
