// Package clients compares what `agent context` says of coding agents with what these
// programs do, in a version that is pinned in testdata/npm.
//
// Each tree is a workspace; for each, a client is started in a directory of it with a
// HOME of its own, in a network namespace that has nothing but loopback, and asked what
// it would send to its model: Codex by `debug prompt-input`; opencode by `debug skill`
// and `debug config`, and by `run` with a model of the test's own, which takes long and
// is done for some trees. Claude Code is asked for what it imports, by 'claude -p' with
// such a model.
//
// A client that 'agent connect' has connected is given a model that calls tools: what that is
// told, and what the tools answer and do, is looked at, with an agent and an MCP server behind
// it, and that disconnecting gives the configuration back.
//
// # Differences that are the client's
//
//   - opencode 1.18.33 lists one of several skills of one name: the one that is parsed
//     last, and since all are read at once any of them can be, whichever places they are
//     in. `agent context` names one, and says so; the test accepts those that it names.
//   - opencode 1.18.33 follows links in circles until a path is too long, and lists a
//     skill under such a path; with two that lead back to one directory it goes on until it
//     is killed. `agent context` names the shortest; the test resolves
//     both.
//   - opencode 1.18.33 cuts what it prints at 64 KiB when that goes into a pipe: the test
//     gives it a file.
package clients
