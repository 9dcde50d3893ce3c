package arch

import (
	"fmt"
	"slices"
	"strings"
)

// Rule bans imports, and says why.
type Rule struct {
	// From says which packages the rule is for. All lists hold patterns: an
	// import path; one with "/..." and everything below; "*" and an ending.
	From []string
	// Except takes packages out of From.
	Except []string
	// To is what they may not import; Only what alone they may import,
	// beside the standard library. One of the two is set.
	To, Only []string
	// Allow takes imports out of To.
	Allow []string
	// Deep holds for everything that a package needs; otherwise the rule is
	// for what it names itself.
	Deep bool
	// Tests makes the rule hold for what tests name, too.
	Tests bool
	// Reason completes "because …".
	Reason string
}

// Layer is a set of packages that may import each other and lower layers.
type Layer struct {
	Name     string
	Packages []string // patterns
}

// Architecture is all that must hold.
type Architecture struct {
	// Layers begin with the lowest.
	Layers []Layer
	Rules  []Rule
}

// Check returns what is wrong, a line each, sorted.
func (a *Architecture) Check(packages []Package) []string {
	var wrong []string
	for i := range packages {
		p := &packages[i]
		if strings.TrimSpace(p.Doc) == "" {
			wrong = append(wrong, fmt.Sprintf("%s has no package comment: say what it is for, what it guarantees, who may call it when", p.Path))
		}
		wrong = append(wrong, a.checkLayer(p)...)
		for j := range a.Rules {
			wrong = append(wrong, a.Rules[j].check(p)...)
		}
	}
	slices.Sort(wrong)
	return slices.Compact(wrong)
}

func (a *Architecture) checkLayer(p *Package) []string {
	own := a.layerOf(p.Path)
	if own < 0 {
		return []string{p.Path + " is in no layer: add it to one in test/arch/rules.go"}
	}
	var wrong []string
	for _, imported := range p.Imports {
		if layer := a.layerOf(imported); layer > own {
			wrong = append(wrong, fmt.Sprintf("%s imports %s, because the direction is %s", p.Path, imported,
				a.Layers[layer].Name+" → "+a.Layers[own].Name+" only"))
		}
	}
	return wrong
}

// layerOf returns the number of a package's layer, -1 when it has none. Of
// several patterns that match, the longest decides.
func (a *Architecture) layerOf(path string) int {
	found, longest := -1, 0
	for i, layer := range a.Layers {
		for _, pattern := range layer.Packages {
			if len(pattern) > longest && matches(pattern, path) {
				found, longest = i, len(pattern)
			}
		}
	}
	return found
}

func (r *Rule) check(p *Package) []string {
	if !matchesAny(r.From, p.Path) || matchesAny(r.Except, p.Path) {
		return nil
	}
	imports := p.Imports
	if r.Deep {
		imports = p.Deps
	}
	if r.Tests {
		imports = slices.Concat(imports, p.TestImports, p.XTestImports)
	}
	var wrong []string
	for _, imported := range imports {
		if imported != p.Path && r.bans(imported) {
			wrong = append(wrong, fmt.Sprintf("%s may not import %s, because %s", p.Path, imported, r.Reason))
		}
	}
	return wrong
}

func (r *Rule) bans(imported string) bool {
	if r.Only != nil {
		return !isStandard(imported) && !matchesAny(r.Only, imported)
	}
	return matchesAny(r.To, imported) && !matchesAny(r.Allow, imported)
}

// isStandard reports whether a path is of the standard library: those of
// modules have a dot in their first element, but for our own.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".") && first != module
}

func matchesAny(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, path) })
}

func matches(pattern, path string) bool {
	if suffix, ok := strings.CutPrefix(pattern, "*"); ok {
		return strings.HasSuffix(path, suffix)
	}
	prefix, below := strings.CutSuffix(pattern, "/...")
	return path == prefix || below && strings.HasPrefix(path, prefix+"/")
}
