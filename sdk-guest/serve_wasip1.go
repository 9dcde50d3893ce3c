//go:build wasip1

package guest

import "runtime"

// served is the module behind the exports. Exported wasm functions have no receiver, so it
// has to be a package variable.
var served Module

// Serve registers the module that the built .wasm file serves. Call it once, from init. An
// invalid module answers describe with the reason.
func Serve(m Module) {
	if served.Name != "" {
		panic("guest: Serve was called twice")
	}
	served = m
}

//go:wasmexport describe
func describe() int32 {
	text, err := served.HandleDescribe()
	return finish(&answer{text: text}, err)
}

//go:wasmexport resolve
func resolve() int32 {
	forgetBlocks()
	return finish(served.resolve(readInput(), rootFS{}))
}

// finish passes the result of a call to the host. The yield lets the garbage collector's own
// goroutines run. Without one per call they never would, because nothing else in a guest
// waits.
func finish(a *answer, err error) int32 {
	runtime.Gosched()
	if err != nil {
		setError(err.Error())
		return 1
	}
	setOutput(a)
	return 0
}
