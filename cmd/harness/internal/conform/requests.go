package conform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"waymark/abi"
	"waymark/host/sandbox"
	"waymark/host/vfs"
)

// probe is a request and how a module should take it.
type probe struct {
	name string
	text func(r request) string
	// wants is what should come of it.
	wants want
	hint  string
}

type want int

const (
	// same: what the host's own request gives.
	same want = iota
	// answered: any answer.
	answered
	// refused: an error, in the module's own words.
	refused
	// unbroken: an answer or an error; refusing would be better.
	unbroken
	// either: an answer or an error.
	either
	// wished: an answer, but no host of today asks like this.
	wished
)

// request is what the host would ask, as text to be changed.
type request struct {
	resolver, config string
	root             string // its base name
	file             string // when it is one
	role             abi.Role
}

func (r request) json() string { return r.limited(64<<10, 500) }

func (r request) limited(bytes int64, resources int) string {
	return fmt.Sprintf(`{"abi":1,"resolver":%s,"root":{"name":%s,"file":%s,"role":%s},"config":%s,"limits":{"max_resource_bytes":%d,"max_resources":%d}}`,
		quote(r.resolver), quote(r.root), quote(r.file), quote(string(r.role)), r.config, bytes, resources)
}

func quote(s string) string {
	text, _ := json.Marshal(s) // strings can be encoded
	return string(text)
}

// requests asks every resolver what a host doesn't ask, or doesn't ask yet.
func (c *checker) requests(ctx context.Context) error {
	for _, r := range c.resolvers() {
		base := c.base[r.Name]
		if !slices.Contains(c.alive(), r.Name) || base == nil || base.Err != nil {
			continue // it doesn't even answer what it should
		}
		c.checked[ruleRequest] = true
		root, err := vfs.OpenRoot(base.Root, vfs.RootOptions{})
		if err != nil {
			return err
		}
		ask := asker{c: c, ctx: ctx, root: root, filter: base.Filter, resolver: r}
		ask.all(request{resolver: r.Name, config: orEmpty(c.entry().Config[r.Name]), root: root.Name()})
		if err := errors.Join(ctx.Err(), root.Close()); err != nil {
			return err
		}
	}
	return nil
}

func orEmpty(config []byte) string {
	if len(config) == 0 {
		return "{}"
	}
	return string(config)
}

// asker puts questions to one resolver.
type asker struct {
	c        *checker
	ctx      context.Context //nolint:containedctx // of one phase
	root     *vfs.Root
	filter   *vfs.Filter
	resolver abi.Resolver
}

func (a *asker) ask(text string) (string, error) {
	_, limits := a.c.limits()
	run := a.root.Begin(a.filter, limits)
	defer func() { _ = run.Close() }()
	a.c.runs++
	res, err := a.c.module.ResolveJSON(a.ctx, a.resolver.Name, []byte(text), run)
	if err != nil {
		return "", err
	}
	return spell(res.Response)
}

// spell writes what a module has said, to be compared.
func spell(v any) (string, error) {
	text, err := json.Marshal(v)
	return string(text), err
}

func (a *asker) all(r request) {
	normal, err := a.ask(r.json())
	if err != nil {
		return // judged elsewhere
	}
	for _, p := range slices.Concat(soundRequests(), unsoundRequests(), configRequests(a.resolver.ReadsFromConfig)) {
		answer, err := a.ask(p.text(r))
		if a.ctx.Err() != nil {
			return
		}
		a.judge(&p, normal, answer, err)
	}
}

// judge compares what came with what was wanted.
func (a *asker) judge(p *probe, normal, answer string, err error) {
	f := Finding{Rule: ruleRequest, Severity: Fail, Resolver: a.resolver.Name, Hint: p.hint}
	if p.wants == wished {
		f.Severity = Warn
	}
	own := errors.Is(err, sandbox.ErrGuest)
	switch {
	case err != nil && !own:
		f.Detail = "a request " + p.name + " breaks it: " + errText(err)
		f.Hint = "check what you decode before you use it: " + p.hint
	case err != nil && (p.wants == same || p.wants == answered || p.wants == wished):
		f.Detail = "it refuses a request " + p.name + ": " + errText(err)
	case err == nil && p.wants == same && answer != normal:
		f.Detail = "it answers a request " + p.name + " differently: " + firstDifference(normal, answer)
	case err == nil && p.wants == refused:
		f.Detail = "it answers a request " + p.name
	case err == nil && p.wants == unbroken:
		f.Severity, f.Detail = Warn, "it answers a request "+p.name
	default:
		return
	}
	a.c.find(f)
}
