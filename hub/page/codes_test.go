package page_test

import (
	"errors"
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
	text, expires := codes.Give()
	if len(text) != 22 || !expires.Equal(c.now.Add(10*time.Minute)) {
		t.Errorf("code %q until %v", text, expires)
	}
	if other, _ := codes.Give(); other == text {
		t.Error("the same code twice")
	}
	for _, wrong := range []string{"", "x", text[1:], text + "x"} {
		if err := codes.Take(wrong); !errors.Is(err, page.ErrCode) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	if err := codes.Take(text); err != nil {
		t.Errorf("the first time: %v", err)
	}
	if err := codes.Take(text); !errors.Is(err, page.ErrCode) {
		t.Errorf("the second time: %v", err)
	}
}

func TestCodesGrowOld(t *testing.T) {
	codes, c := newCodes()
	old, _ := codes.Give()
	c.now = c.now.Add(10*time.Minute - time.Second)
	young, _ := codes.Give()
	c.now = c.now.Add(time.Second)
	if err := codes.Take(old); !errors.Is(err, page.ErrCode) {
		t.Errorf("after ten minutes: %v", err)
	}
	if err := codes.Take(young); err != nil {
		t.Errorf("after a second: %v", err)
	}
}

func TestCodesAreFew(t *testing.T) {
	codes, _ := newCodes()
	first, _ := codes.Give()
	second, _ := codes.Give()
	for range 31 {
		codes.Give()
	}
	if err := codes.Take(first); !errors.Is(err, page.ErrCode) {
		t.Errorf("the first of 33: %v", err)
	}
	if err := codes.Take(second); err != nil {
		t.Errorf("the second of 33: %v", err)
	}
}

// TestTriesAreFew: guessing is bounded, and doesn't cost a good code its life.
func TestTriesAreFew(t *testing.T) {
	codes, c := newCodes()
	text, _ := codes.Give()
	tries := 0
	for errors.Is(codes.Take("guess"), page.ErrCode) {
		if tries++; tries > 1000 {
			t.Fatal("guesses aren't bounded")
		}
	}
	if err := codes.Take(text); !errors.Is(err, page.ErrTooMany) {
		t.Errorf("a good code after %d tries: %v", tries, err)
	}
	c.now = c.now.Add(time.Second)
	if err := codes.Take(text); err != nil {
		t.Errorf("a second later: %v", err)
	}
}
