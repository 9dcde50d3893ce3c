package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waymark/abi"
	"waymark/cmd/internal/cli"
	"waymark/host"
	"waymark/host/config"
	"waymark/host/sandbox"
	"waymark/snapshot"
)

// inspection is the output of `harness inspect --json`.
type inspection struct {
	File   string `json:"file"`
	Digest string `json:"digest"` // SHA-256, hexadecimal
	Size   int    `json:"size"`
	// Verdict is what an agent would do with the module: ready, rejected or needs_approval.
	Verdict snapshot.PluginState `json:"verdict"`
	Reason  string               `json:"reason"`
	Hint    string               `json:"hint"`
	// Description is the module's description of itself; null if it wasn't admitted so far.
	Description *abi.Description `json:"description"`
	// Instances says how each run gets its instance; null if it wasn't admitted so far.
	Instances *sandbox.Instances `json:"instances"`
	// Shape is null if the file isn't a module at all.
	Shape  *sandbox.Shape `json:"shape"`
	Limits limits         `json:"limits"`
}

// limits are the limits of every run of the module.
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
		Short: "Show what a module is, and whether an agent would accept it",
		Long: `Inspect analyzes a module and asks it to describe itself, as an agent does when the file
appears in a plugin directory. It shows the resolvers with their kinds and what they may
read, imports and exports, sizes and the limits of a run. It also shows whether runs
begin with an image of the module or initialize it again, which takes longer.

The exit code is 3 if an agent would not use the module; inspect shows the reason and
what to do about it.`,
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
				err = cli.JSON(a.stdout, i)
			} else {
				p := inspectPrinter{cli.Lines{W: a.stdout}}
				err = p.printInspection(i)
			}
			if err == nil && i.Verdict != snapshot.PluginReady {
				err = printed(cli.CodeNo)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&s.configFile, "config", "", "take limits and the pinned digest from `FILE`, a plugin.toml (default: as on a machine without one)")
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

// load gets the module admitted and described.
func (i *inspection) load(ctx context.Context, c *config.Config, opts host.Options, wasm []byte) error {
	engine := sandbox.New(sandbox.Options{CacheDir: opts.CacheDir, KeyDir: opts.KeyDir, Compiler: opts.Compiler, Logger: opts.Logger})
	slow := time.AfterFunc(slowLoad, func() { opts.Progress("compiling " + i.File + " …") })
	defer slow.Stop()
	m, err := engine.Load(ctx, wasm, opts.Limits)
	if err != nil {
		return i.refused(err)
	}
	how := m.Instances()
	i.Description, i.Instances = m.Description(), &how
	if err := m.Close(); err != nil {
		return err
	}
	i.Limits = limitsOf(c, i.Description.Name)
	if pin := c.Entry(i.Description.Name).SHA256; pin != "" && !strings.EqualFold(pin, i.Digest) {
		i.Verdict, i.Reason = snapshot.PluginNeedsApproval, fmt.Sprintf("the configuration pins another file, %s", cli.Short(pin))
		i.Hint = "put this file's digest there, or run agent plugins approve"
	}
	return nil
}

// slowLoad is the time from which compiling is worth a line.
const slowLoad = 300 * time.Millisecond

// refused makes a rejection the verdict; other errors are the harness's own.
func (i *inspection) refused(err error) error {
	var r *sandbox.RejectError
	if !errors.As(err, &r) {
		return err
	}
	i.Verdict, i.Reason, i.Hint = snapshot.PluginRejected, r.Reason, r.Hint
	return nil
}

// limitsOf returns the limits of the module with a name.
func limitsOf(c *config.Config, name string) limits {
	l := c.LimitsOf(name)
	return limits{
		Time: l.Time, Fuel: int64(l.Fuel), Memory: int64(l.Memory), Response: int64(l.Response), Logs: int64(l.Logs),
		Opens: l.Opens, ReadBytes: int64(l.ReadBytes), Entries: l.Entries,
		MaxResourceBytes: int64(c.Snapshot.MaxResourceBytes), MaxResources: c.Snapshot.MaxResources,
	}
}

// inspectPrinter prints an inspection for a person.
type inspectPrinter struct {
	cli.Lines
}

