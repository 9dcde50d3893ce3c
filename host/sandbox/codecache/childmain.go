package codecache

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// watchEvery is how often the child looks at its own memory. It allocates at
// some GB/s at most.
const watchEvery = 5 * time.Millisecond

// runChild is all that a child does. Its working directory is the scratch
// directory; it returns the exit code.
func runChild(rewrite Rewriter) int {
	debug.SetTraceback("none")
	var once sync.Once // only the first verdict is written
	verdict := func(r report) {
		once.Do(func() {
			r.Text = oneLine(r.Text)
			_ = json.NewEncoder(os.Stdout).Encode(r)
			os.Exit(1)
		})
	}
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	j, wasm, err := readJob(in)
	if err != nil {
		verdict(report{Text: err.Error()})
	}
	go func() { // the parent keeps the pipe open for as long as it is interested
		_, _ = in.ReadByte()
		os.Exit(1)
	}()
	go WatchMemory(j.Limits.Memory, func() { verdict(report{Limit: "memory"}) })
	if err := work(j, wasm, rewrite); err != nil {
		verdict(failure(err))
	}
	return 0
}

func readJob(in *bufio.Reader) (job, []byte, error) {
	var j job
	line, err := in.ReadSlice('\n')
	if err != nil {
		return j, nil, err
	}
	if err := json.Unmarshal(line, &j); err != nil {
		return j, nil, err
	}
	if err := Confine(j.Limits); err != nil {
		return j, nil, err
	}
	if j.Size < 0 || j.Size > partMax {
		return j, nil, errors.New("a module of an impossible size")
	}
	wasm := make([]byte, j.Size)
	_, err = io.ReadFull(in, wasm)
	return j, wasm, err
}

func work(j job, wasm []byte, rewrite Rewriter) error {
	rewritten, meta, err := compileIn(context.Background(), workDir(), wasm, j.Recipe, rewrite, j.Limits.Workers)
	if err != nil {
		return err
	}
	if err := os.WriteFile(packMeta, meta, 0o600); err != nil {
		return err
	}
	return os.WriteFile(packWasm, rewritten, 0o600)
}

// workDir is the working directory, whatever became of its parents.
func workDir() string {
	if runtime.GOOS == "linux" {
		if _, err := os.Stat("/proc/self/cwd"); err == nil {
			return "/proc/self/cwd"
		}
	}
	return "."
}

func failure(err error) report {
	var module *ModuleError
	var file *fs.PathError
	switch {
	case errors.Is(err, unix.EFBIG):
		return report{Limit: "output"}
	case errors.Is(err, unix.ENOMEM):
		return report{Limit: "memory"}
	case errors.As(err, &module):
		return report{Stage: module.Stage, Text: module.Text}
	case errors.As(err, &file):
		return report{Text: file.Op + ": " + file.Err.Error()} // the path says nothing
	}
	return report{Text: err.Error()}
}
