package toolchain

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// flags are those of every build in C. The stack comes first in memory, so that
// one that overflows ends the run instead of writing over data. The names of
// functions stay: they say where a run has crashed.
func (c clang) flags(dir string) []string {
	return []string{
		"--target=" + c.target, "-mexec-model=reactor", "-std=gnu11", "-O2", "-Wall", "-Wextra",
		"-ffunction-sections", "-fdata-sections", "-fno-ident", "-ffile-prefix-map=" + dir + "=.",
		"-Wl,--gc-sections", "-Wl,--strip-debug", "-Wl,--stack-first", "-Wl,-z,stack-size=262144",
	}
}

// noIncludes keeps the header files of this machine's own C library out.
func noIncludes() []string { return []string{"CPATH=", "C_INCLUDE_PATH=", "LIBRARY_PATH="} }

// buildC compiles all C files in the directory into one module. Those that end
// in _test.c are for tests.
func buildC(ctx context.Context, j *job) error {
	sources, err := cSources(j.dir)
	if err != nil {
		return err
	}
	c, err := findClang(ctx, j)
	if err != nil {
		return err
	}
	args := append(c.flags(j.dir), "-o", j.output)
	return j.run(ctx, noIncludes(), c.path, append(args, sources...)...)
}

// cSources returns names in byte order: what the linker puts where depends on
// it.
func cSources(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if n := e.Name(); !e.IsDir() && filepath.Ext(n) == ".c" && !strings.HasSuffix(n, "_test.c") {
			names = append(names, "./"+n) // a name may begin with a hyphen
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: %w: all C files in it end in _test.c", dir, ErrNoSource)
	}
	return names, nil
}
