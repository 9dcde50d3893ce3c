package waymark

import "embed"

// Examples holds the directory examples as it stands in this repository, so that
// the harness can copy one out of it. What is a link to a kit there isn't in it:
// the copy gets the kit itself. The patterns name what belongs to the examples,
// since builds leave large files beside it. Only programs that use Examples carry
// it.
//
//go:embed examples/*/README.md examples/*/.gitignore examples/*/testdata/*.txtar
//go:embed examples/*/*.go examples/*/*.c examples/*/*.h
//go:embed examples/*/*.json examples/*/assembly/*.ts
//go:embed examples/*/main.tf examples/*/prepare.sh examples/*/build/Dockerfile
//go:embed examples/*/build/plugin.toml examples/*/build/waymark-start
var Examples embed.FS
