// Package launch starts programs: in a process group of their own, with an
// environment, limits and, where it is asked for, under a Profile.
package launch
