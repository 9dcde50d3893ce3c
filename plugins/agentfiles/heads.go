package agentfiles

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"waymark/abi"
	"waymark/plugins/conventions"
	"waymark/plugins/internal/places"
	"waymark/plugins/internal/yaml"
	guest "waymark/sdk-guest"
	"waymark/sdk-guest/frontmatter"
)

// readHead reads the front matter of a file as one specific program does. text is the head of
// the file.
func (f *finder) readHead(file string, text []byte, c *conventions.Convention) (h head, block, rest []byte, err error) {
	limit := places.ReadLimit(f.req)
	read := readSerde
	switch f.heads {
	case conventions.HeadsMatter:
		read = readMatter
	case conventions.HeadsClaude:
		read = readClaude
	case conventions.HeadsLines:
		if read = readLines; !isSkillFile(c) {
			read.fields = agentFields
		}
	case conventions.HeadsYAML:
		read = readYAML
	case conventions.HeadsCopilot:
		if read = readCopilot; c.Kind == abi.KindInstructionFile {
			read.find = findRule
		}
	case conventions.HeadsContinue:
		read = readContinue
	case conventions.HeadsCline:
		if read = readCline; c.Kind == abi.KindSubagent && !isSkillFile(c) {
			read = readClineAgent
		}
	case conventions.HeadsQwen:
		read = qwenReader(c)
	}
	if len(text) == fieldsSize && limit > len(text) {
		if text, err = guest.ReadHead(f.root, file, limit+1); err != nil {
			return h, nil, nil, nil //nolint:nilerr // gone or changed since: the host will see
		}
	}
	if block, rest, err = read.find(text); err != nil {
		return h, block, rest, err
	}
	if len(block) > frontmatter.MaxSize {
		return h, block, rest, errors.New("front matter is longer than 64 KiB")
	}
	h.size = len(text) - len(rest)
	h.cost = len(block)
	if int(f.yaml) < h.cost {
		return h, block, rest, errYAMLBudget
	}
	h.fields, err = read.fields(string(block))
	if repaired, changed := read.repair(string(block)); err != nil && changed {
		h.cost *= 2
		if fields, again := read.fields(repaired); again == nil {
			h.fields, err = fields, nil
		}
	}
	return h, block, rest, err
}

// headReader is one way to read front matter.
type headReader struct {
	find   func(text []byte) (block, rest []byte, err error)
	fields func(block string) (frontmatter.Value, error)
	// repair turns text that isn't YAML into YAML.
	repair func(block string) (repaired string, changed bool)
}

var (
	readSerde  = headReader{findSerde, serdeFields, quoteValues}
	readMatter = headReader{findMatter, matterFields, blockValues}
	readClaude = headReader{findClaude, claudeFields, quoteSigns}
	readLines  = headReader{findLines, lineFields, unrepaired}
	readYAML   = headReader{findYAML, yamlFields, unrepaired}

	readCopilot    = headReader{findCopilot, copilotFields, unrepaired}
	readContinue   = headReader{findContinue, coreFields, unrepaired}
	readCline      = headReader{findCline, coreFields, unrepaired}
	readClineAgent = headReader{findClineAgent, coreFields, unrepaired}
)

var errNotUTF8 = errors.New("front matter is not UTF-8")

// findSerde finds front matter between lines that are just ---.
func findSerde(text []byte) (block, rest []byte, err error) {
	if bytes.HasPrefix(text, []byte("\ufeff")) {
		return nil, text, frontmatter.ErrNone
	}
	block, rest, err = frontmatter.Find(text, true)
	switch {
	case err != nil:
		return nil, text, err
	case len(block) == 0:
		return nil, text, frontmatter.ErrNone
	case !utf8.Valid(block):
		return nil, text, errNotUTF8
	}
	return block, rest, nil
}

// serdeFields accepts any scalar as a text in the fields that have to be one.
func serdeFields(block string) (v frontmatter.Value, err error) {
	doc, err := loadNode(block)
	if err != nil {
		return v, err
	}
	v.Kind = frontmatter.Map
	for i := 0; i+1 < len(doc.Content); i += 2 {
		key, n := resolved(doc.Content[i]), resolved(doc.Content[i+1])
		if key.Kind != yaml.Scalar {
			return v, errors.New("a key of the front matter is no text")
		}
		known := key.Value == "name" || key.Value == "description" || key.Value == "metadata"
		if known && v.Get(key.Value).Line > 0 {
			return v, errors.New("key " + quote(key.Value) + " stands twice")
		}
		field := valueOf("", n)
		switch key.Value {
		case "name", "description":
			if field, err = serdeText(n); err != nil {
				return v, errors.New(key.Value + " is not a text")
			}
		case "metadata":
			if err := serdeMetadata(n); err != nil {
				return v, err
			}
		}
		v.Map = append(v.Map, frontmatter.Member{Key: key.Value, Value: field})
	}
	return v, nil
}

