//go:build race

package testenv

const share = 12
