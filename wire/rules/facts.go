package rules

import (
	"fmt"
	"slices"

	"waymark/abi"
	"waymark/internal/text"
	"waymark/snapshot"
)

// checkFacts checks the lists of readers and findings.
func checkFacts(r *snapshot.Resource) error {
	switch {
	case len(r.Readers) > abi.MaxReaders:
		return fmt.Errorf("%d readers, at most %d are allowed", len(r.Readers), abi.MaxReaders)
	case len(r.Findings) > abi.MaxFindings:
		return fmt.Errorf("%d findings, at most %d are allowed", len(r.Findings), abi.MaxFindings)
	}
	for _, reader := range r.Readers {
		if err := checkLen("a reader", len(reader), abi.MaxWord); err != nil {
			return err
		}
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		if err := checkLen("the code of a finding", len(f.Code), abi.MaxWord); err != nil {
			return err
		}
		if err := checkLen("the severity of a finding", len(f.Severity), abi.MaxWord); err != nil {
			return err
		}
		if err := checkLen("the message of a finding", len(f.Message), abi.MaxMessage); err != nil {
			return err
		}
	}
	return nil
}

// mendFacts changes the resource until it passes checkFacts. It drops words that are too long,
// because half a word would be wrong, cuts messages, and keeps the first entries that fit.
func mendFacts(r *snapshot.Resource) bool {
	if checkFacts(r) == nil {
		return false
	}
	readers := slices.DeleteFunc(slices.Clone(r.Readers), func(reader string) bool { return len(reader) > abi.MaxWord })
	r.Readers = readers[:min(len(readers), abi.MaxReaders)]
	findings := slices.DeleteFunc(slices.Clone(r.Findings), func(f snapshot.Finding) bool {
		return len(f.Code) > abi.MaxWord || len(f.Severity) > abi.MaxWord
	})
	r.Findings = findings[:min(len(findings), abi.MaxFindings)]
	for i := range r.Findings {
		r.Findings[i].Message = text.Truncate(r.Findings[i].Message, abi.MaxMessage)
	}
	return true
}

// cleanFacts cleans the texts of readers and findings, in copies of the lists.
func cleanFacts(r *snapshot.Resource) (changed bool) {
	if slices.ContainsFunc(r.Readers, unclean) {
		changed, r.Readers = true, slices.Clone(r.Readers)
		for i := range r.Readers {
			Clean(&r.Readers[i])
		}
	}
	if slices.ContainsFunc(r.Findings, func(f snapshot.Finding) bool {
		return unclean(f.Code) || unclean(string(f.Severity)) || unclean(f.Message)
	}) {
		changed, r.Findings = true, slices.Clone(r.Findings)
		for i := range r.Findings {
			f := &r.Findings[i]
			Clean(&f.Code)
			Clean((*string)(&f.Severity))
			Clean(&f.Message)
		}
	}
	return changed
}

// unclean reports whether Clean would change s.
func unclean(s string) bool { return Clean(&s) }
