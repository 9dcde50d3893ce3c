// Command helper is the shim alone, as small as the helper program is.
package main

import (
	"os"

	"waymark/workspace/launch"
)

func main() { os.Exit(launch.Main(nil)) }
