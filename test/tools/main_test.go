package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"waymark/test/hostile"
)

func TestMain(m *testing.M) {
	hostile.Child()
	testscript.Main(m, map[string]func(){"testcost": func() { os.Exit(measureCost(os.Args[1:])) }})
}
