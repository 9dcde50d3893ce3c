//go:build linux

package launch_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"waymark/workspace/launch"
)

// unitFile is the agent's unit. Processes are held by another one, without
// restrictions; but where systemd can't start that, by the agent's own.
const unitFile = "../../packaging/waymark-agent.service"

// restrictions are what a unit's filters of system calls let through.
type restrictions struct {
	Calls    []uint32 `json:"calls"`
	Families []uint32 `json:"families"` // of sockets
}

// unitFilter names the file of restrictions for the role "unit".
const unitFilter = "WAYMARK_TEST_UNIT"

// underUnit is a role that becomes the shim under the filters of a unit.
func underUnit([]string) int {
	runtime.LockOSThread()
	var r restrictions
	data, err := os.ReadFile(os.Getenv(unitFilter))
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err == nil {
		err = r.install()
	}
	if err != nil {
		_, _ = os.Stderr.WriteString(err.Error())
		return 1
	}
	return launch.Main(nil)
}

// install applies them as systemd does: what isn't let through is EPERM, as the unit
// says, and an address family EAFNOSUPPORT.
func (r *restrictions) install() error {
	deny := func(errno unix.Errno) bpf.Instruction {
		return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)}
	}
	allow := bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
	calls := []bpf.Instruction{bpf.LoadAbsolute{Off: 0, Size: 4}}
	for _, n := range r.Calls {
		calls = append(calls, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: n, SkipTrue: 1}, allow)
	}
	families := []bpf.Instruction{
		bpf.LoadAbsolute{Off: 0, Size: 4}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_SOCKET, SkipTrue: 1}, allow, bpf.LoadAbsolute{Off: 16, Size: 4},
	}
	for _, n := range r.Families {
		families = append(families, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: n, SkipTrue: 1}, allow)
	}
	for _, program := range [][]bpf.Instruction{append(families, deny(unix.EAFNOSUPPORT)), append(calls, deny(unix.EPERM))} {
		raw, err := bpf.Assemble(program)
		if err == nil {
			err = install(raw)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unitValues returns the words of a key of a unit file.
func unitValues(t *testing.T, text, key string) []string {
	t.Helper()
	var list []string
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), key+"="); ok {
			list = append(list, strings.Fields(value)...)
		}
	}
	if len(list) == 0 {
		t.Fatalf("the unit has no %s", key)
	}
	return list
}

// callNames returns the system calls of a unit's filter by name, its sets as
// systemd has them.
func callNames(t *testing.T, words []string) map[string]bool {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "systemd-analyze", "syscall-filter", "--no-pager").Output()
	if err != nil {
		t.Fatal(err)
	}
	sets, set := map[string][]string{}, ""
	for line := range strings.Lines(string(out)) {
		word := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "@"):
			set = word
		case word != "" && !strings.HasPrefix(word, "#") && strings.HasPrefix(line, " "):
			sets[set] = append(sets[set], word)
		}
	}
	names := map[string]bool{}
	var add func(words []string)
	add = func(words []string) {
		for _, word := range words {
			if !strings.HasPrefix(word, "@") {
				names[word] = true
			} else if inner, ok := sets[word]; ok {
				add(inner)
			} else {
				t.Errorf("systemd has no set %s", word)
			}
		}
	}
	add(append([]string{"@default"}, words...)) // which every list of what is allowed has
	return names
}

// numbers returns the numbers of system calls by name, as the library for them has
// them.
func numbers(t *testing.T) map[string]uint32 {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", "golang.org/x/sys/unix").Output()
	if err != nil {
		t.Skip("SKIPPED: go isn't there to tell where system calls have their numbers:", err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(strings.TrimSpace(string(out)), "zsysnum_linux_"+runtime.GOARCH+".go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]uint32{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if value, ok := spec.Values[0].(*ast.BasicLit); ok {
			number, err := strconv.ParseUint(value.Value, 0, 32)
			if err != nil {
				t.Fatal(err)
			}
			list[strings.ToLower(strings.TrimPrefix(spec.Names[0].Name, "SYS_"))] = uint32(number)
		}
		return true
	})
	return list
}

// A profile holds under the filters of the agent's own unit, where the agent runs
// git, and all that it holds when systemd doesn't start the other unit. On a systemd
// whose sets haven't the calls of Landlock it does since the unit names them.
func TestUnderUnit(t *testing.T) {
	supported(t)
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		if os.Getenv("WAYMARK_REQUIRE_ALL") != "" {
			t.Fatal(err)
		}
		t.Skip("SKIPPED:", err)
	}
	data, err := os.ReadFile(unitFile)
	if err != nil {
		t.Fatal(err)
	}
	number, names := numbers(t), callNames(t, unitValues(t, string(data), "SystemCallFilter"))
	var r restrictions
	for name := range names {
		if n, ok := number[name]; ok {
			r.Calls = append(r.Calls, n)
		}
	}
	for _, family := range unitValues(t, string(data), "RestrictAddressFamilies") {
		n, ok := map[string]uint32{"AF_UNIX": unix.AF_UNIX, "AF_INET": unix.AF_INET, "AF_INET6": unix.AF_INET6, "AF_NETLINK": unix.AF_NETLINK}[family]
		if !ok {
			t.Fatalf("the test doesn't know %s", family)
		}
		r.Families = append(r.Families, n)
	}
	if len(r.Calls) < 200 || slices.Contains(r.Calls, unix.SYS_MOUNT) {
		t.Fatalf("it isn't a unit's filter: %d calls", len(r.Calls))
	}
	h, places, s := serverHome(t)
	profile := server(t, places, s, launch.Widening{})
	secret := h + "/.ssh/id_ed25519"
	start := func(r restrictions, p *launch.Profile) (string, error) {
		filter, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		write(t, h+"/filter", string(filter))
		cmd := command(t, &launch.Spec{
			Argv: []string{"/bin/sh", "-c", "cat main.go; cat " + secret + " 2>&1; unshare -m true 2>&1 || echo; echo ended"}, Dir: places.Root, Env: os.Environ(), Profile: p, Limits: launch.ServerLimits(), Nice: 1,
		})
		cmd.Cmd.Args[1], cmd.Cmd.Env = "waymark:unit", []string{unitFilter + "=" + h + "/filter"}
		out, err := cmd.Output()
		return string(out), err
	}
	got, err := start(r, profile)
	if err != nil || !strings.Contains(got, "content of proj/main.go") || strings.Contains(got, "content of .ssh") || !strings.Contains(got, "ended") {
		t.Errorf("under the unit's filters: %v\n%s", err, got)
	}
	// The filters are real: without the profile the file can be read, and what they
	// have no call for can't be done.
	if got, err := start(r, nil); err != nil || !strings.Contains(got, "content of .ssh") || !strings.Contains(got, "Operation not permitted") {
		t.Errorf("without a profile: %v\n%s", err, got)
	}
	// What older systems had, and what the unit is mended by.
	for _, name := range []string{"landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "seccomp"} {
		without := r
		without.Calls = slices.DeleteFunc(slices.Clone(r.Calls), func(n uint32) bool { return n == number[name] })
		got, err := start(without, profile)
		var e *launch.Error
		if !errors.As(err, &e) || e.Code != launch.CodeNotStarted || got != "" || name == "landlock_create_ruleset" && !errors.Is(err, launch.ErrUnsupported) {
			t.Errorf("without %s it starts: %v\n%s", name, err, got)
		}
		if !slices.Contains(unitValues(t, string(data), "SystemCallFilter"), name) {
			t.Errorf("the unit doesn't name %s", name)
		}
	}
}
