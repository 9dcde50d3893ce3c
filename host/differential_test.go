package host_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"waymark/abi"
	"waymark/host"
	"waymark/host/sandbox"
	"waymark/host/vfs"
	"waymark/plugins"
	"waymark/test/contracts/vfstest"
	"waymark/test/testenv"
)

// TestDifferential: the same resolvers, run natively and in the sandbox over
// the same file system, answer the same bytes. TestOutcomes compares them over the trees
// of its table.
func TestDifferential(t *testing.T) {
	t.Parallel()
	d := newDifferential(t)
	g := generator{testenv.Rand(t)}
	for i := range testenv.Rounds(20, 250, 10_000) {
		c := outcome{
			name: "tree " + strconv.Itoa(i), tree: g.tree(),
			role: pick(g, abi.RoleNone, abi.RoleNone, abi.RoleNone, abi.RoleSkills),
			root: pick(g, "", "", "", "skills"),
		}
		if d.compare(t, c, vfstest.Build(t, c.tree)); t.Failed() {
			return
		}
	}
}

// differential holds the module that runs in the sandbox.
type differential struct{ module *sandbox.Module }

func newDifferential(t *testing.T) differential {
	t.Helper()
	opts := testOptions(host.Options{})
	h := sandbox.New(sandbox.Options{CacheDir: cacheDir})
	m, err := h.Load(t.Context(), builtin(t), opts.Limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return differential{m}
}

func (d differential) compare(t *testing.T, c outcome, dir string) {
	t.Helper()
	root, err := vfs.OpenRoot(filepath.Join(dir, c.root), vfs.RootOptions{Exclude: c.exclude})
	if err != nil {
		return // not every random tree has this root
	}
	defer root.Close()
	for _, info := range d.module.Description().Resolvers {
		view := vfs.View{Reads: slices.Clone(info.Reads), MCPOnly: vfs.SeesSettings(info.Kinds), Manifests: true}
		config := []byte(c.config[info.Name])
		if config != nil {
			view.Reads = append(view.Reads, "*.md", "*/*.md", ".*") // more than the engine would show, to both
		}
		if root.File() != "" {
			view.Reads = append(view.Reads, root.File())
		}
		filter, err := view.Compile()
		if err != nil {
			t.Fatal(err)
		}
		req := &abi.Request{
			ABI: abi.Version, Resolver: info.Name, Root: abi.Root{Name: root.Name(), File: root.File(), Role: c.role},
			Config: config, Limits: abi.Limits{MaxResourceBytes: 64 << 10, MaxResources: 500},
		}
		native, nativeErr := d.native(t, req, root, filter)
		boxed, boxedErr := d.boxed(t, req, root, filter)
		if !bytes.Equal(native, boxed) || (nativeErr == nil) != (boxedErr == nil) {
			t.Errorf("%s, %s, root %q, role %q: natively\n%s %v\nsandboxed\n%s %v\ntree\n%s", c.name, info.Name, c.root, c.role,
				native, nativeErr, boxed, boxedErr, quoteLines(c.tree))
		}
	}
}

func (d differential) native(t *testing.T, req *abi.Request, root *vfs.Root, filter *vfs.Filter) ([]byte, error) {
	t.Helper()
	run := root.Begin(filter, vfs.Limits{})
	defer run.Close()
	input, err := json.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	output, err := plugins.Module().HandleResolve(input, nativeFS{run})
	if err != nil {
		return nil, err
	}
	var resp abi.Response
	if err := json.Unmarshal(output, &resp); err != nil {
		t.Fatal(err)
	}
	if req.Resolver != "context" {
		resp.Warnings = nil // the sandbox withholds them
	}
	return encode(t, &resp), nil
}

func (d differential) boxed(t *testing.T, req *abi.Request, root *vfs.Root, filter *vfs.Filter) ([]byte, error) {
	t.Helper()
	run := root.Begin(filter, vfs.Limits{})
	defer run.Close()
	res, err := d.module.Resolve(t.Context(), req, run)
	if err != nil {
		return nil, err
	}
	return encode(t, res.Response), nil
}

func encode(t *testing.T, resp *abi.Response) []byte {
	t.Helper()
	data, err := json.MarshalIndent(resp, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return data
}
