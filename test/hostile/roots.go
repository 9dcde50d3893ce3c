package hostile

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"waymark/abi"
	"waymark/host"
)

// namedRoots are the specs of a case's named roots.
func (c *Case) namedRoots(dirs Dirs) []host.RootSpec {
	var specs []host.RootSpec
	for _, named := range c.NamedRoots {
		role, path, ok := strings.Cut(named, " ")
		if !ok {
			role, path = "", named
		}
		specs = append(specs, host.RootSpec{Path: filepath.Join(dirs.Root, path), Role: abi.Role(role), Optional: true, Within: []string{dirs.Root}})
	}
	return specs
}

// rootCases are workspaces whose links lead the roots astray that a user has
// in them. What they lead to holds the canary, whether it is outside or secret.
func rootCases() []Case {
	var list []Case
	add := func(name string, named, want []string, lines ...string) {
		list = append(list, Case{Name: name, NamedRoots: named, Want: rows(want...), Workspace: tree(slices.Concat(hidden(), lines)...)})
	}
	for _, target := range []struct{ name, link, below string }{
		{"out", "../outside", ""}, {"out-absolute", "$OUT", ""}, {"out-dir", "$OUT/dir", ""},
		{"top", "/", "/etc"}, {"process", "/proc/self/cwd", ""}, {"up", "..", "/outside"}, {"up-and-round", "real/../../outside", ""},
		{"git", ".git/hooks", ""}, {"git-and-back", ".git/../real", ""}, {"cloud", ".aws", "/skills"}, {"ssh-by-absolute-link", "$ROOT/.ssh", ""},
		{"two-links", "hop", ""}, {"itself", "place", ""}, {"nowhere", "../outside/later", ""}, {"not-utf8", "\xff", ""},
	} {
		place := "place" + target.below
		add(target.name, []string{place, "instructions " + place, "skills " + place, "mcp " + place + "/x.json"}, nil,
			"hop -> .git", "real/x/", "place -> "+target.link)
	}
	add("mcp-files", []string{"mcp one.json", "mcp two.json", "mcp three.json"}, nil,
		"one.json -> .git/config", "two.json -> $OUT/secret", "three.json -> .env")
	add("good-links", []string{"place", "instructions other/sub", "mcp other/x.json"},
		[]string{"instruction_file:real/AGENTS.md ok", "instruction_file:real/sub/AGENTS.md ok", "mcp_config:real/x.json ok"},
		"real/AGENTS.md = fine", "real/sub/AGENTS.md = fine", "real/x.json = {}", "place -> real", "other -> $ROOT/real")
	list = append(list, swaps()...)
	for i := range list {
		c := &list[i]
		c.Class, c.Name, c.Builtin, c.Memory = ClassFiles, "roots/"+c.Name, true, 192
		if c.Within == 0 {
			c.Within = 2 * time.Second
		}
	}
	return list
}

// hidden is what no root may lead to.
func hidden() []string {
	skill := "= ---\nname: one\ndescription: " + canary + "\n---\n"
	return []string{
		"../outside/AGENTS.md = " + canary, "../outside/x.json = {\"" + canary + "\":1}", "../outside/one/SKILL.md " + skill,
		".git/hooks/AGENTS.md = " + canary, ".git/AGENTS.md = " + canary, ".git/x.json = {\"" + canary + "\":1}", ".git/config = " + canary,
		".aws/skills/AGENTS.md = " + canary, ".aws/skills/one/SKILL.md " + skill, ".ssh/AGENTS.md = " + canary, ".ssh/one/SKILL.md " + skill, ".env = " + canary,
	}
}

// swaps replace what is on the way to a root by links, and back, in the order
// of a seed, while it is opened and looked at.
func swaps() []Case {
	targets := []string{"../outside", "$OUT", ".git", ".git/hooks", ".aws/skills", ".ssh", "real", "/"}
	var list []Case
	for seed := range uint64(4) {
		list = append(list, Case{
			Name: fmt.Sprintf("race-%d", seed), Rounds: 8, Within: 10 * time.Second,
			NamedRoots: []string{"a/b", "instructions a", "skills a/b", "mcp a/x.json"},
			Workspace:  tree(append(hidden(), "real/b/AGENTS.md = fine", "a/b/AGENTS.md = fine", "a/x.json = {}")...),
			During: func(ctx context.Context, dirs Dirs) error {
				rnd := rand.New(rand.NewPCG(seed, 1))
				for ctx.Err() == nil {
					name, target := "a", targets[rnd.IntN(len(targets))]
					if rnd.IntN(2) == 0 {
						name, target = "a/b", strings.Replace(target, ".", "../.", 1)
					}
					path, kept := filepath.Join(dirs.Root, name), filepath.Join(dirs.Root, "kept")
					if err := os.Rename(path, kept); err != nil {
						return err
					}
					if err := treeLine(dirs.Root, name+" -> "+target); err != nil {
						return err
					}
					if err := os.Remove(path); err != nil {
						return err
					}
					if err := os.Rename(kept, path); err != nil {
						return err
					}
				}
				return nil
			},
		})
	}
	return list
}
