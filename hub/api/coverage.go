package api

import (
	"slices"

	"waymark/internal/text"
)

// The limits of a Coverage.
const (
	maxGroups = 8
	// maxFiles bounds the files of one group; further ones are counted.
	maxFiles   = 200
	maxReaders = 32
	// maxWords cuts texts for people, and names, in bytes: eight groups without files always
	// fit.
	maxWords = 300
)

// Coverage is which files lie where agents look and aren't used. It has the fields of GET
// /api/v0/context/coverage of an agent's API, and how much is missing.
type Coverage struct {
	// Groups are one for each reason that has files.
	Groups []CoverageGroup `json:"groups" maxItems:"8"`
	// Partial says that the agent hasn't looked at everything.
	Partial bool `json:"partial"`
}

// CoverageGroup is the files of one reason.
type CoverageGroup struct {
	// Reason is why they aren't used: `switched_off`, `no_resolver`, `no_kind`, `misnamed`, or a word of
	// a newer agent.
	Reason string `json:"reason"`
	// Text says it for a person, with the number of all files.
	Text string `json:"text"`
	// Files are in order of their paths.
	Files []CoverageFile `json:"files" maxItems:"200"`
	// Withheld is how many more files are kept from the hub because it is on another machine.
	Withheld int `json:"withheld" minimum:"0"`
	// LeftOff is how many more files the answer has no room for.
	LeftOff int `json:"left_off" minimum:"0"`
}

// CoverageFile is one file that isn't used.
type CoverageFile struct {
	// Path is absolute; it may lead through links.
	Path string `json:"path"`
	// As is what agents call such files; may be empty.
	As string `json:"as"`
	// Readers are the ids of the agents that read it.
	Readers []string `json:"readers"`
}

// EncodeCoverage encodes a Coverage as Encode does an answer. What has no room is missing at
// the end of the groups, and counted.
func EncodeCoverage(c Coverage) ([]byte, error) {
	all := c.Groups[:min(len(c.Groups), maxGroups)]
	for limit := maxFiles; ; limit = limit * 3 / 4 {
		c.Groups = make([]CoverageGroup, 0, len(all))
		for _, g := range all {
			told := g.Files[:min(len(g.Files), limit)]
			g.LeftOff = len(g.Files) - len(told)
			g.Reason, g.Text = text.Cut(g.Reason, maxWords), text.Cut(g.Text, maxWords)
			g.Files = make([]CoverageFile, 0, len(told))
			for _, f := range told {
				f.Path, f.As = text.Cut(f.Path, maxText), text.Cut(f.As, maxWords)
				f.Readers = slices.Clone(f.Readers[:min(len(f.Readers), maxReaders)])
				for i := range f.Readers {
					f.Readers[i] = text.Cut(f.Readers[i], maxWords)
				}
				g.Files = append(g.Files, f)
			}
			c.Groups = append(c.Groups, g)
		}
		if body, fits, err := pack(c); err != nil || fits || limit == 0 {
			return body, err
		}
	}
}

// DecodeCoverage decodes a Coverage. The error is ErrFormat.
func DecodeCoverage(body []byte) (*Coverage, error) {
	c := new(Coverage)
	if unpack(body, c) != nil || len(c.Groups) > maxGroups {
		return nil, ErrFormat
	}
	if c.Groups == nil {
		c.Groups = []CoverageGroup{}
	}
	for i := range c.Groups {
		g := &c.Groups[i]
		if len(g.Files) > maxFiles {
			return nil, ErrFormat
		}
		if g.Files == nil {
			g.Files = []CoverageFile{}
		}
		for j := range g.Files {
			if len(g.Files[j].Readers) > maxReaders {
				return nil, ErrFormat
			}
			if g.Files[j].Readers == nil {
				g.Files[j].Readers = []string{}
			}
		}
	}
	return c, nil
}
