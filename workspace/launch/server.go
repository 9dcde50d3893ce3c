package launch

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// ServerPlaces are the absolute paths of a server's own places.
type ServerPlaces struct {
	// Program is the executable as it was found, possibly a script or a link.
	Program string
	// Path is the server's PATH, for finding interpreters of scripts; empty means the usual
	// directories.
	Path string
	// Dir is the working directory. This alone doesn't allow access to it.
	Dir string
	// Cache and Tmp are directories that the caller has created for this server. They may
	// be in the agent's own places.
	Cache, Tmp string
}

// Server returns the profile "server", for an untrusted program such as an MCP server. The
// program may
//
//   - read the system's programs and configuration without its secrets, the user's toolchains
//     and package caches, the workspace, and the directories of its program and interpreters;
//   - write its Cache and Tmp, terminals and shared memory;
//   - connect to everything by TCP, and listen.
//
// Nothing else in the home directory can be read, neither what HideSecrets hides nor the
// configuration and data of other programs, even if the workspace is the home directory.
// Unix sockets are forbidden. All capabilities are dropped, so that root can't read other
// users' files. A widening allows more; the profile of an Unconfined one is nil.
//
// # Errors
//
// A place of the widening concerns the agent's own directories, leads out of the workspace
// by a link, or can't be allowed.
func Server(p Places, s ServerPlaces, wide Widening) (*Profile, error) {
	if wide.Unconfined {
		return nil, nil //nolint:nilnil // no profile is what was asked for
	}
	w, err := newWalk(p)
	if err != nil {
		return nil, err
	}
	if s.Program == "" || !filepath.IsAbs(s.Program) {
		return nil, fmt.Errorf("%q: the profile of a server takes the absolute path of its program", s.Program)
	}
	w.hideFromServers()
	profile := &Profile{Name: "server", NoUnix: !wide.Unix, Ports: wide.Ports}
	w.openSystem()
	for _, path := range toolchains {
		w.openSoftware(filepath.Join(w.home, path))
	}
	w.openProgram(s)
	w.openChosen(p.Root)
	read, err := w.openWidening(p, wide.Read)
	if err != nil {
		return nil, err
	}
	profile.Read = append(w.taken(), "/proc")
	w.openTmp(s.Tmp)
	w.openTmp(s.Cache)
	for _, device := range append(slices.Concat(readable, terminals), "/dev/shm") {
		w.open(device)
	}
	write, err := w.openWidening(p, wide.Write)
	if err != nil {
		return nil, err
	}
	profile.Write = w.taken()
	profile.may = serverMay(p, wide, read, write)
	return profile, nil
}

// ServerLimits are the limits of a server for Spec.Limits: no core dumps, no huge files,
// and a limited number of the user's processes. They only prevent accidents: a disk can be
// filled with many files, which the caller must check.
func ServerLimits() map[string]uint64 {
	return map[string]uint64{"core": 0, "fsize": 16 << 30, "nproc": 16 << 10}
}

// softwareRoots are where systems keep programs and what those need.
var softwareRoots = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/etc", "/nix", "/gnu", "/snap", "/home/linuxbrew/.linuxbrew",
	"/run/current-system", "/var/lib/ca-certificates", "/var/lib/snapd/snap",
	"/etc/resolv.conf", "/etc/hosts", "/etc/localtime", "/etc/ssl/certs", // links on some systems
}

// kernelFiles tell runtimes about processors and memory.
var kernelFiles = []string{"/sys/devices/system", "/sys/fs/cgroup", "/sys/kernel/mm/transparent_hugepage"}

// systemSecrets are below /etc. Only root could read them, and root can even without
// capabilities.
var systemSecrets = []string{
	"shadow*", "gshadow*", "sudoers*", "security/opasswd", "ssh/ssh_host_*_key", "ssl/private", "pki/tls/private", "letsencrypt", "krb5.keytab",
	"kubernetes", "rancher", "docker/key.json", "wireguard", "openvpn", "ipsec.*", "ppp", "wpa_supplicant", "networkmanager/system-connections", "netplan",
	"credstore*", "mysql/debian.cnf", "rsyncd.secrets", "msmtprc", "exim4/passwd.client", "postfix/sasl_passwd*",
}

