//go:build linux

package launch_test

import (
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"waymark/workspace/launch"
)

// everyProfile returns one of each kind that the agent makes.
func everyProfile(t testing.TB) map[string]*launch.Profile {
	t.Helper()
	_, places, s := serverHome(t)
	secrets, err := launch.HideSecrets(places)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := launch.Plan("", places)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*launch.Profile{
		"secrets": secrets, "plan": plan,
		"server":           server(t, places, s, launch.Widening{}),
		"server, Unix":     server(t, places, s, launch.Widening{Unix: true}),
		"server, 9":        server(t, places, s, launch.Widening{Ports: []uint16{9}}),
		"server, none":     server(t, places, s, launch.Widening{Ports: []uint16{}}),
		"server, 9, Unix":  server(t, places, s, launch.Widening{Ports: []uint16{9}, Unix: true}),
		"git":              {Name: "git", NoTCP: true, NoUnix: true, KeepModes: true, Read: system, Write: []string{"/dev/null"}},
		"git with signals": {Name: "git", NoTCP: true, Read: system, Write: []string{"/dev/null"}, Capabilities: launch.CapabilityNames()},
	}
}

// victim starts a program that is stopped, so that the signals it is sent are seen.
func victim(t *testing.T, p *launch.Profile) int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sleep", "1000")
	if p != nil {
		c := command(t, &launch.Spec{Argv: []string{"sleep", "1000"}, Env: os.Environ(), Profile: p})
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		cmd = c.Cmd
	} else {
		cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	pid := cmd.Process.Pid
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Wait4(pid, nil, unix.WUNTRACED, nil); err != nil {
		t.Fatal(err)
	}
	return pid
}

// stateOf is all of a process that others could set, and the signals that it has got.
func stateOf(t *testing.T, pid int) string {
	t.Helper()
	var limit unix.Rlimit
	var affinity unix.CPUSet
	err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &limit)
	nice, _ := unix.Getpriority(unix.PRIO_PROCESS, pid)
	ioprio, _, _ := unix.Syscall(unix.SYS_IOPRIO_GET, 1, uintptr(pid), 0)
	policy, _, _ := unix.Syscall(unix.SYS_SCHED_GETSCHEDULER, uintptr(pid), 0, 0)
	if affErr := unix.SchedGetaffinity(pid, &affinity); err != nil || affErr != nil {
		t.Fatal(err, affErr)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	var pending []string
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "SigPnd") || strings.HasPrefix(line, "ShdPnd") {
			pending = append(pending, strings.TrimSpace(line))
		}
	}
	text := fmt.Sprint(limit, nice, ioprio, policy, affinity.Count(), pending)
	for _, file := range []string{"oom_score_adj", "autogroup"} {
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
		text += " " + strings.TrimSpace(string(data))
	}
	return text
}

// TestReach: a confined program neither signals another process of the same user, one
// that runs under the same profile included, nor changes what the kernel lets it have,
// nor reaches into it. To itself, its threads and its children it may do all of this.
func TestReach(t *testing.T) {
	supported(t)
	asUsers(t, func(t *testing.T) {
		for name, p := range everyProfile(t) {
			weak := strings.Join(p.Weaknesses(), "\n")
			victims := map[string]int{"another": victim(t, nil), "one like it": victim(t, p)}
			before := map[string]string{}
			var list []op
			for other, pid := range victims {
				before[other] = stateOf(t, pid)
				add := func(kind string, ways []string) {
					for _, way := range ways {
						list = append(list, op{kind + ":" + way, strconv.Itoa(pid), other})
					}
				}
				if !strings.Contains(weak, "signaled") {
					add("signal", slices.Sorted(maps.Keys(signals)))
					add("owner", slices.Sorted(maps.Keys(owners)))
				}
				for _, way := range slices.Sorted(maps.Keys(settings)) {
					open := slices.Contains(p.Write, "/proc") && (way == "oom_score_adj" || way == "autogroup") // of which doc.go tells
					if !open {
						add("set", []string{way})
					}
				}
				add("inside", slices.Sorted(maps.Keys(insides)))
				add("everybody", []string{"nice", "ioprio"})
			}
			own := []op{{"own:limits", ""}, {"own:ask", ""}, {"own:thread", ""}, {"own:child", ""}, {"own:itself", ""}}
			for i, result := range try(t, p, append(list, own...)...) {
				switch {
				case i >= len(list) && result != "":
					t.Errorf("%s: %s: %s", name, own[i-len(list)], result)
				case i < len(list) && result == "" && !strings.HasPrefix(list[i][0], "owner:"):
					t.Errorf("%s: %s of %s succeeds", name, list[i][0], list[i][2])
				}
			}
			for other, pid := range victims {
				if after := stateOf(t, pid); after != before[other] {
					t.Errorf("%s: %s was %s and is %s", name, other, before[other], after)
				}
			}
		}
	})
}

