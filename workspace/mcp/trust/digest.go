package trust

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"waymark/internal/text"
	"waymark/plugins/mcpconfig/servers"
	"waymark/workspace/mcp/entry"
)

const (
	// definitionVersion and localVersion are hashed first, so that a change of what is
	// covered changes all digests.
	definitionVersion = "waymark mcp definition 1"
	localVersion      = "waymark mcp local 1"
	// maxPartText limits the text of a part, maxText that of all parts, in bytes. Longer
	// text is cut and distinguished by a hash.
	maxPartText = 2 << 10
	maxText     = 256 << 10
	// maxParts limits the parts that are stored, because a configuration file may have
	// thousands of arguments.
	maxParts = 4096
)

// Digest computes the digests of an entry as it is now. env is the environment for the
// server; its PATH is used to find the program.
//
// # Errors
//
// The error matches ErrNoProgram, ErrFile or the context's. It names the program or file,
// whose path may contain expanded references: redact it with Expanded.Secrets.
func (s *Store) Digest(ctx context.Context, e *entry.Entry, x *entry.Expanded, env []string) (*Digests, error) {
	if e.Problem != "" {
		return nil, errors.New(e.Problem)
	}
	b := s.builder()
	b.syntax = e.Syntax
	b.define("name", e.Name) // lists, settings and widenings go by it: an approved docs must not return as github
	b.define("transport", e.Transport)
	b.shape(e)
	if e.Transport != servers.Stdio {
		b.address(e, x)
		b.digests.Pinned = PinnedEntry
		return b.done()
	}
	b.command(e, x)
	n, err := s.named(ctx, e, x, b.root)
	if err != nil {
		return nil, err
	}
	b.files(n)
	in := &search{root: b.root, cwd: x.Cwd, env: env}
	p, err := s.program(ctx, in, x.Command)
	if err != nil {
		return nil, err
	}
	b.program(p)
	b.digests.covered.looked = slices.Concat(n.looked, in.looked)
	b.digests.Pinned = pinned(x, n, p)
	return b.done()
}

// builder collects what the digests cover.
type builder struct {
	key        []byte
	root       string
	now        time.Time
	syntax     servers.Syntax
	definition hash.Hash
	local      hash.Hash
	digests    Digests
	names      map[string]bool // names of the parts
	shown      int             // bytes of text so far
}

func (s *Store) builder() *builder {
	b := &builder{key: s.opts.Key, root: s.opts.Root(), now: s.opts.Now(), definition: sha256.New(), local: hmac.New(sha256.New, s.opts.Key), names: map[string]bool{}}
	b.digests.covered = &covered{}
	field(b.definition, definitionVersion)
	field(b.local, localVersion)
	return b
}

func (b *builder) done() (*Digests, error) {
	if len(b.digests.Parts) > maxParts {
		return nil, fmt.Errorf("the entry has more than %d parts", maxParts)
	}
	b.digests.Definition = "sha256:" + hex.EncodeToString(b.definition.Sum(nil))
	b.digests.Local = "hmac:" + hex.EncodeToString(b.local.Sum(nil))
	return &b.digests, nil
}

// young reports whether a file has changed so recently that another change might not alter
// its times.
func (b *builder) young(id identity) bool { return b.now.Sub(time.Unix(0, id.Changed)) <= young }

// field hashes texts with their lengths, so that different lists of texts never have the
// same hash.
func field(h hash.Hash, texts ...string) {
	for _, s := range texts {
		fmt.Fprintf(h, "%d:%s,", len(s), s)
	}
}

// define adds a part to the definition. Its text may be shown.
func (b *builder) define(name, value string) {
	field(b.definition, name, b.portable(value))
	b.part(name, value)
}

// defineHidden adds a part whose text may not be shown to the definition.
func (b *builder) defineHidden(name, value string) {
	field(b.definition, name, b.portable(value))
	b.secret(name, value)
}

// credential adds a literal credential: to the definition that there is one, to the local
// digest its value.
func (b *builder) credential(name, prefix, value string) {
	field(b.definition, name, b.portable(prefix), "a literal credential")
	field(b.local, name, value)
	b.secret(name, prefix+"\x00"+value)
}

// here adds a value that is specific to this machine.
func (b *builder) here(name, value string) {
	field(b.local, name, b.portable(value))
	b.secret(name, value)
}