// toolchains are below the home directory: installed software, and caches of package
// managers.
var toolchains = []string{
	".nvm", ".volta", ".fnm", ".nodenv", ".npm", ".yarn", ".pnpm-store", ".bun", ".deno",
	".pyenv", ".local/lib", ".conda", "miniconda3", "anaconda3", "miniforge3", "mambaforge",
	".rbenv", ".gem", ".bundle", ".asdf", ".goenv", "go/pkg", "sdk", ".rustup", ".cargo/registry", ".cargo/git",
	".jenv", ".sdkman", ".m2/repository", ".gradle/caches", ".dotnet", ".nuget/packages", ".opam", ".ghcup", ".composer/vendor", ".nix-profile", ".linuxbrew",
	".local/share/fnm", ".local/share/mise", ".local/share/uv", ".local/share/pipx", ".local/share/pnpm", ".local/share/virtualenvs",
	".cache", ".gitconfig",
}

// ofOthers are below the home directory: private data of other programs, and programs that
// the user runs.
var ofOthers = []string{
	".config", ".local/share", ".local/state", "go/bin", ".cargo/bin", ".mozilla", ".thunderbird", "snap", ".var", ".pki",
	".cache/waymark", ".cache/mozilla", ".cache/thunderbird", ".cache/google-chrome*", ".cache/chromium", ".cache/bravesoftware", ".cache/microsoft-edge*",
	".cache/vivaldi", ".cache/opera", ".cache/keyring-*", ".cache/huggingface/token", ".cache/huggingface/stored_tokens", ".cache/thumbnails", ".cache/gnome-*",
	".*_history", ".python_history", ".node_repl_history", ".claude", ".claude.json", ".codex", ".gemini", ".cursor", ".vscode*", ".xauthority", ".iceauthority",
}

// hideFromServers hides what a server may not read, unlike a chat's program.
func (w *walk) hideFromServers() {
	for _, pattern := range ofOthers {
		for _, path := range w.expand(w.home, pattern) {
			w.hidePath(realPath(path))
		}
	}
	for _, pattern := range systemSecrets {
		for _, path := range w.expand("/etc", pattern) {
			w.hidePath(realPath(path))
		}
	}
}

// taken returns what was allowed so far, and starts a new list.
func (w *walk) taken() []string {
	list := w.opened
	w.opened = nil
	return list
}

func (w *walk) openSystem() {
	for _, path := range softwareRoots {
		w.openSoftware(path)
	}
	for _, path := range kernelFiles {
		if _, err := os.Lstat(path); err == nil {
			w.opened = append(w.opened, path)
		}
	}
}

// openSoftware allows an existing place, except hidden parts. It skips places that are
// allowed already or in a directory of the agent.
func (w *walk) openSoftware(path string) {
	path = realPath(path)
	if _, err := os.Lstat(path); err != nil {
		return
	}
	for above := path; above != "/"; above = filepath.Dir(above) {
		if w.closed[above] || slices.Contains(w.opened, above) {
			return
		}
	}
	w.open(path)
}

// maxInterpreters is how many scripts the kernel accepts as interpreters of each other.
const maxInterpreters = 4

// openProgram allows the server's program, and the interpreters of scripts.
func (w *walk) openProgram(s ServerPlaces) {
	path := s.Program
	for range maxInterpreters + 1 {
		path = realPath(path)
		dir, whole := installation(path, w.home)
		if whole && !w.way[dir] {
			w.openSoftware(dir)
		}
		w.openSoftware(path) // only the file is allowed
		next, ok := interpreter(path, s.Path)
		if !ok {
			return
		}
		path = next
	}
}

// installation returns the directory in which a program is installed with its libraries,
// judging by names: the parent of bin, or the package of a script. There is none if it may
// contain other things, such as a home directory, a top-level directory, or one where
// everybody creates files.
func installation(path, home string) (dir string, ok bool) {
	dir = filepath.Dir(path)
	switch filepath.Base(dir) {
	case "bin", "sbin", "libexec", "shims", "Scripts":
		dir = filepath.Dir(dir)
	}
	const top = 2 // minimum number of names
	if len(names(dir)) < top || within(home, dir) || filepath.Dir(dir) == filepath.Dir(home) || filepath.Dir(dir) == "/home" {
		return "", false
	}
	info, err := os.Stat(dir)
	return dir, err == nil && info.Mode()&0o002 == 0
}