// claims are what is shown of each sentence of Profile.May, by how it begins: things
// that a program under the profile can do, and such that it can't.
var claims = map[string]func(c *claimed) (can, cannot []op){
	"It may read the workspace ": func(c *claimed) (can, cannot []op) {
		return ops("read", c.h+"/proj/main.go", "/usr/bin/env", c.h+"/.nvm/versions/node/bin/x"), nil
	},
	"It may read ": func(c *claimed) (can, cannot []op) {
		return ops("read", "/usr/bin/env"), ops("read", c.h+"/.ssh/id_ed25519")
	},
	"It may also read ": func(c *claimed) (can, cannot []op) {
		return ops("read", c.h+"/other/file"), ops("write", c.h+"/other/file")
	},
	"It may write a cache ": func(c *claimed) (can, cannot []op) { return ops("create", c.s.Cache+"/new", c.s.Tmp+"/new"), nil },
	"It may also write ": func(c *claimed) (can, cannot []op) {
		return ops("create", c.h+"/proj/sub/new"), ops("create", c.h+"/proj/new")
	},
	"It may write ":                   func(c *claimed) (can, cannot []op) { return ops("write", "/dev/null"), ops("create", c.h+"/.ssh/new") },
	"It may list the names in ":       func(c *claimed) (can, cannot []op) { return ops("list", "/"), nil },
	"It may not write the workspace.": func(c *claimed) (can, cannot []op) { return nil, ops("create", c.h+"/proj/new") },
	"It may not change modes, ": func(c *claimed) (can, cannot []op) {
		return nil, []op{{"chmod", c.h + "/proj/main.go"}, {"setxattr", c.h + "/proj/main.go"}}
	},
	"Of root's capabilities it keeps ":      func(c *claimed) (can, cannot []op) { return nil, ops("mknod", c.h+"/proj/disk") },
	"It may connect to every address, and ": func(c *claimed) (can, cannot []op) { return []op{{"tcp", c.other}, {"listen", "127.0.0.1:0"}}, nil },
	"It may not read keys, tokens, and ": func(c *claimed) (can, cannot []op) {
		return nil, ops("read", below(c.h, ".ssh/id_ed25519", ".aws/credentials", ".config/tool/settings", ".local/state/waymark/key", ".bash_history")...)
	},
	"It may not use the network.": func(c *claimed) (can, cannot []op) {
		return nil, append([]op{{"udp", c.given}, {"listen", "127.0.0.1:0"}}, ops("tcp", c.given, "[::1]:1")...)
	},
	"It may not connect by TCP, nor listen; ": func(c *claimed) (can, cannot []op) {
		return []op{{"udp", c.given}}, append(ops("tcp", c.given, c.other), op{"listen", "127.0.0.1:0"}, op{"tcp:listen", c.given})
	},
	"It may connect to the TCP ports ": func(c *claimed) (can, cannot []op) {
		return []op{{"tcp", c.given}, {"udp", c.given}}, append(ops("tcp", c.other), op{"listen", "127.0.0.1:0"}, op{"tcp:listen", c.given})
	},
	"It may not signal programs that it hasn't started, nor ": func(c *claimed) (can, cannot []op) { // more of it: TestReach
		pid := strconv.Itoa(os.Getpid())
		return []op{{"own:child", ""}}, []op{{"kill", pid}, {"set:prlimit", pid}, {"set:nice", pid}, {"set:setaffinity", pid}}
	},
	"It may not use Unix sockets, ": func(c *claimed) (can, cannot []op) {
		return nil, append(ops("unix", c.socket, "@none"), op{"pair", "2"})
	},
	"It may not listen on Unix sockets: ": func(c *claimed) (can, cannot []op) { return nil, ops("unix-listen", c.s.Tmp+"/s") },
	"It may use Unix sockets, ": func(c *claimed) (can, cannot []op) {
		return ops("unix", c.socket), nil
	},
}

// claimed is what claims are tried with: a home directory, an address that ports are
// given for and another one, and a Unix socket of somebody else's.
type claimed struct {
	h, given, other, socket string
	s                       launch.ServerPlaces
}

// TestMay: what is said of a profile is true of it, each sentence.
func TestMay(t *testing.T) {
	supported(t)
	h, places, s := serverHome(t)
	c := &claimed{h: h, s: s, socket: dir(t) + "/s"}
	var ports []uint16
	for _, address := range []*string{&c.given, &c.other} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		*address, ports = l.Addr().String(), append(ports, uint16(l.Addr().(*net.TCPAddr).Port))
	}
	l, err := net.Listen("unix", c.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	secrets, secretsErr := launch.HideSecrets(places)
	plan, err := launch.Plan("", places)
	if err != nil || secretsErr != nil {
		t.Fatal(err, secretsErr)
	}
	said := map[string]bool{}
	for name, p := range map[string]*launch.Profile{
		"secrets": secrets, "plan": plan, "git": {Name: "git", NoTCP: true, NoUnix: true, KeepModes: true, Read: system, Write: []string{"/dev/null"}},
		"server": server(t, places, s, launch.Widening{}), "no ports": server(t, places, s, launch.Widening{Ports: []uint16{}}),
		"widened": server(t, places, s, launch.Widening{Ports: ports[:1], Unix: true, Read: []string{"~/other"}, Write: []string{"sub"}}),
		"Unix":    server(t, places, s, launch.Widening{Unix: true}), "ports": server(t, places, s, launch.Widening{Ports: ports[:1]}),
	} {
		var tried []op
		var why []string // for each of them, and whether it is possible
		var possible []bool
		for _, sentence := range p.May() {
			begin := ""
			for prefix := range claims {
				if strings.HasPrefix(sentence, prefix) && len(prefix) > len(begin) {
					begin = prefix
				}
			}
			if begin == "" {
				t.Errorf("%s: nobody has shown that %.80q", name, sentence)
				continue
			}
			said[begin] = true
			can, cannot := claims[begin](c)
			for i, o := range append(can, cannot...) {
				tried, why, possible = append(tried, o), append(why, sentence), append(possible, i < len(can))
			}
		}
		for i, result := range try(t, p, tried...) {
			if could := result == "" || result[0] == '='; could != possible[i] {
				t.Errorf("%s: %.80q, but %s: %q", name, why[i], tried[i], result)
			}
		}
	}
	for begin := range claims {
		if !said[begin] {
			t.Errorf("no profile says that %q", begin)
		}
	}
}

