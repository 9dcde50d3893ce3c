package testenv

// RaceShare is how many of a table's or a generator's cases are enough under the
// detector: one in so many. It looks for places where goroutines meet, which many
// cases of the same kind pass alike. Without the detector it is 1.
const RaceShare = share

// Race reports whether this is built with the race detector, which makes everything five
// to twenty times slower and has a memory of its own.
const Race = RaceShare > 1
