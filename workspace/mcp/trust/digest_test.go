package trust_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waymark/plugins/mcpconfig/servers"
	"waymark/workspace/mcp/entry"
	"waymark/workspace/mcp/trust"
)

// world is a workspace, a directory of programs, and an environment.
type world struct {
	t     testing.TB
	root  string
	bin   string
	env   map[string]string
	store *trust.Store
}

func newWorld(t testing.TB) *world {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, root: filepath.Join(base, "work"), bin: filepath.Join(base, "bin"), env: map[string]string{}}
	for _, dir := range []string{w.root, w.bin} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"node", "npx", "python3", "sh"} {
		w.write(filepath.Join(w.bin, name), "\x7fELF "+name, 0o755)
	}
	w.store = w.open(filepath.Join(base, "state"))
	return w
}

func (w *world) open(dir string) *trust.Store {
	w.t.Helper()
	s, err := trust.Open(trust.Options{Dir: dir, Key: []byte("0123456789abcdef"), Root: func() string { return w.root }})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// write makes a file, by a path that is absolute or in the workspace.
func (w *world) write(path, text string, mode os.FileMode) {
	w.t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(w.root, path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	_ = os.Remove(path)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) link(target, path string) {
	w.t.Helper()
	path = filepath.Join(w.root, path)
	_ = os.Remove(path)
	if err := os.Symlink(target, path); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) expand(e *entry.Entry) *entry.Expanded {
	w.t.Helper()
	x, err := e.Expand(entry.ExpandOptions{Root: w.root, Home: "/home/u", Getenv: func(name string) (string, bool) {
		value, set := w.env[name]
		return value, set
	}})
	if err != nil {
		w.t.Fatal(err)
	}
	return x
}

func (w *world) try(e *entry.Entry) (*trust.Digests, error) {
	return w.store.Digest(context.Background(), e, w.expand(e), []string{"PATH=" + w.bin + ":" + w.root + "/bin"})
}

func (w *world) digest(e *entry.Entry) *trust.Digests {
	w.t.Helper()
	d, err := w.try(e)
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

func stdio(command string, args ...string) *entry.Entry {
	return &entry.Entry{Server: servers.Server{Name: "a", Transport: "stdio", Command: command, Args: args}}
}

func paths(d *trust.Digests) string {
	var list []string
	for _, f := range d.Files {
		list = append(list, f.Path)
	}
	return strings.Join(list, " ")
}

// TestPinned says of entries which files are covered, and how much that is.
func TestPinned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for path, text := range map[string]string{
		"server.js": "1", "tools/server.js": "2", "tools/package.json": `{"main":"lib/main"}`, "tools/lib/main.js": "3", "package.json": "{}", "data.txt": "4",
		"hook.js": "5", "pkg/__main__.py": "6", "pkg/__init__.py": "", "a.py": "7", ".env": "SECRET=1", "node_modules/.bin/tool": "8", "run.sh": "9", "my server.js": "10",
	} {
		w.write(path, text, 0o600)
	}
	w.write("script", "#!/usr/bin/env -S node --no-warnings\n", 0o755)
	w.write("fetch", "#!/usr/bin/env npx tsx\n", 0o755)
	w.write("dynamic", "\x7fELF not really", 0o755)
	w.link("tools/server.js", "link.js")
	outside := filepath.Join(w.bin, "outside.js")
	w.write(outside, "o", 0o600)
	w.link(outside, "out.js")
	with := func(e *entry.Entry, env map[string]string) *entry.Entry {
		e.Env = env
		return e
	}
	node, npx, python, sh := w.bin+"/node", w.bin+"/npx", w.bin+"/python3", w.bin+"/sh"
	for name, tt := range map[string]struct {
		entry  *entry.Entry
		pinned trust.Pinned
		files  string
	}{
		"a script":                 {stdio("node", "./server.js"), trust.PinnedPartial, "server.js " + node},
		"by its whole path":        {stdio("node", w.root+"/server.js"), trust.PinnedPartial, "server.js " + node},
		"with options":             {stdio("node", "--no-warnings", "-r", "./hook.js", "server.js", "data.txt"), trust.PinnedPartial, "data.txt hook.js server.js " + node},
		"in an option":             {stdio("node", "--import=./hook.js", "server.js"), trust.PinnedPartial, "hook.js server.js " + node},
		"without its suffix":       {stdio("node", "server"), trust.PinnedPartial, "server.js " + node},
		"a directory":              {stdio("node", "tools"), trust.PinnedPartial, "tools/lib/main.js tools/package.json " + node},
		"with a space":             {stdio("node", "my server.js"), trust.PinnedPartial, "my server.js server.js " + node},
		"over a link":              {stdio("node", "link.js"), trust.PinnedPartial, "tools/server.js " + node},
		"over a link out of it":    {stdio("node", "out.js"), trust.PinnedEntry, node},
		"outside":                  {stdio("node", outside), trust.PinnedEntry, node},
		"code":                     {stdio("node", "-e", "require('./hook.js')"), trust.PinnedEntry, "hook.js " + node},
		"missing":                  {stdio("node", "nowhere.js"), trust.PinnedEntry, node},
		"a module":                 {stdio("python3", "-m", "pkg"), trust.PinnedPartial, "pkg/__init__.py pkg/__main__.py " + python},
		"a module of elsewhere":    {stdio("python3", "-m", "http", "data.txt"), trust.PinnedEntry, "data.txt " + python},
		"a shell":                  {stdio("sh", "-c", "cd tools && exec node server.js>data.txt"), trust.PinnedEntry, "data.txt server.js " + sh},
		"a shell's script":         {stdio("sh", "run.sh"), trust.PinnedPartial, "run.sh " + sh},
		"npx":                      {stdio("npx", "-y", "pkg@1.2.3"), trust.PinnedEntry, npx},
		"npx of what is installed": {stdio("npx", "tool"), trust.PinnedEntry, "node_modules/.bin/tool " + npx},
		"a script of itself":       {stdio("./script"), trust.PinnedPartial, "script script"},
		"that fetches":             {stdio("./fetch"), trust.PinnedEntry, "fetch fetch"},
		"a dynamic program":        {stdio("./dynamic"), trust.PinnedPartial, "dynamic dynamic"},
		"a variable":               {with(stdio("node", "server.js"), map[string]string{"NODE_OPTIONS": "--require ./hook.js"}), trust.PinnedPartial, "hook.js server.js " + node},
		"a secret file":            {stdio("node", "--env-file=.env", "server.js"), trust.PinnedPartial, ".env server.js " + node},
	} {
		t.Run(name, func(t *testing.T) {
			d := w.digest(tt.entry)
			if d.Pinned != tt.pinned || paths(d) != tt.files {
				t.Errorf("%s, %s; want %s, %s", d.Pinned, paths(d), tt.pinned, tt.files)
			}
			for _, f := range d.Files {
				if (f.SHA256 == "") != (f.Path == ".env") {
					t.Errorf("%+v", f)
				}
			}
			if !strings.HasPrefix(d.Definition, "sha256:") || len(d.Definition) != 71 || !strings.HasPrefix(d.Local, "hmac:") {
				t.Errorf("%s, %s", d.Definition, d.Local)
			}
		})
	}
}

// TestChanges goes through what may be changed: each step says which digests it
// changes, "d" for the definition, "l" for the local one.
func TestWhatChanges(t *testing.T) {
	t.Parallel()
	env := func(e *entry.Entry, name, value string) *entry.Entry {
		copied := *e
		copied.Env = map[string]string{name: value}
		return &copied
	}
	dialed := func(url string, headers map[string]string) *entry.Entry {
		return &entry.Entry{Server: servers.Server{Name: "a", Transport: "http", URL: url, Headers: headers}}
	}
	js := stdio("node", "./server.js")
	type step struct {
		do   func(w *world)
		then *entry.Entry // nil is the same
		want string
	}
	for name, tt := range map[string]struct {
		entry *entry.Entry
		step
	}{
		"nothing":                     {js, step{want: ""}},
		"the script":                  {js, step{do: func(w *world) { w.write("server.js", "evil", 0o600) }, want: "d"}},
		"to what is as long":          {js, step{do: func(w *world) { w.write("server.js", "alpHa", 0o600) }, want: "d"}},
		"another file":                {js, step{do: func(w *world) { w.write("other.js", "evil", 0o600) }, want: ""}},
		"the script's mode":           {js, step{do: func(w *world) { w.write("server.js", "alpha", 0o755) }, want: ""}},
		"a script that shadows it":    {stdio("node", "tool"), step{do: func(w *world) { w.write("tool", "evil", 0o600) }, want: "d"}},
		"where a link leads":          {stdio("node", "link.js"), step{do: func(w *world) { w.link("tool.js", "link.js") }, want: "d"}},
		"a link to the same":          {stdio("node", "link.js"), step{do: func(w *world) { w.link("./server.js", "link.js") }, want: "d"}},
		"a file in a link's place":    {stdio("node", "link.js"), step{do: func(w *world) { w.write("link.js", "alpha", 0o600) }, want: "d"}},
		"a directory on the way":      {stdio("node", "dir/s.js"), step{do: func(w *world) { w.link("two", "dir") }, want: "d"}},
		"the working directory's":     {&entry.Entry{Server: servers.Server{Name: "a", Transport: "stdio", Command: "npx", Args: []string{"x"}, Cwd: "dir"}}, step{do: func(w *world) { w.link("two", "dir") }, want: "d"}},
		"the program":                 {js, step{do: func(w *world) { w.write(w.bin+"/node", "\x7fELF evil", 0o755) }, want: "l"}},
		"an unnamed program":          {js, step{do: func(w *world) { w.write(w.bin+"/other", "\x7fELF evil", 0o755) }, want: ""}},
		"the program to a link":       {js, step{do: func(w *world) { _ = os.Rename(w.bin+"/node", w.bin+"/node2"); w.link(w.bin+"/node2", "../bin/node") }, want: "l"}},
		"a script's interpreter":      {stdio("./script"), step{do: func(w *world) { w.write(w.bin+"/python3", "\x7fELF evil", 0o755) }, want: "l"}},
		"a script in the workspace":   {stdio("./script"), step{do: func(w *world) { w.write("script", "#!/usr/bin/env python3\nevil", 0o755) }, want: "dl"}},
		"a program of PATH":           {stdio("tool"), step{do: func(w *world) { w.write("bin/tool", "\x7fELF evil", 0o755) }, want: "dl"}},
		"a link of PATH":              {stdio("tool2"), step{do: func(w *world) { w.link(w.bin+"/npx", "bin/tool2") }, want: "dl"}},
		"its name":                    {js, step{then: &entry.Entry{Server: servers.Server{Name: "b", Transport: "stdio", Command: "node", Args: []string{"./server.js"}}}, want: "d"}},
		"its command":                 {stdio("node", "x"), step{then: stdio("npx", "x"), want: "dl"}},
		"an argument":                 {js, step{then: stdio("node", "./server.js", "-v"), want: "d"}},
		"where an argument ends":      {stdio("node", "ab", "c"), step{then: stdio("node", "a", "bc"), want: "d"}},
		"a file by another name":      {js, step{then: stdio("node", "server.js"), want: "d"}},
		"a literal variable":          {env(js, "LEVEL", "1"), step{then: env(js, "LEVEL", "2"), want: "d"}},
		"its name, too":               {env(js, "LEVEL", "1"), step{then: env(js, "DEVEL", "1"), want: "d"}},
		"where its name ends":         {env(js, "LEVEL", "1"), step{then: env(js, "LE", "VEL1"), want: "d"}},
		"a literal credential":        {env(js, "API_TOKEN", "one"), step{then: env(js, "API_TOKEN", "two"), want: "l"}},
		"to a reference":              {env(js, "API_TOKEN", "one"), step{then: env(js, "API_TOKEN", "${A}"), want: "dl"}},
		"a command called credential": {env(js, "API_TOKEN", "./get"), step{then: env(js, "API_TOKEN", "./evil"), want: "d"}},
		"a default called credential": {env(js, "API_TOKEN", "${A:-./get}"), step{then: env(js, "API_TOKEN", "${A:-./evil}"), want: "d"}},
		"a default":                   {env(js, "API_TOKEN", "${A:-one}"), step{then: env(js, "API_TOKEN", "${A:-two}"), want: "l"}},
		"a referred variable":         {env(js, "K", "${A}"), step{then: env(js, "K", "${B}"), want: "d"}},
		"a rotated variable":          {env(js, "K", "x-${A}"), step{do: func(w *world) { w.env["A"] = "rotated" }, want: ""}},
		"a rotated argument":          {stdio("node", "${A}"), step{do: func(w *world) { w.env["A"] = "rotated" }, want: "l"}},
		"a literal in an argument":    {stdio("node", "--token=one"), step{then: stdio("node", "--token=two"), want: "l"}},
		"one that follows":            {stdio("node", "--api-key", "one"), step{then: stdio("node", "--api-key", "two"), want: "l"}},
		"a password in a URL":         {stdio("npx", "postgres://u:one@h/"), step{then: stdio("npx", "postgres://u:two@h/"), want: "l"}},
		"and its host":                {stdio("npx", "postgres://u:one@h/"), step{then: stdio("npx", "postgres://u:one@evil/"), want: "d"}},
		"a file that a variable has":  {env(js, "NODE_OPTIONS", "-r ./tool.js"), step{do: func(w *world) { w.write("tool.js", "evil", 0o600) }, want: "d"}},
		"a secret file":               {stdio("node", "--env-file=.env"), step{do: func(w *world) { w.write(".env", "K=2", 0o600) }, want: "l"}},
		"a dialed URL":                {dialed("https://h/a", nil), step{then: dialed("https://h/b", nil), want: "d"}},
		"what it refers to":           {dialed("https://${A}/a", nil), step{do: func(w *world) { w.env["A"] = "evil" }, want: "l"}},
		"a query":                     {dialed("https://h/?a=1", nil), step{then: dialed("https://h/?a=2", nil), want: "d"}},
		"a credential in a query":     {dialed("https://h/?key=one", nil), step{then: dialed("https://h/?key=two", nil), want: "l"}},
		"a user":                      {dialed("https://u:one@h/", nil), step{then: dialed("https://u:two@h/", nil), want: "l"}},
		"a header":                    {dialed("https://h/", map[string]string{"X-Team": "a"}), step{then: dialed("https://h/", map[string]string{"X-Team": "b"}), want: "d"}},
		"a credential in a header":    {dialed("https://h/", map[string]string{"Authorization": "Bearer one"}), step{then: dialed("https://h/", map[string]string{"Authorization": "Bearer two"}), want: "l"}},
		"a rotated header":            {dialed("https://h/", map[string]string{"Authorization": "Bearer ${A}"}), step{do: func(w *world) { w.env["A"] = "two" }, want: ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.env["A"] = "alpha"
			w.write("server.js", "alpha", 0o600)
			w.write("tool.js", "alpha", 0o600)
			w.write("one/s.js", "alpha", 0o600)
			w.write("two/s.js", "alpha", 0o600)
			w.write(".env", "K=1", 0o600)
			w.write("script", "#!/usr/bin/env python3\n", 0o755)
			w.write("bin/tool", "\x7fELF", 0o755)
			w.link(w.bin+"/node", "bin/tool2")
			w.link("one", "dir")
			w.link("server.js", "link.js")
			before := w.digest(tt.entry)
			if tt.do != nil {
				tt.do(w)
			}
			e := tt.entry
			if tt.then != nil {
				e = tt.then
			}
			after := w.digest(e)
			got := ""
			if before.Definition != after.Definition {
				got += "d"
			}
			if before.Local != after.Local {
				got += "l"
			}
			if got != tt.want {
				t.Errorf("changed %q, want %q\n%+v\n%+v", got, tt.want, before.Parts, after.Parts)
			}
		})
	}
}
