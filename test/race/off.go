//go:build !race

package race

const share = 1
