package config

import (
	"time"

	"waymark/host/vfs"
)

// table says what a TOML table may hold: under each key a setter, another
// table, or an entryList.
type table map[string]any

// entryList stands for the [[plugin]] entries.
type entryList struct{}

// schema returns the tables of the configuration with setters into c. The
// [[plugin]] entries have their own.
func (c *Config) schema() table {
	return table{
		entriesKey: entryList{},
		"exclude":  setPatterns(&c.Exclude, vfs.CheckExclude),
		"plugins":  table{"dirs": setList(&c.Plugins.Dirs, checkDir)},
		"builtin": table{
			"disable": setList(&c.Builtin.Disable, checkName),
			"config":  setObjects(&c.Builtin.Config),
		},
		"limits": c.Limits.schema(),
		"snapshot": table{
			// A peer refuses a body above 256 KiB of JSON with base64 in it,
			// and a push above 1000 rows, or 4 MiB of such JSON.
			"max_resource_bytes": setBytes(&c.Snapshot.MaxResourceBytes, 1, 128*KiB),
			"max_bytes":          setBytes(&c.Snapshot.MaxBytes, 1, 2*MiB),
			"max_resources":      setCount(&c.Snapshot.MaxResources, 1, 1000),
		},
		"watch": table{
			"quiet":    setDuration(&c.Watch.Quiet, time.Millisecond, 10*time.Second),
			"max_wait": setDuration(&c.Watch.MaxWait, time.Millisecond, time.Minute),
			"recheck":  setDuration(&c.Watch.Recheck, time.Second, time.Hour),
		},
		"push": table{
			"url":        setText(&c.Push.URL, checkURL),
			"token_file": setText(&c.Push.TokenFile, checkFile),
		},
	}
}

// schema returns the [limits] table. The hard maxima keep one resolver from
// starving the agent, whatever the operator wrote.
func (l *Limits) schema() table {
	return table{
		"time":       setDuration(&l.Time, time.Millisecond, time.Minute),
		"fuel":       setCount(&l.Fuel, 1_000_000, 100_000_000_000_000),
		"memory":     setBytes(&l.Memory, MiB, GiB),
		"response":   setBytes(&l.Response, KiB, 16*MiB),
		"logs":       setBytes(&l.Logs, KiB, MiB),
		"opens":      setCount(&l.Opens, 1, 65_536),
		"read_bytes": setBytes(&l.ReadBytes, KiB, GiB),
		"entries":    setCount(&l.Entries, 1, 1_000_000),
	}
}

// schema returns the table of one [[plugin]] entry.
func (p *Plugin) schema() table {
	return table{
		"name":          setText(&p.Name, checkName),
		"sha256":        setText(&p.SHA256, checkSHA256),
		"reads":         setPatterns(&p.Reads, checkNarrow),
		"grant_secrets": setList(&p.GrantSecrets, checkName),
		"rank":          setCount(&p.Rank, 1, 10_000),
		"config":        setObjects(&p.Config),
		"limits":        p.Limits.schema(),
	}
}
