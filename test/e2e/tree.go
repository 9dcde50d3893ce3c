package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// SkillBytes is the size of a skill in the trees that most figures are taken of.
const SkillBytes = 8 << 10

// containers are where skills are looked for.
var containers = []string{"skills", ".agents/skills", ".claude/skills", ".codex/skills"}

// SkillTree makes a workspace with n skills of so many bytes, spread over the four
// containers, an AGENTS.md and a .mcp.json.
func SkillTree(dir string, n, bytes int) error {
	files := map[string]string{
		"AGENTS.md": "# Agents\n" + strings.Repeat("More text.\n", 100),
		".mcp.json": `{"mcpServers":{"a":{"command":"b"}}}`,
	}
	for i := range n {
		files[SkillFile(i)] = SkillText(i, bytes, "")
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// SkillFile is the path of a skill's file in its workspace.
func SkillFile(i int) string {
	return containers[i%len(containers)] + "/" + skillName(i) + "/SKILL.md"
}

// SkillText is a skill's text of at most so many bytes, with a last line.
func SkillText(i, bytes int, last string) string {
	head := "---\nname: " + skillName(i) + "\ndescription: What skill number " + fmt.Sprint(i) + " is good for\n---\n"
	const line = "Some text.\n"
	return head + strings.Repeat(line, (bytes-len(head)-len(last))/len(line)) + last
}

func skillName(i int) string { return fmt.Sprintf("skill-%03d", i) }
