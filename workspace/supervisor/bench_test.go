package supervisor_test

import (
	"fmt"
	"os/exec"
	"testing"

	"github.com/google/uuid"

	"waymark/workspace/launch"
	"waymark/workspace/supervisor"
)

// BenchmarkStart is a start and its end through the supervisor, and BenchmarkSh
// the same by hand: what is between them is what holding costs.
func BenchmarkStart(b *testing.B) {
	c := open(b, options(b, supervisor.Limits{}))
	b.Run("held", func(b *testing.B) {
		for b.Loop() {
			wait(b, c, start(b, c, sh("echo x")).ID)
		}
	})
	for name, chat := range map[string]uuid.UUID{"confined": uuid.Nil, "confined, of a chat": uuid.New()} {
		b.Run(name, func(b *testing.B) {
			spec := sh("echo x")
			spec.Chat, spec.Profile = chat, &launch.Profile{Name: "test", Read: []string{"/"}}
			for b.Loop() {
				wait(b, c, start(b, c, spec).ID)
			}
		})
	}
	b.Run("only started", func(b *testing.B) {
		for b.Loop() {
			start(b, c, sh("echo x"))
		}
	})
	b.Run("first byte", func(b *testing.B) {
		for b.Loop() {
			if _, err := c.Read(b.Context(), start(b, c, sh("echo x")).ID, 0, 0, patience); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("sh alone", func(b *testing.B) {
		for b.Loop() {
			if err := exec.CommandContext(b.Context(), "sh", "-c", "echo x").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("owned", func(b *testing.B) {
		for b.Loop() {
			p, err := c.StartOwned(b.Context(), sh("echo x"))
			if err != nil {
				b.Fatal(err)
			}
			if _, err := p.Wait(b.Context()); err != nil {
				b.Fatal(err)
			}
			if err := p.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkOutput is 1 GB of output, in large blocks and in lines, and reading
// what is kept of it.
func BenchmarkOutput(b *testing.B) {
	const size = 1_000_000_000
	c := open(b, options(b, supervisor.Limits{}))
	for name, command := range map[string]string{
		"blocks": fmt.Sprintf("exec head -c %d /dev/zero", size),
		"lines":  fmt.Sprintf("yes abcdefghijklmno | head -c %d", size),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				if end := wait(b, c, start(b, c, sh(command)).ID); end.Length != size {
					b.Fatalf("%+v", end)
				}
			}
		})
	}
	b.Run("read", func(b *testing.B) {
		info := start(b, c, sh("exec head -c 60000000 /dev/zero"))
		wait(b, c, info.ID)
		b.SetBytes(60_000_000)
		for b.Loop() {
			output(b, c, info.ID, 0)
		}
	})
}

// BenchmarkOpen is a connection to a supervisor that runs, and to one that has to
// be started first.
func BenchmarkOpen(b *testing.B) {
	o := options(b, supervisor.Limits{})
	keep := open(b, o)
	b.Run("running", func(b *testing.B) {
		for b.Loop() {
			c, err := supervisor.Open(b.Context(), o)
			if err != nil {
				b.Fatal(err)
			}
			_ = c.Close()
		}
	})
	b.Run("started", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			if err := keep.Stop(b.Context()); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			c, err := supervisor.Open(b.Context(), o)
			if err != nil {
				b.Fatal(err)
			}
			_ = c.Close()
		}
	})
}
