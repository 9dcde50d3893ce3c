// Package clients compares what `agent context` says about coding agents with what these
// programs do, in the versions pinned in testdata.
//
// Each tree is a workspace with marks in its texts. For each, a program is started in one of
// its directories with its own HOME, in a network namespace with only loopback, where a model
// of the test listens; Codex prints what it would send. Which marks the model gets, and in
// which order, is recorded in testdata/answers. TestAnswers compares these answers with the
// rules and runs no program, unless -clients names some: `make clients CLIENTS=codex`.
// TestRecorded compares some of them with the programs.
//
// Other tests compare what marks don't show: all that Codex sends, to the byte, and how Codex and
// opencode read front matter.
//
// Each client that was connected by 'agent connect' gets a model that calls a tool of the
// agent, and its configuration must be what it was once it is disconnected. For Codex and
// opencode there is an MCP server behind the agent, and the test checks everything that the
// model receives and what the tools do.
//
// # Differences caused by clients
//
//   - If several skills have the same name, opencode 1.18.33 lists the one that is parsed last. All
//     are read concurrently, so it may be any of them, wherever they are. `agent context` names one,
//     and says so; the test accepts any that it names.
//   - opencode 1.18.33 follows circular links until a path is too long; with two links back to one
//     directory it runs until it is killed. `agent context` names the shortest path.
//   - opencode 1.18.33 truncates output to a pipe at 64 KiB, so the test uses a file.
package clients
