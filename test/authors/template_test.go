package authors_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

const template = "../../examples/workspace-template"

// TestTemplateSyntax: the template is HCL, and every variable, local value and
// resource that it refers to is there. More can't be said without Terraform.
func TestTemplateSyntax(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(template, "main.tf"))
	if err != nil {
		t.Fatal(err)
	}
	file, diags := hclsyntax.ParseConfig(text, "main.tf", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	body := file.Body.(*hclsyntax.Body)
	known := map[string]bool{}
	for _, b := range body.Blocks {
		switch b.Type {
		case "variable":
			known["var."+b.Labels[0]] = true
		case "resource":
			known[b.Labels[0]+"."+b.Labels[1]] = true
		case "data":
			known["data."+b.Labels[0]+"."+b.Labels[1]] = true
		case "locals":
			for name := range b.Body.Attributes {
				known["local."+name] = true
			}
		}
	}
	uses := 0
	for _, v := range references(body) {
		parts := strings.Split(v, ".")
		n := 2
		switch parts[0] {
		case "data":
			n = 3
		case "path", "string", "all", "name", "value", "f": // Terraform's own, and variables of for
			continue
		}
		if key := strings.Join(parts[:min(n, len(parts))], "."); !known[key] {
			t.Errorf("%s refers to %s, which isn't there", v, key)
		}
		uses++
	}
	if uses < 15 || len(known) < 12 {
		t.Errorf("%d references to %d things: the test looks at the wrong place", uses, len(known))
	}
}

// references returns what expressions refer to, with dots.
func references(body *hclsyntax.Body) (list []string) {
	_ = hclsyntax.VisitAll(body, func(node hclsyntax.Node) hcl.Diagnostics {
		if e, ok := node.(*hclsyntax.ScopeTraversalExpr); ok {
			var parts []string
			for _, step := range e.Traversal {
				switch s := step.(type) {
				case hcl.TraverseRoot:
					parts = append(parts, s.Name)
				case hcl.TraverseAttr:
					parts = append(parts, s.Name)
				}
			}
			list = append(list, strings.Join(parts, "."))
		}
		return nil
	})
	return list
}

// TestTemplateImage prepares the image's directory and looks whether it has all
// that the Dockerfile copies.
func TestTemplateImage(t *testing.T) {
	h := newHome(t)
	build := h.prepare()
	dockerfile, err := os.ReadFile(filepath.Join(build, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	copies := regexp.MustCompile(`(?m)^COPY --chmod=0(644|755) (.*) (/\S+/|/\S+)$`).FindAllStringSubmatch(string(dockerfile), -1)
	if len(copies) != strings.Count(string(dockerfile), "COPY") || len(copies) == 0 {
		t.Fatalf("the test doesn't understand all COPY lines: %q", copies)
	}
	var sources []string
	for _, c := range copies {
		for _, pattern := range strings.Fields(c[2]) {
			found, err := filepath.Glob(filepath.Join(build, pattern))
			if err != nil || len(found) == 0 {
				t.Errorf("%s: there is no %s (%v)", c[0], pattern, err)
			}
			sources = append(sources, found...)
		}
	}
	if len(sources) < 4 {
		t.Errorf("it copies %q", sources)
	}
	cmd := h.command(t.Context(), build, "agent", "config", "check", "plugin.toml")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("plugin.toml: %v\n%s", err, out)
	}
}

// prepare runs prepare.sh into a copy of the build directory.
func (h *home) prepare() string {
	h.t.Helper()
	build := filepath.Join(h.dir, "build")
	if err := os.CopyFS(build, os.DirFS(filepath.Join(template, "build"))); err != nil {
		h.t.Fatal(err)
	}
	cmd := h.command(h.t.Context(), template, "sh", "./prepare.sh")
	cmd.Env = append(cmd.Env, "BUILD="+build, "AGENT="+filepath.Join(programs, "agent"), "HARNESS="+filepath.Join(programs, "harness"))
	if out, err := cmd.CombinedOutput(); err != nil {
		h.t.Fatalf("prepare.sh: %v\n%s", err, out)
	}
	return build
}
