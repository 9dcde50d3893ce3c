package toolchain

import (
	"context"
	"path/filepath"
	"slices"
)

func matchAssemblyScript(names []string) bool { return slices.Contains(names, "asconfig.json") }

// howNode says how to get what npm and the compiler run on.
const howNode = "install Node.js 18 or newer; on Debian and Ubuntu: apt install nodejs npm"

// buildAssemblyScript runs the compiler that the project has pinned, which npm
// has installed with it: nothing is downloaded here. What else it needs is in
// asconfig.json.
func buildAssemblyScript(ctx context.Context, j *job) error {
	node, ok := findTool("node")
	if !ok {
		return &MissingError{Tool: "node", Why: "there is no program of that name in PATH", How: howNode}
	}
	asc := filepath.Join("node_modules", "assemblyscript", "bin", "asc.js")
	if !isFile(filepath.Join(j.dir, asc)) {
		return j.missingCompiler()
	}
	// --debug keeps the names of functions, which say where a run has crashed, and
	// changes nothing else.
	return j.run(ctx, nil, node, asc, "--config", "asconfig.json", "--target", "release", "--debug", "--outFile", j.output)
}

// missingCompiler says which step comes first. Without npm in PATH that is
// getting npm.
func (j *job) missingCompiler() error {
	missing := &MissingError{Tool: "the AssemblyScript compiler", Why: "it isn't in node_modules", How: "run npm install in " + j.dir}
	if isFile(filepath.Join(j.dir, "package-lock.json")) {
		missing.How = "run npm ci in " + j.dir
	}
	if _, ok := findTool("npm"); !ok {
		missing.How = howNode + "; then " + missing.How
	}
	return missing
}
