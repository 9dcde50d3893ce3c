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
	// From are the origins that are connected beside the workspace's own root, the
	// environment and plugins.
	From []Origin
	// Root is the workspace's directory. Entries that a file has for another one are
	// left out.
	Root string
}

// Load returns the entries of all files, those that can't be used and those that
// don't count included, in order of files and of entries in them. Of the entries of
// one name the first counts that is connected and can be used; else the first that
// is connected, else the first that can be used, else the first. The others are
// Shadowed by it. A file that is there twice is read as the one that is connected.
//
// A file that read gives an error for has no entries, and neither has one that is no
// such file: its mcp_config row says why. What a file switches off, what only its
// client can start, and what is the agent itself is listed. Load gives up when ctx ends, and returns
// what it has.
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
				list = append(list, Entry{Server: s, Source: f.Path, Origin: f.Origin, Listed: opts.why(&s, f.Origin)})
			}
		}
	}
	shadow(list)
	return list
}

// distinct drops files that are there again.
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

// why says why a server isn't connected; empty when it is.
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

// listed says why what is of an origin isn't connected; empty when it is.
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

// shadow finds out which entry of each name counts.
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

// rank orders entries of one name: what can run comes before what can't, and what
// somebody has to mend comes before what is only listed.
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

// runsAgent reports whether a command is "agent mcp serve". To run that here would be
// the agent asking itself for its tools.
func runsAgent(command string, args []string) bool {
	words := []string{command}
	for _, arg := range args { // it may stand behind env, sudo or a shell's -c
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
