// Package git tells chats what isn't committed: the repositories that a chat has
// worked on, each with its branch, its remote and one unified diff of everything
// that is staged, modified or untracked, over a WebSocket, whenever it changes; and
// for one call the files with their lines, and the diffs of some ([Service.Diff]).
//
// # What a call is told
//
// One git counts the lines of what is tracked, and one pass of ours those of untracked files.
// Another git writes the diffs of those files for which 32 KiB have room. Whatever isn't
// shown is named all the same, with the reason, and costs the other files nothing. The work
// ends with the call.
//
// # What is watched
//
// Without a chat it is the repository that the workspace's directory lies in. For
// a chat it is the repositories of the paths that this chat, and the chats that it
// has started, have touched; the other services tell of those by
// [Service.Touched]. They are remembered in memory, for 256 chats of 1,000 paths,
// the oldest forgotten first: after a restart of the agent a chat's first action
// brings its repository back.
//
// A repository is looked at when somebody subscribes, touches a path in it or
// asks, and every 30 seconds, but not before a second has passed since the last
// look. All subscribers share one look. What hasn't changed isn't sent again.
//
// # Guarantees
//
//   - Nothing that a repository configures is executed, and nothing in it is
//     written. git compares by means of a private directory of ours, with an index
//     of its own and a configuration that holds a few harmless keys of the real one;
//     RATIONALE.md has what git would execute otherwise. Where the kernel can,
//     git also runs under a profile by which it reads the repository and nothing else.
//   - No file of a repository's work tree is read through a .git, a core.worktree,
//     objects or an index that lead out of it; see the errors that a repository
//     is told with.
//   - A file of the secret list is in no diff, nor is one that was renamed from or
//     to it. In the watch a line in front says how many are withheld; for a call each is
//     named with a note, and a file of several names isn't shown either, since the others
//     aren't looked for.
//   - A diff holds no NUL and is valid UTF-8; a message takes 4 MiB at most, with 3
//     MiB of diff. Where there is more, a sentence takes a diff's place.
//   - No credentials of a remote's URL are told.
//
// # Limits
//
// A git that doesn't end within a minute is killed, with its group. 20,000 untracked files
// of a repository are shown, 256 repositories of a chat. A call names 4,000 files, and
// counts the lines of 128 MiB of untracked ones; a file that was moved without git's knowing
// is one that has gone and one that is new. Filters aren't run: what one has changed on its
// way into the repository (Git LFS) shows as modified once git can't tell from the file's
// time that it isn't.
//
// # Concurrency
//
// A [Service] may be used by any number of goroutines. Close ends what it has
// started.
package git
