package page_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"waymark/hub/page"
)

// clock is a time that only tests move.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func newCodes() (*page.Codes, *clock) {
	c := &clock{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	return page.NewCodes(page.CodesOptions{Now: c.Now}), c
}

func TestCodesWorkOnce(t *testing.T) {
	codes, c := newCodes()
	text, expires := codes.Give("")
	if len(text) != 22 || !expires.Equal(c.now.Add(10*time.Minute)) {
		t.Errorf("code %q until %v", text, expires)
	}
	if other, _ := codes.Give(""); other == text {
		t.Error("the same code twice")
	}
	for _, wrong := range []string{"", "x", text[1:], text + "x"} {
		if _, err := codes.Take("here", wrong); !errors.Is(err, page.ErrCode) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	if _, err := codes.Take("here", text); err != nil {
		t.Errorf("the first time: %v", err)
	}
	if _, err := codes.Take("here", text); !errors.Is(err, page.ErrCode) {
		t.Errorf("the second time: %v", err)
	}
}

func TestCodesGrowOld(t *testing.T) {
	codes, c := newCodes()
	old, _ := codes.Give("")
	c.now = c.now.Add(10*time.Minute - time.Second)
	young, _ := codes.Give("")
	c.now = c.now.Add(time.Second)
	if _, err := codes.Take("here", old); !errors.Is(err, page.ErrCode) {
		t.Errorf("after ten minutes: %v", err)
	}
	if _, err := codes.Take("here", young); err != nil {
		t.Errorf("after a second: %v", err)
	}
}

// TestCodesAreFew: an owner has so many codes, and takes none of another's.
func TestCodesAreFew(t *testing.T) {
	codes, _ := newCodes()
	others, _ := codes.Give("other")
	first, _ := codes.Give("one")
	second, _ := codes.Give("one")
	for range 31 {
		codes.Give("one")
	}
	if _, err := codes.Take("", first); !errors.Is(err, page.ErrCode) {
		t.Errorf("the first of 33: %v", err)
	}
	for text, want := range map[string]string{second: "one", others: "other"} {
		if owner, err := codes.Take("", text); err != nil || owner != want {
			t.Errorf("a code of %s: of %q, %v", want, owner, err)
		}
	}
	for i := range 2000 { // and all owners together have so many
		codes.Give(fmt.Sprint(i))
	}
	last, _ := codes.Give("last")
	if _, err := codes.Take("", last); err != nil {
		t.Errorf("the last: %v", err)
	}
}

// TestTriesAreFew: who guesses is slowed down, and nobody else; a good code
// works all the while, from wherever it is tried.
func TestTriesAreFew(t *testing.T) {
	codes, c := newCodes()
	here, _ := codes.Give("")
	there, _ := codes.Give("")
	tries := 0
	for {
		if _, err := codes.Take("attacker", "guess"); !errors.Is(err, page.ErrCode) {
			break
		}
		if tries++; tries > 1000 {
			t.Fatal("guesses aren't bounded")
		}
	}
	if _, err := codes.Take("attacker", "guess"); !errors.Is(err, page.ErrTooMany) {
		t.Errorf("one more guess: %v", err)
	}
	if _, err := codes.Take("other", "mistyped"); !errors.Is(err, page.ErrCode) {
		t.Errorf("somebody else's mistake: %v", err)
	}
	for client, text := range map[string]string{"attacker": here, "other": there} {
		if _, err := codes.Take(client, text); err != nil {
			t.Errorf("a good code of %s after %d tries: %v", client, tries, err)
		}
	}
	for i := range 5000 { // with many addresses
		if _, err := codes.Take(fmt.Sprint(i), "guess"); !errors.Is(err, page.ErrCode) {
			t.Fatalf("the first guess from an address: %v", err)
		}
	}
	c.now = c.now.Add(time.Second)
	if _, err := codes.Take("attacker", "guess"); !errors.Is(err, page.ErrCode) {
		t.Errorf("a second later: %v", err)
	}
}
