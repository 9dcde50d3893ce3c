package supervisor_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"waymark/workspace/supervisor"
)

// The unit that is packaged.
const (
	unitName = "waymark-supervisor@.service"
	unitFile = "../../packaging/" + unitName
)

// fakeSystemd makes systemctl and systemd-escape that start a supervisor as the
// packaged unit says, outside of the agent, as the manager would; broken ones fail.
// (A real manager can't be run in tests.)
func fakeSystemd(t *testing.T, broken bool) (path string) {
	t.Helper()
	text, err := os.ReadFile(unitFile)
	if err != nil {
		t.Fatal(err)
	}
	_, line, ok := strings.Cut(string(text), "\nExecStart=:%h/.local/libexec/waymark/supervisor ")
	line, _, _ = strings.Cut(line, "\n")
	if !ok || !strings.Contains(line, "%f") {
		t.Fatalf("the unit starts %q", line)
	}
	command, err := program.CommandLine(supervisor.RoleSupervise)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// "supervise %f", by the test binary, which calls the role otherwise.
	args := strings.Replace(strings.TrimPrefix(line, supervisor.RoleSupervise+" "), "%f", `"$dir"`, 1)
	start := fmt.Sprintf(`#!/bin/sh
set -e
[ "$1 $2 $3" = "--user start --" ]
dir=$(cat "$(dirname "$0")/instance")
echo "$4" >"$(dirname "$0")/started"
setsid %s %s %s </dev/null >"$(dirname "$0")/said" 2>&1 &
while ! grep -q ready "$(dirname "$0")/said"; do sleep 0.01; done
`, self, command[1], args)
	if broken {
		start = "#!/bin/sh\necho there is no manager >&2\nexit 1\n"
	}
	escape := `#!/bin/sh
set -e
[ "$1" = --path ]
echo "$3" >"$(dirname "$0")/instance"
echo "waymark-supervisor@escaped.service"
`
	dir := t.TempDir()
	for name, script := range map[string]string{"systemctl": start, "systemd-escape": escape} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestKillModes ends an agent that runs as a service as systemd does, which ends
// all that belongs to the agent's unit too, unless it is told not to. What is held
// lives on when the supervisor has a unit of its own; where it can't have one, the
// loss is told, and nothing hangs.
func TestKillModes(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip(err)
	}
	for _, test := range []struct {
		mode  string
		unit  bool
		lives bool
	}{
		{"control-group", true, true}, {"mixed", true, true}, {"process", true, true},
		{"control-group", false, false}, {"mixed", false, false}, {"process", false, true},
	} {
		t.Run(fmt.Sprintf("%s, own unit %v", test.mode, test.unit), func(t *testing.T) {
			t.Parallel()
			o := options(t, supervisor.Limits{})
			o.Unit = unitName
			spec := *sh("echo begun; exec sleep 1000")
			spec.ID = "one"
			path := fakeSystemd(t, !test.unit)
			cmd := runAgent(t, agentTask{Options: o, Specs: []supervisor.Spec{spec}, Service: true, Path: path + ":" + os.Getenv("PATH")})
			if _, err := os.Stat(path + "/started"); (err == nil) != test.unit {
				t.Errorf("systemd has started it: %v", err)
			}
			endUnit(t, test.mode, cmd.Process.Pid)
			_ = cmd.Wait()

			c := open(t, o)
			// One that the same signal ends may have been seen to end before the
			// supervisor itself did.
			info, err := c.Get(t.Context(), "one")
			if err != nil || info.Running != test.lives || (info.Lost == "" && info.ExitCode == nil) != test.lives {
				t.Errorf("it is %+v, %v", info, err)
			}
			// It may just have been starting.
			p, err := c.Read(t.Context(), "one", 0, 0, patience)
			if got := string(p.Data); err != nil || got != "begun\n" && (test.lives || got != "") {
				t.Errorf("its output is %q, %v", got, err)
			}
		})
	}
}

// endUnit kills what belongs to an agent's unit: what descends from it, in
// whatever session it is.
func endUnit(t *testing.T, mode string, agent int) {
	t.Helper()
	below := descendants(t, agent)
	signal := func(s syscall.Signal, pids ...int) {
		for _, pid := range pids {
			_ = syscall.Kill(pid, s)
		}
	}
	switch mode {
	case "control-group":
		signal(syscall.SIGTERM, append(below, agent)...)
	case "mixed":
		signal(syscall.SIGTERM, agent)
	case "process":
		signal(syscall.SIGKILL, agent)
		return
	}
	signal(syscall.SIGKILL, append(below, agent)...)
	for _, pid := range below {
		gone(t, pid)
	}
}

// descendants returns the pids below one.
func descendants(t *testing.T, root int) (found []int) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ps", "-A", "-o", "pid=,ppid=").Output()
	if err != nil {
		t.Skip(err)
	}
	below := map[int][]int{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		pid, _ := strconv.Atoi(fields[0])
		parent, _ := strconv.Atoi(fields[1])
		below[parent] = append(below[parent], pid)
	}
	for next := []int{root}; len(next) > 0; next = next[1:] {
		found = append(found, below[next[0]]...)
		next = append(slices.Clone(next), below[next[0]]...)
	}
	return found
}
