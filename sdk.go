package waymark

import "embed"

// SDKVersion is the version of the kits for resolvers, of all languages alike.
const SDKVersion = "1.0.0"

// SDK holds the kits as they stand in this repository, so that the harness can
// put them beside a resolver without a network: packages abi and sdk-guest with
// their subpackages, and the headers and sources of the other languages. Tests
// of the Go packages come along, since patterns can't leave them out; whoever
// copies them does. Only programs that use SDK carry it.
//
//go:embed LICENSE abi/*.go sdk-guest/*.go sdk-guest/frontmatter/*.go sdk-guest/jsonlite/*.go
//go:embed sdk-guest/c/waymark.h sdk-guest/assemblyscript/waymark/*.ts
var SDK embed.FS
