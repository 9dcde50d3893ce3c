//go:build !linux

package supervisor

import (
	"errors"
	"fmt"
	"os"
)

// There are no starters where nothing can be confined.

var errStarter = errors.ErrUnsupported

type starters struct{}

type starter struct{}

func newStarters() *starters { return nil }

func (*starters) of(*Spec) *starter { return nil }

func (*starters) has(int) bool { return false }

func (*starters) failed(*starter) {}

func (*starters) end() {}

func (*starter) fork([]*os.File, bool) (int, error) { return 0, errStarter }

// Starter fails: there are no starters on this system.
func Starter([]string) int {
	fmt.Fprintln(os.Stderr, errStarter)
	return 1
}
