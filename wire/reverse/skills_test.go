package reverse_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"waymark/wire/reverse"
)

// TestSkillFiles: as many manifests as there is room for get through, whole; what isn't one
// costs the manifest, and what isn't an answer all of it.
func TestSkillFiles(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a", 64)
	var list []reverse.SkillManifest
	var ids []string
	for i := range 30 {
		one := reverse.SkillManifest{ID: fmt.Sprint("skill:/w/", i)}
		for j := range 30 {
			one.Files = append(one.Files, reverse.SkillFile{Path: fmt.Sprintf("ref/%d.md", j), Digest: digest, Size: int64(j)})
		}
		list, ids = append(list, one), append(ids, one.ID)
	}
	body, err := reverse.EncodeSkillFiles(list)
	if err != nil || len(body) > reverse.MaxToHub-512 {
		t.Fatalf("%d bytes, %v", len(body), err)
	}
	got, err := reverse.DecodeSkillFiles(body, ids)
	if err != nil || len(got) == 0 || len(got) == len(list) || len(got[len(got)-1].Files) != 30 {
		t.Errorf("%d of them, %v", len(got), err)
	}
	large := reverse.SkillManifest{ID: "large", Files: make([]reverse.SkillFile, reverse.MaxSkillFiles+1)}
	if body, err = reverse.EncodeSkillFiles([]reverse.SkillManifest{large, list[0]}); err != nil {
		t.Fatal(err)
	}
	if got, err = reverse.DecodeSkillFiles(body, []string{"large", ids[0]}); err != nil || len(got) != 2 || len(got[0].Files) != 0 || len(got[1].Files) != 30 {
		t.Errorf("of a large one: %+v, %v", got, err)
	}
	for name, f := range map[string]reverse.SkillFile{
		"up": {Path: "../x", Digest: digest}, "absolute": {Path: "/x", Digest: digest}, "none": {Digest: digest}, "the directory": {Path: ".", Digest: digest},
		"hidden": {Path: "a\u202e", Digest: digest}, "long": {Path: strings.Repeat("x", 600), Digest: digest}, "negative": {Path: "x", Digest: digest, Size: -1},
		"digest": {Path: "x", Digest: "sha256:AA"}, "twice": {Path: "x", Digest: digest},
	} {
		body, err := json.Marshal(reverse.SkillFiles{Skills: []reverse.SkillManifest{{ID: "a", Files: []reverse.SkillFile{{Path: "x", Digest: digest}, f}}}})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := reverse.DecodeSkillFiles(body, []string{"a"}); err != nil || len(got) != 1 || len(got[0].Files) != 0 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for _, body := range []string{"{", `{"skills":[{"id":"b"}]}`, `{"skills":[{"id":"a"},{"id":"a"}]}`} {
		if _, err := reverse.DecodeSkillFiles([]byte(body), []string{"a"}); err == nil {
			t.Errorf("%s is taken", body)
		}
	}
}
