package sandbox

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"waymark/abi"
	"waymark/host/vfs"
	"waymark/internal/errtext"
	"waymark/internal/text"
)

// decodeDescription decodes and checks the answer to describe.
func decodeDescription(data []byte) (*abi.Description, error) {
	var d abi.Description
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, reject("see abi/ABI.md, \"describe\"", "describe answers something that is not a Description: %s", text.Line(errtext.Of(err), guestTextMax))
	}
	if d.ABI != abi.Version {
		return nil, reject("rebuild it with the SDK of this version, or update the agent",
			"it speaks ABI version %d, this host speaks version %d", d.ABI, abi.Version)
	}
	if !abi.IsWord(d.Name) {
		return nil, reject("use lower-case letters, digits and hyphens, at most 64", "module name %q is not valid", text.Line(d.Name, 80))
	}
	if d.Version == "" || len(d.Version) > 64 || text.Line(d.Version, 64) != d.Version {
		return nil, reject("give it one, for example 1.0.0", "module version %q is not valid", text.Line(d.Version, 80))
	}
	if len(d.Resolvers) == 0 || len(d.Resolvers) > maxResolvers {
		return nil, reject(fmt.Sprintf("describe 1 to %d", maxResolvers), "it describes %d resolvers", len(d.Resolvers))
	}
	seen := map[string]bool{}
	var patterns vfs.Allowance // of the whole module
	for i, r := range d.Resolvers {
		if err := checkResolver(r); err != nil {
			return nil, err
		}
		if len(r.Summary) > maxSummary {
			d.Resolvers[i].Summary = text.Line(r.Summary, maxSummary)
		}
		if seen[r.Name] {
			return nil, reject("rename one", "it describes two resolvers named %q", r.Name)
		}
		seen[r.Name] = true
		if err := patterns.Take("reads", r.Reads); err != nil {
			return nil, reject("the bounds are for all resolvers of a module together, see abi/ABI.md", "resolver %q: %s", r.Name, err)
		}
	}
	return &d, nil
}

const (
	// maxResolvers bounds a module, because every resolver runs once for every root.
	maxResolvers = 32
	// maxConfigKey and maxSummary are lengths in bytes. A summary is one line; longer ones
	// are cut.
	maxConfigKey = 1024
	maxSummary   = 1024
	// maxReads bounds the patterns that every path is matched against.
	maxReads = 256
)

var knownKinds = []abi.Kind{
	abi.KindInstructionFile, abi.KindSkill, abi.KindMCPConfig,
	abi.KindPlugin, abi.KindHook, abi.KindSubagent, abi.KindCommand,
}

func checkResolver(r abi.Resolver) error {
	if !abi.IsWord(r.Name) {
		return reject("use lower-case letters, digits and hyphens, at most 64", "resolver name %q is not valid", text.Line(r.Name, 80))
	}
	if len(r.Kinds) == 0 {
		return reject("list what it may emit", "resolver %q declares no kinds", r.Name)
	}
	if len(r.Kinds) > 4*len(knownKinds) { // every row is compared with them
		return reject("list each once", "resolver %q declares %d kinds", r.Name, len(r.Kinds))
	}
	for _, k := range r.Kinds {
		if k == abi.KindMCPServer {
			return reject("declare mcp_config; servers come from the host alone", "resolver %q declares mcp_server", r.Name)
		}
		if !slices.Contains(knownKinds, k) {
			return reject("see abi/ABI.md, \"Kinds\"", "resolver %q declares the unknown kind %q", r.Name, text.Line(string(k), 80))
		}
	}
	if len(r.Reads) > maxReads || len(r.ReadsFromConfig) > maxReads {
		return reject(fmt.Sprintf("at most %d are allowed", maxReads), "resolver %q has too many reads", r.Name)
	}
	if len(r.Ignores) > maxReads {
		return reject(fmt.Sprintf("at most %d are allowed", maxReads), "resolver %q ignores too many fields", r.Name)
	}
	for _, key := range r.ReadsFromConfig {
		if len(key) > maxConfigKey {
			return reject(fmt.Sprintf("use a key of at most %d bytes", maxConfigKey), "resolver %q has the key %q in reads_from_config", r.Name, text.Line(key, 80))
		}
	}
	for _, pattern := range r.Reads {
		if !validPattern(pattern) {
			return reject("patterns are relative to the root, like .cursor/rules/**", "resolver %q has the invalid pattern %q in reads", r.Name, text.Line(pattern, 120))
		}
	}
	return nil
}

func validPattern(p string) bool {
	return p != "" && len(p) <= 1024 && !path.IsAbs(p) && !strings.ContainsAny(p, "\x00\\") &&
		!slices.Contains(strings.Split(p, "/"), "..") && doublestar.ValidatePattern(p)
}

// maxRows is how many rows of one answer are kept, twenty times what any peer takes. A row of
// three bytes takes a hundred times that in memory.
const maxRows = 20_000

// rowCounter decodes a list of rows up to maxRows, and counts them all.
type rowCounter struct{ rows int }

// decode checks the form of rows that it doesn't keep, too.
func (c *rowCounter) decode(d *jsontext.Decoder, rows *[]abi.Resource) error {
	if d.PeekKind() != '[' {
		return errors.ErrUnsupported // makes the library report its own error
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	*rows = []abi.Resource{}
	for ; d.PeekKind() != ']'; c.rows++ {
		if c.rows >= maxRows {
			if err := d.SkipValue(); err != nil {
				return err
			}
			continue
		}
		var row abi.Resource
		if err := json.UnmarshalDecode(d, &row); err != nil {
			return err
		}
		*rows = append(*rows, row)
	}
	_, err := d.ReadToken()
	return err
}

// decodeResponse decodes the answer to resolve. The library is strict about syntax, duplicate
// keys and UTF-8, and tolerant of unknown members, as ABI version 1 demands. The number
// counts all rows, including those that aren't kept.
func decodeResponse(data []byte) (*abi.Response, int, error) {
	var r abi.Response
	var c rowCounter
	if err := json.Unmarshal(data, &r, json.WithUnmarshalers(json.UnmarshalFromFunc(c.decode))); err != nil {
		return nil, 0, &RunError{Kind: ErrAnswer, Detail: text.Line(errtext.Of(err), guestTextMax)}
	}
	return &r, c.rows, nil
}
