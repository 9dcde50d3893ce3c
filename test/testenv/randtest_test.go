package testenv_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"waymark/test/testenv"
)

// TestRepeat runs the test below as it would fail, does what the failure says,
// and must see the same numbers.
func TestRepeat(t *testing.T) {
	first := fail(t)
	_, command, ok := strings.Cut(first, "repeat with: ")
	if !ok {
		t.Fatalf("it doesn't say how to repeat it:\n%s", first)
	}
	command, _, _ = strings.Cut(command, "\n")
	seed, rest, _ := strings.Cut(command, " ")
	if want := "go test -run '^TestRandFails$' waymark/test/testenv"; rest != want {
		t.Errorf("the command is %q, want %q", rest, want)
	}
	if a, b := numbers(t, first), numbers(t, fail(t, seed)); a != b {
		t.Errorf("the numbers were %s, and with %s they are %s", a, seed, b)
	}
	if a, b := numbers(t, first), numbers(t, fail(t)); a == b {
		t.Errorf("the numbers are always %s", a)
	}
	if out := fail(t, "WAYMARK_SEED=x"); !strings.Contains(out, "WAYMARK_SEED must be a number") {
		t.Errorf("of a bad seed it says:\n%s", out)
	}
}

func fail(t *testing.T, env ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestRandFails$")
	cmd.Env = append(append(os.Environ(), "WAYMARK_SEED=", "SEEDED_FAILS=1"), env...)
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("it doesn't fail:\n%s", out)
	}
	return string(out)
}

func numbers(t *testing.T, out string) string {
	t.Helper()
	_, line, ok := strings.Cut(out, "numbers: ")
	if !ok {
		t.Fatalf("it has no numbers:\n%s", out)
	}
	line, _, _ = strings.Cut(line, "\n")
	return line
}

func TestRandFails(t *testing.T) {
	if os.Getenv("SEEDED_FAILS") == "" {
		t.Skip("it is run by TestRepeat")
	}
	t.Run("in a subtest", func(t *testing.T) {
		r := testenv.Rand(t)
		t.Errorf("numbers: %d %d", r.Uint64(), r.Uint64())
	})
}

func TestRounds(t *testing.T) {
	t.Setenv("WAYMARK_LONG", "")
	if n, want := testenv.Rounds(1, 2, 3), map[bool]int{true: 1, false: 2}[testing.Short() || testenv.Race]; n != want || testenv.Long() {
		t.Errorf("%d rounds, want %d", n, want)
	}
	t.Setenv("WAYMARK_LONG", "1")
	if n := testenv.Rounds(1, 2, 3); n != 3 || !testenv.Long() {
		t.Errorf("%d rounds when there is time, want 3", n)
	}
}
