package cli

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"waymark/abi"
	"waymark/cmd/internal/term"
)

// Version is what a program knows of itself.
type Version struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	ABI      int    `json:"abi"` // of resolvers
}

// CurrentVersion reads what the toolchain stamped into the program.
func CurrentVersion() Version {
	v := Version{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, ABI: abi.Version}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Revision = s.Value
		}
	}
	return v
}

// VersionCommand makes the version command of a program that runs resolvers.
func VersionCommand(program string, w io.Writer) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  " + program + " version --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := CurrentVersion()
			if asJSON {
				return term.JSON(w, v)
			}
			_, err := fmt.Fprintf(w, "%s %s %s %s, resolver ABI %d\n", program, v.Version, v.Go, v.Platform, v.ABI)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
