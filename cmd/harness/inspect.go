package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waymark/abi"
	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/term"
	"waymark/host"
	"waymark/host/config"
	"waymark/host/sandbox"
	"waymark/snapshot"
)

// inspection is the answer of `harness inspect --json`.
type inspection struct {
	File   string `json:"file"`
	Digest string `json:"digest"` // SHA-256, hexadecimal
	Size   int    `json:"size"`
	// Verdict is what an agent would do with it: ready, rejected or
	// needs_approval.
	Verdict snapshot.PluginState `json:"verdict"`
	Reason  string               `json:"reason"`
	Hint    string               `json:"hint"`
	// Description is what the module says of itself; null when it wasn't
	// admitted so far.
	Description *abi.Description `json:"description"`
	// Shape is null when it isn't a module at all.
	Shape  *sandbox.Shape `json:"shape"`
	Limits limits         `json:"limits"`
}

// limits are what every run of the module is held to.
type limits struct {
	Time             time.Duration `json:"time_ns"`
	Fuel             int64         `json:"fuel"`
	Memory           int64         `json:"memory"`
	Response         int64         `json:"response"`
	Logs             int64         `json:"logs"`
	Opens            int           `json:"opens"`
	ReadBytes        int64         `json:"read_bytes"`
	Entries          int           `json:"entries"`
	MaxResourceBytes int64         `json:"max_resource_bytes"`
	MaxResources     int           `json:"max_resources"`
}

func (a *app) inspectCommand() *cobra.Command {
	var s settings
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "inspect FILE.wasm",
		Short: "Say what a module is, and whether an agent would take it",
		Long: `Inspect takes a module apart and asks it to describe itself, as an agent does when the
file is dropped into a plugin directory. It shows the resolvers with their kinds and
what they may read, imports and exports, sizes and the limits of a run.

The exit code is 3 when an agent would not use the module; the reason and what to do
about it are shown.`,
		Example: `  harness inspect acme.wasm
  harness inspect acme.wasm --config plugin.toml
  harness inspect acme.wasm --json | jq .digest`,
		Args: cli.Named("FILE.wasm"),
		RunE: func(cmd *cobra.Command, args []string) error {
			i, err := a.inspect(cmd.Context(), &s, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				err = term.JSON(a.stdout, i)
			} else {
				p := inspectPrinter{w: a.stdout}
				err = p.print(i)
			}
			if err == nil && i.Verdict != snapshot.PluginReady {
				err = said(cli.CodeNo)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&s.configFile, "config", "", "the plugin.toml with the limits and the pinned digest (default: as on a machine without one)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) inspect(ctx context.Context, s *settings, file string) (*inspection, error) {
	if err := moduleThere(file); err != nil {
		return nil, err
	}
	c, err := a.load(s)
	if err != nil {
		return nil, err
	}
	opts, err := a.hostOptions(s)
	if err != nil {
		return nil, err
	}
	wasm, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(wasm)
	i := &inspection{File: file, Digest: hex.EncodeToString(sum[:]), Size: len(wasm), Verdict: snapshot.PluginReady, Limits: limitsOf(c, "")}
	if i.Shape, err = sandbox.ShapeOf(wasm); err != nil {
		return i, i.refused(err)
	}
	if err := sandbox.Admissible(wasm, opts.Limits); err != nil {
		return i, i.refused(err)
	}
	return i, i.load(ctx, c, opts, wasm)
}

// load has the module admitted and described.
func (i *inspection) load(ctx context.Context, c *config.Config, opts host.Options, wasm []byte) error {
	engine := sandbox.New(sandbox.Options{CacheDir: opts.CacheDir, KeyDir: opts.KeyDir, Compiler: opts.Compiler, Spares: 1, Logger: opts.Logger})
	slow := time.AfterFunc(slowLoad, func() { opts.Progress("compiling " + i.File + " …") })
	defer slow.Stop()
	m, err := engine.Load(ctx, wasm, opts.Limits)
	if err != nil {
		return i.refused(err)
	}
	i.Description = m.Description()
	if err := m.Close(); err != nil {
		return err
	}
	i.Limits = limitsOf(c, i.Description.Name)
	if pin := c.Entry(i.Description.Name).SHA256; pin != "" && !strings.EqualFold(pin, i.Digest) {
		i.Verdict, i.Reason = snapshot.PluginNeedsApproval, fmt.Sprintf("the configuration pins another file, %s", term.Short(pin))
		i.Hint = "put this file's digest there, or run agent plugins approve"
	}
	return nil
}

// slowLoad is when compiling is worth a line.
const slowLoad = 300 * time.Millisecond

// refused takes a rejection as the verdict; other errors are the harness's own.
func (i *inspection) refused(err error) error {
	var r *sandbox.RejectError
	if !errors.As(err, &r) {
		return err
	}
	i.Verdict, i.Reason, i.Hint = snapshot.PluginRejected, r.Reason, r.Hint
	return nil
}

// limitsOf are the limits of the module of a name.
func limitsOf(c *config.Config, name string) limits {
	l := c.LimitsOf(name)
	return limits{
		Time: l.Time, Fuel: int64(l.Fuel), Memory: int64(l.Memory), Response: int64(l.Response), Logs: int64(l.Logs),
		Opens: l.Opens, ReadBytes: int64(l.ReadBytes), Entries: l.Entries,
		MaxResourceBytes: int64(c.Snapshot.MaxResourceBytes), MaxResources: c.Snapshot.MaxResources,
	}
}
