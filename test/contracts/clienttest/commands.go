package clienttest

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// Command is what a process does, as a Go function: with its input, where its output
// goes, its directory and its environment. It returns the exit code.
type Command func(ctx context.Context, stdin io.Reader, output io.Writer, dir string, env map[string]string) int

// Commands are the vocabulary of the suite: the commands that it has a shell run, and
// what they do, for an implementation without a shell. Beside them it needs echo, cat
// and sleep, and true.
func Commands() map[string]Command {
	commands := map[string]Command{
		"exec cat": cat(""), "cat; echo end": cat("end\n"), "exec sleep 1000": sleeps(""), "echo on; exec sleep 1000": sleeps("on\n"),
		"seq 1 3000": prints(seq(3000), 0), "seq 1 20000": prints(seq(20000), 0), `seq 1 200000; printf '\377'`: prints(seq(200000)+"\xff", 0),
		"echo out; echo err >&2; exit 3": prints("out\nerr\n", 3), "exit 7": prints("", 7),
		`printf 'a\377b\303\244'`: prints("a\xffbä", 0), `for i in 1 2 3; do printf 'ä€\377x\n'; done; printf '\303'`: prints(strings.Repeat("ä€\xffx\n", 3)+"\xc3", 0),
		"pwd": func(_ context.Context, _ io.Reader, output io.Writer, dir string, _ map[string]string) int {
			return write(output, dir+"\n")
		},
		`echo "$A-$HOME"`: func(_ context.Context, _ io.Reader, output io.Writer, _ string, env map[string]string) int {
			return write(output, env["A"]+"-"+env["HOME"]+"\n")
		},
		`echo "[$CODER_CHAT_ID]"`: func(_ context.Context, _ io.Reader, output io.Writer, _ string, env map[string]string) int {
			return write(output, "["+env["CODER_CHAT_ID"]+"]\n")
		},
		`echo "$CODER_CHAT_ID"; exec cat`: func(ctx context.Context, stdin io.Reader, output io.Writer, dir string, env map[string]string) int {
			write(output, env["CODER_CHAT_ID"]+"\n")
			return cat("")(ctx, stdin, output, dir, env)
		},
	}
	for _, n := range []int{32768, 100000} {
		commands[fmt.Sprintf(`head -c %d /dev/zero | tr '\0' x`, n)] = prints(strings.Repeat("x", n), 0)
	}
	return commands
}

func write(output io.Writer, text string) int {
	_, _ = io.WriteString(output, text)
	return 0
}

func prints(text string, code int) Command {
	return func(_ context.Context, _ io.Reader, output io.Writer, _ string, _ map[string]string) int {
		return write(output, text) + code
	}
}

func cat(end string) Command {
	return func(_ context.Context, stdin io.Reader, output io.Writer, _ string, _ map[string]string) int {
		_, _ = io.Copy(output, stdin)
		return write(output, end)
	}
}

func sleeps(first string) Command {
	return func(ctx context.Context, _ io.Reader, output io.Writer, _ string, _ map[string]string) int {
		write(output, first)
		select {
		case <-ctx.Done():
		case <-time.After(1000 * time.Second):
		}
		return 0
	}
}

func seq(last int) string {
	var b strings.Builder
	for i := range last {
		fmt.Fprintln(&b, i+1)
	}
	return b.String()
}
