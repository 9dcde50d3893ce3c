package e2e

import "os/exec"

// Start starts a command of the caller's, who has set its environment, directory
// and context. What it prints is kept.
func Start(cmd *exec.Cmd) (*Process, error) { return startCommand(cmd) }
