// Package process is the agent's HTTP service for the processes of chats:
// starting them, their output, signals, standard input and terminals.
//
// What runs is held by a [supervisor.Client]; the service itself remembers
// nothing that an agent which takes its place would miss. Paths, fields, codes
// and limits are those of Coder's agent where it has them; the description of the
// agent's API says which aren't.
//
// # What runs where
//
// A command is run by sh -c, an argv by itself. It runs in the directory that was
// asked for: an absolute one, one below home ("~", "~/x"), or one below the
// workspace's own; in the workspace's where none was asked for, and in the home
// directory while there is no workspace. Its environment is the agent's, without
// what belongs to the agent alone, then the request's, then CODER_CHAT_ID.
//
// # Output
//
// The whole output is kept within the supervisor's bounds and read in pages, by
// offsets that count bytes as the process wrote them. Text ends on a rune: half
// of one that is still being written waits for its other half. What isn't UTF-8
// becomes U+FFFD, one for each byte, so that pages put together are what the
// whole would be. Head and tail are a view of it; see package output.
//
// # Guarantees
//
//   - State is read before output: an answer that says that a process has ended
//     has all that it wrote.
//   - A chat sees its own processes, and who names no chat sees all.
//   - Who is fenced in starts nothing that isn't, and can't reach through the
//     standard input of what isn't either.
//   - While somebody works on a server (see Options.Narrow) no process of a chat or of a
//     minted token writes the workspace, by itself or through one of the agent's user.
//   - A wait ends with its client, with the agent, and after 5 minutes.
//
// # Concurrency
//
// A Service serves any number of requests at the same time. Close ends what it
// does on its own, and leaves the processes alone.
package process
