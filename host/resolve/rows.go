package resolve

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"waymark/abi"
	"waymark/host/vfs"
	"waymark/snapshot"
)

// rowReader turns the rows of one answer into candidates.
type rowReader struct {
	resolver  *Resolver
	by        string // "module/resolver@version"
	root      Root
	run       *vfs.Run
	maxInline int64
	maxRows   int
	home      string // the user's, or empty
	warnings  []string
	warned    bool // set even if the warning itself wasn't kept
}

// dropError says why a row can't be used.
type dropError struct {
	reason string // the host's own words
	value  string // the guest's, or empty
	hint   string // the host's again, appended; or empty
}

func (e *dropError) Error() string { return e.reason + e.value + e.hint }

// own returns the part that may be repeated for any resolver.
func (e *dropError) own() string { return e.reason + e.hint }

// dropped makes an error of the host's own words.
func dropped(format string, args ...any) error {
	return &dropError{reason: fmt.Sprintf(format, args...)}
}

// droppedFor makes an error that repeats a word of the guest.
func droppedFor(reason, value string) error {
	return &dropError{reason: reason, value: shown(value)}
}

// shown formats a word of the guest for an error.
func shown(value string) string { return fmt.Sprintf(": %q", printable(value, maxShown)) }

// read converts an answer with total rows. For rows beyond maxRows it looks up only their
// places. They become excluded candidates, so that unlisted finds are counted by what they
// are, however often they were found. plain says that each row became a candidate without a
// warning.
func (r *rowReader) read(resp *abi.Response, total int) (candidates []snapshot.Candidate, plain bool) {
	for _, w := range resp.Warnings {
		r.warn(w)
	}
	r.warned = false
	rows := resp.Resources
	if r.resolver.DropIn && r.run.SawSettings() {
		rows = r.redact(rows)
		total -= len(resp.Resources) - len(rows)
	}
	warned := r.warned
	if total > r.maxRows {
		r.warn(fmt.Sprintf("%d resources in one answer; the first %d are kept", total, r.maxRows))
	}
	r.warned = warned
	candidates = make([]snapshot.Candidate, 0, len(rows))
	for i := range rows {
		row := rows[i]
		if i >= r.maxRows {
			row.Content = nil
		}
		res, err := r.resource(&row)
		if err != nil {
			r.warn(r.whyDropped(i, &rows[i], err))
			continue
		}
		if i >= r.maxRows {
			res.Status, res.Error = snapshot.StatusExcluded, fmt.Sprintf("there are more than %d resources in one answer", r.maxRows)
		}
		candidates = append(candidates, snapshot.Candidate{
			Resource: *res, Path: filepath.Join(r.root.FS.Path(), rows[i].Path),
			Rank: r.resolver.Rank, DropIn: r.resolver.DropIn, Directory: r.resolver.childOf(&rows[i]),
		})
	}
	return candidates, !r.warned
}

// whyDropped returns the warning for a dropped row. For a resolver that reads MCP
// configurations it repeats none of its words, which could hold tokens.
func (r *rowReader) whyDropped(i int, row *abi.Resource, err error) string {
	var d *dropError
	if errors.As(err, &d) && withholds(r.resolver) {
		return fmt.Sprintf("dropped resource %d: %s", i+1, d.own())
	}
	return fmt.Sprintf("dropped %q: %s", printable(row.Path, 100), err)
}

// ofPlugin keeps, of the attributes of an MCP configuration, the plugin that brings it, if
// that is a plain name. Anything else could be a token.
func ofPlugin(given map[string]abi.Value) snapshot.Attributes {
	name := given["plugin"].Text
	if name == "" || len(name) > 64 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") != "" {
		return nil
	}
	return attributes(map[string]abi.Value{"plugin": abi.String(name)})
}

// misplaced keeps, of the findings on an MCP configuration, that its servers are below the
// key of another client. The host says so in its own words.
func misplaced(given []abi.Finding) []snapshot.Finding {
	if !slices.ContainsFunc(given, func(f abi.Finding) bool { return f.Code == abi.FindingMisplaced }) {
		return nil
	}
	return []snapshot.Finding{{
		Code: abi.FindingMisplaced, Severity: abi.SeverityWarning,
		Message: "its servers are below a key that its client doesn't read, so that the client finds none: the keys are mcpServers, and servers in .vscode/mcp.json",
	}}
}

