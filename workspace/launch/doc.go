// Package launch starts programs: in a session and process group of their own,
// with an environment, limits and, where it is asked for, under a [Profile] that
// the kernel holds them to, and all that they start.
//
// Between the starter and the program stands the shim ([Main]): a small program
// that sets what only a process can set for itself, and then becomes the program.
// A [Program] says how the shim is started, a [Spec] what it starts, and a
// [Command] is one start. [HideSecrets], [Plan] and [Server] make profiles of
// [Places]; [Profile.May] says what one gives, and [Profile.Weaknesses] what this
// machine can't hold of it. Profiles take Linux; elsewhere they are refused
// ([ErrUnsupported]).
//
// # Guarantees
//
//   - What is started is what was asked for, or nothing is: a profile that the
//     kernel can't hold, a specification of another version, a program that isn't
//     there are errors of [Command.Start], which returns when the program runs.
//     There is no weaker profile than the one that was asked for.
//   - The program gets three descriptors, the environment of the specification, and
//     no controlling terminal but its own. Descriptors that the starter was itself
//     given by accident are closed, too.
//   - A profile's places are those that its paths named without following a link;
//     what is put in their place afterwards gains nothing. A program that starts
//     others by a shim of its own can only narrow what they may do.
//   - Under a profile: no_new_privs, so that neither set-user-ID nor file
//     capabilities count; no capabilities but those named; no dump of memory. What
//     other processes have in memory, in their environment and open can't be
//     read, of the same user's neither, though /proc can. They can't be signaled, nor
//     their limits, priorities and processors be set, but for those that the program has
//     started.
//   - Specifications go through a pipe: neither arguments nor variables are seen in
//     lists of processes before the program is there.
//
// # Limits
//
// A profile holds back programs that do what they shouldn't; it isn't a virtual
// machine. Of Landlock, which allows places and hides none:
//
//   - Names, sizes and times of hidden files can be listed and asked for, their
//     contents can't be read.
//   - Hidden are places, and never files by a pattern: a .env or a *.pem anywhere
//     but in the home directory itself can be read.
//   - Places are those of the start. In a directory on the way to a hidden place
//     (the home directory, say) nothing can be made, and what others make there
//     later is out of reach until the next start. A secret that is made later in a
//     directory that was given isn't hidden from what runs.
//   - A file of a hidden place that has another name elsewhere, by a hard link, can
//     be read by that. Links and mounts are looked through.
//   - Modes, owners and extended attributes can be changed everywhere unless
//     Profile.KeepModes refuses it, and times always.
//   - TCP is held by ports, never by hosts; UDP isn't, but for Profile.NoTCP.
//   - Unix sockets by path aren't held before version 9. Without
//     Profile.NoUnix, what listens on one (docker, D-Bus, systemd of the user) can
//     be asked to do what the program may not. Standard streams that are sockets
//     stay what they are.
//   - Signals to others take version 6, as it was mended since. What an earlier start has
//     left is such another: the starter can signal it.
//   - Limits, priorities and processors can be set in a program's session, and by itself
//     alone where the starter has ended, or a start lies in another one.
//   - Without root, HideSecrets leaves oom_score_adj and autogroup writable below /proc, by
//     whose files namespaces are made, for all processes of the user.
//   - System V shared memory and kernel keyrings of the same user can be used.
//   - What may be written may be run by others later: a shell's startup files, a
//     hook of git, the agent's own program where the user can replace it.
//
// Profiles take version 3 (Linux 6.2), ports version 4; 16 profiles can lie within
// each other. The filter of system calls that cuts sockets exists for amd64 and
// arm64, and ends programs of other architectures; 32-bit ones run where nothing is cut but
// what is done to other processes.
//
// # Concurrency
//
// A Program may be used by any number of goroutines; a Command belongs to one,
// besides its Kill. Main is a process of its own. For each start under a profile a
// goroutine answers what the filter can't tell, until the last process under it has ended.
package launch
