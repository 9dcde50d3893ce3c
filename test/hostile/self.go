package hostile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// warmUpCase is a workspace without anything in it.
const warmUpCase = "self/warm-up"

// selfCases are for the runner itself: each, but the first, is not as stated,
// and the package's own test wants that to be seen.
func selfCases() []Case {
	list := []Case{
		{Name: warmUpCase, Builtin: true},
		{Name: "self/hangs", Drive: func(context.Context, *Bench) error {
			<-make(chan int) // whatever the context says
			return nil
		}},
		{Name: "self/dies", Drive: func(context.Context, *Bench) error {
			if _, err := os.Stderr.WriteString("the last words"); err != nil {
				return err
			}
			os.Exit(3)
			return nil
		}},
		{Name: "self/fails", Drive: func(context.Context, *Bench) error { return errors.New("no bench") }},
		{Name: "self/outcome", Module: plain, Want: rejected("")},
		{Name: "self/rows", Module: plain, Want: rows("instruction_file:nothing")},
		{Name: "self/warning", Module: plain, Want: rows().warning("anything")},
		{Name: "self/text", Module: module{Resolve: "(unreachable)"}.build, Want: ends(Crashed).saying("by accident")},
		{Name: "self/states", Plugins: put("a.wasm", []byte("x")), Want: Want{Outcomes: []string{Absent}, States: []string{"a.wasm ready"}}},
		{Name: "self/memory", Memory: 1, Module: plain, Drive: func(ctx context.Context, b *Bench) error {
			block := make([]byte, 8<<20)
			for i := range block {
				block[i] = 1
			}
			return errors.Join(b.drive(ctx), os.WriteFile(filepath.Join(b.Dirs.Base, "block"), block, 0o600))
		}},
		{Name: "self/canary", Module: module{Response: `{"resources":[{"kind":"instruction_file","path":"VICTIM.md","key":"k","content":{"inline":"` + canary + `"}}]}`}.build},
		{Name: "self/victim", Module: plain, Workspace: tree("VICTIM.md = another")},
		{Name: "self/goroutine", Module: plain, Drive: func(ctx context.Context, b *Bench) error {
			go func() { <-make(chan int) }()
			return b.drive(ctx)
		}},
		{Name: "self/descriptor", Module: plain, Drive: func(ctx context.Context, b *Bench) error {
			_, err := syscall.Open(os.DevNull, syscall.O_RDONLY|syscall.O_CLOEXEC, 0) // which nobody will close
			return errors.Join(err, b.drive(ctx))
		}},
		{Name: "self/time", Module: plain, Within: time.Nanosecond},
	}
	for i := range list {
		list[i].Class = "self"
		if list[i].Within == 0 {
			list[i].Within = time.Minute
		}
	}
	return list
}
