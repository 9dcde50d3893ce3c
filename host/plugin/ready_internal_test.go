package plugin

import (
	"errors"
	"testing"

	"waymark/host/sandbox"
	"waymark/host/sandbox/codecache"
)

// TestMayPass: a module that didn't describe itself in time, or that a busy machine didn't
// compile, is tried again; one that is wrong, or takes too much to compile, isn't until
// its file changes.
func TestMayPass(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{errors.New("no space left on device"), true},
		{&sandbox.RejectError{Reason: "describe fails: deadline exceeded", Cause: sandbox.ErrDeadline}, true},
		{&codecache.BusyError{}, true},
		{&sandbox.RejectError{Reason: "not WebAssembly"}, false},
		{&sandbox.RunError{Kind: sandbox.ErrDeadline}, true},
	} {
		v, f := &version{}, &file{}
		v.fail(f, f.since, tt.err, mayPass(tt.err))
		if v.passing != tt.want || !f.retry.IsZero() != tt.want {
			t.Errorf("%v: passing %v, again at %v", tt.err, v.passing, f.retry)
		}
	}
}
