package host

import (
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"waymark/abi"
	"waymark/host/resolve"
	"waymark/host/vfs"
	"waymark/plugins/installed"
	"waymark/snapshot"
)

// installedFilter sees the files in which agents record what is installed.
var installedFilter = sync.OnceValues(func() (*vfs.Filter, error) { return filterOfInstalled(nil) })

// filterOfInstalled is installedFilter with the directories of agents replaced as moved says.
func filterOfInstalled(moved map[string]string) (*vfs.Filter, error) {
	reads := installed.Lists()
	for i := range reads {
		reads[i] = movedPlace(moved, reads[i])
	}
	return vfs.View{Reads: reads, MCPOnly: true}.Compile()
}

// movedPlace returns a pattern with the directories of agents replaced as moved says.
func movedPlace(moved map[string]string, place string) string {
	first, rest, _ := strings.Cut(place, "/")
	if to := moved[first]; to != "" {
		return vfs.LiteralPattern(to) + "/" + rest
	}
	return place
}

// findInstalled looks for what users have installed. This is recorded in the agents'
// settings, which the resolver that lists skills may not see, so the host reads them. For a
// scope near events it does so only if an event concerns one of these files. The caller holds
// h.turn.
//
// A project's settings can enable or disable what is installed in the home directory, so the
// returned scope covers the home directory, too.
func (h *Host) findInstalled(s scope) scope {
	project, workspace := h.project(), ""
	if project != nil {
		workspace = project.open.Path()
	}
	near := project != nil && s.covers(project) && project.installs.concerned(s.nearIn(project))
	for _, slot := range h.slots {
		if slot.open == nil || slot.spec.Scope != snapshot.ScopeUser || slot.open.File() != "" {
			continue
		}
		now := &slot.installs
		if now.known && now.workspace == workspace && !near && (!s.covers(slot) || !now.concerned(s.nearIn(slot))) {
			continue
		}
		before := now.list
		*now = lookForInstalled(slot, project)
		if !slices.Equal(before, now.list) {
			s = s.merge(scope{owners: map[string]bool{slot.owner: true}, reason: s.reason})
		}
	}
	return s
}

// project returns the first root that is looked at as a project.
func (h *Host) project() *rootSlot {
	for _, slot := range h.slots {
		if slot.open != nil && slot.spec.Scope != snapshot.ScopeUser && slot.spec.Role == abi.RoleNone && slot.open.File() == "" {
			return slot
		}
	}
	return nil
}

// lookForInstalled looks for what is installed for the user of one root and, if there is a
// project, for that project. The project's slot keeps the trace of the project's files.
func lookForInstalled(slot, project *rootSlot) installs {
	found := installs{known: true}
	filter, err := installedFilter()
	if err == nil && len(slot.spec.moved) > 0 {
		filter, err = filterOfInstalled(slot.spec.moved)
	}
	if err != nil {
		return found
	}
	run := slot.open.Begin(filter, vfs.Limits{})
	defer func() { _ = run.Close() }()
	home := installed.Home{
		Paths: []string{slot.open.Path(), absolute(slot.spec.Path)}, Moved: slot.spec.moved, Read: func(name string) []byte { return textIn(run, name) },
		Dirs: func(name string) (names []string) {
			f, err := run.Open(name)
			if err != nil {
				return nil
			}
			entries, err := f.ReadDir()
			if err != nil {
				return nil
			}
			for _, e := range entries {
				if e.Type == fs.ModeDir {
					names = append(names, e.Name)
				}
			}
			return names
		},
	}
	if project != nil {
		found.workspace = project.open.Path()
		ofProject, err := installedFilter() // where no directory is moved
		if err != nil {
			return found
		}
		of := project.open.Begin(ofProject, vfs.Limits{})
		defer func() {
			project.installs.trace = of.Trace()
			_ = of.Close()
		}()
		home.Workspace, home.Project = found.workspace, func(name string) []byte { return textIn(of, name) }
	}
	found.list = installed.Find(home)
	found.trace = run.Trace()
	return found
}

// textIn returns the text of a file; nil if it doesn't exist or exceeds the read limit.
func textIn(run *vfs.Run, name string) []byte {
	f, err := run.Open(name)
	if err != nil || f.IsDir() {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(f, installed.MaxFile+1))
	if err != nil || len(text) > installed.MaxFile {
		return nil
	}
	return text
}

// placesIn returns the patterns of the files in enabled plugins that resolvers may see. A
// manifest can name any place, so they go by file format.
func placesIn(list []installed.Plugin) (patterns []string) {
	for i := range list {
		if list[i].State != installed.On {
			continue
		}
		patterns = append(patterns, vfs.LiteralPattern(list[i].Dir)+"/"+resolve.PartsOfBundle)
	}
	return patterns
}

// listsOf returns the files that record what is installed, as patterns.
func listsOf(list []installed.Plugin) (patterns []string) {
	for i := range list {
		if p := vfs.LiteralPattern(list[i].List); !slices.Contains(patterns, p) {
			patterns = append(patterns, p)
		}
	}
	return patterns
}
