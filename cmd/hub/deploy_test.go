package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"waymark/hub"

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
