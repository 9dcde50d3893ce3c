//go:build !race

package goisms

const share = 1
