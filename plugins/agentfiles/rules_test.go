package agentfiles_test

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	guest "waymark/sdk-guest"
)

// TestSkillRules: docs/skill-rules.md says what is found.
func TestSkillRules(t *testing.T) {
	page, err := os.ReadFile("../../docs/skill-rules.md")
	if err != nil {
		t.Fatal(err)
	}
	repeated := func(cell string) string {
		cell = strings.Trim(cell, "`")
		if s, times, ok := strings.Cut(cell, "*"); ok {
			n, err := strconv.Atoi(times)
			if err != nil {
				t.Fatal(err)
			}
			return strings.Repeat(s, n)
		}
		return cell
	}
	rows := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 8 || !strings.Contains(line, "`") {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows++
		t.Run(cells[0], func(t *testing.T) {
			length, err := strconv.Atoi(cells[6])
			if err != nil {
				t.Fatal(err)
			}
			file, dir := repeated(cells[3]), "skills/"+repeated(cells[5])
			front := "---\nname: " + strconv.Quote(repeated(cells[4])) + "\ndescription: \"" + strings.Repeat("d", length) + "\"\n---\n"
			got := "no skill"
			for _, r := range resolve(t, guest.Root{Name: "w"}, `{}`, fstest.MapFS{dir + "/" + file: text(front)}).Resources {
				var codes []string
				for _, f := range r.Findings {
					codes = append(codes, f.Code)
				}
				slices.Sort(codes)
				if got = strings.Join(codes, ", "); got == "" {
					got = "-"
				}
			}
			if got != cells[7] {
				t.Errorf("found %q, the page says %q", got, cells[7])
			}
		})
	}
	if rows != 18 {
		t.Errorf("the page has %d rows", rows)
	}
}
