// Command slow is a module whose resolvers take their time: each looks at all skills, and
// says what F.md holds after as many turns as SPIN.md names.
package main

import (
	"io/fs"
	"strconv"
	"strings"

	guest "waymark/sdk-guest"
)

// resolvers is how many there are.
const resolvers = 32

func main() {}

func init() {
	m := guest.Module{Name: "slow", Version: "0.1.0"}
	for i := range resolvers {
		name := "s" + strconv.Itoa(i)
		m.Resolvers = append(m.Resolvers, guest.Resolver{
			Name: name, Kinds: []guest.Kind{guest.Command}, Reads: []string{"F.md", "SPIN.md", ".agents/skills/*/SKILL.md"},
			Resolve: func(_ *guest.Request, root fs.FS) (*guest.Response, error) { return say(name, root) },
		})
	}
	guest.Serve(m)
}

// turns keeps the compiler from leaving them out.
var turns uint64

func say(name string, root fs.FS) (*guest.Response, error) {
	text, err := fs.ReadFile(root, "F.md")
	skills, _ := fs.Glob(root, ".agents/skills/*/SKILL.md")
	for _, skill := range skills {
		_, _ = fs.ReadFile(root, skill)
	}
	spin, _ := fs.ReadFile(root, "SPIN.md")
	n, _ := strconv.ParseUint(strings.TrimSpace(string(spin)), 10, 64)
	for i := range n {
		turns = turns*31 + i
	}
	if err != nil {
		return &guest.Response{}, nil //nolint:nilerr // there is none
	}
	return &guest.Response{Resources: []guest.Resource{{
		Kind: guest.Command, Path: "F.md", Key: name, Name: strings.TrimSpace(string(text)), Content: guest.File("F.md"),
	}}}, nil
}
