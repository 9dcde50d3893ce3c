// Package await has what goroutines wait with: for a change, which a [Signal] tells to any
// number of them and a [Wake] to one; for their [Turn] with work that may take long; and for
// the next try of something that fails, after the pause of a [Backoff].
//
// # Guarantees
//
// Who waits for a [Signal] calls Changed first and reads the state after that, so that no
// change between the two is lost:
//
//	for {
//		changed := signal.Changed()
//		if state := get(); ok(state) {
//			return state
//		}
//		select {
//		case <-changed:
//		case <-ctx.Done():
//			return ctx.Err()
//		}
//	}
//
// Change the state first, and call Notify after that. Several changes may wake a waiter once:
// it sees the newest state, not each one.
//
// One caller has a [Turn] at a time. [Turn.Urgent] interrupts what runs in [Turn.Do], and
// nothing starts there while an urgent caller waits; interrupted work runs again later. When
// the life of a Turn has ended, nobody gets it any more.
//
// The pauses of a [Backoff] double from a shortest to a longest one. cenkalti/backoff and
// similar packages retry a function. Here a connection or a watch works for a while before it
// fails again, and they have no notion of "worked long enough to start over".
//
// # Concurrency
//
// The methods of a Signal, a Wake and a Turn may be called from any goroutine, even under the
// lock that guards the state; those of a Turn not by one that has the turn. A Backoff belongs
// to one goroutine. Nothing here starts one.
package await
