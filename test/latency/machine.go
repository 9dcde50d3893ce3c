package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Machine is what the figures were taken on.
type Machine struct {
	CPU  string `json:"cpu"`
	CPUs int    `json:"cpus"`
	// Load is the load average of the minute before and that of the minute of
	// the end: a busy machine's figures are a busy machine's.
	Load [2]string `json:"load"`
}

func thisMachine() Machine {
	m := Machine{CPU: runtime.GOARCH, CPUs: runtime.NumCPU()}
	data, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(data)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			m.CPU = strings.TrimSpace(value)
			break
		}
	}
	return m
}

// load is the load average of the last minute, "?" where it can't be told.
func load() string {
	data, err := os.ReadFile("/proc/loadavg")
	if fields := strings.Fields(string(data)); err == nil && len(fields) > 0 {
		return fields[0]
	}
	return "?"
}

func (m Machine) String() string {
	return fmt.Sprintf("%s, %d CPUs, load average %s before and %s after", m.CPU, m.CPUs, m.Load[0], m.Load[1])
}
