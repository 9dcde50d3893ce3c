package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"waymark/hub"
	"waymark/test/process"

	"github.com/rogpeppe/go-internal/testscript"
	"go.yaml.in/yaml/v4"
)

// cmdFetch asks any URL and puts the answer into the file body: fetch STATUS
// URL.
func cmdFetch(ts *testscript.TestScript, neg bool, args []string) {
	address, path, _ := strings.Cut(strings.TrimPrefix(args[1], "http://"), "/")
	before := ts.Getenv("HTTP")
	defer ts.Setenv("HTTP", before)
	ts.Setenv("HTTP", "http://"+address)
	cmdGet(ts, neg, []string{args[0], "/" + path})
}

const repository = "../.."

// composeFile is what the test looks at in compose.yaml.
type composeFile struct {
	Services map[string]struct {
		User     string
		Image    string
		Command  []string
		Env      map[string]string `yaml:"environment"`
		Secrets  []string
		Volumes  []string
		ReadOnly bool `yaml:"read_only"`
		Build    struct{ Context, Target string }
		Depends  map[string]any `yaml:"depends_on"`
	}
	Secrets map[string]struct{ File string }
	Volumes map[string]any
}

// TestCompose reads compose.yaml: it names what there is, and its flags are
// those of the programs. There is no Docker where the tests run.
func TestCompose(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(repository, "compose.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var c composeFile
	if err := yaml.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	var names []string
	for name, s := range c.Services {
		names = append(names, name)
		for _, secret := range s.Secrets {
			if c.Secrets[secret].File == "" {
				t.Errorf("%s: secret %q isn't said to be a file", name, secret)
			}
		}
		for other := range s.Depends {
			if _, known := c.Services[other]; !known {
				t.Errorf("%s depends on %q, which isn't there", name, other)
			}
		}
		for _, volume := range s.Volumes {
			from, _, _ := strings.Cut(volume, ":")
			if _, known := c.Volumes[from]; !known && !strings.HasPrefix(from, "./") {
				t.Errorf("%s: volume %q isn't there", name, from)
			}
		}
		if s.Build.Target != "" && (s.User == "" || !s.ReadOnly) {
			t.Errorf("%s may do more than it needs", name)
		}
	}
	slices.Sort(names)
	if want := []string{"agent-one", "agent-two", "hub", "postgres"}; !slices.Equal(names, want) {
		t.Errorf("services %v, want %v", names, want)
	}
	checkFlags(t, c.Services["hub"].Command)
	if err := checkDB(c.Services["hub"].Env[dbVariable]); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"agent-one", "agent-two"} {
		if command := c.Services[name].Command; command[0] != "run" || !slices.ContainsFunc(command, func(s string) bool { return strings.HasPrefix(s, "--url=http://hub:7878") }) {
			t.Errorf("%s: %v", name, command)
		}
	}
}

// checkFlags parses a command line of hub serve, without running it.
func checkFlags(t *testing.T, args []string) {
	t.Helper()
	cmd, rest, err := newRoot(io.Discard, io.Discard).Find(args)
	if err != nil || cmd.Name() != "serve" {
		t.Fatalf("%v: %v", args, err)
	}
	if err := cmd.ParseFlags(rest); err != nil {
		t.Errorf("%v: %v", args, err)
	}
	if db := cmd.Flag("db").Value.String(); db != "" {
		if err := checkDB(db); err != nil {
			t.Error(err)
		}
	}
}

