package why

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"waymark/abi"
	"waymark/host/applicability"
	"waymark/plugins/conventions"
)

// builtinModule is the name of the built-in module, whose resolvers look for the places of
// the table. Its patterns say little: one pattern serves roots of all roles, and one listing
// of a root's top level is in the trace for everything that is looked for there.
const builtinModule = "waymark"

// skillFile is the name of the file that makes a directory a skill.
const skillFile = "SKILL.md"

// sees reports whether a run may see a path of the given path's type, and would take it for
// something, by its name alone.
func (p *pathInRoot) sees(r *Run, rel string) bool {
	j := p.fs.Judge(r.Filter, rel)
	return (j.File || j.Dir && p.isDir()) && p.q.wants(r, p.root, rel, p.isDir())
}

// seesFile is sees for a file, whatever the given path is.
func (p *pathInRoot) seesFile(r *Run, rel string) bool {
	return p.fs.Judge(r.Filter, rel).File && p.q.wants(r, p.root, rel, false)
}

// seesDir is sees for a directory, whatever the given path is.
func (p *pathInRoot) seesDir(r *Run, rel string) bool {
	return p.fs.Judge(r.Filter, rel).Dir && p.q.wants(r, p.root, rel, true)
}

// wants reports whether a run of the built-in module would take a path of a root for
// something: a place of the table, for the root's role. It wants everything that it sees for
// other reasons, such as an operator's configuration, and so do other modules.
func (q *question) wants(r *Run, root int, rel string, dir bool) bool {
	return isBareSkill(rel, dir) && q.isSkillRoot(root) || q.wantsIn(r, q.in.Roots[root].Role, rel, dir) || q.isOfHome(root, rel, dir)
}

// wantsIn is wants for a root of a role that is no container of skills, wherever it is.
func (q *question) wantsIn(r *Run, role abi.Role, rel string, dir bool) bool {
	if moduleOf(r.Resolver) != builtinModule {
		return true
	}
	known := isBareSkill(rel, dir)
	for _, p := range placesOf(rel) {
		if p.Scope != conventions.ScopeProject && p.Scope != conventions.ScopeUser || !p.leadsTo(rel, dir) {
			continue
		}
		if p.Scope == conventions.ScopeProject && p.Kind != "" && plays(role, p.Kind) {
			return true
		}
		known = true
	}
	return !known
}

// isBareSkill reports whether a path is what is looked for in a root that is a container of
// skills.
func isBareSkill(rel string, dir bool) bool {
	above, name := path.Split(rel)
	return name == skillFile && strings.Count(above, "/") <= 1 || dir && above == ""
}

// isWanted reports whether a run would read a file of this name here, or in a root without a
// role.
func (p *pathInRoot) isWanted() bool {
	return slices.ContainsFunc(p.readers, func(r *Run) bool {
		return p.q.in.Roots[p.root].Role != abi.RoleNone || p.q.wants(r, p.root, p.rel, false)
	})
}

// needsDir reports whether a run requires a path to be a directory. Where any file may lie,
// an irrelevant one is no mistake.
func (q *question) needsDir(r *Run, rel string) bool {
	return moduleOf(r.Resolver) != builtinModule || slices.ContainsFunc(placesOf(rel), func(p place) bool {
		return strings.HasPrefix(p.pattern, rel+"/") || p.Kind == abi.KindSkill && p.relate(rel, true) == itself
	})
}

// isSkillRoot reports whether a root itself is a container of skills.
func (q *question) isSkillRoot(root int) bool {
	r := &q.in.Roots[root]
	return r.Role == abi.RoleSkills || r.Role == abi.RoleNone && r.FS != nil && filepath.Base(r.FS.Path()) == skillsDir
}

// isOfHome reports whether a path in a root below the home directory is one of the user's
// places.
func (q *question) isOfHome(root int, rel string, dir bool) bool {
	if q.in.Home == "" || q.in.Roots[root].FS == nil {
		return false
	}
	base, ok := applicability.Below(q.in.Home, q.in.Roots[root].FS.Path())
	if !ok {
		return false
	}
	rel = path.Join(base, rel)
	return slices.ContainsFunc(placesOf(rel), func(p place) bool { return p.Scope == conventions.ScopeUser && p.leadsTo(rel, dir) })
}

// plays reports whether a root of a role is looked at for a kind.
func plays(role abi.Role, kind abi.Kind) bool {
	switch role {
	case abi.RoleInstructions:
		return kind == abi.KindInstructionFile
	case abi.RoleSkills:
		return kind == abi.KindSkill
	case abi.RoleMCP:
		return kind == abi.KindMCPConfig
	}
	return true
}

// leadsTo reports whether a path is what is looked for in a place, or a directory on the way
// there.
func (p *place) leadsTo(rel string, dir bool) bool {
	switch p.relate(rel, dir) {
	case itself, container:
		return true
	}
	if !dir {
		return false
	}
	names := strings.Split(rel, "/")
	return len(names) < len(p.names) && strings.HasPrefix(p.pattern, rel+"/")
}

// spelledIn returns the spelling in the table of a path that differs from it only in case,
// and that a run looks for.
func (p *pathInRoot) spelledIn(r *Run) (right string, ok bool) {
	for _, place := range placesOf(p.rel) {
		right, ok := place.spelled(p.rel, p.isDir())
		if ok && place.Scope == conventions.ScopeProject && p.sees(r, right) && p.q.traceOf(r).looked(right) {
			return right, true
		}
	}
	return "", false
}

// lacksSkill reports whether a directory is where a run looks for a skill, and has none. A
// listing shows that as well as a failed look.
func (p *pathInRoot) lacksSkill(r *Run) bool {
	file := join(p.rel, skillFile)
	if moduleOf(r.Resolver) != builtinModule || !p.seesFile(r, file) || !p.q.traceOf(r).looked(file) {
		return false
	}
	return inspect(p.fs, p.all, file).state == missing
}
