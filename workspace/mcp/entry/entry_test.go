package entry_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"waymark/plugins/mcpconfig/servers"
	"waymark/workspace/launch"
	"waymark/workspace/mcp/entry"
)

func load(files []entry.File, texts map[string]string, from ...entry.Origin) []entry.Entry {
	return entry.Load(context.Background(), files, func(f entry.File) ([]byte, error) {
		text, ok := texts[f.Path]
		if !ok {
			return nil, errors.New("unreadable")
		}
		return []byte(text), nil
	}, entry.Options{From: from})
}

// summary is "name@file", with "!" for a problem, "-" for one that is only listed,
// and "<file" for what shadows it.
func summary(list []entry.Entry) string {
	var words []string
	for _, e := range list {
		word := e.Name + "@" + e.Source
		if e.Problem != "" {
			word += "!"
		}
		if e.Listed != "" {
			word += "-"
		}
		if e.Shadowed != "" {
			word += "<" + e.Shadowed
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestLoad(t *testing.T) {
	t.Parallel()
	ws, env, src, usr := entry.OriginWorkspace, entry.OriginEnvironment, entry.OriginSource, entry.OriginUser
	one := `{"mcpServers":{"a":{"command":"x"}}}`
	two := `{"mcpServers":{"a":{"command":"y"},"b":{"command":"z"}}}`
	bad := `{"mcpServers":{"a":{}}}`
	own := `{"mcpServers":{"waymark":{"command":"/opt/waymark/agent","args":["mcp","serve"]}}}`
	f := func(path string, origin entry.Origin) entry.File { return entry.File{Path: path, Origin: origin} }
	tests := map[string]struct {
		files []entry.File
		texts map[string]string
		from  []entry.Origin
		want  string
	}{
		"nothing":                          {},
		"one file":                         {[]entry.File{f("1", ws)}, map[string]string{"1": two}, nil, "a@1 b@1"},
		"the first file has the name":      {[]entry.File{f("1", ws), f("2", env)}, map[string]string{"1": one, "2": two}, nil, "a@1 a@2<1 b@2"},
		"and in the other order":           {[]entry.File{f("2", env), f("1", ws)}, map[string]string{"1": one, "2": two}, nil, "a@2 b@2 a@1<2"},
		"a bad one hasn't":                 {[]entry.File{f("1", ws), f("2", env)}, map[string]string{"1": bad, "2": two}, nil, "a@1!<2 a@2 b@2"},
		"unless it is listed only":         {[]entry.File{f("1", ws), f("2", usr)}, map[string]string{"1": bad, "2": one}, nil, "a@1! a@2-<1"},
		"listed ones don't shadow":         {[]entry.File{f("1", src), f("2", ws)}, map[string]string{"1": one, "2": two}, nil, "a@1-<2 a@2 b@2"},
		"unless they are connected":        {[]entry.File{f("1", src), f("2", ws)}, map[string]string{"1": one, "2": two}, []entry.Origin{src}, "a@1 a@2<1 b@2"},
		"a file twice":                     {[]entry.File{f("1", usr), f("2", ws), f("1", ws)}, map[string]string{"1": one, "2": two}, nil, "a@1 a@2<1 b@2"},
		"broken and unreadable files":      {[]entry.File{f("1", ws), f("2", ws), f("3", ws)}, map[string]string{"1": "{", "3": one}, nil, "a@3"},
		"our own is listed":                {[]entry.File{f("1", ws)}, map[string]string{"1": own}, nil, "waymark@1-"},
		"an origin that nobody knows, too": {[]entry.File{f("1", "x")}, map[string]string{"1": one}, nil, "a@1-"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := summary(load(tt.files, tt.texts, tt.from...)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if got := entry.Load(ended, []entry.File{f("1", ws)}, nil, entry.Options{}); got != nil {
		t.Errorf("%+v after the end", got)
	}
	if got := load([]entry.File{f("1", src)}, map[string]string{"1": one})[0].Listed; !strings.Contains(got, `from = ["source"]`) {
		t.Errorf("it isn't said how to connect it: %s", got)
	}
}

// TestShapes: files of other clients are read in their shapes; what they switch off, what
// only their clients have, and what is of other projects isn't connected.
func TestShapes(t *testing.T) {
	t.Parallel()
	texts := map[string]string{
		"1": `{"servers": {"a": {"command": "x"}, "asks": {"command": "x", "args": ["${input:k}"]}}}`,
		"2": "[mcp_servers.a]\ncommand = 'y'\n[mcp_servers.off]\ncommand = 'y'\nenabled = false",
		"3": `{"mcpServers": {"mine": {"command": "all"}}, "projects": {"/w": {"mcpServers": {"mine": {"command": "here"}}}, "/v": {"mcpServers": {"there": {"command": "x"}}}}}`,
	}
	files := []entry.File{
		{Path: "1", Origin: entry.OriginClient, Shape: servers.VSCode},
		{Path: "2", Origin: entry.OriginClient, Shape: servers.Codex},
		{Path: "3", Origin: entry.OriginUser, Shape: servers.ClaudeUser},
	}
	read := func(f entry.File) ([]byte, error) { return []byte(texts[f.Path]), nil }
	list := entry.Load(context.Background(), files, read, entry.Options{Root: "/w"})
	if got, want := summary(list), "a@1- asks@1- a@2-<1 off@2- mine@3- mine@3-<3"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	list = entry.Load(context.Background(), files, read, entry.Options{Root: "/w", From: []entry.Origin{entry.OriginClient, entry.OriginUser}})
	if got, want := summary(list), "a@1 asks@1- a@2<1 off@2- mine@3 mine@3<3"; got != want {
		t.Errorf("connected: got %s, want %s", got, want)
	}
	for i, want := range map[int]string{1: "only the client has", 3: "its file switches it off"} {
		if !strings.Contains(list[i].Listed, want) {
			t.Errorf("%s: %s", list[i].Name, list[i].Listed)
		}
	}
	if list[4].Command != "here" {
		t.Errorf("the entry of the project doesn't count: %+v", list[4])
	}
	if got := entry.Load(context.Background(), files[:1], read, entry.Options{})[0].Listed; !strings.Contains(got, `from = ["client"]`) {
		t.Errorf("it isn't said how to connect it: %s", got)
	}
}

// TestSyntaxes: references are those of the client that a file is for.
func TestSyntaxes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		syntax     servers.Syntax
		text, want string
	}{
		{servers.EditorSyntax, "${env:A}-${env:NO}-$A-${A}", "alpha--$A-${A}"},
		{servers.EditorSyntax, "${workspaceFolder}${/}s ${userHome} ${workspaceFolderBasename} ${env:CODER_AGENT_TOKEN}", "/w/s /home/u w "},
		{servers.BraceSyntax, "{env:A} ${A} {env:NO} {x}", "alpha ${A}  {x}"},
		{servers.BareSyntax, "$A ${A} $NO. $1 $$A ${NO:-d}", "alpha alpha $NO. $1 $alpha d"},
		{servers.NoSyntax, "$A ${A} ${env:A} {env:A}", "$A ${A} ${env:A} {env:A}"},
	} {
		e := entry.Entry{Server: servers.Server{Name: "a", Transport: "stdio", Command: "c", Args: []string{tt.text}, Syntax: tt.syntax}}
		x, err := e.Expand(options(environment))
		if err != nil || x.Args[0] != tt.want {
			t.Errorf("%s %s: %+v, %v, want %q", tt.syntax, tt.text, x, err, tt.want)
		}
	}
}

// TestNamedVariables: what an entry has by the names of variables.
func TestNamedVariables(t *testing.T) {
	t.Parallel()
	e := entry.Entry{Shape: servers.Codex, Server: servers.Server{
		Name: "a", Transport: "stdio", Command: "x", Env: map[string]string{"B_2": ""}, Inherit: []string{"A", "B_2", "NO", "WAYMARK_HUB_TOKEN"}, Syntax: servers.NoSyntax,
	}}
	x, err := e.Expand(options(environment))
	want := map[string]string{"A": "alpha", "B_2": ""}
	if err != nil || !reflect.DeepEqual(x.Env, want) || !slices.Equal(x.Unset, []string{"NO"}) ||
		!slices.Equal(x.Withheld, []string{"WAYMARK_HUB_TOKEN"}) {
		t.Errorf("%+v, %v", x, err)
	}
	e = entry.Entry{Server: servers.Server{
		Name: "a", Transport: "http", URL: "https://h/", Headers: map[string]string{"X": "y"}, Syntax: servers.NoSyntax,
		HeaderVariables: map[string]string{"Authorization": "Bearer A", "X-Key": "B_2", "X-No": "NO"},
	}}
	x, err = e.Expand(options(map[string]string{"A": "alpha-1", "B_2": "beta-22"}))
	want = map[string]string{"X": "y", "Authorization": "Bearer alpha-1", "X-Key": "beta-22"}
	if err != nil || !reflect.DeepEqual(x.Headers, want) || strings.Join(x.Secrets, "|") != "Bearer alpha-1|alpha-1|beta-22" || strings.Join(x.Redacted, " ") != "Authorization X-Key" {
		t.Errorf("%+v, %v", x, err)
	}
}

// TestLiteralSecrets: what isn't expanded has its secrets, too.
func TestLiteralSecrets(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		server servers.Server
		names  string
	}{
		{servers.Server{Transport: "stdio", Command: "x", Args: []string{"--token", "value-1"}, Env: map[string]string{"KEY": "value-2", "ROOT": "/w/value"}}, "KEY arguments"},
		{servers.Server{Transport: "http", URL: "https://h/?key=value-1", Headers: map[string]string{"X-Key": "value-2"}}, "X-Key url"},
		{servers.Server{Command: "${NO}", Args: []string{"--token=value-1"}, Env: map[string]string{"KEY": "value-2"}}, "KEY arguments"},
	} {
		e := entry.Entry{Server: tt.server}
		values, names := e.Secrets(options(environment))
		if strings.Join(values, " ") != "value-1 value-2" || strings.Join(names, " ") != tt.names {
			t.Errorf("%+v: %s of %s", tt.server, values, names)
		}
	}
}

// TestOwn: what is the agent's own MCP server is never run.
func TestOwn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		command string
		args    []string
		own     bool
	}{
		{"agent", []string{"mcp", "serve"}, true},
		{"/usr/bin/waymark-agent", []string{"--log-format", "json", "mcp", "serve", "--plan", "x"}, true},
		{"env", []string{"A=b", "agent", "mcp", "serve"}, true},
		{"sh", []string{"-c", "exec ~/bin/agent mcp serve"}, true},
		{"${AGENT:-agent}", []string{"mcp", "serve"}, true},
		{"agent", []string{"mcp", "list"}, false},
		{"node", []string{"mcp", "serve"}, false},
		{"other-agent", []string{"mcp", "serve"}, false},
	} {
		e := entry.Entry{Server: servers.Server{Name: "a", Transport: "stdio", Command: tt.command, Args: tt.args}}
		_, err := e.Expand(entry.ExpandOptions{Root: "/w"})
		if (err != nil) != tt.own {
			t.Errorf("%s %q: %v", tt.command, tt.args, err)
		}
	}
}

var environment = map[string]string{
	"A": "alpha", "B_2": "beta", "EMPTY": "", "HOME": "/home/u", "CODER_AGENT_TOKEN": "agent-token", "WAYMARK_HUB_TOKEN": "hub-token", "REC": "$A",
}

func options(env map[string]string) entry.ExpandOptions {
	return entry.ExpandOptions{Root: "/w", Home: "/home/u", Getenv: func(name string) (string, bool) {
		value, set := env[name]
		return value, set
	}}
}

func TestExpandText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "plain": "plain", "$A": "$A", "${A}": "alpha", "x${A}y$A-$B_2": "xalphay$A-$B_2", "pa$$word": "pa$$word", "for f in *; do echo $f; done": "for f in *; do echo $f; done",
		"${NO}": "${NO}", "$NO.": "$NO.", "$$": "$$", "$$$A": "$$$A", "$${A}": "$alpha", "${NO:-d}": "d", "${NO:-}": "", "${A:-d}": "alpha", "${EMPTY:-d}": "", "${NO:-a b/c:-$A}": "a b/c:-$A",
		"$": "$", "a$": "a$", "$$A": "$$A", "$1": "$1", "$(id)": "$(id)", "${": "${", "${A": "${A", "${}": "${}", "${1}": "${1}",
		"${A:?x}": "${A:?x}", "${A-x}": "${A-x}", "${env:A}": "${env:A}", "$é": "$é", "${REC}": "$A", "${NO:-${A}}": "${A}",
		"${CODER_AGENT_TOKEN}": "${CODER_AGENT_TOKEN}", "$WAYMARK_HUB_TOKEN": "$WAYMARK_HUB_TOKEN", "${WAYMARK_HUB_TOKEN:-none}": "none",
	} {
		e := entry.Entry{Server: servers.Server{
			Name: "a", Transport: "stdio", Command: "c", Args: []string{text}, Env: map[string]string{"K": text}, Cwd: "/" + text,
		}}
		x, err := e.Expand(options(environment))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if x.Args[0] != want || x.Env["K"] != want {
			t.Errorf("%s: %q, %q, want %q", text, x.Args[0], x.Env["K"], want)
		}
		h := entry.Entry{Server: servers.Server{Name: "a", Transport: "http", URL: "https://h/" + text, Headers: map[string]string{"K": text}}}
		y, err := h.Expand(options(environment))
		if err != nil || y.URL != "https://h/"+want || y.Headers["K"] != want {
			t.Errorf("%s: %+v, %v", text, y, err)
		}
	}
}

