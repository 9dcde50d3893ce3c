package toolchain

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"waymark"
)

const (
	// kitDir is where the kit is in a scaffold.
	kitDir = "sdk"
	// versionFile says which kit it is, in the form of Version.String.
	versionFile = "VERSION"
)

// Version tells kits apart: by the number that their authors give, and by what
// is in them.
type Version struct {
	Number string `json:"version"`
	Digest string `json:"digest"` // SHA-256 over all files, in hexadecimal; empty when it isn't known
}

func (v Version) String() string {
	if v.Digest == "" {
		return v.Number
	}
	return v.Number + " (" + v.Digest[:min(12, len(v.Digest))] + ")"
}

// kit is what a language's resolvers are built with.
type kit struct {
	version Version
	files   map[string][]byte // by path in kitDir, versionFile included
}

// part is a set of files of the repository.
type part struct {
	pattern string // as path.Match has it
	strip   string // the prefix that the kit leaves out
}

// parts says what a language's kit is made of.
func parts(lang Lang) []part {
	license := part{"LICENSE", ""}
	switch lang {
	case Go:
		return []part{
			license, {"abi/*.go", ""}, {"sdk-guest/*.go", ""},
			{"sdk-guest/frontmatter/*.go", ""}, {"sdk-guest/jsonlite/*.go", ""},
		}
	case C:
		return []part{license, {"sdk-guest/c/waymark.h", "sdk-guest/c/"}}
	case AssemblyScript:
		return []part{license, {"sdk-guest/assemblyscript/waymark/*.ts", "sdk-guest/assemblyscript/"}}
	}
	return nil
}

// goMod makes the Go kit a module, which a replace directive can name. Its path
// is that of the packages' imports.
const goMod = "module waymark\n\ngo 1.26.0\n"

// kitOf returns the kit of this program.
func kitOf(lang Lang) (*kit, error) {
	k := &kit{files: map[string][]byte{}}
	for _, p := range parts(lang) {
		names, err := fs.Glob(waymark.SDK, p.pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := waymark.SDK.ReadFile(name)
			if err != nil {
				return nil, err
			}
			k.files[strings.TrimPrefix(name, p.strip)] = text
		}
	}
	if len(k.files) < 2 { // the license alone
		return nil, fmt.Errorf("there is no kit for %s", lang)
	}
	if lang == Go {
		k.files["go.mod"] = []byte(goMod)
	}
	k.version = Version{waymark.SDKVersion, digest(k.files)}
	k.files[versionFile] = []byte(k.version.Number + " " + k.version.Digest + "\n")
	return k, nil
}

// digest is over names, lengths and contents, in the order of the names.
// versionFile holds it, so it doesn't count.
func digest(files map[string][]byte) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if name != versionFile {
			fmt.Fprintf(sum, "%q %d\n%s", name, len(files[name]), files[name])
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}
