package stop_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"waymark/cmd/internal/stop"
	"waymark/test/testenv"
)

// The test binary is the program under test when these are set: what it does,
// and the file that its words are mapped to. With envShort it uses a tenth of the
// processor time.
const envDoes, envWords, envShort = "WAYMARK_TEST_STOP", "WAYMARK_TEST_WORDS", "WAYMARK_TEST_SHORT"

// timeout is three times what is promised: machines stand still at times.
const timeout = 3 * stop.Bound

func TestMain(m *testing.M) {
	if does := programs[os.Getenv(envDoes)]; does != nil {
		if os.Getenv(envShort) != "" {
			stop.Haste = 10
		}
		stop.Main(func(ctx context.Context) int {
			if path := os.Getenv(envWords); path != "" {
				stop.Attach(ctx, mapped(path), func() {
					if says[os.Getenv(envDoes)] {
						_, _ = os.Stdout.WriteString("beat\n")
					}
				})
			}
			return does(ctx)
		})
	}
	os.Exit(m.Run())
}

var programs = map[string]func(context.Context) int{
	"ends well": func(ctx context.Context) int {
		ready()
		<-ctx.Done()
		return 7
	},
	"is deaf": func(context.Context) int {
		ready()
		select {}
	},
	"takes its time": func(ctx context.Context) int {
		stop.Allow(ctx, 10*time.Millisecond)
		ready()
		select {}
	},
	// Native code that doesn't come back can't be told from a loop that isn't
	// preempted: the tests switch that off.
	"spins": func(ctx context.Context) int {
		stop.Allow(ctx, 100*time.Millisecond) // where a signal comes
		go func() {
			for spinning := uint64(0); ; {
				spinning++
			}
		}()
		stopTheWorld()
		return 0
	},
	"spins from the start": func(context.Context) int {
		for spinning := uint64(0); ; {
			spinning++
		}
	},
	// Nor can a page that a disk doesn't give be told from a system call that
	// the scheduler doesn't know of.
	"waits for a disk": func(context.Context) int {
		var pipe [2]int
		if err := unix.Pipe(pipe[:]); err != nil {
			return 1
		}
		go func() {
			var b [1]byte
			for {
				_, _, _ = syscall.RawSyscall(syscall.SYS_READ, uintptr(pipe[0]), uintptr(unsafe.Pointer(&b)), 1)
			}
		}()
		stopTheWorld()
		return 0
	},
	"rests": func(ctx context.Context) int {
		ready()
		<-ctx.Done()
		return 7
	},
	"works": func(ctx context.Context) int {
		for ctx.Err() == nil {
		}
		return 7
	},
	"works hard": func(context.Context) int {
		ready()
		for range runtime.GOMAXPROCS(0) {
			go func() {
				for spinning := uint64(0); ; {
					spinning++
				}
			}()
		}
		for used := time.Duration(0); used < 20*time.Second/stop.Haste; used = cpuTime() {
			runtime.Gosched()
		}
		return 7
	},
}

// says names the programs that say when a beat comes.
var says = map[string]bool{"rests": true, "works": true}

// ready tells the test that the child has begun.
func ready() { _, _ = os.Stdout.WriteString("ready\n") }

// stopTheWorld says so, and doesn't return where a goroutine can't be stopped. It
// collects no garbage: a collector that has begun before that goroutine spins until
// it can look at its stack, and uses the processor where nothing should.
func stopTheWorld() {
	ready()
	for {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
	}
}

func cpuTime() time.Duration {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &now)
	return time.Duration(now.Nano())
}

func mapped(path string) *stop.Words {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		err = f.Truncate(int64(unsafe.Sizeof(stop.Words{})))
	}
	var data []byte
	if err == nil {
		data, err = unix.Mmap(int(f.Fd()), 0, int(unsafe.Sizeof(stop.Words{})), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		panic(err)
	}
	return (*stop.Words)(unsafe.Pointer(&data[0]))
}

// child is a program under test.
type child struct {
	*exec.Cmd
	t      *testing.T
	out    *bufio.Reader
	stderr strings.Builder
	words  string
}

func start(t *testing.T, does string, change func(*exec.Cmd)) *child {
	t.Helper()
	c := &child{t: t, Cmd: exec.Command(os.Args[0]), words: filepath.Join(t.TempDir(), "words")}
	c.Env = append(os.Environ(), envDoes+"="+does, envWords+"="+c.words, "GODEBUG=asyncpreemptoff=1")
	c.Stderr = &c.stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	if change != nil {
		change(c.Cmd)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() })
	return c
}

