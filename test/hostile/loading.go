package hostile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func loadingCases() []Case {
	list := append(append(fileStates(), moduleForms()...), changes()...)
	for i := range list {
		list[i].Class, list[i].Name = ClassLoading, "loading/"+list[i].Name
		if list[i].Within == 0 {
			list[i].Within = time.Second // several modules
		}
	}
	return list
}

// other is a sound module of that name.
func other(name string) []byte { return module{Description: describing(name)}.build() }

// put is a plugin directory with these files, by turns a name and a content.
func put(files ...any) func(dir string) error {
	return func(dir string) error {
		var err error
		for i := 0; i < len(files); i += 2 {
			name, _ := files[i].(string)
			content, _ := files[i+1].([]byte)
			err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), content, 0o644))
		}
		return err
	}
}

// fileStates are plugin directories with files that aren't as they should be.
func fileStates() []Case {
	good := other("good")
	states := func(lines ...string) Want { return Want{Outcomes: []string{Absent}, States: lines} }
	then := func(steps ...func(string) error) func(string) error {
		return func(dir string) error {
			for _, step := range steps {
				if err := step(dir); err != nil {
					return err
				}
			}
			return nil
		}
	}
	var cut []any
	var cutStates []string
	for i := range 16 {
		n := len(good) * i / 16
		cut = append(cut, fmt.Sprintf("cut-%02d.wasm", i), good[:n])
		cutStates = append(cutStates, fmt.Sprintf(`~cut-%02d\.wasm rejected .+`, i))
	}
	return []Case{
		{Name: "cut", Plugins: put(cut...), Want: states(cutStates...)},
		{Name: "symlinked", Plugins: then(put("real", good), tree("good.wasm -> real", "gone.wasm -> nothing", "loop.wasm -> loop.wasm")), Want: states(
			`~gone\.wasm rejected .*no such file.*`, "good.wasm ready", `~loop\.wasm rejected .*too many.*`)},
		{Name: "symlinked-out", Plugins: tree("a.wasm -> /dev/zero", "b.wasm -> /proc/self/mem", "c.wasm -> /dev/stdin"), Want: states(
			`~a\.wasm rejected not a regular file.*`, `~b\.wasm rejected .*`, `~c\.wasm rejected .*`)},
		{Name: "special", Plugins: tree("a.wasm |", "b.wasm ^", "c.wasm/x.wasm = x"), Want: states(
			`~a\.wasm rejected not a regular file.*`, `~b\.wasm rejected .*`, `~c\.wasm rejected not a regular file.*`)},
		{Name: "unreadable", Nobody: true, Plugins: then(put("a.wasm", good), tree("a.wasm ! 000")), Want: states(`~a\.wasm rejected .*permission denied.*`)},
		{Name: "sparse-terabyte", Plugins: tree("a.wasm # 1099511627776"), Want: states(`~a\.wasm rejected .*bytes.*`)},
		{Name: "writable-by-all", Plugins: then(put("a.wasm", good), tree("a.wasm ! 666")), Want: states(`a.wasm rejected writable by everyone`)},
		{Name: "empty", Plugins: put("a.wasm", nil), Want: states("a.wasm rejected the file is empty")},
		{Name: "one-name-twice", Plugins: put("a.wasm", good, "b.wasm", module{Description: describing("good"), Response: `{"warnings":["another"]}`}.build()), Want: states(
			"a.wasm ready", `b.wasm rejected the name "good" is taken by`)},
		{Name: "same-content-twice", Plugins: put("a.wasm", good, "b.wasm", good), Want: states(
			"a.wasm ready", `b.wasm rejected the name "good" is taken by`)},
		{Name: "the-victims-name", Plugins: put("zz.wasm", other(victimName)), Want: states(`zz.wasm rejected the name "victim" is taken by`)},
		{Name: "names-of-files", Plugins: put("a b.wasm", []byte("x"), "new\nline.wasm", []byte("x"), "\xff.wasm", []byte("x"), "[*].wasm", good), Want: states(
			"[*].wasm ready", "a b.wasm rejected not WebAssembly", "~(?s)new.line.wasm rejected not WebAssembly.*", "\xff.wasm rejected not WebAssembly")},
		{Name: "files-1000", Within: 3 * time.Second, Plugins: func(dir string) error {
			for i := range 1000 {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%04d.wasm", i)), []byte("x"), 0o644); err != nil {
					return err
				}
			}
			return nil
		}, Want: ends(Absent)},
	}
}

