package config_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"waymark/host/config"
)

type rawJSON = json.RawMessage

// TestRanges holds the ranges that plugin.toml documents against what the
// parser takes: both ends, and the next value outside.
func TestRanges(t *testing.T) {
	line := regexp.MustCompile(`^#? ?([a-z_]+) *= *[^#]*# .*from (\S+) to ([^\s;,]+)`)
	table := regexp.MustCompile(`^#? ?\[+([a-z_.]+)\]+`)
	section, n := "", 0
	for _, text := range strings.Split(config.Annotated(), "\n") {
		if m := table.FindStringSubmatch(text); m != nil {
			section = m[1]
		}
		// The range of rank stands at the end of its line, too.
		m := line.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		n++
		key, low, high := m[1], m[2], m[3]
		t.Run(section+"."+key, func(t *testing.T) {
			set := func(value string) error {
				return config.Default().Parse("test.toml", alone(section, key, value))
			}
			for _, value := range []string{low, high} {
				if err := set(value); err != nil {
					t.Errorf("%s: %v", value, err)
				}
			}
			for _, value := range []string{outside(t, low, -1), outside(t, high, 1)} {
				if err := set(value); err == nil || !strings.Contains(err.Error(), "range from "+low+" to "+high) {
					t.Errorf("%s: %v, want the range from %s to %s", value, err, low, high)
				}
			}
		})
	}
	if n != 31 {
		t.Errorf("found %d ranges in plugin.toml, want 31: is the comment of each number in the form \"from X to Y\"?", n)
	}
}

// alone writes a file with one key, and with what keeps the checks
// between keys satisfied.
func alone(section, key, value string) string {
	if strings.Trim(value, "-0123456789") != "" {
		value = `"` + value + `"`
	}
	text := fmt.Sprintf("[%s]\n%s = %s\n", section, key, value)
	switch section + "." + key {
	case "plugin.rank":
		return "[[plugin]]\nname = \"p\"\nrank = " + value
	case "watch.quiet":
		return text + "max_wait = \"1m\"\n"
	case "watch.max_wait":
		return text + "quiet = \"1ms\"\n"
	case "snapshot.max_bytes":
		return text + "max_resource_bytes = 1\n"
	case "services.spool":
		return text + "spool_total = \"1024GiB\"\n"
	case "services.spool_total":
		return text + "spool = \"64KiB\"\n"
	case "mcp.tools":
		return text + "server_tools = 1\n"
	case "mcp.server_tools":
		return text + "tools = 10000\n"
	case "mcp.bytes":
		return text + "server_bytes = \"1KiB\"\n"
	case "mcp.server_bytes":
		return text + "bytes = \"32MiB\"\n"
	case "mcp.result_bytes":
		return text + "result_spool = \"16GiB\"\n"
	}
	return text
}

// outside returns the value next to an end of a range, in its own notation.
func outside(t *testing.T, end string, step int64) string {
	t.Helper()
	if b, err := config.ParseBytes(end); err == nil {
		return fmt.Sprint(int64(b) + step)
	}
	if step < 0 {
		return "1ns"
	}
	return "0h0m" + end + "1ns" // one nanosecond above
}

func TestBytes(t *testing.T) {
	good := map[string]config.Bytes{
		"0": 0, "7": 7, "7B": 7, "64KiB": 64 << 10, "2MiB": 2 << 20, "1GiB": 1 << 30, "9223372036854775807": 1<<63 - 1,
	}
	for text, want := range good {
		got, err := config.ParseBytes(text)
		if err != nil || got != want {
			t.Errorf("ParseBytes(%q) = %d, %v; want %d", text, got, err, want)
		}
		if again, err := config.ParseBytes(got.String()); err != nil || again != got {
			t.Errorf("%q is written as %q, which reads as %d, %v", text, got, again, err)
		}
	}
	for _, text := range []string{"", "KiB", "-1", "+1", "1.5MiB", "1 MiB", "1KB", "1M", "1kib", "1BKiB", "9223372036854775808", "9007199254740992KiB", "0x10", "1_0"} {
		if got, err := config.ParseBytes(text); err == nil {
			t.Errorf("ParseBytes(%q) = %d, want an error", text, got)
		}
	}
}
