// Package launch starts programs in their own session and process group, with an
// environment, limits and, on request, under a [Profile], to which the kernel confines them
// and everything that they start.
//
// The starter runs the shim ([Main]), a small program that sets what only a process can set
// for itself, and then executes the program. A [Program] says how to start the shim, a
// [Spec] what it starts, and a [Command] is a single start. [HideSecrets], [Plan] and
// [Server] make profiles from [Places]. [Profile.May] describes what a profile allows, and
// [Profile.Weaknesses] what this machine can't enforce. Profiles require Linux; elsewhere
// they are refused ([ErrUnsupported]).
//
// # Guarantees
//
//   - Either exactly what was requested is started, or nothing. A profile that the kernel can't
//     enforce, a specification of another version, and a missing program are errors of
//     [Command.Start], which returns when the program runs. No weaker profile is ever used.
//   - The program gets three descriptors, the environment of the specification, and no
//     controlling terminal but its own. Descriptors that the starter has inherited by accident
//     are closed, too.
//   - The places of a profile are opened without following links. Replacing them afterwards
//     has no effect. A program that starts others through its own shim can only narrow what they
//     may do.
//   - Under a profile, no_new_privs disables set-user-ID and file capabilities, all capabilities
//     but the named ones are dropped, and there are no core dumps. The memory, environment and
//     open files of other processes can't be read, even if they have the same user and /proc is
//     readable. They can't be signaled, and their limits, priorities and processors can't be
//     set, unless the program has started them.
//   - Specifications are passed through a pipe, so that neither arguments nor variables appear in
//     lists of processes before the program runs.
//
// # Limits
//
// A profile restrains programs that misbehave; it isn't a virtual machine. Landlock allows
// places and can't hide any, hence:
//
//   - Names, sizes and times of hidden files are visible; their contents can't be read.
//   - Only places can be hidden, not files by a pattern: a .env or *.pem can be read unless it is
//     directly in the home directory.
//   - Places are determined at the start. In a directory above a hidden place, such as the home
//     directory, nothing can be created, and what others create there is inaccessible until the
//     next start. A secret that is created later in an allowed directory isn't hidden.
//   - A file in a hidden place can be read through a hard link elsewhere. Symbolic links and
//     mounts are taken into account.
//   - Modes, owners and extended attributes can be changed everywhere unless Profile.KeepModes
//     forbids that; times can always be changed.
//   - TCP is restricted by ports, never by hosts. UDP isn't restricted, except by Profile.NoTCP.
//   - Before version 9, Unix sockets by path aren't restricted. Without Profile.NoUnix, servers on
//     such sockets (docker, D-Bus, the user's systemd) can be asked to do what the program may
//     not. Standard streams that are sockets stay usable.
//   - Restricting signals requires version 6 with a later fix. Processes of an earlier start count
//     as others here; the starter can signal them.
//   - Limits, priorities and processors can be set within a program's session. If the starter has
//     ended, or a start is in another session, a program can set only its own.
//   - Without root, HideSecrets leaves oom_score_adj and autogroup in /proc writable for all
//     processes of the user, because creating namespaces needs writable files there.
//   - System V shared memory and kernel keyrings of the same user are accessible.
//   - Others may later execute what the program may write: startup files of a shell, git hooks,
//     or the agent's own program if the user can replace it.
//
// Profiles require version 3 (Linux 6.2), ports version 4. Up to 16 profiles can be nested.
// The seccomp filter that restricts sockets exists for amd64 and arm64. It kills programs
// of other architectures, and 32-bit programs unless the profile restricts only actions on
// other processes.
//
// # Concurrency
//
// A Program may be used by any number of goroutines. A Command must be used by one, except
// for Kill. Main is a process of its own. For each start under a profile, a goroutine of
// the starter answers what the filter can't decide, until the last process under the
// profile has ended.
package launch