// resource checks one row and makes a resource of it. An error means that the row is dropped.
func (r *rowReader) resource(row *abi.Resource) (*snapshot.Resource, error) {
	if err := r.checkRow(row); err != nil {
		return nil, err
	}
	source, lost, err := r.source(row.Path)
	if err != nil {
		return nil, err
	}
	res := &snapshot.Resource{
		Kind: row.Kind, Source: source, SourcePath: r.root.SourcePath,
		Status:   snapshot.StatusOK,
		Resolver: r.by,
	}
	if row.Status == abi.StatusInvalid {
		res.Status, res.Error = snapshot.StatusInvalid, orDefault(clean(row.Error), "the resolver gives no reason")
	}
	if row.Kind == abi.KindMCPConfig {
		if res.Status == snapshot.StatusInvalid { // never in the resolver's words: they could hold tokens
			res.Error = "the resolver calls it invalid"
		}
		if !r.resolver.DropIn {
			res.Readers, res.Attributes, res.Findings = readers(row.Readers), ofPlugin(row.Attributes), misplaced(row.Findings)
		}
	} else {
		res.Key, res.Name, res.Description = clean(row.Key), clean(row.Name), clean(row.Description)
		res.Attributes = attributes(row.Attributes)
		res.Readers = readers(row.Readers)
		res.Findings = r.findings(row)
	}
	res.Convention = row.Convention
	if child := r.resolver.childOf(row); child != "" {
		res.PutBelow(child, r.resolver.ChildrenAlways && slices.Contains(r.resolver.Children, child))
	}
	if err := r.content(row, res); err != nil {
		return nil, err
	}
	if digest, ok := res.Attributes[attributeDigest]; ok && digest.Text == "" && res.Kind == abi.KindHook { // see redact
		if delete(res.Attributes, attributeDigest); len(res.ContentHash) > 0 {
			res.Attributes[attributeDigest] = snapshot.Attribute{Text: res.ContentHash.String()}
		}
	}
	if lost != nil && (row.Content == nil || row.Content.Inline != nil) {
		unreachable(lost, res)
	}
	if res.Status == snapshot.StatusOK || res.Status == snapshot.StatusOversize {
		r.imports(row, res)
	}
	return res, nil
}

// errNoContent is the error of a row whose content doesn't exist.
var errNoContent = dropped("its content names a file that doesn't exist")

// checkRow refuses what the ABI forbids in a row.
func (r *rowReader) checkRow(row *abi.Resource) error {
	switch {
	case !slices.Contains(r.resolver.Info.Kinds, row.Kind):
		return r.undeclared(row.Kind)
	case !cleanPath(row.Path):
		return dropped("its path is not a clean path relative to the root")
	case row.Status != "" && row.Status != abi.StatusOK && row.Status != abi.StatusInvalid:
		return droppedFor("its status is not for a resolver to give", row.Status)
	case len(row.Name) > abi.MaxName:
		return dropped("its name is longer than %d bytes", abi.MaxName)
	case len(row.Description) > abi.MaxDescription:
		return dropped("its description is longer than %d bytes", abi.MaxDescription)
	case len(row.Error) > abi.MaxError:
		return dropped("its error is longer than %d bytes", abi.MaxError)
	case len(row.Key) > abi.MaxName:
		return dropped("its key is longer than %d bytes", abi.MaxName)
	case attributesSize(row.Attributes) > abi.MaxAttributes:
		return dropped("its attributes have more than %d bytes", abi.MaxAttributes)
	}
	if err := checkWords(row); err != nil {
		return err
	}
	if c := row.Content; c != nil {
		switch {
		case c.Withheld && c.File == "":
			return dropped("its content is withheld and names no file")
		case (c.File == "") == (c.Inline == nil):
			return dropped("its content has neither or both of file and inline")
		case c.File != "" && !cleanPath(c.File):
			return dropped("its content names a path that is not clean and relative to the root")
		}
	}
	return nil
}

// undeclared returns the error for a row whose kind the resolver doesn't declare, with the
// kinds that it does.
func (r *rowReader) undeclared(kind abi.Kind) error {
	declared := make([]string, len(r.resolver.Info.Kinds))
	for i, k := range r.resolver.Info.Kinds {
		declared[i] = string(k)
	}
	return &dropError{
		reason: "its kind is not declared", value: shown(string(kind)),
		hint: "; declared are " + strings.Join(declared, ", "),
	}
}

// warn keeps a warning, unless there are too many. The sandbox has already dropped those of
// resolvers that read MCP configurations.
func (r *rowReader) warn(warning string) {
	const most = 100
	r.warned = true
	switch {
	case len(r.warnings) < most:
		r.warnings = append(r.warnings, printable(warning, maxShown))
	case len(r.warnings) == most:
		r.warnings = append(r.warnings, "more warnings are not shown")
	}
}

func attributes(in map[string]abi.Value) snapshot.Attributes {
	if len(in) == 0 {
		return nil
	}
	out := make(snapshot.Attributes, len(in))
	for k, v := range in {
		v.Text = clean(v.Text)
		if v.List != nil {
			v.List = slices.Clone(v.List)
			for i, s := range v.List {
				v.List[i] = clean(s)
			}
		}
		out[clean(k)] = snapshot.Attribute(v)
	}
	return out
}

// attributesSize returns the larger of the number of bytes and of values, because a list of
// empty strings has no bytes.
func attributesSize(in map[string]abi.Value) int {
	bytes, values := 0, 0
	for k, v := range in {
		bytes += len(k) + v.Size()
		values += 1 + len(v.List)
	}
	return max(bytes, values)
}

// clean removes NUL, which databases refuse.
func clean(s string) string { return strings.ReplaceAll(s, "\x00", "") }

func orDefault(s, def string) string {
	if s == "" {
		return def
	}
	return s
}
