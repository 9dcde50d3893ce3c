package launch

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Profile is what a program may do: an allow-list that the kernel enforces for it and
// everything that it starts. The zero Profile allows nothing.
type Profile struct {
	// Name is for people: "plan", "secrets", "git".
	Name string `json:"name"`
	// Read and Write are absolute paths without links, of files, or of directories
	// including everything below. Write includes reading. Paths that don't exist are
	// skipped. What can be read can be executed.
	Read  []string `json:"read,omitempty"`
	Write []string `json:"write,omitempty"`
	// List are directories in and below which names can be listed, but nothing else is
	// allowed.
	List []string `json:"list,omitempty"`
	// Ports are the TCP ports to which connections are allowed; nil allows all, and
	// listening. Otherwise listening is forbidden, also on Unix sockets, and all protocols
	// except TCP, UDP and ICMP are unavailable. An empty list allows no port; it must not
	// become nil in transit.
	Ports []uint16 `json:"ports"`
	// NoTCP forbids TCP and every other socket that reaches beyond the machine.
	NoTCP bool `json:"no_tcp,omitempty"`
	// NoUnix forbids Unix sockets by path, such as those of ssh-agent, docker, D-Bus and
	// the agent, which Landlock otherwise doesn't restrict. Abstract sockets are forbidden,
	// too.
	NoUnix bool `json:"no_unix,omitempty"`
	// KeepModes forbids changing modes, owners and extended attributes of any file, which
	// Landlock can't restrict by place.
	KeepModes bool `json:"keep_modes,omitempty"`
	// Capabilities are those that root keeps, by their names in CapabilityNames. None of
	// them circumvents the other restrictions. All others are dropped.
	Capabilities []string `json:"capabilities,omitempty"`

	may []string // a description of the file access, if that is shorter than the lists
}

// cutsCalls reports whether the seccomp filter is needed for more than actions on other
// processes.
func (p *Profile) cutsCalls() bool { return p.NoUnix || p.NoTCP || p.Ports != nil || p.KeepModes }

func (p *Profile) check() error {
	for _, path := range slices.Concat(p.Read, p.Write, p.List) {
		if !filepath.IsAbs(path) || filepath.Clean(path) != path || strings.ContainsRune(path, 0) {
			return fmt.Errorf("the profile %q names %q, which isn't an absolute, clean path", p.Name, path)
		}
	}
	for _, name := range p.Capabilities {
		if !slices.Contains(CapabilityNames(), name) {
			return fmt.Errorf("the profile %q keeps the capability %q, and can keep %s", p.Name, name, strings.Join(CapabilityNames(), ", "))
		}
	}
	if p.NoTCP && p.Ports != nil {
		return fmt.Errorf("the profile %q closes TCP and opens ports", p.Name)
	}
	return nil
}

// overrideModes is the capability to access other users' files. Without it, root in a
// container couldn't access the user's workspace.
const overrideModes = "dac_override"

// CapabilityNames are the capabilities that a profile can keep: those of Docker containers,
// except mknod, which would allow reading a disk, and setpcap.
func CapabilityNames() []string {
	return []string{"audit_write", "chown", overrideModes, "fowner", "fsetid", "kill", "net_bind_service", "net_raw", "setfcap", "setgid", "setuid", "sys_chroot"}
}