// part records a part whose text may be shown, secret one whose text may not.
func (b *builder) part(name, value string) {
	shown := text.Reveal(value)
	if b.shown += len(shown); len(shown) > maxPartText || b.shown > maxText {
		sum := sha256.Sum256([]byte(value))
		shown = text.Cut(shown, maxPartText/16) + " (" + hex.EncodeToString(sum[:8]) + ")"
	}
	b.add(Part{Name: name, Text: shown})
}

func (b *builder) secret(name, value string) {
	mac := hmac.New(sha256.New, b.key)
	field(mac, "part", name, value)
	b.add(Part{Name: name, Text: hex.EncodeToString(mac.Sum(nil)[:16]), Secret: true})
}

// add records a part under a unique name.
func (b *builder) add(p Part) {
	p.Name = text.Cut(text.Reveal(p.Name), maxPartText)
	for b.names[p.Name] {
		p.Name += "+"
	}
	b.names[p.Name] = true
	b.digests.Parts = append(b.digests.Parts, p)
}

// command adds the program and arguments of an entry.
func (b *builder) command(e *entry.Entry, x *entry.Expanded) {
	b.define("command", e.Command)
	b.expanded("command", e.Command, x.Command)
	field(b.definition, "args", fmt.Sprint(len(e.Args)))
	for i, c := range entry.Credentials(e.Args) {
		name := fmt.Sprintf("args[%d]", i)
		user, _ := entry.URLParts(e.Args[i])
		switch {
		case literal(user):
			b.credential(name, strings.Replace(e.Args[i], user+"@", "\x00@", 1), user)
		case literal(c.Value):
			b.credential(name, c.Prefix, c.Value)
		case c.Value != "" || strings.Contains(e.Args[i], "://") || entry.Token(e.Args[i]):
			b.defineHidden(name, e.Args[i])
		default:
			b.define(name, e.Args[i])
		}
		b.expanded(name, e.Args[i], x.Args[i])
	}
	b.define("cwd", e.Cwd)
	b.here("cwd here", x.Cwd)
	b.table("env", e.Env)
}

// shape adds what entries of other clients' files may have in addition to those of a
// .mcp.json. It adds nothing for the latter, so that their definitions stay the same.
func (b *builder) shape(e *entry.Entry) {
	if e.Syntax != servers.ShellSyntax {
		b.define("references", string(e.Syntax))
	}
	for i, name := range e.Inherit {
		b.define(fmt.Sprintf("inherit[%d]", i), name)
	}
	for _, name := range slices.Sorted(maps.Keys(e.HeaderVariables)) {
		b.define("header variables."+name, e.HeaderVariables[name])
	}
	if e.Limited {
		b.define("tools", strconv.Itoa(len(e.Tools)))
		b.tools("tools", e.Tools)
	}
	b.tools("tools left out", e.NoTools)
}

// tools adds a list whose order is irrelevant.
func (b *builder) tools(name string, list []string) {
	for i, tool := range slices.Sorted(slices.Values(list)) {
		b.define(fmt.Sprintf("%s[%d]", name, i), tool)
	}
}

// expanded adds what the references in a text stand for.
func (b *builder) expanded(name, value, expanded string) {
	if len(b.syntax.References(value)) > 0 || expanded != value {
		b.here(name+" here", expanded)
	}
}

// table adds variables or headers, without the values that they refer to, which may change
// at any time.
func (b *builder) table(kind string, values map[string]string) {
	field(b.definition, kind, fmt.Sprint(len(values)))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		name, value := kind+"."+key, values[key]
		user, _ := entry.URLParts(value)
		switch {
		case literal(user):
			b.credential(name, strings.Replace(value, user+"@", "\x00@", 1), user)
		case entry.Credential(key) && literal(value):
			b.credential(name, "", value)
		default:
			b.defineHidden(name, value)
		}
	}
}

// literal reports whether a text itself is a credential, possibly as a default, and doesn't
// only refer to one. What may be a path, a command or a setting with several words doesn't
// count, whatever its name: it belongs to the definition.
func literal(value string) bool {
	for _, scheme := range []string{"Bearer ", "Basic ", "Token ", "token "} {
		value = strings.TrimPrefix(value, scheme)
	}
	if refs := entry.References(value); len(refs) == 1 && value == "${"+refs[0].Name+":-"+refs[0].Default+"}" {
		value = refs[0].Default
	}
	return value != "" && !strings.ContainsAny(value, "/\\ \t\r\n;|&<>`\"'(){}$")
}