func TestExpandNames(t *testing.T) {
	t.Parallel()
	e := entry.Entry{Server: servers.Server{
		Name: "a", Transport: "stdio", Command: "x", Args: []string{"$PLAIN", "${NO}", "${OTHER}", "${DEF:-d}", "${CODER_AGENT_TOKEN}"}, Env: map[string]string{"$A": "${WAYMARK_X:-}"},
	}}
	x, err := e.Expand(options(environment))
	if err != nil || !slices.Equal(x.Unset, []string{"NO", "OTHER"}) || !slices.Equal(x.Withheld, []string{"CODER_AGENT_TOKEN", "WAYMARK_X"}) {
		t.Errorf("%+v, %v", x, err)
	}
	if _, ok := x.Env["$A"]; !ok {
		t.Errorf("names of variables are no texts: %v", x.Env)
	}
}

func TestDirectories(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ root, home, cwd, want string }{
		{"/w", "/h", "", "/w"},
		{"", "/h", "", "/h"},
		{"/w", "/h", "sub/../x", "/w/x"},
		{"/w", "/h", "../other", "/other"},
		{"", "/h", "sub", "/h/sub"},
		{"/w", "/h", "/abs/./x", "/abs/x"},
		{"/w", "/h", "~", "/h"},
		{"/w", "/h", "~/x", "/h/x"},
		{"/w", "/h", "~other/x", "/w/~other/x"},
		{"/w", "", "~/x", "/w/~/x"},
		{"", "", "", ""},
		{"", "", "x", ""},
		{"", "", "/x", "/x"},
	} {
		e := entry.Entry{Server: servers.Server{Name: "a", Transport: "stdio", Command: "x", Cwd: tt.cwd}}
		x, err := e.Expand(entry.ExpandOptions{Root: tt.root, Home: tt.home})
		if (err != nil) != (tt.want == "") || err == nil && x.Cwd != tt.want {
			t.Errorf("%+v: %+v, %v", tt, x, err)
		}
	}
	e := entry.Entry{Server: servers.Server{Name: "a", Transport: "stdio", Command: "~/bin/x"}}
	if x, err := e.Expand(entry.ExpandOptions{Root: "/w", Home: "/h"}); err != nil || x.Command != "/h/bin/x" {
		t.Errorf("%+v, %v", x, err)
	}
}

