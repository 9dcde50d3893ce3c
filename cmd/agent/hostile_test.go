package main

import (
	"bytes"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"waymark/test/hostile"
	"waymark/test/testenv"
)

// TestHostileModules puts modules of the hostile corpus into an agent that runs,
// a dozen at a time: it answers its API all the while, finds what the built-in
// resolvers find, takes what is edited, and ends when it is told to.
func TestHostileModules(t *testing.T) {
	b := build(t)
	b.warm(t)
	var modules []hostile.Case
	for _, c := range hostile.Cases() {
		switch c.Class {
		case hostile.ClassTime, hostile.ClassCalls, hostile.ClassStack, hostile.ClassMemory:
			if c.Module != nil {
				modules = append(modules, c)
			}
		}
	}
	rng := testenv.Rand(t)
	for round := range testenv.Rounds(1, 3, 100) {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			h := newStopHome(t, &b, b.cache)
			h.env = append(h.env, envTimeout+"=1s") // modules get the time that they are given
			var names []string
			var config strings.Builder                      // short limits, which the built-in resolvers don't have
			config.WriteString("[limits]\ntime = \"1s\"\n") // for describe, by which a module tells its name
			for i := range 12 {
				c := modules[rng.IntN(len(modules))]
				// The corpus's modules all have one name, and the first in order gets it.
				module := bytes.ReplaceAll(c.Module(), []byte(`"hostile"`), fmt.Appendf(nil, `"hostil%c"`, 'a'+i))
				h.put(fmt.Sprintf("plugins/%02d.wasm", i), string(module))
				fmt.Fprintf(&config, "[[plugin]]\nname = \"hostil%c\"\nlimits = { time = \"200ms\" }\n", 'a'+i)
				names = append(names, c.Name)
			}
			t.Logf("modules: %s", strings.Join(names, ", "))
			p := h.start("run", "--root", "ws", "--plugins", h.dir+"/plugins", "--config", h.put("hostile.toml", config.String()))
			late := 0 // answers in a row
			answers := func(args ...string) string {
				<-time.After(100 * time.Millisecond) // asking all the time would be an attack of its own
				begun := time.Now()
				out, err := h.command(args...).CombinedOutput()
				if took := time.Since(begun); took <= 10*time.Second {
					late = 0
				} else if late++; late >= 3 { // once or twice it is the machine that stands still
					t.Errorf("%q takes %s", args, took)
				}
				if err != nil {
					return ""
				}
				return string(out)
			}
			p.Until("it has found something", func() bool { return strings.Contains(answers("snapshot"), "AGENTS.md") })
			p.Until("every module has been looked at", func() bool {
				out := answers("plugins")
				return strings.Count(out, "hostil") >= 12 || !strings.Contains(out, "compiling") && strings.Count(out, ".wasm") >= 12
			})
			for edit := range 3 {
				h.put("ws/AGENTS.md", fmt.Sprintf("# Edit %d\n", edit))
				p.Until("it shows the edit", func() bool { return strings.Contains(answers("snapshot", "--json"), fmt.Sprintf("Edit %d", edit)) })
				p.Until("it tells its state", func() bool { return strings.Contains(answers("status"), "snapshot") })
			}
			p.Ends(syscall.SIGTERM)
		})
	}
}
