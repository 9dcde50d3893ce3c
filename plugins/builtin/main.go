// Command builtin is the wasm module of the built-in resolvers. Natively it does nothing. The
// command below builds it. `make guest` does so without inlining, and then uses package
// gowasm to make the result smaller:
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -trimpath -buildvcs=false -ldflags "-s -w" -o builtin.wasm waymark/plugins/builtin
package main

import (
	"waymark/plugins"
	guest "waymark/sdk-guest"
)

func init() { guest.Serve(plugins.Module()) }

func main() {}
