package host_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/host"
	"waymark/snapshot"
	"waymark/test/contracts/vfstest"
	"waymark/test/testenv"
)

// outcome is one row of the table: a tree, and exactly what is found in it.
type outcome struct {
	name string
	// tree is in the notation of vfstest.Build.
	tree []string
	// root is the root's path in the tree; empty is the tree itself. roots
	// replaces it where there are several, in order.
	root  string
	role  abi.Role
	roots []host.RootSpec
	// exclude, disable and config are the operator's.
	exclude, disable []string
	config           map[string]string
	caps             snapshot.Caps
	// want lists "id status error", ids relative to the tree.
	want []string
	// warn lists the warnings.
	warn []string
	// texts holds "name: description" by id.
	texts map[string]string
}

// secret stands in trees for what may never get out.
const secret = "s3cr3t-t0ken"

// TestOutcomes: what is found is what the table says, and the same resolvers, run
// natively and in the sandbox, answer the same bytes.
func TestOutcomes(t *testing.T) {
	d := newDifferential(t)
	for i, c := range allOutcomes() {
		if i%testenv.RaceShare != 0 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := vfstest.Build(t, c.tree)
			c.run(t, dir)
			d.compare(t, c, dir)
		})
	}
}

func allOutcomes() []outcome {
	return slices.Concat(basicOutcomes(), skillOutcomes(), frontMatterOutcomes(), mcpOutcomes(), textOutcomes(),
		rootOutcomes(), operatorOutcomes())
}

func (c outcome) run(t *testing.T, dir string) {
	t.Helper()
	logs := &logBuffer{}
	h := newHost(t, c.options(t, dir, logs))
	report := refresh(t, h)
	s := report.Snapshot
	if got := lines(s.Resources, dir); !slices.Equal(got, c.want) {
		t.Errorf("found\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(c.want, "\n\t"))
	}
	if got := warnings(report, dir); !slices.Equal(got, c.warn) {
		t.Errorf("warnings\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(c.warn, "\n\t"))
	}
	for id, want := range c.texts {
		i := slices.IndexFunc(s.Resources, func(r snapshot.Resource) bool { return relative(r.ID(), dir) == id })
		if i < 0 {
			t.Errorf("no %s", id)
		} else if got := s.Resources[i].Name + ": " + s.Resources[i].Description; got != want {
			t.Errorf("%s is %q, want %q", id, got, want)
		}
	}
	for _, o := range report.Outcomes {
		if o.Err != nil {
			t.Errorf("%s: %v", o.Resolver, o.Err)
		}
	}
	checkSnapshot(t, s)
	if text := allText(t, report, logs); strings.Contains(text, secret) {
		t.Errorf("the secret got out: %s", text)
	}
	if again := refresh(t, h); again.Changed {
		t.Errorf("a second look finds a change: %v", lines(again.Snapshot.Resources, dir))
	}
}

func (c outcome) options(t *testing.T, dir string, logs *logBuffer) host.Options {
	t.Helper()
	opts := host.Options{
		Builtin: module(builtin(t)), DisableBuiltin: c.disable, Exclude: c.exclude, Caps: c.caps, Logger: debugLogger(logs),
		Roots: []host.RootSpec{{Path: filepath.Join(dir, c.root), Role: c.role}},
	}
	if c.roots != nil {
		opts.Roots = slices.Clone(c.roots)
		for i := range opts.Roots {
			opts.Roots[i].Path = filepath.Join(dir, opts.Roots[i].Path)
		}
	}
	for name, table := range c.config {
		if opts.BuiltinConfig == nil {
			opts.BuiltinConfig = map[string][]byte{}
		}
		opts.BuiltinConfig[name] = []byte(table)
	}
	return opts
}

// checkSnapshot holds a snapshot to the rules that no tree changes.
func checkSnapshot(t *testing.T, s *snapshot.Snapshot) {
	t.Helper()
	var payloads int64
	for i, r := range s.Resources {
		if i > 0 && s.Resources[i-1].ID() >= r.ID() {
			t.Errorf("%s doesn't come before %s", s.Resources[i-1].ID(), r.ID())
		}
		payloads += int64(len(r.Payload))
		sum := sha256.Sum256(r.Payload)
		switch {
		case r.Status != snapshot.StatusOK && r.Error == "":
			t.Errorf("%s: %s without a reason", r.ID(), r.Status)
		case r.Status == snapshot.StatusOK && r.Error != "":
			t.Errorf("%s: ok, and an error: %s", r.ID(), r.Error)
		case r.Payload != nil && (r.Status != snapshot.StatusOK || r.Kind == abi.KindMCPConfig):
			t.Errorf("%s: %s with a payload", r.ID(), r.Status)
		case r.Payload != nil && (!bytes.Equal(r.ContentHash, sum[:]) || r.SizeBytes != int64(len(r.Payload))):
			t.Errorf("%s: hash or size isn't the payload's", r.ID())
		case r.Payload == nil && r.Status == snapshot.StatusOK && r.Kind != abi.KindMCPConfig:
			t.Errorf("%s: ok without a payload", r.ID())
		}
	}
	if payloads != s.PayloadBytes {
		t.Errorf("%d payload bytes are said to be %d", payloads, s.PayloadBytes)
	}
	if _, err := json.Marshal(s); err != nil {
		t.Error(err)
	}
}

// skill is the line of a tree that makes a skill in a directory.
func skill(dir, name string) string {
	return dir + "/SKILL.md = ---\nname: " + name + "\ndescription: About " + name + ".\n---\nbody\n"
}
