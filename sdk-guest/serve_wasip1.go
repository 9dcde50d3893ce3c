//go:build wasip1

package guest

import "runtime"

// served is what the exports answer for. Exported wasm functions have no
// receiver, so it can't be anything but a package variable.
var served Module

// Serve makes a module what the built .wasm file is. Call it once, from init.
// A module that isn't valid answers describe with the reason.
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

// finish hands the result of a call to the host. The yield lets the garbage
// collector's own goroutines run: without one per call they never do, because
// nothing else in a guest ever waits.
func finish(a *answer, err error) int32 {
	runtime.Gosched()
	if err != nil {
		setError(err.Error())
		return 1
	}
	setOutput(a)
	return 0
}