// TestProjectDirectory: servers of Claude Code's files get the workspace's directory in a
// variable, and can refer to it.
func TestProjectDirectory(t *testing.T) {
	t.Parallel()
	environment := map[string]string{"CLAUDE_PROJECT_DIR": "/of/the/agent"}
	for _, tt := range []struct {
		shape           servers.Shape
		root, own       string
		variable, means string
	}{
		{shape: servers.Claude, root: "/w", variable: "/w", means: "/w /w"},
		{shape: servers.ClaudeUser, root: "/w", variable: "/w", means: "/w /w"},
		{shape: servers.Claude, root: "/w", own: "mine", variable: "mine", means: "/w /w"},
		{shape: servers.Claude, variable: "", means: "/of/the/agent /of/the/agent"},
		{shape: servers.Client, root: "/w", variable: "", means: "/of/the/agent /of/the/agent"},
	} {
		e := entry.Entry{Shape: tt.shape, Server: servers.Server{Transport: "stdio", Command: "x", Args: []string{"${CLAUDE_PROJECT_DIR} ${CLAUDE_PROJECT_DIR:-.}"}}}
		if tt.own != "" {
			e.Env = map[string]string{"CLAUDE_PROJECT_DIR": tt.own}
		}
		opts := options(environment)
		opts.Root = tt.root
		x, err := e.Expand(opts)
		if err != nil || x.Env["CLAUDE_PROJECT_DIR"] != tt.variable || x.Args[0] != tt.means || len(x.Unset) > 0 {
			t.Errorf("%+v: %+v, %v", tt, x, err)
		}
	}
}