// address adds the URL of a server that is dialed.
func (b *builder) address(e *entry.Entry, x *entry.Expanded) {
	user, query := entry.URLParts(e.URL)
	rest := strings.TrimSuffix(e.URL, query)
	if literal(user) {
		b.credential("url user", "", user)
		rest = strings.Replace(rest, user+"@", "\x00@", 1)
	}
	shown, after, whole := strings.Cut(rest, "://")
	if whole {
		host, _, _ := strings.Cut(after, "/")
		shown += "://" + host[strings.LastIndexByte(host, '@')+1:]
	}
	b.define("url", shown)
	b.defineHidden("url path", rest)
	for i, pair := range strings.Split(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		part := fmt.Sprintf("url query[%d]", i)
		if entry.Credential(name) && literal(value) {
			b.credential(part, name+"=", value)
			continue
		}
		b.defineHidden(part, pair)
	}
	b.expanded("url", e.URL, x.URL)
	b.table("headers", e.Headers)
}

// files adds the files that an entry names.
func (b *builder) files(n *names) {
	for _, l := range n.links {
		b.define("link "+l.path, l.target)
		b.digests.covered.links = append(b.digests.covered.links, link{filepath.Join(b.root, l.path), l.target})
	}
	for _, f := range n.files {
		if f.other != "" {
			b.define("file "+f.path, f.other)
			continue
		}
		b.digests.covered.add(filepath.Join(b.root, f.path), f.id, b.young(f.id))
		if f.secret {
			field(b.definition, "file "+f.path, "a secret")
			b.here("file "+f.path, f.sum)
			b.digests.Files = append(b.digests.Files, File{Path: f.path})
			continue
		}
		b.define("file "+f.path, f.sum)
		b.digests.Files = append(b.digests.Files, File{Path: f.path, SHA256: f.sum})
	}
}

// program adds the program and its interpreters to the local digest. Those in the workspace
// are also added to the definition, because PATH may lead there.
func (b *builder) program(p *program) {
	b.digests.Program = p.path
	name := "program"
	for i := p; i != nil; i = i.interpreter {
		b.localPart(name, i.path, i.path)
		for _, l := range i.links {
			b.localPart(name+" link "+b.relative(l.path), l.target, l.path)
		}
		b.localPart(name+" content", i.sum, i.end)
		b.digests.covered.links = append(b.digests.covered.links, i.links...)
		b.digests.covered.add(i.end, i.id, b.young(i.id))
		name = "interpreter of " + b.relative(i.path)
	}
	b.digests.Files = append(b.digests.Files, File{Path: b.relative(p.end), SHA256: p.sum})
}

// localPart adds a value that is specific to this machine and not secret. If place is in
// the workspace, it is added to the definition, too.
func (b *builder) localPart(name, value, place string) {
	field(b.local, name, b.portable(value))
	if _, in := below(b.root, place); in {
		field(b.definition, name, b.portable(value))
	}
	b.part(name, value)
}

// relative makes a path in the workspace relative to it.
func (b *builder) relative(path string) string {
	if rel, ok := below(b.root, path); ok {
		return rel
	}
	return path
}

// below returns the path of a file in a directory, relative to that.
func below(root, path string) (rel string, ok bool) {
	if root == "" {
		return "", false
	}
	rel, err := filepath.Rel(root, path)
	return rel, err == nil && filepath.IsLocal(rel)
}

// portable makes the workspace's path in a text the same on every machine: it replaces it
// by a NUL, which no text contains.
func (b *builder) portable(value string) string {
	if len(b.root) < 2 {
		return value
	}
	var out strings.Builder
	for from := 0; ; {
		i := strings.Index(value[from:], b.root)
		if i < 0 {
			out.WriteString(value[from:])
			return out.String()
		}
		start, end := from+i, from+i+len(b.root)
		out.WriteString(value[from:start])
		before := start == 0 || strings.IndexByte(separators, value[start-1]) >= 0
		after := end == len(value) || value[end] == '/' || strings.IndexByte(separators, value[end]) >= 0
		if before && after {
			out.WriteString("\x00workspace")
		} else {
			out.WriteString(b.root)
		}
		from = end
	}
}

// separators separate words in an argument, in addition to spaces, including those of shell
// scripts.
const separators = " \t\r\n=:,;\"'`|&()<>{}[]@"
