// Package hostile holds modules and workspaces written to break the agent, each
// with the outcome that the sandbox must produce, and runs them against the real
// engine through its public API. `make hostile` prints outcomes and costs; this
// package's test asserts the outcomes.
//
// # A case
//
// A Case is a module, a plugin directory or a workspace, and a Want. It runs
// together with a victim, a second module in the same engine, whose rows must be
// the same as if it ran alone. Modules are in the WebAssembly text format, or built
// by code where that is clearer; none is an opaque blob.
//
// # The corpus
//
// A case that can be written as text is a txtar file below corpus, with the name of
// the case. The first part of the name is its class. The comment says what is
// attacked, if the name doesn't. All sections are optional:
//
//	case            properties, one a line (below)
//	want            the expected outcome, one expectation a line (below)
//	workspace       files of the root, one a line: see tree
//	imports.wat     "kernel", "files" and "units" stand for their host functions;
//	                other imports are written out
//	fields.wat      further fields of the module
//	describe.wat, resolve.wat, initialize.wat, start.wat
//	                instructions that run there, before the answer: see module
//	description, response
//	                the answers; without them sound ones without rows
//	module.wat      a whole module, in place of these parts
//	module          the bytes of a file that need not be a module
//	body.wat        an attack that is made in several moments of a run, one case
//	                for each, called name/moment
//
// Properties:
//
//	class files               another class than the name says
//	at resolve describe …     the moments for body.wat; procs=1 is resolve on one
//	                          processor, with three times the time
//	time 100ms                limits of a call: time, memory and response in bytes
//	pages 150                 further pages of the module's memory
//	within 2s, grows 192      time to the outcome; growth of the process in MiB
//	rounds 4, roots 2         how often, and on how many roots
//	builtin, nobody, module   see Case; module: there is one, though no part of it
//	                          is hostile
//
// Expectations:
//
//	outcome crashed limit     any of these; without this line: ready
//	error REGEXP              what the error says, if there is one
//	warning REGEXP            what one of the warnings says
//	row kind:path status …    all rows but the victim's; "rows" alone: none
//
// For body.wat they apply to resolve, and the default outcome is deadline. At the
// other moments the module is rejected, with the same error.
//
// Text between << and >> is a template: <<repeat 500 "text">>, <<each 500 "text #">>
// with the number in place of #, or <<"text">> for what can't be written literally.
//
// Some cases aren't text: modules that break the binary format or have a million of
// something (which the text format can't express), those made from a seed or a
// table, and cases in which files change or that take several steps.
//
// # Guarantees
//
//   - Each case runs in a child process that is killed when its time is up, so a
//     case that stops a whole process is a result like any other.
//   - A case has no state: it runs in its own directories, which are removed.
//   - Besides its outcome, each case is checked for invariants: the victim's rows,
//     one line per error, no content of a file outside the root in any output, no
//     goroutine or descriptor left behind, a bound on memory, and, on request, the
//     time to the outcome and the longest garbage collection elsewhere.
//
// # Concurrency
//
// Cases are plain data. A Pool may be used by many goroutines; each of its
// children runs one case at a time.
//
// # Limits
//
// Memory, descriptors and mappings are read from Linux's /proc. Other load on the
// machine affects the figures, so `make hostile` takes medians.
package hostile
