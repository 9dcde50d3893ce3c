// Package sources shows `go test` what a test depends on that builds programs by
// the go command. That reads them in another process, so `go test` would repeat its
// last result although they have changed.
//
// # Concurrency
//
// See may be called by many goroutines.
package sources

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// files prints the files of a package of this module, and those that it embeds.
const files = `{{if and .Module .Module.Main}}{{$dir := .Dir}}{{.Module.GoMod}}
{{range .GoFiles}}{{$dir}}/{{.}}
{{end}}{{range .EmbedFiles}}{{$dir}}/{{.}}
{{end}}{{end}}`

// See looks at every file of this module that packages are built from. env is in
// addition to the environment: GOOS, say. It needs the go command, and a working
// directory in the module.
func See(ctx context.Context, env []string, packages ...string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-deps", "-f", files}, packages...)...)
	cmd.Env = append(os.Environ(), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	for path := range strings.Lines(string(out)) {
		if path = strings.TrimSpace(path); path != "" {
			_, _ = os.Stat(filepath.Clean(path)) // that is enough to be seen
		}
	}
	return nil
}
