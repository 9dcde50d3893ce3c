package cli

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Version is what a program knows of itself.
type Version struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	ABI      int    `json:"abi,omitempty"` // of the resolvers that it runs, if it runs any
}

// CurrentVersion reads what the toolchain stamped into the program.
func CurrentVersion() Version {
	v := Version{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
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

// VersionCommand makes the version command of a program. The number is that of
// the ABI of the resolvers that it runs, 0 for one that runs none.
func VersionCommand(program string, w io.Writer, abi int) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     versionName,
		Short:   "Print the version",
		Example: "  " + program + " version --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := CurrentVersion()
			v.ABI = abi
			if asJSON {
				return JSON(w, v)
			}
			line := fmt.Sprintf("%s %s %s %s", program, v.Version, v.Go, v.Platform)
			if abi > 0 {
				line += fmt.Sprintf(", resolver ABI %d", abi)
			}
			_, err := fmt.Fprintln(w, line)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

const versionName = "version"

// versionFlag has a program do with --version what its version command does.
func versionFlag(root *cobra.Command) {
	asked := root.Flags().Bool(versionName, false, "print the version")
	run := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if !*asked {
			return run(cmd, args)
		}
		sub, _, err := root.Find([]string{versionName})
		if err != nil {
			return err
		}
		return sub.RunE(sub, nil)
	}
}
