package watch_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"waymark/host/watch"
)

// FuzzEvent compares whom an event concerns with the rule as one would say it:
// whoever asked for that name in that directory, or for any, and, unless it
// was only written to, whoever asked for it or for something below.
func FuzzEvent(f *testing.F) {
	f.Add("/w/x/f", "/w/x", "f\ng", byte(watch.OpWrite))
	f.Add("/w/x", "/w/x/y", "", byte(watch.OpRename))
	f.Add("/", "/", "f", byte(watch.OpChmod))
	f.Add("//f", "/w/../w/.", "*", byte(0))
	f.Add("/w/x/abc", "/w/x", "a*c\ng", byte(watch.OpWrite))
	f.Add("/w/x/[", "/w/x", "[\ng", byte(watch.OpWrite))
	f.Add("f", "relative", "*", byte(255))
	f.Add("/w/\xff/\x00", "/w/\xff", "\x00", byte(watch.OpCreate))
	f.Fuzz(func(t *testing.T, path, dir, names string, op byte) {
		dir = filepath.Join("/nowhere", dir)
		path = strings.Replace(path, "/", "/nowhere/", 1)
		d := watch.Dir{Path: dir}
		if names != "*" {
			d.Names = strings.Split(names, "\n")
			if glob := d.Names[0]; doublestar.ValidatePattern(glob) && !strings.Contains(glob, "/") {
				d.Globs = []string{glob}
			}
		}
		at := strings.LastIndexByte(path, '/')
		in, name := path[:max(at, 0)], path[at+1:]
		if in == "" {
			in = "/"
		}
		above := path == "/" || path == dir || strings.HasPrefix(dir, path+"/") && path != ""
		want := in == dir && (d.Names == nil || slices.Contains(d.Names, name) || len(d.Globs) > 0 && doublestar.MatchUnvalidated(d.Globs[0], name)) ||
			above && watch.Op(op)&^watch.OpWrite&(watch.OpCreate|watch.OpRemove|watch.OpRename|watch.OpChmod) != 0
		withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
			b.set("a", d)
			b.n.send(path, watch.Op(op))
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if got, err := b.Wait(ctx); (err == nil) != want {
				t.Errorf("event %q %b for %+v: got %+v, want %v", path, op, d, got, want)
			}
		})
	})
}
