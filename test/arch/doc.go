// Package arch has the rules of Waymark's architecture, and checks them: which packages may
// import which others, and why.
//
// Load asks the go command for the packages, Rules returns the rules, and Check compares
// them. The package's test does all three. The checker itself is tested on artificial
// packages, so that a rule that matches nothing any more can't go unnoticed.
//
// A package without a layer is a finding, too: rules.go must say where a new directory
// belongs. Files for other systems than the one that Load is asked for are ignored.
package arch
