package launch

import (
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sys/unix"
)

// limits are available on all supported systems.
var limits = map[string]int{
	"as":     unix.RLIMIT_AS,
	"core":   unix.RLIMIT_CORE,
	"cpu":    unix.RLIMIT_CPU,
	"data":   unix.RLIMIT_DATA,
	"fsize":  unix.RLIMIT_FSIZE,
	"nofile": unix.RLIMIT_NOFILE,
	"nproc":  unix.RLIMIT_NPROC,
	"stack":  unix.RLIMIT_STACK,
}

// LimitNames returns the names of Spec.Limits, sorted.
func LimitNames() []string { return slices.Sorted(maps.Keys(limits)) }

// setLimits sets the limits of this process.
func setLimits(s *Spec) error {
	wanted := s.Limits
	if s.Profile != nil {
		wanted = map[string]uint64{"core": 0} // a core dump in the working directory would expose memory
		maps.Copy(wanted, s.Limits)
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		var l unix.Rlimit
		if err := unix.Getrlimit(limits[name], &l); err != nil {
			return fmt.Errorf("the limit %s: %w", name, err)
		}
		l.Max = min(l.Max, wanted[name])
		l.Cur = l.Max
		if err := unix.Setrlimit(limits[name], &l); err != nil {
			return fmt.Errorf("the limit %s: %w", name, err)
		}
	}
	return nil
}