// working starts a program that uses much processor time.
func working(t *testing.T, does string, env ...string) *child {
	t.Helper()
	return start(t, does, func(cmd *exec.Cmd) {
		cmd.Env = append(cmd.Env, env...)
		if testing.Short() {
			cmd.Env = append(cmd.Env, envShort+"=1")
		}
	})
}

func (c *child) ready() *child {
	c.t.Helper()
	if line, err := c.out.ReadString('\n'); err != nil || line != "ready\n" {
		c.t.Fatalf("%q, %v", line, err)
	}
	return c
}

func (c *child) send(signals ...syscall.Signal) *child {
	for _, s := range signals {
		_ = c.Process.Signal(s) // it may have ended by one before
	}
	return c
}

// ends waits for the end within a time, and returns what there is to know.
func (c *child) ends(within time.Duration) syscall.WaitStatus {
	c.t.Helper()
	begun := time.Now()
	hangs := time.AfterFunc(within, func() {
		c.t.Errorf("it didn't end within %s", within)
		_ = c.Process.Kill()
	})
	defer hangs.Stop()
	_, _ = io.Copy(io.Discard, c.out)
	var exit *exec.ExitError
	if err := c.Wait(); err != nil && !errors.As(err, &exit) {
		c.t.Fatal(err)
	}
	c.t.Logf("%s after %s %s", c.ProcessState, time.Since(begun), &c.stderr)
	return c.ProcessState.Sys().(syscall.WaitStatus)
}

// left is what the words say: the cause, and the processor time that was used
// between the first signal and the end.
func (c *child) left() (cause stop.Cause, used time.Duration) {
	c.t.Helper()
	data, err := os.ReadFile(c.words)
	if err != nil {
		c.t.Fatal(err)
	}
	word := func(i int) uint64 { return binary.NativeEndian.Uint64(data[8*i:]) }
	return stop.Cause(word(0)), time.Duration(word(3)-word(1))*time.Second + time.Duration(word(4)) - time.Duration(word(2))
}

func TestEndsWell(t *testing.T) {
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		c := start(t, "ends well", nil).ready().send(s)
		if got := c.ends(timeout); got.ExitStatus() != 7 {
			t.Errorf("%s: %v, want the program's own code", s, got)
		}
		if cause, _ := c.left(); cause != 0 {
			t.Errorf("cause %d of a good end", cause)
		}
	}
}

// TestForce: what doesn't end is ended, in time, and says so.
func TestForce(t *testing.T) {
	t.Parallel()
	c := start(t, "is deaf", nil).ready().send(syscall.SIGTERM)
	got := c.ends(timeout)
	if got.Signal() == syscall.SIGKILL {
		t.Skip("the machine is too slow for goroutines: the kernel's timer came first")
	}
	if got.ExitStatus() != 1 || !strings.Contains(c.stderr.String(), "ended by force: terminated came ") {
		t.Errorf("%v, %q", got, &c.stderr)
	}
	if cause, used := c.left(); cause != stop.CauseForced || used > time.Second {
		t.Errorf("cause %d, used %s", cause, used)
	}
	c = start(t, "takes its time", nil).ready().send(syscall.SIGTERM)
	if got := c.ends(timeout); got.ExitStatus() != 1 || !strings.Contains(c.stderr.String(), "ended by force") {
		t.Errorf("%v, %q", got, &c.stderr)
	}
}

// TestStderrHangs: nobody reads what is said last.
func TestStderrHangs(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = r.Close(), w.Close() }()
	fill(t, w)
	c := start(t, "is deaf", func(cmd *exec.Cmd) { cmd.Stderr = w }).ready().send(syscall.SIGINT)
	if got := c.ends(timeout); got.ExitStatus() != 1 && got.Signal() != syscall.SIGKILL {
		t.Errorf("%v", got)
	}
}

// fill writes into a pipe until it takes no more.
func fill(t *testing.T, w *os.File) {
	t.Helper()
	if err := w.SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	for err := error(nil); err == nil; {
		_, err = w.Write(make([]byte, 1<<10))
	}
}

// TestAgain: a second signal ends the process as the signal does, at once.
func TestAgain(t *testing.T) {
	t.Parallel()
	onlyLinux(t)
	for _, does := range []string{"is deaf", "spins", "waits for a disk"} {
		c := start(t, does, nil).ready().send(syscall.SIGTERM, syscall.SIGINT) // of two equal ones one may get lost
		got := c.ends(timeout)
		if s := got.Signal(); !got.Signaled() || s != syscall.SIGTERM && s != syscall.SIGINT {
			t.Errorf("%s: %v, want a signal", does, got)
		}
		if cause, _ := c.left(); cause != stop.CauseAgain {
			t.Errorf("%s: cause %d", does, cause)
		}
	}
}