// moduleForms are files whose sections aren't as they should be. Others are
// text.
func moduleForms() []Case {
	with := func(name string, wasm func() []byte, text string) Case {
		return Case{Name: name, Module: wasm, Want: rejected(text)}
	}
	return []Case{
		with("sections-out-of-order", func() []byte {
			good := other(hostileName)
			return append(good, good[8:]...)
		}, `.`),
		with("unknown-section", func() []byte { return append(other(hostileName), 200, 0) }, `section`),
		with("section-of-4-gib", func() []byte { return append(other(hostileName), 0, 0xff, 0xff, 0xff, 0xff, 0x0f) }, `.`),
	}
}

// changes are plugin directories that change while they are loaded and used.
func changes() []Case {
	good := other("good")
	replace := func(dir string, content []byte) error { // as an installer does it
		tmp := filepath.Join(dir, ".tmp")
		if err := os.WriteFile(tmp, content, 0o644); err != nil {
			return err
		}
		return os.Rename(tmp, filepath.Join(dir, "a.wasm"))
	}
	// hammer does it again and again until the case is over.
	hammer := func(step func(dir string, i int) error) func(context.Context, Dirs) error {
		return func(ctx context.Context, dirs Dirs) error {
			for i := 0; ctx.Err() == nil; i++ {
				if err := step(dirs.Plugins, i); err != nil {
					return err
				}
			}
			return nil
		}
	}
	anyState := Want{Outcomes: []string{Absent}, States: []string{`~a\.wasm (ready|rejected .*)`}}
	maybe := ends(Absent)
	return []Case{
		{Name: "renamed-over", Plugins: put("a.wasm", good), Want: anyState, During: hammer(func(dir string, i int) error {
			return replace(dir, [][]byte{good, []byte("x"), good[:100]}[i%3])
		})},
		{Name: "deleted-and-recreated", Plugins: put("a.wasm", good), Want: maybe, During: hammer(func(dir string, _ int) error {
			return errors.Join(os.Remove(filepath.Join(dir, "a.wasm")), put("a.wasm", good)(dir))
		})},
		{Name: "slowly-written", Plugins: put("a.wasm", nil), Want: anyState, During: hammer(func(dir string, i int) error {
			return os.WriteFile(filepath.Join(dir, "a.wasm"), good[:i%(len(good)+1)], 0o644)
		})},
		{Name: "growing", Plugins: put("a.wasm", good), Want: anyState, Memory: 192, During: hammer(func(dir string, i int) error {
			if i > 500 {
				return os.Truncate(filepath.Join(dir, "a.wasm"), int64(len(good)))
			}
			f, err := os.OpenFile(filepath.Join(dir, "a.wasm"), os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.Write(make([]byte, 1<<16))
			return errors.Join(err, f.Close())
		})},
		{Name: "mended", Drive: func(ctx context.Context, b *Bench) error { // a reload sees the file as it is then
			for _, step := range []struct {
				content []byte
				want    string
			}{{good[:len(good)/2], "a.wasm rejected"}, {good, "a.wasm ready"}, {[]byte("x"), "a.wasm rejected"}} {
				if err := replace(b.Dirs.Plugins, step.content); err != nil {
					return err
				}
				states, err := b.reload(ctx)
				if err != nil {
					return err
				}
				if len(states) == 0 || !strings.HasPrefix(states[0], step.want) {
					b.wrong("after %d bytes: %q, want %q", len(step.content), states, step.want)
				}
			}
			return nil
		}, Want: maybe},
		{Name: "removed-while-used", Plugins: put("a.wasm", good), Drive: func(ctx context.Context, b *Bench) error {
			h, err := b.open(ctx)
			if err != nil {
				return err
			}
			defer b.close(h)
			for _, name := range []string{"a.wasm", victimFile} { // what runs is what was loaded
				if err := os.Remove(filepath.Join(b.Dirs.Plugins, name)); err != nil {
					return err
				}
			}
			return b.refresh(ctx, h)
		}, Want: maybe},
	}
}
