package approvals

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Module is a module that is to be used.
type Module struct {
	Name   string
	Path   string // of its file
	Digest string // of its file, SHA-256 in hexadecimal
	Reads  []Read
	// Grants are the entries of the secret list that the operator grants to a module of this
	// name.
	Grants []string
	// Pin is the digest that the configuration requires; empty accepts any.
	Pin string
}

// Verdict says whether a module may be used.
type Verdict struct {
	OK bool
	// Reason is why it must wait, for a person, in one line.
	Reason string
	// NewReads is what it reads beyond what was last allowed.
	NewReads []Read
}

// Pending is a module that waits for the operator.
type Pending struct {
	// Name is the module's own.
	Name string `json:"name"`
	// Version is the module's own.
	Version string `json:"version"`
	// Path is that of the file.
	Path string `json:"path"`
	// Digest is the SHA-256 of the file, in hexadecimal.
	Digest string `json:"digest"`
	// Reason is why it waits, in one line.
	Reason string `json:"reason"`
	// NewReads is what it reads beyond what was last allowed.
	NewReads []string `json:"new_reads"`
	// Reads is all that it reads.
	Reads []string `json:"reads"`
	// GrantSecrets are the entries of the secret list that the configuration grants to it.
	GrantSecrets []string `json:"grant_secrets"`
	// ServingVersion is the version that runs meanwhile; empty if none of the file does.
	ServingVersion string `json:"serving_version"`
	// ServingDigest is the digest of what runs meanwhile; empty if nothing of the file does.
	ServingDigest string `json:"serving_digest"`
}

// Judge says whether a module may be used. It may if
//
//   - the configuration pins its digest, or
//   - it isn't pinned to another digest, or Approve has overruled that, and
//   - it is what was used under this name before, or was approved, or
//   - neither its name nor its file is known, or
//   - it reads no more than what was used last under its name, or else from its file, and no
//     secrets are granted to that name.
func (s *Store) Judge(m *Module) Verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, approved := s.now.baseline(m), s.now.approved(m)
	v := Verdict{}
	if last != nil {
		v.NewReads = Grown(last.Reads, m.Reads)
	}
	switch pinned := m.Pin != "" && strings.EqualFold(m.Pin, m.Digest); {
	case pinned, approved:
		v.OK = true
	case m.Pin != "":
		v.Reason = "the file is not the one that the configuration pins"
	case last == nil && s.now.Closed:
		v.Reason = "what was approved before is not known, since " + s.now.Why
	case last == nil, last.Name == m.Name && last.Digest == m.Digest:
		v.OK = true
	case len(v.NewReads) > 0:
		v.Reason = "it reads more than before: " + list(v.NewReads)
	case len(m.Grants) > 0:
		v.Reason = fmt.Sprintf("the configuration grants secrets (%s) to the module that had this name before", strings.Join(m.Grants, ", "))
	default:
		v.OK = true
	}
	return v
}

// list names the first few.
func list(reads []Read) string {
	const most = 5
	var texts []string
	for _, r := range reads[:min(len(reads), most)] {
		texts = append(texts, r.String())
	}
	if more := len(reads) - most; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, ", ")
}

// baseline returns what a module is compared with: what was used last under its name, or else
// from its file, so that renaming it doesn't evade the comparison.
func (f *file) baseline(m *Module) *record {
	if r := f.find(m.Name); r != nil && r.Digest != "" {
		return r
	}
	for i := range f.Modules {
		if r := &f.Modules[i]; m.Path != "" && r.Path == m.Path && r.Digest != "" {
			return r
		}
	}
	return nil
}

func (f *file) approved(m *Module) bool {
	r := f.find(m.Name)
	return r != nil && slices.Contains(r.Approved, approval{m.Digest, strings.ToLower(m.Pin)})
}

func (f *file) find(name string) *record {
	i, ok := slices.BinarySearchFunc(f.Modules, name, func(r record, name string) int { return cmp.Compare(r.Name, name) })
	if !ok {
		return nil
	}
	return &f.Modules[i]
}

// at finds a record, or makes an empty one.
func (f *file) at(name string) *record {
	i, ok := slices.BinarySearchFunc(f.Modules, name, func(r record, name string) int { return cmp.Compare(r.Name, name) })
	if !ok {
		f.Modules = slices.Insert(f.Modules, i, record{Name: name})
	}
	return &f.Modules[i]
}
