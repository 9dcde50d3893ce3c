package supervisor

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"waymark/internal/text"
)

// unitTimeout limits how long systemd may take to start a unit.
const unitTimeout = 15 * time.Second

// isService reports whether the user's systemd manager has started this process. If so,
// everything that this process starts belongs to its unit and ends with it, even in another
// session.
func isService() bool {
	manager, err := strconv.Atoi(os.Getenv("MANAGERPID"))
	return err == nil && manager == os.Getppid()
}

// startUnit makes systemd start a supervisor as a separate unit. That outlives the agent's
// unit and has none of its restrictions.
func startUnit(ctx context.Context, o *Options) error {
	ctx, cancel := context.WithTimeout(ctx, unitTimeout)
	defer cancel()
	name, err := systemd(ctx, "systemd-escape", "--path", "--template="+o.Unit, o.Dir)
	if err != nil {
		return err
	}
	_, err = systemd(ctx, "systemctl", "--user", "start", "--", name) // returns when the unit is ready
	return err
}

// systemd runs a command of systemd and returns its output.
func systemd(ctx context.Context, command string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, command, args...) //nolint:gosec // systemd's own, with a path
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", command, err, text.Line(string(out), 1<<10))
	}
	return strings.TrimSpace(string(out)), nil
}
