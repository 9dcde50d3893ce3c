package plugin

import (
	"errors"
	"testing"

	"waymark/host/sandbox"
)

// TestMayPass: a module that wasn't in time is tried again, since the machine
// may have been busy; one that is wrong isn't until its file changes.
func TestMayPass(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{errors.New("no space left on device"), true},
		{&sandbox.RejectError{Reason: "describe fails: deadline exceeded", Cause: sandbox.ErrDeadline}, true},
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
