// Command cursor-rules is a resolver module for Cursor's project rules:
// .cursor/rules/**/*.mdc at the top of a root, and in the .cursor/rules of
// directories below it, as monorepos have them.
//
//	harness build examples/cursor-rules
//
// Each rule is an instruction_file. The attribute mode says when it applies:
// "always" (alwaysApply), "glob" (with the attribute globs), "model" (an agent
// decides by the description) or "manual" (somebody names it). A rule of a
// directory below the root has the attribute directory, and is never "always".
//
// # Guarantees
//
// The front matter is read leniently, by lines: most of it isn't valid YAML,
// since globs stand in it without quotes. What can't be meant is a warning, and
// the rule is reported without it. Plain .md files aren't rules.
//
// # Configuration
//
//	config.cursor-rules = { depth = 2 }
//
// depth says how many directories below the root may have rules of their own,
// 0 to 8. Directories whose names begin with a dot, node_modules and vendor are
// not looked into, and at most 500 directories are.
package main

import guest "waymark/sdk-guest"

func init() { guest.Serve(module()) }

func main() {}