// TestErrors: what can't be used says why without a value.
func TestExpandErrors(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]servers.Server{
		"out of a file": {Problem: "out of a file"},
		"its command refers to what isn't set here: CODER_AGENT_TOKEN, NO": {Transport: "stdio", Command: "x${NO}${CODER_AGENT_TOKEN}"},
		"its url refers to what isn't set here: NO":                        {Transport: "http", URL: "${NO}/mcp"},
		"its command is empty: what it refers to is":                       {Transport: "stdio", Command: "${EMPTY}"},
		"its url isn't an address":                                         {Transport: "http", URL: "${A}"},
		"begins with http:// or https://":                                  {Transport: "sse", URL: "ftp://alpha/"},
		"its url isn't an":                                                 {Transport: "http", URL: "http://[alpha"},
		"its header X holds a line break":                                  {Transport: "http", URL: "http://h", Headers: map[string]string{"X": "${LINES}"}},
	} {
		e := entry.Entry{Server: s}
		_, err := e.Expand(options(map[string]string{"A": "alpha", "EMPTY": "", "LINES": "alpha\nb"}))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "alpha") {
			t.Errorf("%+v: %v, want %q", s, err, want)
		}
	}
}

// TestSecrets: what of an entry is a secret, and what isn't.
func TestSecrets(t *testing.T) {
	t.Parallel()
	const token, basic = "aB3dE6gH9jK2mN5pQ8sT", "Basic dTpoNG50ZXIyaA=="
	stdio := func(args []string, env map[string]string) servers.Server {
		return servers.Server{Transport: "stdio", Command: "x", Args: args, Env: env}
	}
	variable := func(name, value string) servers.Server { return stdio(nil, map[string]string{name: value}) }
	dialed := func(url string) servers.Server { return servers.Server{Transport: "http", URL: url} }
	values := map[string]string{"NAME": "some-name", "MY_TOKEN": "the-token-1", "HOME": "/home/u", "USER": "someone", "PWD": "/w/sub", "ODD": token}
	for name, tt := range map[string]struct {
		server servers.Server
		want   string // parted by |
	}{
		"nothing": {stdio([]string{"-y", "pkg", "--author", "somebody", "--port=8080"}, nil), ""},
		// What everybody is shown, although it stands in an entry.
		"a path of the home":      {variable("DATABASE_URL", "sqlite:///${HOME}/data/app.db"), ""},
		"a key's path":            {variable("API_KEY", "${HOME}/keys/api"), ""},
		"a key's file":            {variable("SSH_KEY_FILE", "/home/u/.ssh/id_ed25519"), ""},
		"a user":                  {variable("TOKEN", "${USER}"), ""},
		"a directory":             {variable("PASSWORD", "${PWD}/x"), ""},
		"a working directory":     {variable("PWD", "/w/sub/dir"), ""},
		"an argument with a home": {stdio([]string{"--key=${HOME}/key.pem"}, nil), ""},
		"an address":              {variable("EMAIL", "someone@example.com"), ""},
		"an organization":         {variable("ORG", "acme-corp-production-2024"), ""},
		"a UUID":                  {variable("PROJECT", "550e8400-e29b-41d4-a716-446655440000"), ""},
		"a zone":                  {variable("TZ", "America/Argentina/Buenos_Aires"), ""},
		"a model":                 {variable("MODEL", "claude-3-5-Sonnet-20241022-v2"), ""},
		"a commit":                {variable("REVISION", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"), ""},
		"a version":               {variable("IMAGE", "registry.example.com/Team/App:1.20.300-RC4"), ""},
		"a URL":                   {variable("URL", "https://api.example.com/v1/projects?project=Number1&page=20"), ""},
		"a neutral reference":     {variable("X", "${NAME}"), ""},
		"a setting":               {variable("AUTH_TYPE", "certificate"), ""},
		"a word":                  {variable("AUTH", "github"), ""},
		"a short one":             {variable("KEY", "12345"), ""},
		"a name in capitals":      {variable("X", "TheFirstNameThatIsLong2024"), ""},
		"another header":          {servers.Server{Transport: "http", URL: "https://h/", Headers: map[string]string{"User-Agent": "Program/1.0 (x)"}}, ""},
		"a flag without":          {stdio([]string{"--token", "--other"}, nil), ""},
		"an agent's own":          {variable("TOKEN", "${WAYMARK_HUB_TOKEN}"), ""},
		// Secrets.
		"a literal":               {variable("API_KEY", "literal-1"), "literal-1"},
		"seven characters":        {variable("DB_PASSWORD", "hunter2"), "hunter2"},
		"a reference":             {variable("X", "${MY_TOKEN}"), "the-token-1"},
		"a neutral one for a key": {variable("KEY", "${NAME}"), "some-name"},
		"a reference within":      {variable("KEY", "x-${NAME}"), "some-name|x-some-name"},
		"beside a home":           {variable("KEY", "${HOME}:${MY_TOKEN}"), "the-token-1"},
		"a form":                  {variable("X", token), token},
		"a form within":           {variable("X", "a="+token+",b"), token},
		"a form by a reference":   {variable("X", "${ODD}"), token},
		"a known form":            {variable("X", "ghp_abcdefghijkl0"), "ghp_abcdefghijkl0"},
		"a key with slashes":      {variable("SECRET_KEY", "/K7MDENG/bPxRfiCY"), "/K7MDENG/bPxRfiCY"},
		"a default":               {variable("KEY", "${NO:-default-1}"), "default-1"},
		"a flag's value":          {stdio([]string{"--api-key", "value-1", "--token=value-2", "-eMY_TOKEN=value-3", "PASSWORD=value-4", "--apiKey=value-5"}, nil), "value-1|value-2|value-3|value-4|value-5"},
		"an argument's reference": {stdio([]string{"--x=${MY_TOKEN}"}, nil), "the-token-1"},
		"an argument's form":      {stdio([]string{"x", token}, nil), token},
		"a header in an argument": {stdio([]string{"--header", "Authorization: Bearer tok-en", "--header=X-Api-Key:my-key"}, nil), "Bearer tok-en|my-key|tok-en"},
		"a URL's password":        {variable("DB", "postgres://user:pass%20word@db/x"), "pass word|pass%20word"},
		"a URL's user alone":      {stdio([]string{"https://the-token@h/?project=project-1"}, nil), "the-token"},
		"parameters":              {variable("DB", "Server=db-server;Database=database-1;Password=pass-word-1"), "pass-word-1"},
		"a document":              {variable("ACCOUNT", `{"type":"service-account","keys":[{"private_key":"value-1"}],"client_secret":"value-2"}`), "value-1|value-2"},
		"a dialed URL":            {dialed("https://us:pass-word@h/v1/" + token + "/x?key=a%20b-c-d&flag=something#access_token=frag-ment"), "a b-c-d|a%20b-c-d|" + token + "|frag-ment|pass-word"},
		"a header":                {servers.Server{Transport: "http", URL: "https://h/", Headers: map[string]string{"Authorization": basic}}, basic + "|dTpoNG50ZXIyaA==|h4nter2h|u:h4nter2h"},
		"a named variable":        {servers.Server{Transport: "stdio", Command: "x", Inherit: []string{"MY_TOKEN", "NAME"}}, "the-token-1"},
	} {
		t.Run(name, func(t *testing.T) {
			e := entry.Entry{Server: tt.server}
			x, err := e.Expand(options(values))
			if err != nil || strings.Join(x.Secrets, "|") != tt.want || (len(x.Redacted) > 0) != (tt.want != "") {
				t.Errorf("got %q of %q, %v, want %s", x.Secrets, x.Redacted, err, tt.want)
			}
		})
	}
}

func TestCredential(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"GITHUB_TOKEN": true, "token": true, "--api-key": true, "apiKey": true, "APIKEY": true, "authToken": true, "X-Api-Key": true, "Authorization": true,
		"PGPASSWORD": true, "db.password": true, "AWS_SECRET_ACCESS_KEY": true, "Cookie": true, "PASSWD": true,
		"": false, "AUTHOR": false, "GIT_ASKPASS": false, "KEYBOARD": false, "NODE_OPTIONS": false, "PATH": false, "MONKEY": false, "PWD": false, "KEY_PATH": false, "tokenUrl": false, "DSN": false, "--port": false, "PYTHONPATH": false,
	} {
		if got := entry.Credential(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// FuzzExpand: whatever the text is, no token of the agent's comes out, and a text
// without references comes out as it went in.
func FuzzExpand(f *testing.F) {
	f.Add("${A}-$WAYMARK_TOKEN${CODER_AGENT_TOKEN:-x}", "--token=$A")
	f.Add("postgres://u:${A}@h/?k=v", "${A:-${A}}")
	f.Fuzz(func(t *testing.T, one, two string) {
		env := func(name string) (string, bool) {
			if launch.AgentVariable(name) {
				return "\x01the-agent's\x01", true
			}
			return "<" + name + ">", true
		}
		for _, s := range []servers.Server{
			{Transport: "stdio", Command: "c" + one, Args: []string{one, two}, Env: map[string]string{"TOKEN": two}, Cwd: one},
			{Transport: "http", URL: "http://h/" + one, Headers: map[string]string{"TOKEN": two}},
		} {
			e := entry.Entry{Server: s}
			x, err := e.Expand(entry.ExpandOptions{Root: "/w", Home: "/h", Getenv: env})
			if err != nil {
				continue
			}
			all := strings.Join(append([]string{x.Command, x.Cwd, x.URL, x.Env["TOKEN"], x.Headers["TOKEN"]}, x.Args...), "\n")
			if strings.Contains(all, "\x01the-agent's\x01") {
				t.Errorf("a token of the agent's came out of %q and %q", one, two)
			}
			if len(entry.References(one)) == 0 && s.Transport == "stdio" && (x.Args[0] != one || x.Command != "c"+one) {
				t.Errorf("%q became %q", one, x.Args[0])
			}
			for _, value := range []string{x.Env["TOKEN"], x.Headers["TOKEN"]} {
				if len(value) >= 8 && len(entry.References(two)) == 0 && value != x.Cwd && !slices.Contains(x.Secrets, value) {
					t.Errorf("%q is no secret", value)
				}
			}
			again, err := e.Expand(entry.ExpandOptions{Root: "/w", Home: "/h", Getenv: env})
			if err != nil || !reflect.DeepEqual(x, again) {
				t.Errorf("%+v, and then %+v, %v", x, again, err)
			}
		}
	})
}
