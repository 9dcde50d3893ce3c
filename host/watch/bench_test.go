package watch_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"

	"waymark/host/watch"
)

// dirs200 are the directories of 200 skills, made below dir.
func dirs200(b *testing.B, dir string) []watch.Dir {
	b.Helper()
	dirs := []watch.Dir{{Path: dir, Names: []string{"AGENTS.md", "CLAUDE.md", ".agents"}}}
	for i := range 200 {
		path := fmt.Sprintf("%s/.agents/skills/skill-%03d", dir, i)
		if err := os.MkdirAll(path, 0o755); err != nil {
			b.Fatal(err)
		}
		dirs = append(dirs, watch.Dir{Path: path, Names: []string{"SKILL.md"}})
	}
	return dirs
}

func BenchmarkSetUnchanged(b *testing.B) {
	r := newLive(b, watch.Options{})
	dirs := dirs200(b, r.dir)
	r.Set("o", dirs)
	for b.Loop() {
		r.Set("o", dirs)
	}
}

func BenchmarkSetOneMoreOneLess(b *testing.B) {
	r := newLive(b, watch.Options{Quiet: 1})
	dirs := dirs200(b, r.dir)
	for b.Loop() {
		r.Set("o", dirs)
		r.until("o")
		r.Set("o", dirs[1:])
	}
}

// BenchmarkAdd adds the watches of 200 skills.
func BenchmarkAdd(b *testing.B) {
	r := newLive(b, watch.Options{Quiet: 1})
	dirs := dirs200(b, r.dir)
	for b.Loop() {
		r.Set("o", dirs)
		r.until("o")
		b.StopTimer()
		r.Set("o", nil)
		r.settled()
		b.StartTimer()
	}
}

// BenchmarkLook looks at all directories of 200 skills and finds them as they
// were.
func BenchmarkLook(b *testing.B) {
	n, dir := newNotifier(), linkFreeDir(b)
	w := start(b, watch.Options{Quiet: 1, NewBackend: func() (watch.Backend, error) { return n, nil }})
	w.Set("o", dirs200(b, dir))
	for b.Loop() {
		n.send(dir, watch.OpChmod)
		if _, err := w.Wait(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWriteToBatch writes a file and waits for the batch, quiet aside.
func BenchmarkWriteToBatch(b *testing.B) {
	r := newLive(b, watch.Options{Quiet: 1})
	r.Set("o", dirs200(b, r.dir))
	r.until("o")
	r.settled()
	f, err := os.Create(r.path("AGENTS.md"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	r.settled()
	for b.Loop() {
		if _, err := f.WriteAt([]byte("x"), 0); err != nil {
			b.Fatal(err)
		}
		r.until("o")
	}
}

// BenchmarkSaveToBatch saves a file as an editor does, which is finished when it is
// closed, and waits for the batch.
func BenchmarkSaveToBatch(b *testing.B) {
	r := newLive(b, watch.Options{Quiet: 1})
	r.Set("o", dirs200(b, r.dir))
	r.until("o")
	r.settled()
	for b.Loop() {
		if err := os.WriteFile(r.path("AGENTS.md"), []byte("x"), 0o644); err != nil {
			b.Fatal(err)
		}
		r.until("o")
	}
}

// feeder is a Backend that gives the same event as often as times asks.
type feeder struct {
	watch.Backend
	event watch.Event
	times chan int // taken when all before were given
	n     int
	done  chan struct{}
}

func (f *feeder) Read() ([]watch.Event, error) {
	if f.n == 0 {
		select {
		case f.n = <-f.times:
		case <-f.done:
			return nil, io.EOF
		}
	}
	f.n--
	return []watch.Event{f.event}, nil
}

func (f *feeder) Close() error {
	close(f.done)
	return f.Backend.Close()
}

// BenchmarkEvent takes events, of a name that an owner asked for and of
// another.
func BenchmarkEvent(b *testing.B) {
	for _, name := range []string{"AGENTS.md", "noise"} {
		b.Run(name, func(b *testing.B) {
			dir := linkFreeDir(b)
			f := &feeder{
				Backend: newNotifier(), event: watch.Event{Path: dir + "/" + name, Op: watch.OpWrite},
				times: make(chan int), done: make(chan struct{}),
			}
			w := start(b, watch.Options{NewBackend: func() (watch.Backend, error) { return f, nil }})
			w.Set("o", dirs200(b, dir))
			if _, err := w.Wait(context.Background()); err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			f.times <- b.N
			f.times <- 1
			b.StopTimer()
		})
	}
}