func (p *inspectPrinter) printInspection(i *inspection) error {
	p.Printf("file     %s", cli.Visible(i.File))
	p.Printf("digest   %s", i.Digest)
	size := cli.Size(int64(i.Size))
	if s := i.Shape; s != nil {
		size += fmt.Sprintf(", %s of it code in %s, the largest %s",
			cli.Size(int64(s.CodeBytes)), cli.Count(s.Functions, "function"), cli.Size(int64(s.LargestFunction)))
	}
	p.Printf("size     %s", size)
	if d := i.Description; d != nil {
		p.Printf("module   %s %s, ABI version %d", d.Name, d.Version, d.ABI)
	}
	p.verdict(i)
	if how := i.Instances; how != nil {
		p.instances(how)
	}
	if i.Description != nil {
		p.resolvers(i.Description.Resolvers)
	}
	if i.Shape != nil {
		p.symbols(i.Shape)
	}
	p.limits(&i.Limits)
	return p.Err
}

func (p *inspectPrinter) verdict(i *inspection) {
	if i.Verdict == snapshot.PluginReady {
		p.Printf("verdict  admitted")
		return
	}
	p.Printf("verdict  %s: %s", i.Verdict, i.Reason)
	if i.Hint != "" {
		p.Printf("         %s", i.Hint)
	}
}

func (p *inspectPrinter) instances(how *sandbox.Instances) {
	if !how.Image {
		p.Printf("runs     with an instance that is initialized for each: %s", how.Reason)
		return
	}
	p.Printf("runs     with an image of an instance, of %s", cli.Size(int64(how.Bytes))) //nolint:gosec // at most 4 GiB
	if how.Fresh != "" {
		p.Printf("         each in new memory, which takes longer: %s", how.Fresh)
	}
}

func (p *inspectPrinter) resolvers(list []abi.Resolver) {
	p.Printf("")
	t := cli.NewTable(p.W, "RESOLVER", "KINDS", "SUMMARY")
	for _, r := range list {
		var kinds []string
		for _, k := range r.Kinds {
			kinds = append(kinds, string(k))
		}
		t.Row(r.Name, strings.Join(kinds, " "), cli.Dash(cli.Visible(r.Summary)))
	}
	p.Err = cmp.Or(p.Err, t.Flush())
	for _, r := range list {
		p.Printf("\n%s", r.Name)
		for _, pattern := range r.Reads {
			p.Printf("  reads  %s", cli.Visible(pattern))
		}
		for _, key := range r.ReadsFromConfig {
			p.Printf("  reads  what config.%s.%s names", r.Name, cli.Visible(key))
		}
	}
}

// symbols lists imports by module, then exports.
func (p *inspectPrinter) symbols(s *sandbox.Shape) {
	byModule := map[string][]string{}
	var modules []string
	for _, i := range s.Imports {
		if byModule[i.Module] == nil {
			modules = append(modules, i.Module)
		}
		byModule[i.Module] = append(byModule[i.Module], cli.Visible(i.Name))
	}
	p.Printf("")
	for _, m := range modules {
		p.words("imports  "+cli.Visible(m)+":", byModule[m])
	}
	var exports []string
	for _, e := range s.Exports {
		exports = append(exports, cli.Visible(e.Name))
	}
	p.words("exports ", exports)
	if s.Start {
		p.Printf("start    it has a start function")
	}
}

// lineMax is the width at which a list of words wraps.
const lineMax = 100

// words prints a list, each word once, in lines that fit a terminal.
func (p *inspectPrinter) words(line string, list []string) {
	slices.Sort(list)
	for _, word := range slices.Compact(list) {
		if len(line)+1+len(word) > lineMax {
			p.Printf("%s", line)
			line = "        "
		}
		line += " " + word
	}
	p.Printf("%s", line)
}

func (p *inspectPrinter) limits(l *limits) {
	p.Printf("limits   time %s, memory %s, response %s, logs %s, fuel %s",
		l.Time, cli.Size(l.Memory), cli.Size(l.Response), cli.Size(l.Logs), cli.Number(l.Fuel))
	p.Printf("         %s opened, %s read, %s listed, resources %s of %s each",
		cli.Count(l.Opens, "file"), cli.Size(l.ReadBytes), cli.Number(int64(l.Entries))+" entries",
		cli.Number(int64(l.MaxResources)), cli.Size(l.MaxResourceBytes))
}
