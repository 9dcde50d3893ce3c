// Package process is the agent's HTTP service for the processes of chats: starting them,
// their output, signals, standard input and terminals.
//
// A [supervisor.Client] holds the processes. The service itself has no state that a new
// agent would miss. Paths, fields, codes and limits are those of Coder's agent where it has
// an equivalent; the API's description marks the others.
//
// # Where processes run
//
// A command runs by sh -c, an argv directly. The working directory is the requested one:
// absolute, below home ("~", "~/x"), or relative to the workspace. It defaults to the
// workspace's directory, or the home directory while there is no workspace. The environment
// consists of the agent's, without variables that belong to the agent alone, then the
// request's, then CODER_CHAT_ID.
//
// # Output
//
// The complete output is kept within the supervisor's limits. It is read in pages, by
// offsets that count bytes as written. Text ends on a rune: an incomplete rune waits for
// its rest. Each invalid byte becomes U+FFFD, so that concatenated pages equal the text of
// the whole. Package output describes the view with head and tail.
//
// # Guarantees
//
//   - State is read before output: if an answer says that a process has ended, it has all of the
//     output.
//   - A chat sees its own processes. A caller without a chat sees all.
//   - A caller with a fence can't start processes outside of the fence, and can't act through the
//     standard input of such processes.
//   - While a user develops an MCP server (see Options.Narrow), no process of a chat or of a minted
//     token can write to the workspace, neither itself nor through a process of the agent's user.
//   - A wait ends with its client, with the agent, and after 5 minutes.
//
// # Concurrency
//
// A Service serves any number of requests at the same time. Close ends its goroutines;
// processes keep running.
package process
