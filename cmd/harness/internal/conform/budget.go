package conform

import (
	"fmt"

	"waymark/abi"
	"waymark/host/resolve"
)

// headRoom is the part of a limit, in percent, above which a workspace that is
// somewhat larger than ours would make the run fail.
const headRoom = 75

// budget compares what a run used with its limits.
func (c *checker) budget(o *resolve.Outcome, f Finding) {
	f.Rule = ruleBudget
	if o.LogsDropped > 0 && !withheld(c, f.Resolver) {
		f.Severity, f.Detail = Fail, "it logs more than is kept"
		f.Hint = "log what helps to understand one run, not every step; at debug level if at all"
		c.find(f)
	}
	if o.Err != nil {
		return // going over a limit is a failure already
	}
	limits := c.module.Limits()
	_, files := c.limits()
	for _, used := range []struct {
		what        string
		used, limit int64
		hint        string
	}{
		{"memory", o.Memory, limits.Memory, "allocate less: read the heads of files, and don't keep what you have looked at"},
		{"time", int64(o.Duration), int64(limits.Time), "do less for each file; harness bench shows fuel, which doesn't depend on the machine"},
		{"opens", int64(o.Used.Opens), orDefault(int64(files.Opens), 4096), "open only what you need; stop at request.limits.max_resources"},
		{"read_bytes", o.Used.ReadBytes, orDefault(files.ReadBytes, 64<<20), "read only the heads of files"},
		{"entries", int64(o.Used.Entries), orDefault(int64(files.Entries), 100_000), "list only directories in which something can be"},
	} {
		if used.limit > 0 && used.used > used.limit/100*headRoom {
			f.Severity, f.Hint = Warn, used.hint
			f.Detail = fmt.Sprintf("it uses more than %d%% of the limit %s", headRoom, used.what)
			c.find(f)
		}
	}
}

func orDefault(n, def int64) int64 {
	if n <= 0 {
		return def
	}
	return n
}

// withheld reports whether the host drops a resolver's log lines whatever they
// are, because it reads files with tokens.
func withheld(c *checker, name string) bool {
	for _, r := range c.desc.Resolvers {
		if r.Name == name {
			return !foreign(abi.RoleMCP, r.Kinds)
		}
	}
	return true
}