var errNoText = errors.New("not a text")

func serdeText(n *yaml.Node) (v frontmatter.Value, err error) {
	switch {
	case n.Kind != yaml.Scalar:
		return v, errNoText
	case n.Tag == yaml.TagNull:
		return frontmatter.Value{Kind: frontmatter.Null, Line: 1}, nil
	}
	return frontmatter.Value{Kind: frontmatter.String, Text: n.Value, Line: 1}, nil
}

func serdeMetadata(n *yaml.Node) error {
	switch {
	case n.Kind == yaml.Scalar && n.Tag == yaml.TagNull && n.Value == "":
		return nil
	case n.Kind != yaml.Mapping:
		return errors.New("metadata is not a map")
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := resolved(n.Content[i])
		if key.Kind == yaml.Scalar && key.Value == "short-description" {
			if _, err := serdeText(resolved(n.Content[i+1])); err != nil {
				return errors.New("metadata.short-description is not a text")
			}
		}
	}
	return nil
}

// resolved returns what a node stands for.
func resolved(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.Alias {
		return n.Target
	}
	return n
}

// loadNode reads a block as a map.
func loadNode(block string) (n *yaml.Node, err error) {
	// A library that panics on one file must not cost all the others.
	defer func() {
		if recover() != nil {
			n, err = nil, errors.New("front matter is not valid YAML")
		}
	}()
	if n, err = yaml.Load([]byte(block), maxDepth); err != nil {
		return nil, yamlError(err)
	}
	if n.Kind != yaml.Mapping {
		return nil, errors.New("front matter is not a mapping of keys to values")
	}
	return n, nil
}

// quoteValues quotes values that contain a colon and a blank, or begin like a list or a map
// without being one.
func quoteValues(block string) (repaired string, changed bool) {
	lines := strings.Split(strings.TrimSuffix(block, "\n"), "\n")
	inBlock := -1 // the indentation of the key of a block of text
	for i, line := range lines {
		line = strings.TrimSuffix(line, "\r")
		lines[i] = line
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if inBlock >= 0 && (strings.TrimSpace(line) == "" || indent > inBlock) {
			continue
		}
		inBlock = -1
		key, value, found := strings.Cut(line, ":")
		text := strings.TrimLeftFunc(value, unicode.IsSpace)
		if !found || strings.TrimSpace(key) == "" || value != "" && len(text) == len(value) {
			continue
		}
		blanks := value[:len(value)-len(text)]
		scalar := strings.TrimRightFunc(text[:commentAt(text)], unicode.IsSpace)
		if scalar == "" || strings.ContainsRune(`'"`, rune(scalar[0])) {
			continue
		}
		if scalar[0] == '|' || scalar[0] == '>' {
			inBlock = indent
			continue
		}
		if !colonAndBlank(scalar) && (!strings.ContainsRune("[{@`", rune(scalar[0])) || isYAML(scalar)) {
			continue
		}
		lines[i] = key + ":" + blanks + "'" + strings.ReplaceAll(scalar, "'", "''") + "'" + text[len(scalar):]
		changed = true
	}
	return strings.Join(lines, "\n"), changed
}

// commentAt returns where a comment begins in a line, or the line's length.
func commentAt(text string) int {
	before := ' '
	for i, r := range text {
		if r == '#' && unicode.IsSpace(before) {
			return i
		}
		before = r
	}
	return len(text)
}

func colonAndBlank(text string) bool {
	for i, r := range text {
		if r != ':' {
			continue
		}
		if next, _ := utf8.DecodeRuneInString(text[i+1:]); unicode.IsSpace(next) {
			return true
		}
	}
	return false
}

func isYAML(text string) (is bool) {
	defer func() {
		if recover() != nil {
			is = false
		}
	}()
	_, err := yaml.Load([]byte(text), maxDepth)
	return err == nil
}

