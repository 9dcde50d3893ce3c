// Package clients compares what `agent context` says about coding agents with what these
// programs do, in the versions pinned in testdata/npm.
//
// Each tree is a workspace. For each, a client is started in one of its directories with
// its own HOME, in a network namespace with only loopback, and asked what it would send to
// its model: Codex by `debug prompt-input`; opencode by `debug skill` and `debug config`,
// and for some trees by `run` with a model of the test, which takes long. Claude Code is
// asked for its imports, by 'claude -p' with such a model.
//
// A client that was connected by 'agent connect' gets a model that calls tools, with an
// agent and an MCP server behind it. The test checks what the model receives, what the
// tools answer and do, and that disconnecting restores the configuration.
//
// # Differences caused by clients
//
//   - If several skills have the same name, opencode 1.18.33 lists the one that is parsed last. All
//     are read concurrently, so it may be any of them, wherever they are. `agent context` names one,
//     and says so; the test accepts any that it names.
//   - opencode 1.18.33 follows circular links until a path is too long, and lists a skill under such a
//     path; with two links back to one directory it runs until it is killed. `agent context` names
//     the shortest path; the test resolves both.
//   - opencode 1.18.33 truncates output to a pipe at 64 KiB, so the test uses a file.
package clients
