// Package testenv tells tests about the machine and the process that they run in, and has
// them run as they need: as an ordinary user, whose permissions count, also where root
// runs them; in memory; many at once; against an address that nobody serves.
package testenv
