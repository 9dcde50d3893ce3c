package toolchain

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func matchC(names []string) bool { return hasSuffix(names, ".c") }

// howC says how to get what C needs.
const howC = "on Debian and Ubuntu: apt install clang-19 lld-19 wasi-libc libclang-rt-19-dev-wasm32; " +
	"elsewhere: unpack the WASI SDK and set WASI_SDK_PATH to its directory"

// EnvSDK names the environment variable with the directory of a WASI SDK,
// which is then asked first.
const EnvSDK = "WASI_SDK_PATH"

// clang is a compiler that makes modules.
type clang struct {
	path   string
	target string
}

// The same target under its old and its new name; Debian's C library knows the
// old one, later ones will drop it.
var targets = [...]string{"wasm32-wasi", "wasm32-wasip1"}

// findClang returns the first compiler that has everything that it takes: it is
// asked to link a probe, since each of header files, C library, compiler
// runtime and linker comes in a package of its own.
func findClang(ctx context.Context, j *job) (clang, error) {
	paths := clangs()
	if len(paths) == 0 {
		return clang{}, &MissingError{Tool: "clang", Why: "there is no clang in PATH, and " + EnvSDK + " is not set", How: howC}
	}
	var first error
	for _, path := range paths {
		for _, target := range targets {
			c := clang{path, target}
			err := c.probe(ctx, j)
			if err == nil {
				return c, nil
			}
			if ctx.Err() != nil {
				return clang{}, ctx.Err()
			}
			first = cmp.Or(first, err)
		}
	}
	return clang{}, first
}

// clangs lists the compilers to try: that of EnvSDK, clang-N of PATH from the
// newest, then clang.
func clangs() []string {
	var paths []string
	if sdk := os.Getenv(EnvSDK); sdk != "" {
		paths = append(paths, filepath.Join(sdk, "bin", "clang"))
	}
	versioned := map[int]string{}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		entries, err := os.ReadDir(dir)
		if err != nil || !filepath.IsAbs(dir) {
			continue
		}
		for _, e := range entries {
			m := clangName.FindStringSubmatch(e.Name())
			if m == nil {
				continue
			}
			n, err := strconv.Atoi(m[1])
			if _, known := versioned[n]; err == nil && !known {
				versioned[n] = filepath.Join(dir, e.Name())
			}
		}
	}
	for _, n := range slices.Backward(slices.Sorted(maps.Keys(versioned))) {
		paths = append(paths, versioned[n])
	}
	if path, ok := findTool("clang"); ok {
		paths = append(paths, path)
	}
	return paths
}

var clangName = regexp.MustCompile(`^clang-([0-9]+)$`)

// probeSource needs a header file; the libraries are opened for any source.
const probeSource = `#include <stdlib.h>
__attribute__((export_name("describe"))) int describe(void) { return abs(-1); }
`

func (c clang) probe(ctx context.Context, j *job) error {
	source := filepath.Join(j.temp, "probe.c")
	if err := os.WriteFile(source, []byte(probeSource), 0o600); err != nil {
		return err
	}
	quiet := *j
	quiet.stderr = nil
	err := quiet.run(ctx, noIncludes(), c.path, append(c.flags(j.temp), "-o", filepath.Join(j.temp, "probe.wasm"), source)...)
	var failed *ToolError
	if !errors.As(err, &failed) {
		return err
	}
	return &MissingError{Tool: lacking(failed.Text), Why: c.path + " can't build for " + c.target + ": " + firstLine(failed.Text, failed.Err), How: howC}
}

// lacking tells from what a compiler says which part of the toolchain it
// didn't find.
func lacking(text string) string {
	for _, part := range []struct{ sign, name string }{
		{"wasm-ld", "wasm-ld"},
		{"libclang_rt", "the compiler runtime for wasm32"},
		{"stdlib.h", "wasi-libc"},
		{"crt1-reactor", "wasi-libc"},
		{"-lc", "wasi-libc"},
	} {
		// What isn't found is named in the same line; "wasm-ld: error: cannot
		// open …" is a line in which it says that of another part.
		for line := range strings.SplitSeq(text, "\n") {
			if strings.Contains(strings.TrimPrefix(line, "wasm-ld"), part.sign) && !strings.Contains(line, "linker command failed") {
				return part.name
			}
		}
	}
	return "a clang for wasm32-wasi"
}

func firstLine(text string, err error) string {
	if line, _, _ := strings.Cut(text, "\n"); line != "" {
		return line
	}
	return err.Error()
}
