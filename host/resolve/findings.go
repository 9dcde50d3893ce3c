package resolve

import (
	"cmp"
	"fmt"
	"slices"

	"waymark/abi"
	"waymark/internal/text"
	"waymark/snapshot"
)

// checkWords refuses list entries of a row that the ABI forbids.
func checkWords(row *abi.Resource) error {
	switch {
	case row.Convention != "" && !abi.IsWord(row.Convention):
		return droppedFor("its convention is not lower-case words joined by hyphens", row.Convention)
	case len(row.Readers) > abi.MaxReaders:
		return dropped("it has more than %d readers", abi.MaxReaders)
	}
	for _, id := range row.Readers {
		if !abi.IsWord(id) {
			return droppedFor("a reader is not lower-case words joined by hyphens", id)
		}
	}
	for i := range row.Findings {
		switch f := &row.Findings[i]; {
		case !abi.IsWord(f.Code):
			return droppedFor("the code of a finding is not lower-case words joined by hyphens", f.Code)
		case len(f.Message) > abi.MaxMessage:
			return dropped("the message of a finding is longer than %d bytes", abi.MaxMessage)
		}
	}
	return nil
}

// readers returns the ids of a row without duplicates, in byte order.
func readers(ids []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(ids)))
}

// findings returns those of a row, the most severe first. If there are too many it drops the
// least severe, because a resource is worth more than its findings.
func (r *rowReader) findings(row *abi.Resource) []snapshot.Finding {
	if len(row.Findings) == 0 {
		return nil
	}
	list := make([]snapshot.Finding, len(row.Findings))
	for i, f := range row.Findings {
		if weight(f.Severity) == 0 {
			f.Severity = abi.SeverityWarning // of a later version
		}
		list[i] = snapshot.Finding{Code: f.Code, Severity: f.Severity, Message: text.Line(f.Message, abi.MaxMessage)}
	}
	slices.SortStableFunc(list, bySeverity)
	if len(list) > abi.MaxFindings {
		r.warn(fmt.Sprintf("%s: it has %d findings; the first %d are kept", printable(row.Path, 100), len(list), abi.MaxFindings))
		list = slices.Clip(list[:abi.MaxFindings])
	}
	return list
}

// addFinding adds one of the host's findings by its severity, and drops the last one if there
// are too many.
func addFinding(list []snapshot.Finding, f snapshot.Finding) []snapshot.Finding {
	list = append(slices.Clone(list[:min(len(list), abi.MaxFindings-1)]), f)
	slices.SortStableFunc(list, bySeverity)
	return list
}

func bySeverity(x, y snapshot.Finding) int {
	return cmp.Compare(weight(y.Severity), weight(x.Severity))
}

// weight orders severities; 0 means unknown.
func weight(s abi.Severity) int {
	return 1 + slices.Index([]abi.Severity{abi.SeverityInfo, abi.SeverityWarning, abi.SeverityError}, s)
}
