package launch_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waymark/workspace/launch"
)

// system are the places that a shell needs to run.
var system = resolved("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/proc")

func resolved(paths ...string) []string {
	var list []string
	for _, path := range paths {
		if path, err := filepath.EvalSymlinks(path); err == nil {
			list = append(list, path)
		}
	}
	return list
}

func TestProfile(t *testing.T) {
	d := dir(t)
	write(t, d+"/read/file", "r")
	write(t, d+"/write/file", "w")
	write(t, d+"/hidden/file", "h")
	p := &launch.Profile{Name: "test", Read: append([]string{d + "/read", d + "/none"}, system...), Write: []string{d + "/write", "/dev/null"}, List: []string{d}}
	got, err := run(t, &launch.Spec{Dir: d, Env: os.Environ(), Profile: p}, `
		cat read/file write/file hidden/file
		for f in read/file read/new write/file write/new hidden/file hidden/new; do echo x >$f && echo "can write $f"; done 2>/dev/null
		ls hidden; grep -E 'Cap(Bnd|Eff|Prm|Amb|Inh)|NoNewPrivs' /proc/self/status`)
	if err != nil {
		t.Fatal(err, got)
	}
	got = strings.NewReplacer("/bin/sh: ", "", "\t", " ").Replace(got)
	none := "0000000000000000\n"
	if want := "rwcat: hidden/file: Permission denied\ncan write write/file\ncan write write/new\nfile\n" +
		"CapInh: " + none + "CapPrm: " + none + "CapEff: " + none + "CapBnd: " + none + "CapAmb: " + none + "NoNewPrivs: 1\n"; got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