// TestDockerfile checks what can be checked without Docker: images of nothing
// but static programs, for a user without rights, made of what is there.
func TestDockerfile(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(repository, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(data), "\\\n", " ")
	stages := regexp.MustCompile(`(?m)^FROM (\S+) AS (\S+)$`).FindAllStringSubmatch(text, -1)
	known := map[string]string{}
	for _, s := range stages {
		known[s[2]] = s[1]
	}
	if known["base"] != "scratch" || known["hub"] != "base" || known["agent"] != "base" || stages[len(stages)-1][2] != "hub" {
		t.Errorf("stages: %v", stages)
	}
	for _, from := range regexp.MustCompile(`--from=(\S+)`).FindAllStringSubmatch(text, -1) {
		if known[from[1]] == "" {
			t.Errorf("no stage %s", from[1])
		}
	}
	for _, want := range []string{"\nUSER 65532:65532\n", "CGO_ENABLED=0", "-trimpath", "VOLUME /state"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	for _, target := range regexp.MustCompile(`\./cmd/\w+`).FindAllString(text, -1) {
		if _, err := os.Stat(filepath.Join(repository, target)); err != nil {
			t.Error(err)
		}
	}
	mod, err := os.ReadFile(filepath.Join(repository, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(mod))
	if known["build"] != "golang:"+version[1] {
		t.Errorf("built with %s, want Go %s", known["build"], version[1])
	}
	command := regexp.MustCompile(`(?m)^CMD \["serve", (.*)\]$`).FindStringSubmatch(text)
	if command == nil {
		t.Fatal("no command")
	}
	args := []string{"serve"}
	for _, word := range strings.Split(command[1], ", ") {
		args = append(args, strings.Trim(word, `"`))
	}
	checkFlags(t, args)
}

// image is what the Dockerfile says of the hub's, with places of this test's own.
type image struct {
	t           *testing.T
	places      *strings.Replacer
	env         []string
	cmd, health []string
}

// newImage reads the Dockerfile. Ports are free ones; /state and /tls are in dir.
func newImage(t *testing.T, dir string) *image {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(repository, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	i := &image{t: t, places: strings.NewReplacer(":7878", ":0", ":9090", ":0", "/state", dir+"/state", "/tls/", dir+"/tls/")}
	words := func(line string) (list []string) {
		if err := json.Unmarshal([]byte(line), &list); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return list
	}
	var entry []string
	stage := ""
	for line := range strings.Lines(strings.ReplaceAll(string(data), "\\\n", " ")) {
		instruction, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if instruction == "FROM" {
			stage = rest[strings.LastIndex(rest, " ")+1:]
		}
		if stage != "base" && stage != "hub" {
			continue
		}
		switch instruction {
		case "ENV":
			i.env = append(i.env, strings.Fields(i.places.Replace(rest))...)
		case "ENTRYPOINT":
			entry = words(rest)
		case "CMD":
			i.cmd = words(rest)
		case "HEALTHCHECK":
			_, rest, _ = strings.Cut(rest, "CMD ")
			i.health = words(rest)
		}
	}
	i.cmd = append(entry, i.cmd...)
	if len(entry) != 1 || entry[0] != "/hub" || len(i.health) == 0 || i.health[0] != "/hub" {
		t.Fatalf("ENTRYPOINT %q, HEALTHCHECK %q", entry, i.health)
	}
	for _, name := range []string{"/state", "/tls"} {
		if err := os.Mkdir(dir+name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return i
}

// command makes one of these lines; a container has no other environment.
func (i *image) command(args []string) *exec.Cmd {
	args = strings.Split(i.places.Replace(strings.Join(args, "\x00")), "\x00")
	cmd := exec.CommandContext(i.t.Context(), "hub", args[1:]...)
	cmd.Env = i.env
	return cmd
}

// TestImage runs what the image runs: the health check fits the default command, and other
// flags of serve; its monitor is reached from elsewhere.
func TestImage(t *testing.T) {
	for name, flags := range map[string][]string{
		"the default command": nil,
		"without TLS":         {"--http", "0.0.0.0:7878", "--insecure"},
		"another port":        {"--http", "[::]:9090", "--insecure", "--db", "sqlite:/state/a b.db"},
		"loopback":            {"--http", "127.0.0.1:9090"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			i := newImage(t, dir)
			certificate(t, dir+"/tls", 1)
			if flags != nil {
				i.cmd = append([]string{"/hub", "serve"}, flags...)
			}
			if out, err := i.command(i.health).CombinedOutput(); err == nil {
				t.Errorf("it is healthy before it runs:\n%s", out)
			}
			hub := process.StartOwned(t, i.command(i.cmd))
			hub.Prints("hub is ready")
			out, err := i.command(i.health).CombinedOutput()
			if err != nil || string(out) != "ready\n" {
				t.Errorf("%v\n%s", err, out)
			}
			if flags == nil {
				scrape(t, regexp.MustCompile(`monitor=https://\S+:(\d+)`).FindStringSubmatch(hub.Output())[1])
			}
		})
	}
}

// scrape reads the metrics as another machine does, by an address that isn't loopback,
// where there is one.
func scrape(t *testing.T, port string) {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	host := "127.0.0.2"
	for _, a := range addresses {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && !ip.IP.IsLoopback() {
			host = ip.IP.String()
		}
	}
	c := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	response, err := c.Get("https://" + net.JoinHostPort(host, port) + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(body), "waymark_hub_ready 1") {
		t.Errorf("%v, %s:\n%s", err, response.Status, body)
	}
}

// TestComposeSecrets: the secrets are those that compose.yaml names, nobody
// else can read them, the hub takes the tokens, and a second run changes
// nothing.
func TestComposeSecrets(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "compose")
	script := filepath.Join(repository, "packaging", "compose-secrets.sh")
	var before []byte
	for range 2 {
		if out, err := exec.Command("sh", script, dir).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		tokens, err := hub.ReadTokens(filepath.Join(dir, "tokens"))
		if err != nil || len(tokens) != 3 {
			t.Errorf("tokens: %v, %v", tokens, err)
		}
		data, err := os.ReadFile(filepath.Join(dir, "tokens"))
		if err != nil || before != nil && !bytes.Equal(data, before) {
			t.Errorf("a second run has made other tokens: %v", err)
		}
		before = data
	}
	data, err := os.ReadFile(filepath.Join(repository, "compose.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var c composeFile
	if err := yaml.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	for name, secret := range c.Secrets {
		info, err := os.Stat(filepath.Join(dir, strings.TrimPrefix(secret.File, "./compose/")))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("secret %s: %v, %v", name, info, err)
		}
	}
}

// TestDocumentedCommands: every command line of docs/hub.md is one that hub
// understands.
func TestDocumentedCommands(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(repository, "docs", "hub.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(page), "\\\n", " ")
	lines := regexp.MustCompile(`(?m)^(?:ExecStart=/usr/local/bin/)?hub ([^#>&|\n]*)`).FindAllStringSubmatch(text, -1)
	if len(lines) < 10 {
		t.Fatalf("%d commands are found", len(lines))
	}
	for _, line := range lines {
		args := strings.Fields(strings.ReplaceAll(regexp.MustCompile(`"[^"]*"|'[^']*'`).ReplaceAllStringFunc(line[1], func(s string) string {
			return strings.ReplaceAll(strings.Trim(s, `"'`), " ", "_")
		}), "$(date +%F)", "x"))
		root := newRoot(io.Discard, io.Discard)
		cmd, rest, err := root.Find(args)
		if err != nil || cmd == root {
			t.Errorf("hub %s: no such command (%v)", line[1], err)
			continue
		}
		if err := cmd.ParseFlags(rest); err != nil {
			t.Errorf("hub %s: %v", line[1], err)
			continue
		}
		if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
			t.Errorf("hub %s: %v", line[1], err)
		}
	}
}
