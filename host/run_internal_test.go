package host

import "testing"

// TestReplaceable: a value comes with the channel that closes when it is replaced, and not
// with that of the one before: a pusher that seems to be replaced by itself is never run.
func TestReplaceable(t *testing.T) {
	var r replaceable[int]
	const last = 100_000
	go func() {
		for i := range last {
			r.set(i + 1)
		}
	}()
	for before := -1; before < last; {
		value, replaced := r.get()
		if value <= before {
			t.Fatalf("%d was replaced by %d", before, value)
		}
		if before = value; value < last {
			<-replaced
		}
	}
}
