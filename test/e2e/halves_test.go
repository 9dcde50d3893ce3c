package e2e_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"waymark/test/e2e"
	"waymark/test/process"
	"waymark/test/testenv"
)

// TestHalfWritten: of a file that is written in two steps, 1 to 50 ms apart, the hub
// gets the whole without another event, and nothing less after that. How often it
// gets the half first is measured by `make bench-latency`.
func TestHalfWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t).withHub()
	random := testenv.Rand(t)
	path := filepath.Join(w.root, "AGENTS.md")
	w.put(path, stepped(0))
	agent := w.start()
	seen := 0
	arrives := func(text string) {
		t.Helper()
		var err error
		_, seen, err = w.hub.Stored.Await(w.ctx, seen, func(p *e2e.Stored) bool { return instructions(p) == text })
		w.must(err)
	}
	arrives(stepped(0))
	ways := []func(string, string, func()) error{stayOpen, closeBetween, throughMap}
	for i := range testenv.Rounds(9, 18, 1000) {
		pause := time.Millisecond + time.Duration(random.Int64N(int64(49*time.Millisecond)))
		text := stepped(i + 1)
		w.must(ways[i%len(ways)](path, text, func() { w.must(process.Pause(w.ctx, pause)) }))
		arrives(text)
	}
	w.settles(w.root)
	w.stop(agent)
	w.checkSteps()
}

// stepped is a text whose halves tell which they are.
func stepped(i int) string {
	line := fmt.Sprintf("Line of text %06d.\n", i)
	return strings.Repeat(line, 40) + fmt.Sprintf("The end of %06d.\n", i)
}

// instructions is the text of AGENTS.md in a push that has it.
func instructions(p *e2e.Stored) string {
	for i := range p.Push.Snapshot.Resources {
		if text := string(p.Push.Snapshot.Resources[i].Payload); strings.HasPrefix(text, "Line of text ") {
			return text
		}
	}
	return ""
}

// checkSteps: what was stored is of one text after the other, and each ends whole.
func (w *world) checkSteps() {
	w.t.Helper()
	number := regexp.MustCompile(`\d{6}`)
	list, _ := w.hub.Stored.All()
	last, halves := 0, 0
	for i := range list {
		text := instructions(&list[i])
		if text == "" {
			continue // nothing of it, or no text yet
		}
		now, err := strconv.Atoi(number.FindString(text))
		w.must(err)
		whole := text == stepped(now)
		if now < last || now == last && !whole {
			w.t.Errorf("push %d has %d bytes of text %d after all of text %d", i, len(text), now, last)
		}
		if whole {
			last = now
		} else {
			halves++
		}
	}
	w.t.Logf("%d halves were stored", halves)
}

func stayOpen(path, text string, pause func()) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, first := f.WriteString(text[:len(text)/2])
	pause()
	_, second := f.WriteString(text[len(text)/2:])
	return errors.Join(first, second, f.Close())
}

func closeBetween(path, text string, pause func()) error {
	if err := os.WriteFile(path, []byte(text[:len(text)/2]), 0o600); err != nil {
		return err
	}
	pause()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text[len(text)/2:])
	return errors.Join(err, f.Close())
}

// throughMap needs a file of the same size.
func throughMap(path, text string, pause func()) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	data, err := unix.Mmap(int(f.Fd()), 0, len(text), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	copy(data, text[:len(text)/2])
	pause()
	copy(data[len(text)/2:], text[len(text)/2:])
	return errors.Join(unix.Munmap(data), f.Close())
}
