package entry

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"waymark/plugins/mcpconfig/servers"
)

// Options say which entries are connected.
type Options struct {
	// From are the origins to connect, in addition to the workspace's root, the environment
	// and plugins.
	From []Origin
	// Root is the workspace's directory. Entries that a file has for another directory are
	// left out.
	Root string
}

// Load returns the entries of all files in the order of files and entries, including
// unusable ones and those that are shadowed. For each name it chooses one entry, in this
// order of preference: connected and usable, connected, usable, any; the first of equals
// wins. The others are Shadowed by it. If a path occurs twice, the file that is connected
// is read.
//
// A file has no entries if read returns an error or its format is wrong; its mcp_config row
// says why. An entry is only listed if the file disables it, if only its client can start
// it, or if it is the agent itself. When ctx ends, Load returns what it has so far.
func Load(ctx context.Context, files []File, read func(File) ([]byte, error), opts Options) []Entry {
	var list []Entry
	for _, f := range distinct(files, opts) {
		if ctx.Err() != nil {
			break
		}
		data, err := read(f)
		if err != nil {
			continue
		}
		found, err := servers.Parse(f.Shape, data)
		if err != nil {
			continue
		}
		for _, s := range found {
			if s.Project == "" || s.Project == opts.Root {
				list = append(list, Entry{Server: s, Source: f.Path, Origin: f.Origin, Shape: f.Shape, Listed: opts.why(&s, f.Origin)})
			}
		}
	}
	shadow(list)
	return list
}

// distinct removes duplicate paths.
func distinct(files []File, opts Options) []File {
	var list []File
	at := map[string]int{}
	for _, f := range files {
		i, again := at[f.Path]
		switch {
		case !again:
			at[f.Path] = len(list)
			list = append(list, f)
		case opts.listed(list[i].Origin) != "" && opts.listed(f.Origin) == "":
			list[i] = f
		}
	}
	return list
}

const listedOwn = "it is Waymark itself, whose tools a client gets without it"

// why says why a server isn't connected; empty if it is.
func (o Options) why(s *servers.Server, origin Origin) string {
	switch {
	case runsAgent(s.Command, s.Args):
		return listedOwn
	case s.Needs != "":
		return s.Needs
	case s.Disabled:
		return "its file switches it off"
	}
	return o.listed(origin)
}

// listed says why servers of an origin aren't connected; empty if they are.
func (o Options) listed(origin Origin) string {
	switch origin {
	case OriginWorkspace, OriginEnvironment, OriginPlugin:
		return ""
	}
	if slices.Contains(o.From, origin) {
		return ""
	}
	where := map[Origin]string{
		OriginClient: "another client, which may read it another way",
		OriginSource: "a source or a project below the workspace's root",
		OriginUser:   "the user's own configuration of some client",
	}[origin]
	if where == "" {
		return "its file isn't among those that are connected"
	}
	return fmt.Sprintf("its file is of %s: from = [%q] in [mcp] connects those", where, string(origin))
}

// shadow determines which entry of each name wins.
func shadow(list []Entry) {
	counts := map[string]int{}
	for i := range list {
		best, taken := counts[list[i].Name]
		if !taken || list[i].rank() < list[best].rank() {
			counts[list[i].Name] = i
		}
	}
	for i := range list {
		if best := counts[list[i].Name]; best != i {
			list[i].Shadowed = list[best].Source
		}
	}
}

// rank orders entries of the same name; the lowest wins. Connected entries precede listed
// ones, even if they are unusable and the user has to correct them.
func (e *Entry) rank() int {
	rank := 0
	if e.Listed != "" {
		rank += 2
	}
	if e.Problem != "" {
		rank++
	}
	return rank
}

// agents are the names under which the agent is installed.
var agents = []string{"agent", "waymark-agent", "waymark"}

// runsAgent reports whether a command is "agent mcp serve", with which the agent would ask
// itself for its tools.
func runsAgent(command string, args []string) bool {
	words := []string{command}
	for _, arg := range args { // it may follow env, sudo or a shell's -c
		words = append(words, strings.Fields(arg)...)
	}
	for i, word := range words {
		if !slices.Contains(agents, strings.TrimSuffix(filepath.Base(word), ".exe")) {
			continue
		}
		for j := i + 1; j+1 < len(words); j++ {
			if words[j] == "mcp" && words[j+1] == "serve" {
				return true
			}
		}
	}
	return false
}
