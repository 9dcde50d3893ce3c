package codecache

import (
	"errors"
	"os/exec"
	"testing"
	"time"
)

// TestLastWords: which of a compiler's last words say that there was too little
// memory. Which of them a bomb brings about is chance.
func TestLastWords(t *testing.T) {
	failed := exec.CommandContext(t.Context(), "false").Run()
	for stderr, memory := range map[string]bool{
		"fatal error: runtime: out of memory\n\ngoroutine 1 [running]:":                              true,
		"runtime: cannot allocate memory\n":                                                          true,
		"==7==ERROR: ThreadSanitizer failed to allocate 0x2c000 (180224) bytes":                      true,
		"runtime/cgo: pthread_create failed: Resource temporarily unavailable\nSIGABRT: abort":       true,
		"runtime: failed to create new OS thread (have 7 already; errno=11)\nfatal error: newosproc": true,
		"panic: index out of range [7] with length 7\n\ngoroutine 1 [running]:\nmain.main()":         false,
		"fatal error: all goroutines are asleep - deadlock!":                                         false,
	} {
		err := explain(t.Context(), t.Context(), Limits{Time: time.Hour, Memory: 1 << 20}, failed, nil, stderr)
		var limit *LimitError
		var module *ModuleError
		if is := errors.As(err, &limit) && limit.What == "memory"; is != memory || !is && !errors.As(err, &module) {
			t.Errorf("%q: %v", stderr, err)
		}
	}
}

// TestKilled: the kernel kills a child for its memory, and for its processor time, when it
// is there before the child itself.
func TestKilled(t *testing.T) {
	killed := exec.CommandContext(t.Context(), "sh", "-c", "kill -KILL $$").Run()
	for _, tt := range []struct {
		allowed time.Duration
		what    string
	}{{time.Hour, "memory"}, {0, "processor time"}} {
		var limit *LimitError
		if err := explain(t.Context(), t.Context(), Limits{Time: tt.allowed}, killed, nil, ""); !errors.As(err, &limit) || limit.What != tt.what {
			t.Errorf("with %s of processor time: %v, want the limit of %s", tt.allowed, err, tt.what)
		}
	}
}
