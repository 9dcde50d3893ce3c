package tools

import (
	"cmp"
	"net/http"
	"path"
	"slices"
	"unicode/utf8"

	"waymark/agentapi/client"
	"waymark/internal/text"
	"waymark/snapshot"
)

const (
	// skillFile is the file that makes a directory a skill.
	skillFile = "SKILL.md"
	// maxSkillText limits the shown text of a skill's file, in bytes.
	maxSkillText = 48 << 10
	// maxSkillList limits a list of skills, in bytes.
	maxSkillList = 32 << 10
	// maxSkillFiles limits the listed files of a skill.
	maxSkillFiles = 100
)

// listedSkill is a skill in a list.
type listedSkill struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// readSkill shows a skill's text with the names of its files, one of these files, or a list
// of all skills.
func (c *call) readSkill() (any, error) {
	in, err := decode[struct {
		Name string `json:"name"`
		File string `json:"file"`
	}](c)
	if err != nil {
		return nil, err
	}
	skills, err := c.skills()
	switch {
	case err != nil:
		return nil, err
	case in.Name == "" && in.File != "":
		return nil, wrong("read_skill needs name, the skill that has the file")
	case in.Name == "":
		return listSkills(skills), nil
	}
	var names []string
	for _, r := range skills {
		if r.Name == in.Name {
			return c.showSkill(r, cmp.Or(in.File, skillFile))
		}
		names = append(names, r.Name)
	}
	hint := "read_skill without a name lists all"
	if near := text.Nearest(in.Name, names); near != "" {
		hint = "did you mean " + near + "?"
	}
	return nil, wrong("there is no skill %.100q: %s", in.Name, hint)
}

// skills returns the readable skills in order of precedence.
func (c *call) skills() ([]*snapshot.Resource, error) {
	snap, err := c.client.Snapshot(c, client.SnapshotOptions{})
	if err != nil {
		return nil, err
	}
	var list []*snapshot.Resource
	for i := range snap.Resources {
		r := &snap.Resources[i]
		if r.Kind == "skill" && r.Key == "" && r.Name != "" && (r.Status == snapshot.StatusOK || r.Status == snapshot.StatusExcluded || r.Status == snapshot.StatusOversize) {
			list = append(list, r)
		}
	}
	slices.SortStableFunc(list, func(a, b *snapshot.Resource) int { return cmp.Compare(a.Order, b.Order) })
	return list, nil
}

func listSkills(skills []*snapshot.Resource) any {
	answer := struct {
		Skills  []listedSkill `json:"skills"`
		Omitted int           `json:"omitted,omitempty"`
	}{Skills: []listedSkill{}}
	left := maxSkillList
	for _, r := range skills {
		s := listedSkill{r.Name, cut(r.Description, 300)}
		if left -= len(s.Name) + len(s.Description) + 40; left < 0 {
			answer.Omitted++
			continue
		}
		answer.Skills = append(answer.Skills, s)
	}
	return answer
}

func (c *call) showSkill(r *snapshot.Resource, file string) (any, error) {
	answer := struct {
		Skill string `json:"skill"`
		File  string `json:"file"`
		// Directory has the skill's files, for commands that run them.
		Directory string   `json:"directory"`
		Note      string   `json:"note"`
		Text      string   `json:"text"`
		Files     []string `json:"files,omitempty"`
		Omitted   int      `json:"omitted_files,omitempty"`
	}{Skill: r.Name, File: file, Directory: r.Source, Note: "text is what stands in this file of the workspace, by whoever wrote it"}
	body, err := c.client.SkillFile(c, r.ID(), path.Clean(file))
	if client.CodeOf(err) == http.StatusNotFound && file == skillFile { // it has another name on disk
		body, err = c.client.Resource(c, r.ID())
	}
	switch {
	case err != nil:
		return nil, err
	case !utf8.Valid(body):
		return nil, wrong("%s is no text: its path is %s", file, path.Join(r.Source, file))
	}
	if answer.Text = string(body); len(body) > maxSkillText {
		answer.Text = cutLines(answer.Text, maxSkillText)
		answer.Note += "; it is cut: read_file shows the rest of " + path.Join(r.Source, file)
	}
	if file != skillFile {
		return answer, nil
	}
	files, err := c.client.SkillFiles(c, r.ID())
	if err != nil {
		return answer, nil //nolint:nilerr // the text is what matters, and an older agent has no list
	}
	answer.Omitted = files.Omitted
	for i := range files.Files {
		switch {
		case files.Files[i].Path == skillFile:
		case len(answer.Files) == maxSkillFiles:
			answer.Omitted++
		default:
			answer.Files = append(answer.Files, files.Files[i].Path)
		}
	}
	return answer, nil
}