// TestPorts: where ports are set there is no way to another one, nor to listen. Where TCP
// is closed there is none at all.
func TestPorts(t *testing.T) {
	supported(t)
	var addresses [2]string
	var ports [2]uint16
	for i := range addresses {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		addresses[i], ports[i] = l.Addr().String(), uint16(l.Addr().(*net.TCPAddr).Port)
	}
	given, other := addresses[0], addresses[1]
	datagram, stream, packet := strconv.Itoa(unix.SOCK_DGRAM), strconv.Itoa(unix.SOCK_STREAM), strconv.Itoa(unix.SOCK_SEQPACKET)
	for _, unixToo := range []bool{false, true} {
		for _, list := range [][]uint16{{ports[0]}, {}} {
			p := &launch.Profile{Name: "test", Read: system, Ports: list, NoUnix: !unixToo}
			var refusals []op
			for _, way := range []string{"sendto", "sendmsg", "sendmmsg", "deferred", "ulp", "listen", "mapped", "bind", "splice"} {
				refusals = append(refusals, op{"tcp:" + way, other})
			}
			refusals = append(refusals, op{"tcp:dissolved", given}, op{"tcp:deferred", given}, op{"listen", "127.0.0.1:0"}, op{"listen", given}, op{"tcp", other}, op{"uring"})
			for _, family := range []int{unix.AF_SMC, unix.AF_VSOCK, unix.AF_RDS, unix.AF_TIPC, unix.AF_PACKET, unix.AF_X25} {
				for _, kind := range []string{stream, datagram, packet} {
					refusals = append(refusals, op{"socket", strconv.Itoa(family), kind, "0"})
				}
			}
			for _, family := range []string{strconv.Itoa(unix.AF_INET), strconv.Itoa(unix.AF_INET6)} {
				for _, protocol := range []string{strconv.Itoa(unix.IPPROTO_MPTCP), "132", "256", "33"} { // MPTCP, SCTP, SMC, DCCP
					refusals = append(refusals, op{"socket", family, stream, protocol})
				}
				refusals = append(refusals, op{"socket", family, packet, "0"})
			}
			for i, result := range try(t, p, refusals...) {
				if result == "" {
					t.Errorf("ports %v, Unix sockets %v: %s succeeds", list, unixToo, refusals[i])
				}
			}
			allowed := []op{{"socket", "2", stream, "0"}, {"socket", "10", stream, "6"}, {"socket", "2", datagram, "17"}, {"udp", given}}
			if len(list) > 0 {
				allowed = append(allowed, op{"tcp", given}, op{"tcp:mapped", given})
			}
			if unixToo {
				allowed = append(allowed, op{"pair", datagram})
			}
			expect(t, p, map[string][]op{"ok": allowed})
		}
	}
	for _, p := range []*launch.Profile{{Name: "test", Read: system, NoTCP: true}, {Name: "test", Read: system, NoTCP: true, NoUnix: true}} {
		var list []op
		for _, family := range []int{unix.AF_INET, unix.AF_INET6, unix.AF_SMC, unix.AF_VSOCK, unix.AF_RDS, unix.AF_TIPC, unix.AF_PACKET} {
			for _, kind := range []string{stream, datagram, packet} {
				list = append(list, op{"socket", strconv.Itoa(family), kind, "0"})
			}
		}
		expect(t, p, map[string][]op{"no": list})
	}
}

// TestListeners: nothing is left of what answers for a start when all that it started
// has ended, the program's own children included.
func TestListeners(t *testing.T) {
	supported(t)
	p := &launch.Profile{Name: "test", Read: system, Write: []string{"/dev/null"}}
	for range 20 {
		if out, err := run(t, &launch.Spec{Env: os.Environ(), Profile: p}, "sleep 0.01 & exec true"); err != nil {
			t.Fatal(err, out)
		}
	}
	open := func() (n int) {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			if to, _ := os.Readlink("/proc/self/fd/" + entry.Name()); strings.Contains(to, "seccomp") {
				n++
			}
		}
		return n
	}
	for open() > 0 {
		runtime.Gosched()
	}
}
