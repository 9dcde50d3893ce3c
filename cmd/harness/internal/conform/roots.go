package conform

import (
	"context"
	"path"
	"slices"

	"waymark/abi"
)

// roots looks at roots that are one file, and at roots with a role.
func (c *checker) roots(ctx context.Context) error {
	roles := []abi.Role{abi.RoleNone, abi.RoleInstructions, abi.RoleSkills, abi.RoleMCP}
	const hint = "in a root that is one file nothing else exists; a role that is another's asks for nothing"
	var workspaces []*workspace
	for _, role := range roles {
		label := "role-" + string(role)
		if role == abi.RoleNone {
			label = "no-role"
		} else {
			workspaces = append(workspaces,
				&workspace{name: label + "-empty", rule: ruleRoots, role: role, hint: hint},
				&workspace{name: label + "-sample", rule: ruleRoots, tree: c.sample.tree, role: role, hint: hint})
		}
		for _, f := range c.someFiles() {
			workspaces = append(workspaces, &workspace{
				name: label + "-file-" + path.Base(f), rule: ruleRoots, role: role, file: path.Base(f), hint: hint,
				tree: tree{fileOf(path.Base(f), sampleText(f, "Sample")), fileOf("other.md", "Another.\n")},
			})
		}
	}
	if err := c.run(ctx, workspaces...); err != nil {
		return err
	}
	for _, p := range workspaces {
		c.judge(p)
		for _, r := range c.resolvers() {
			o := p.outcomes[r.Name]
			if o == nil || len(o.Candidates) == 0 || !foreign(p.role, r.Kinds) {
				continue
			}
			c.find(Finding{
				Rule: ruleRoots, Severity: Warn, Resolver: r.Name, Workspaces: []string{p.name},
				Detail: "it emits resources in roots that somebody named for other resolvers",
				Hint:   "look at request.root.role, and emit nothing where it is another resolver's",
			})
		}
	}
	return nil
}

// someFiles are a few files of the sample, with different extensions.
func (c *checker) someFiles() []string {
	files := []string{"NOTES.md"}
	var seen []string
	for _, e := range c.sample.tree {
		if ext := path.Ext(e.Path); len(files) < 4 && !slices.Contains(seen, ext) {
			seen, files = append(seen, ext), append(files, e.Path)
		}
	}
	return files
}
