package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"waymark/test/wasmtest"
)

// cmdStuck has the calls of a module not come back, in agents from now on:
// stuck FILE
func cmdStuck(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: stuck FILE")
	}
	sum := sha256.Sum256([]byte(ts.ReadFile(args[0])))
	ts.Setenv(envStuck, hex.EncodeToString(sum[:]))
	ts.Setenv("GODEBUG", "asyncpreemptoff=1")
}

// cmdModule writes a small resolver module, in one step, that finds NOTES.md in
// a root and names it after its version: module FILE NAME VERSION [READS…]
func cmdModule(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: module FILE NAME VERSION [READS…]")
	}
	describe, err1 := json.Marshal(map[string]any{"abi": 1, "name": args[1], "version": args[2], "resolvers": []any{
		map[string]any{"name": "notes", "kinds": []string{"command"}, "reads": append([]string{"NOTES.md"}, args[3:]...)},
	}})
	resolve, err2 := json.Marshal(map[string]any{"resources": []any{
		map[string]any{"kind": "command", "path": "NOTES.md", "name": "notes-" + args[2], "content": map[string]string{"file": "NOTES.md"}},
	}})
	ts.Check(errors.Join(err1, err2))
	file := ts.MkAbs(args[0])
	temp := filepath.Join(filepath.Dir(file), ".module.tmp")
	ts.Check(os.WriteFile(temp, wasmtest.File{Describe: string(describe), Resolve: string(resolve)}.Bytes(), 0o600))
	ts.Check(os.Rename(temp, file))
}
