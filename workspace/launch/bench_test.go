//go:build linux

package launch_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"waymark/test/built"
	"waymark/workspace/launch"
)

// BenchmarkStart compares starts of a shell that does nothing: by the system alone,
// by the helper program and by a test's own program as the shim, and with profiles.
func BenchmarkStart(b *testing.B) {
	argv := []string{"/bin/sh", "-c", ":"}
	b.Run("direct", func(b *testing.B) {
		for b.Loop() {
			if err := exec.CommandContext(b.Context(), argv[0], argv[1:]...).Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	dir := b.TempDir()
	helper := filepath.Join(dir, "helper")
	if err := built.Programs(b.Context(), dir, false, "./testdata/helper"); err != nil {
		b.Fatal(err)
	}
	secrets, err := launch.HideSecrets(ownPlaces())
	if err != nil {
		b.Fatal(err)
	}
	plan, err := launch.Plan("", ownPlaces())
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%d places are given", len(secrets.Write))
	for _, c := range []struct {
		name    string
		program string // in the shim's place
		profile *launch.Profile
	}{{"helper", helper, nil}, {"helper/secrets", helper, secrets}, {"helper/plan", helper, plan}, {"self", "", nil}, {"self/secrets", "", secrets}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				cmd := command(b, &launch.Spec{Argv: argv, Env: os.Environ(), Profile: c.profile})
				if c.program != "" {
					cmd.Cmd.Path, cmd.Cmd.Args = c.program, []string{c.program, "launch"}
				}
				if err := cmd.Run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkHideSecrets is what a profile costs to make, over this machine's own
// home directory.
func BenchmarkHideSecrets(b *testing.B) {
	for b.Loop() {
		if _, err := launch.HideSecrets(ownPlaces()); err != nil {
			b.Fatal(err)
		}
	}
}

// ownPlaces are those of who runs the benchmark: what a profile costs depends on how
// much lies in the directories on the way to what is hidden.
func ownPlaces() launch.Places {
	home := os.Getenv("HOME")
	return launch.Places{
		Home: home, Own: []string{filepath.Join(home, ".local/state/waymark"), "/etc/waymark", filepath.Join(home, ".config/waymark")}, Root: home,
	}
}
