package reverse

import (
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"unicode"

	"waymark/internal/text"
)

const (
	// KindSkillFiles asks an agent for the manifests of skills that it has pushed: the paths,
	// sizes and digests of their files, without content. The body is a SkillFilesRequest, the
	// answer a SkillFiles, both as JSON.
	KindSkillFiles = "skills.files"
	// KindSkillFile asks for the content of such a file. The body is a waymark.ToolsCall
	// whose name is the id of the skill's resource, and whose arguments are a SkillFile as
	// JSON. The answer is a waymark.ToolsAnswer with the content. The request needs a
	// capability for the tool read_skill. If the content no longer has the requested digest,
	// the answer is CodeChanged.
	KindSkillFile = "skills.file"
)

// CodeChanged says that the content has changed since it was listed.
const CodeChanged uint64 = 9

const (
	// MaxSkillIDs bounds the skills of one request.
	MaxSkillIDs = 256
	// MaxSkillFiles bounds the files in the manifest of a skill: an agent reads more of them,
	// but a frame has no room for all.
	MaxSkillFiles = 200
	// maxSkillPath bounds a path, in bytes.
	maxSkillPath = 512
)

// SkillFilesRequest names skills by the ids of their resources.
type SkillFilesRequest struct {
	IDs []string `json:"ids"`
}

// SkillFiles holds the manifests of the first of the requested skills, as many as a frame has
// room for. The caller requests the rest again.
type SkillFiles struct {
	Skills []SkillManifest `json:"skills"`
}

// SkillManifest is the manifest of a skill. A skill that doesn't exist, isn't pushed or is
// too large has no files.
type SkillManifest struct {
	ID    string      `json:"id"`
	Files []SkillFile `json:"files,omitempty"`
}

// SkillFile is a file of a skill.
type SkillFile struct {
	// Path is relative to the skill's directory, with slashes.
	Path string `json:"path"`
	// Digest is of its content: "sha256:" and 64 hexadecimal digits.
	Digest string `json:"digest"`
	Size   int64  `json:"size,omitempty"` // in bytes
}

var digestForm = text.Lazy(`^sha256:[0-9a-f]{64}$`)

// Check reports whether it can be a file of a skill.
func (f *SkillFile) Check() error {
	hidden := strings.ContainsFunc(f.Path, func(r rune) bool { return !unicode.IsPrint(r) })
	if !fs.ValidPath(f.Path) || f.Path == "." || len(f.Path) > maxSkillPath || hidden || f.Size < 0 || !digestForm().MatchString(f.Digest) {
		return errors.New("this is no file of a skill")
	}
	return nil
}

// EncodeSkillFiles encodes as many manifests as a frame has room for, at least one: a single
// one that is too large loses its files.
func EncodeSkillFiles(list []SkillManifest) ([]byte, error) {
	var answer SkillFiles
	size := 0
	for _, one := range list {
		data, err := json.Marshal(one)
		if err == nil && (len(one.Files) > MaxSkillFiles || len(data) > MaxToHub-1024) {
			one.Files = nil
			data, err = json.Marshal(one)
		}
		if err != nil {
			return nil, err
		}
		if size += len(data) + 1; size > MaxToHub-1024 && len(answer.Skills) > 0 {
			break
		}
		answer.Skills = append(answer.Skills, one)
	}
	return json.Marshal(answer)
}

// DecodeSkillFiles decodes an untrusted agent's answer to a request for ids. A manifest with
// anything invalid in it loses all its files.
func DecodeSkillFiles(body []byte, ids []string) ([]SkillManifest, error) {
	var answer SkillFiles
	bad := errors.New("the answer is not what it should be")
	if json.Unmarshal(body, &answer) != nil || len(answer.Skills) > len(ids) {
		return nil, bad
	}
	for i := range answer.Skills {
		one := &answer.Skills[i]
		if one.ID != ids[i] || len(one.Files) > MaxSkillFiles {
			return nil, bad
		}
		seen := make(map[string]bool, len(one.Files))
		for j := range one.Files {
			f := &one.Files[j]
			if f.Check() != nil || seen[f.Path] {
				one.Files = nil
				break
			}
			seen[f.Path] = true
		}
	}
	return answer.Skills, nil
}
