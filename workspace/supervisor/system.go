package supervisor

import (
	"fmt"
	"io/fs"
	"os"
)

func sameUser(uid int) error {
	if uid != os.Geteuid() {
		return fmt.Errorf("the other end of the supervisor's socket is user %d: %w", uid, fs.ErrPermission)
	}
	return nil
}