// interpreter returns the program that the first line of a script names, found like the
// kernel and env do.
func interpreter(path, search string) (program string, ok bool) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0) // it may be a pipe by now
	if err != nil {
		return "", false
	}
	f := os.NewFile(uintptr(fd), path)
	defer func() { _ = f.Close() }()
	const most = 256 // as much as the kernel reads
	line, err := bufio.NewReader(io.LimitReader(f, most)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", false
	}
	line, ok = strings.CutPrefix(line, "#!")
	fields := strings.Fields(line)
	if !ok || len(fields) == 0 || !filepath.IsAbs(fields[0]) {
		return "", false
	}
	if filepath.Base(fields[0]) != "env" {
		return fields[0], true
	}
	for _, word := range fields[1:] { // -S splits words, NAME=value sets variables
		if !strings.HasPrefix(word, "-") && !strings.Contains(word, "=") {
			return lookFor(word, search)
		}
	}
	return "", false
}

// lookFor finds a program in a PATH.
func lookFor(name, search string) (string, bool) {
	if filepath.IsAbs(name) {
		return name, true
	}
	for _, dir := range filepath.SplitList(cmp.Or(search, defaultPath)) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); filepath.IsAbs(dir) && err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return path, true
		}
	}
	return "", false
}

// openWidening allows the places of a widening, and returns their paths without links.
func (w *walk) openWidening(p Places, paths []string) (given []string, err error) {
	for _, named := range paths {
		path, err := widened(p, named)
		if err != nil {
			return nil, fmt.Errorf("the widening %q: %w", named, err)
		}
		if err := w.mayOpen(p, path); err != nil {
			return nil, fmt.Errorf("the widening %q: %w", named, err)
		}
		given = append(given, path)
		w.openGiven(path)
	}
	return given, nil
}

// widened returns where a path of a widening leads. A path in the workspace must not lead
// out of it, because the workspace's files may be links, and made by others.
func widened(p Places, named string) (string, error) {
	var path string
	switch rest, home := strings.CutPrefix(named, "~/"); {
	case home || named == "~":
		path = filepath.Join(p.Home, strings.TrimPrefix(rest, "~"))
	case filepath.IsAbs(named):
		path = filepath.Clean(named)
	case named == "" || p.Root == "":
		return "", errors.New("it isn't an absolute path, and there is no workspace that it could be in")
	case !filepath.IsLocal(named):
		return "", errors.New("a relative path is one in the workspace, and this one leads out of it")
	default:
		path = filepath.Join(p.Root, named)
	}
	at, links := resolve(path)
	root := realPath(p.Root)
	inside := func(path string) bool { return p.Root != "" && within(path, root) }
	if slices.ContainsFunc(links, inside) && !inside(at) {
		return "", fmt.Errorf("a link in the workspace leads out of it, to %s", at)
	}
	return at, nil
}

// mayOpen refuses places that a widening can't allow: the agent's own places and
// directories above them, and what could undo the other restrictions.
func (w *walk) mayOpen(p Places, path string) error {
	for _, dir := range p.Own {
		dir = realPath(dir)
		if within(dir, path) || within(path, dir) && !slices.Contains([]string{realPath(p.Root), realPath(p.Tmp)}, path) {
			return fmt.Errorf("it has to do with the agent's own %s: name what the server needs beside that", dir)
		}
	}
	for _, dir := range special {
		if within(dir, path) || within(path, dir) && dir != "/dev" {
			return errors.New("it is the kernel's, by which everything could be undone")
		}
	}
	var stat unix.Stat_t
	if err := unix.Lstat(path, &stat); err == nil && stat.Mode&unix.S_IFMT == unix.S_IFBLK {
		return errors.New("it is a disk, which has all files in it")
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// openGiven allows a place that the user has named, even a hidden one, except hidden places
// in it.
func (w *walk) openGiven(path string) {
	if w.hidden[path] {
		delete(w.hidden, path)
	}
	w.open(path)
}