// findMatter finds front matter that begins with the first byte, and ends where a line begins
// with ---, or with the text.
func findMatter(text []byte) (block, rest []byte, err error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	after, found := bytes.CutPrefix(text, []byte("---"))
	if !found || bytes.HasPrefix(after, []byte("-")) {
		return nil, text, frontmatter.ErrNone
	}
	line, block, _ := bytes.Cut(after, []byte("\n"))
	if language := strings.TrimSpace(string(line)); language != "" && language != "yaml" && language != "yml" && language != "json" {
		return nil, text, errors.New("front matter is not YAML: it says to be " + quote(language))
	}
	if rest, found = bytes.CutPrefix(block, []byte("---")); found {
		return nil, rest, nil
	}
	block, rest, _ = bytes.Cut(block, []byte("\n---"))
	return []byte(string([]rune(string(block)))), rest, nil // what isn't UTF-8 becomes U+FFFD
}

// jsBreaks are characters that are line ends in only one of two readers of YAML, and
// jsStandIns their temporary replacements. (A strings.Replacer is more code than everything
// that is done here.)
var jsBreaks, jsStandIns = []rune("\u0085\u2028\u2029"), []rune("\ue0f0\ue0f1\ue0f2")

// exchange replaces characters by others. The text is UTF-8.
func exchange(text string, these, others []rune) string {
	return strings.Map(func(r rune) rune {
		if i := slices.Index(these, r); i >= 0 {
			return others[i]
		}
		return r
	}, text)
}

// jsTags are the known tags.
var jsTags = []string{"", yaml.TagNull, yaml.TagStr, yaml.TagOther, "!!map", "!!seq", "!!bool", "!!int", "!!float", "!!timestamp", "!!merge", "!!binary", "!!omap", "!!pairs", "!!set"}

// matterFields accepts only texts.
func matterFields(block string) (v frontmatter.Value, err error) {
	v.Kind = frontmatter.Map
	if !hasContent([]byte(block)) {
		return v, nil
	}
	// There, a tab at the beginning of a line is a blank, and no indentation.
	lines := strings.Split(exchange(block, jsBreaks, jsStandIns), "\n")
	for i := range lines {
		lines[i] = strings.TrimLeft(lines[i], "\t")
	}
	doc, err := loadNode(strings.Join(lines, "\n"))
	if err == nil {
		err = jsKnown(doc)
	}
	if err != nil {
		return v, err
	}
	if v.Map, err = members(doc.Content); err != nil {
		return v, err
	}
	texts := map[string]*yaml.Node{}
	for i := 0; i+1 < len(doc.Content); i += 2 {
		texts[resolved(doc.Content[i]).Value] = resolved(doc.Content[i+1])
	}
	for i := range v.Map {
		m := &v.Map[i]
		if m.Value.Kind != frontmatter.String {
			continue
		}
		if n := texts[m.Key]; n.Tag != yaml.TagStr || n.Plain && isBase60(n.Value) {
			m.Value.Kind = frontmatter.Other
		}
		m.Value.Text = exchange(m.Value.Text, jsStandIns, jsBreaks)
	}
	return v, nil
}

// jsKnown returns an error if a tag isn't known.
func jsKnown(n *yaml.Node) error {
	if !slices.Contains(jsTags, n.Tag) {
		return errors.New("front matter is not valid YAML: there is no tag " + quote(n.Tag))
	}
	for _, in := range n.Content {
		if err := jsKnown(in); err != nil {
			return err
		}
	}
	return nil
}

// isBase60 reports whether a text is a number to the library, such as 1:30.
func isBase60(text string) bool {
	parts := strings.Split(strings.TrimLeft(text, "+-"), ":")
	for i, part := range parts {
		if part == "" || strings.Trim(part, "0123456789_.") != "" || i > 0 && len(part) > 2 {
			return false
		}
	}
	return len(parts) > 1
}

// blockValues turns values that contain a colon into blocks.
func blockValues(block string) (repaired string, changed bool) {
	lines := strings.Split(strings.TrimSuffix(block, "\n"), "\n")
	for i, line := range lines {
		line = strings.TrimSuffix(line, "\r")
		lines[i] = line
		key, value, found := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if !found || !isWord(strings.TrimRight(key, " \t")) || !strings.Contains(value, ":") || strings.ContainsAny(value, "\u2028\u2029") ||
			value[0] == '"' || value[0] == '\'' {
			continue
		}
		lines[i], changed = strings.TrimRight(key, " \t")+": |-\n  "+value, true
	}
	return strings.Join(lines, "\n"), changed
}

// isWord reports whether a text is a key that is considered: letters, digits and _.
func isWord(text string) bool {
	for i := range len(text) {
		c := text[i]
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return text != ""
}
