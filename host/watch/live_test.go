package watch_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"waymark/host/watch"
)

// timeout is how long a batch may take that has to come. It ends a test that
// hangs, and measures nothing.
const timeout = 3 * time.Minute

// live is a running Watcher over the real notifier and a real directory.
type live struct {
	*watch.Watcher
	t     testing.TB
	dir   string // what the test changes
	fence string // what only the fence changes
	posts int
}

// start runs a Watcher until the end of the test.
func start(t testing.TB, opts watch.Options) *watch.Watcher {
	t.Helper()
	w := watch.New(opts)
	var running sync.WaitGroup
	running.Go(func() {
		if err := w.Run(context.Background()); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(func() {
		_ = w.Close()
		running.Wait()
	})
	return w
}

// newLive runs a Watcher for a test. A batch waits until the keeper is idle,
// so that it holds all that an operation leads to; the timers of re-checks
// don't come due.
func newLive(t testing.TB, opts watch.Options) *live {
	t.Helper()
	base := linkFreeDir(t)
	r := &live{t: t, dir: filepath.Join(base, "w"), fence: filepath.Join(base, "fence")}
	for _, dir := range []string{r.dir, r.fence} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	opts.MaxWait = time.Hour
	opts.Recheck, opts.SilentRecheck = cmp.Or(opts.Recheck, time.Hour), time.Hour
	r.Watcher = start(t, opts)
	r.Set("fence", []watch.Dir{{Path: r.fence}})
	r.until("fence")
	return r
}

func (r *live) path(name string) string { return filepath.Join(r.dir, name) }

// until collects the owners of batches until one comes for the given owner,
// which is left out. An All counts as the owner "everybody", and is for all
// owners but the fence: it doesn't say whether that has been seen.
func (r *live) until(owner string) []string {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	woken := map[string]bool{}
	for {
		b, err := r.Wait(ctx)
		if err != nil {
			r.t.Fatalf("no batch comes for %s: %v", owner, err)
		}
		if b.All {
			woken["everybody"] = true
		}
		for _, o := range b.Owners {
			woken[o] = true
		}
		if woken[owner] || b.All && owner != "fence" {
			delete(woken, owner)
			return slices.Sorted(maps.Keys(woken))
		}
	}
}

// settled returns the owners woken since the last call. Events come in order,
// so those of what was done have all been seen when that of the fence comes;
// the making of a directory is just one event.
func (r *live) settled() []string {
	r.t.Helper()
	r.posts++
	if err := os.Mkdir(filepath.Join(r.fence, fmt.Sprint(r.posts)), 0o755); err != nil {
		r.t.Fatal(err)
	}
	return r.until("fence")
}

// do carries out one operation: a word and paths relative to the directory.
func (r *live) do(op string, args []string) error {
	at := func(i int) string { return r.path(args[i]) }
	switch op {
	case "watch": // OWNER [DIR:NAME,NAME,THROUGH/…]…, any names without a colon; */ are directories
		var dirs []watch.Dir
		for _, arg := range args[1:] {
			dir, names, some := strings.Cut(arg, ":")
			d := watch.Dir{Path: r.path(dir)}
			if some {
				d.Names = []string{}
				for _, name := range strings.FieldsFunc(names, func(c rune) bool { return c == ',' }) {
					if name == "*/" {
						d.Directories = true
					} else if name, only := strings.CutSuffix(name, "/"); only {
						d.Through = append(d.Through, name)
					} else {
						d.Names = append(d.Names, name)
					}
				}
			}
			dirs = append(dirs, d)
		}
		r.Set(args[0], dirs)
	case "mkdir":
		return os.Mkdir(at(0), 0o755)
	case "mkdirs":
		return os.MkdirAll(at(0), 0o755)
	case "write":
		return os.WriteFile(at(0), []byte(strings.Join(args, " ")), 0o644)
	case "append":
		return appendTo(at(0))
	case "rm":
		return os.Remove(at(0))
	case "rmall":
		return os.RemoveAll(at(0))
	case "mv":
		return syscall.Rename(at(0), at(1)) // os.Rename takes no directory's place
	case "chmod":
		return os.Chmod(at(1), map[string]os.FileMode{"closed": 0, "open": 0o755, "private": 0o700}[args[0]])
	case "symlink": // TARGET PATH
		return os.Symlink(args[0], at(1))
	case "link":
		return os.Link(at(0), at(1))
	case "noise": // DIR N
		return r.noise(at(0), args[1])
	case "look":
		return readAll(r.dir)
	default:
		return fmt.Errorf("no such operation: %s", op)
	}
	return nil
}

func appendTo(path string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := f.WriteString("more"); err != nil {
		return err
	}
	return f.Close()
}

// noise makes files with names of their own.
func (r *live) noise(dir, count string) error {
	var n int
	if _, err := fmt.Sscan(count, &n); err != nil {
		return err
	}
	for i := range n {
		path := filepath.Join(dir, fmt.Sprintf("noise-%d-%d", r.posts, i))
		if err := os.Symlink("nowhere", path); err != nil { // quicker than a file
			return err
		}
	}
	return nil
}

// readAll does what a re-check does: list, stat and read everything.
func readAll(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		if _, err := os.Lstat(path); err != nil {
			return err
		}
		_, err = os.ReadFile(path)
		return err
	})
}
