// Package git tells chats what isn't committed. Over a WebSocket it reports the
// repositories that a chat has worked on, each with its branch, its remote and one unified
// diff of everything staged, modified or untracked, whenever that changes. For a single
// call it returns the changed files with line counts, and the diffs of some
// ([Service.Diff]).
//
// # A single call
//
// One git process counts the lines of tracked files, and this package those of untracked
// ones. Another git process writes the diffs of as many files as fit into 32 KiB. Files
// that aren't shown are listed with the reason, and don't affect the others. The work ends
// with the call.
//
// # What is watched
//
// Without a chat, the repository that contains the workspace's directory is watched. For a
// chat, it is the repositories of paths that the chat and its descendants have touched,
// which the other services report to [Service.Touched]. They are kept in memory for 256
// chats with 1,000 paths each; the oldest are dropped. After a restart of the agent, a
// chat's next action restores its repository.
//
// A repository is scanned when somebody subscribes, touches a path in it or asks, and every
// 30 seconds, but at most once per second. All subscribers share a scan. Unchanged state
// isn't sent again.
//
// # Guarantees
//
//   - Nothing that a repository configures is executed, and nothing in it is written. git works
//     on a private directory with its own index and a configuration of a few harmless keys;
//     RATIONALE.md lists what git would execute otherwise. If the kernel supports it, git also
//     runs under a profile that only allows reading the repository.
//   - No file is read through a .git, core.worktree, objects or index that leads out of the
//     repository's work tree; the repository is reported with an error instead.
//   - A file on the secret list is in no diff, nor is one that was renamed from or to it. In the
//     watch, a line before the diff says how many are withheld. A single call lists each with a
//     note. It doesn't show files with hard links either, because their other names are unknown.
//   - A diff is valid UTF-8 without NUL. A message has at most 4 MiB with 3 MiB of diff. A sentence
//     replaces a larger diff.
//   - Credentials in a remote's URL are never reported.
//
// # Limits
//
// A git process that runs for more than a minute is killed with its group. At most 20,000
// untracked files of a repository and 256 repositories of a chat are shown. A single call
// lists 4,000 files, and counts the lines of 128 MiB of untracked ones; a file that was
// moved without git appears as a deleted and a new one. Filters such as Git LFS aren't
// executed: files that they change appear as modified once git can't tell by their times
// that they aren't.
//
// # Concurrency
//
// A [Service] may be used by any number of goroutines. Close ends its goroutines.
package git
