package built_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// onARM64 are other packages' tests about what wazero compiles for arm64: remainders, what
// else programs calculate, and how much of the stack functions take.
var onARM64 = []struct{ dir, run string }{
	{"host/sandbox/meter", "^(TestRemainders|TestRandomCalculations|TestFramesOfManyVariables)$"},
	{"host/sandbox", "^TestRemainders$"},
	{"cmd/harness/internal/extism", "^TestRemainders$"},
}

// TestUnderQEMU runs tests of code for arm64 on machines with another processor. They are
// cross-compiled and run by qemu's user mode emulation (qemu-aarch64-static, from Debian's
// qemu-user-static). Without that, the test is skipped, or fails if nothing may be skipped.
//
// They may start no processes: a program executes itself through /proc/self/exe, which would
// require the kernel to know qemu. qemu 7.2 supports neither Landlock nor openat2, and
// measured times are meaningless.
func TestUnderQEMU(t *testing.T) {
	if testing.Short() {
		t.Skip("needs qemu")
	}
	if runtime.GOARCH == "arm64" {
		t.Skip("these tests are run as they are")
	}
	qemu := emulator(t)
	seeSources(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	args := []string{"test", "-c", "-vet=off", "-o", out + "/"}
	for _, tt := range onARM64 {
		args = append(args, "./"+tt.dir)
	}
	build := exec.CommandContext(t.Context(), "go", args...)
	build.Dir = root
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go test -c: %v\n%s", err, text)
	}
	for _, tt := range onARM64 {
		t.Run(tt.dir, func(t *testing.T) {
			t.Parallel()
			binary := filepath.Join(out, filepath.Base(tt.dir)+".test") // absolute, or it wouldn't find itself
			cmd := exec.CommandContext(t.Context(), qemu, binary, "-test.run="+tt.run, "-test.short", "-test.v")
			cmd.Dir = filepath.Join(root, tt.dir)
			text, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(text), "--- PASS: TestRemainders") {
				t.Errorf("%v\n%s", err, text)
			}
			t.Logf("%s of processor time", cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
		})
	}
}

// emulator is qemu's path, which is said to be missing where it is.
func emulator(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("qemu emulates programs on Linux alone")
	}
	for _, name := range []string{"qemu-aarch64-static", "qemu-aarch64"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const missing = "no qemu-aarch64-static: install Debian's qemu-user-static"
	if os.Getenv("WAYMARK_REQUIRE_ALL") != "" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

// seeSources looks at what is compiled here by another process, of which `go test` would
// else not notice that it changed.
func seeSources(t *testing.T) {
	t.Helper()
	for _, tt := range onARM64 {
		err := filepath.WalkDir(filepath.Join("../..", tt.dir), func(path string, _ fs.DirEntry, err error) error {
			if err == nil {
				_, _ = os.Stat(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
