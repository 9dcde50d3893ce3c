// Package assemblyscript holds the kit for resolvers in AssemblyScript, in the
// directory waymark; its index.ts says what is in it. `harness new` puts it into
// a project as sdk/waymark.
//
// # Guarantees
//
// A module that is built with the asconfig.json of a scaffold imports only what
// a host has. The tests run the kit in the host's own sandbox, and compare it
// with the Go SDK.
//
// # Limits
//
// Units (remembered parts of a run) aren't there. What AssemblyScript itself
// would import (Date.now, Math.random, console, trace) is for no resolver, and
// the host refuses a module that uses it.
package assemblyscript
