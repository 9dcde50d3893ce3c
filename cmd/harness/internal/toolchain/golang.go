package toolchain

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

func matchGo(names []string) bool { return hasSuffix(names, ".go") }

// howGo says how to get Go. Distributions are often years behind.
const howGo = "install Go 1.26 or newer from https://go.dev/dl/ and put its bin directory into PATH"

// buildGo builds the package in the directory.
func buildGo(ctx context.Context, j *job) error {
	tool, ok := findTool("go")
	if !ok {
		return &MissingError{Tool: "go", Why: "there is no program of that name in PATH", How: howGo}
	}
	// Said outright, so that GOFLAGS in the environment can't say otherwise.
	mod := "-mod=readonly"
	if vendored(j.dir) {
		mod = "-mod=vendor"
	}
	env := []string{
		"GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0",
		"GOWORK=off", // a workspace somewhere above has nothing to do with a resolver
	}
	if j.offline {
		env = append(env, "GOPROXY=off", "GOTOOLCHAIN=local")
	}
	// Without debugging information, but with the names of functions, which are 2 %
	// of a module and say where it was stopped: no -s.
	err := j.run(ctx, env, tool, "build", mod, "-race=false", "-msan=false", "-asan=false", "-buildmode=c-shared", "-trimpath", "-buildvcs=false",
		"-ldflags=-w", "-o", j.output, ".")
	return explainGo(err)
}

// explainGo tells an old toolchain from a mistake in the source.
func explainGo(err error) error {
	var failed *ToolError
	if !errors.As(err, &failed) {
		return err
	}
	for line := range strings.SplitSeq(failed.Text, "\n") {
		if strings.Contains(line, "requires go >= ") {
			return &MissingError{Tool: "a newer Go", Why: strings.TrimPrefix(line, "go: "), How: howGo}
		}
	}
	return err
}

// vendored reports whether the module that a directory belongs to has a vendor
// directory.
func vendored(dir string) bool {
	for {
		if isFile(filepath.Join(dir, "go.mod")) {
			return isFile(filepath.Join(dir, "vendor", "modules.txt"))
		}
		up := filepath.Dir(dir)
		if up == dir {
			return false
		}
		dir = up
	}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
