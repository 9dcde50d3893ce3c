package launch

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Profile is what a started program may do: an allow-list that the kernel holds
// it and everything that it starts to. The zero Profile allows nothing.
type Profile struct {
	// Name is told to people: "plan", "secrets", "git".
	Name string `json:"name"`
	// Read and Write are absolute paths without links: directories with all that
	// is below them, or files. Write includes reading. What doesn't exist is
	// skipped. Whatever can be read can be executed.
	Read  []string `json:"read,omitempty"`
	Write []string `json:"write,omitempty"`
	// List are directories, like Read, in which and below which names can be listed
	// and nothing else.
	List []string `json:"list,omitempty"`
	// Ports are the TCP ports that may be connected to; nil allows all, and
	// listening too. With a list nothing listens, on Unix sockets neither, and no
	// other protocol than TCP, UDP and ICMP is there. An empty list allows no port, and has to
	// stay one on its way.
	Ports []uint16 `json:"ports"`
	// NoTCP closes TCP altogether, and every other socket that reaches beyond the
	// machine with it.
	NoTCP bool `json:"no_tcp,omitempty"`
	// NoUnix cuts Unix sockets by path, which the kernel doesn't mediate
	// otherwise: an ssh-agent, docker, D-Bus, the agent's own. Abstract ones are cut
	// with them.
	NoUnix bool `json:"no_unix,omitempty"`
	// KeepModes refuses to change modes, owners and extended attributes of files,
	// wherever they are: Landlock doesn't hold that to places.
	KeepModes bool `json:"keep_modes,omitempty"`
	// Capabilities are those that root keeps, by their names of CapabilityNames; none
	// of them is a way around the rest. All others are dropped.
	Capabilities []string `json:"capabilities,omitempty"`

	may []string // what it says of files, where that is shorter than the lists
}

// cutsCalls reports whether something is cut that Landlock can't, besides what is done
// to other processes.
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

// overrideModes is the capability with which root reads and writes other users'
// files. Without it a root in a container sees nothing of a user's workspace.
const overrideModes = "dac_override"

// CapabilityNames are the capabilities that a profile can leave: those of Docker's
// containers but for mknod, with which a disk could be read, and setpcap.
func CapabilityNames() []string {
	return []string{"audit_write", "chown", overrideModes, "fowner", "fsetid", "kill", "net_bind_service", "net_raw", "setfcap", "setgid", "setuid", "sys_chroot"}
}