// TestNothingRuns: a signal ends a process in which no goroutine runs.
func TestNothingRuns(t *testing.T) {
	t.Parallel()
	onlyLinux(t)
	c := start(t, "spins", nil).ready().send(syscall.SIGTERM)
	if got := c.ends(timeout); got.Signal() != syscall.SIGKILL {
		t.Errorf("%v", got)
	}
	cause, used := c.left()
	if cause != stop.CauseLate || used <= 0 {
		t.Errorf("spinning: cause %d, used %s", cause, used)
	}
	c = start(t, "waits for a disk", nil).ready().send(syscall.SIGTERM)
	if got := c.ends(timeout); got.Signal() != syscall.SIGKILL {
		t.Errorf("%v", got)
	}
	if cause, used := c.left(); cause != stop.CauseLate || used > time.Second {
		t.Errorf("waiting: cause %d, used %s", cause, used)
	}
}

// TestWatchdog: a process in which no goroutine runs ends without a signal,
// when it has used its time.
func TestWatchdog(t *testing.T) {
	t.Parallel()
	onlyLinux(t)
	for _, tt := range []struct{ does, processors string }{
		{"spins", "2"},
		{"spins from the start", "1"}, // so that no other goroutine ever ran
	} {
		c := working(t, tt.does, "GOMAXPROCS="+tt.processors)
		// It counts the process's own time, of which a busy machine gives little.
		if got := c.ends(10 * time.Minute); got.Signal() != syscall.SIGKILL {
			t.Errorf("%s: %v", tt.does, got)
		}
		if used := c.ProcessState.UserTime() + c.ProcessState.SystemTime(); used > time.Minute {
			t.Errorf("%s took %s of processor time", tt.does, used)
		}
		if cause, _ := c.left(); cause != stop.CauseStuck {
			t.Errorf("%s: cause %d", tt.does, cause)
		}
	}
}

// TestBeats: they come while a process works, and none wakes one that rests.
func TestBeats(t *testing.T) {
	t.Parallel()
	onlyLinux(t)
	c := working(t, "works")
	for range 3 {
		if line, err := c.out.ReadString('\n'); line != "beat\n" {
			t.Fatalf("%q, %v", line, err)
		}
	}
	if got := c.send(syscall.SIGTERM).ends(timeout); got.ExitStatus() != 7 {
		t.Errorf("it worked: %v", got)
	}
	c = start(t, "rests", nil)
	for line := ""; line != "ready\n"; { // after the first beat, or before
		var err error
		if line, err = c.out.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	defer time.AfterFunc(3*time.Second, func() { c.send(syscall.SIGTERM) }).Stop()
	said, err := io.ReadAll(c.out)
	if n := bytes.Count(said, []byte("beat")); err != nil || n > 1 {
		t.Errorf("it rested: %d beats, %v", n, err)
	}
	if got := c.ends(timeout); got.ExitStatus() != 7 {
		t.Errorf("it rested: %v", got)
	}
}

// TestWorkIsNoHang: a process may use all processors for as long as it likes.
func TestWorkIsNoHang(t *testing.T) {
	t.Parallel()
	c := working(t, "works hard", "GODEBUG=", "GOMAXPROCS=4").ready()
	if got := c.ends(time.Hour); got.ExitStatus() != 7 {
		t.Errorf("%v", got)
	}
}

// TestAnyMoment: a signal may come at any moment of a start.
func TestAnyMoment(t *testing.T) {
	t.Parallel()
	rng := testenv.Rand(t)
	for range testenv.Rounds(10, 40, 400) {
		does := []string{"ends well", "takes its time"}[rng.IntN(2)]
		c := start(t, does, nil)
		wait := time.NewTimer(time.Duration(rng.IntN(15_000)) * time.Microsecond)
		<-wait.C
		got := c.send([]syscall.Signal{syscall.SIGTERM, syscall.SIGINT}[rng.IntN(2)]).ends(timeout)
		if !got.Signaled() && got.ExitStatus() != 7 && got.ExitStatus() != 1 {
			t.Errorf("%s: %v", does, got)
		}
	}
}

func onlyLinux(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("only Linux on amd64 has the handlers")
	}
}
