package frontmatter_test

import (
	"encoding/json"
	"os"
	"testing"

	"waymark/sdk-guest/frontmatter"
)

// TestAnswers holds what a host answers to the ABI's vectors.
func TestAnswers(t *testing.T) {
	data, err := os.ReadFile("../../abi/testdata/v1/front-matter/answers.json")
	if err != nil {
		t.Fatal(err)
	}
	var answers []struct {
		Block   string
		Lenient bool
		Answer  json.RawMessage
	}
	if err := json.Unmarshal(data, &answers); err != nil || len(answers) < 5 {
		t.Fatalf("%d answers, %v", len(answers), err)
	}
	for _, a := range answers {
		if got := frontmatter.JSON([]byte(a.Block), frontmatter.Options{Lenient: a.Lenient}); string(got) != string(a.Answer) {
			t.Errorf("%q, lenient %t:\ngot  %s\nwant %s", a.Block, a.Lenient, got, a.Answer)
		}
	}
}
