//go:build !linux

package stop

import (
	"os"
	"time"
)

// There are no timers that kill: goroutines do what can be done.

func guard() bool                { return false }
func setKillAfter(time.Duration) {}
func armKill()                   {}
func putOff(time.Duration)       {}
func setWords(*Words)            {}
func recordForced()              {}

func whenWorked(time.Duration) <-chan os.Signal { return nil }
