package agentfiles

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"

	"waymark/plugins/internal/yaml"
	"waymark/sdk-guest/frontmatter"
)

// findLines finds front matter that begins with the first byte, and ends where a line begins
// with ---.
func findLines(text []byte) (block, rest []byte, err error) {
	after, found := bytes.CutPrefix(text, []byte("---"))
	if found {
		after = bytes.TrimPrefix(after, []byte("\r"))
		after, found = bytes.CutPrefix(after, []byte("\n"))
	}
	if found {
		block, rest, found = bytes.Cut(after, []byte("\n---"))
	}
	if !found {
		return nil, text, errors.New("it has no front matter")
	}
	return []byte(string([]rune(strings.TrimSuffix(string(block), "\r")))), rest, nil
}

func unrepaired(block string) (string, bool) { return block, false }

// lineFields reads the name and the description of a skill from YAML or, if these aren't
// texts, from lines.
func lineFields(block string) (v frontmatter.Value, err error) {
	v, err = matterFields(block)
	name, description := v.Get("name"), v.Get("description")
	if err == nil && name.Kind == frontmatter.String && description.Kind == frontmatter.String {
		return v, nil
	}
	v = frontmatter.Value{Kind: frontmatter.Map}
	texts := map[string]string{}
	lines := strings.Split(strings.ReplaceAll(block, "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		key, value, found := strings.Cut(strings.TrimSpace(lines[i]), ":")
		value = strings.TrimSpace(value)
		switch {
		case !found || key != "name" && key != "description":
			continue
		case key == "description":
			for i+1 < len(lines) && strings.TrimLeft(lines[i+1], " \t") != lines[i+1] && strings.TrimSpace(lines[i+1]) != "" {
				i++
				value = strings.TrimSpace(value + " " + strings.TrimSpace(lines[i]))
			}
		}
		texts[key] = value
	}
	for _, key := range []string{"name", "description"} {
		text, found := texts[key]
		if !found {
			return v, errors.New("it has no " + key)
		}
		v.Map = append(v.Map, frontmatter.Member{Key: key, Value: frontmatter.Value{Kind: frontmatter.String, Text: text, Line: 1}})
	}
	return v, nil
}

// agentFields reads those of a subagent: no other than these, and of these types.
func agentFields(block string) (v frontmatter.Value, err error) {
	if v, err = matterFields(block); err != nil {
		return v, err
	}
	doc, err := loadNode(block)
	if err != nil {
		return v, err
	}
	for i := 0; i+1 < len(doc.Content); i += 2 {
		key, n := resolved(doc.Content[i]).Value, resolved(doc.Content[i+1])
		var right bool
		switch key {
		case "kind":
			right = n.Value == "local"
		case "name":
			right = n.Tag == yaml.TagStr && n.Value != "" && strings.Trim(n.Value, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
		case "description":
			right = n.Tag == yaml.TagStr && n.Value != ""
		case "display_name", "model":
			right = n.Kind == yaml.Scalar && n.Tag == yaml.TagStr
		case "temperature":
			_, err := strconv.ParseFloat(n.Value, 64)
			right = n.Tag == yaml.TagOther && err == nil
		case "max_turns", "timeout_mins":
			number, err := strconv.Atoi(n.Value)
			right = n.Tag == yaml.TagOther && err == nil && number > 0
		case "mcp_servers":
			right = n.Kind == yaml.Mapping
		case "tools":
			right = n.Kind == yaml.Sequence && !slices.ContainsFunc(n.Content, func(n *yaml.Node) bool { return !isTool(resolved(n).Value) })
		default:
			return v, errors.New("there is no field " + quote(key))
		}
		if !right {
			return v, errors.New("its " + key + " isn't one")
		}
	}
	for _, key := range []string{"name", "description"} {
		if v.Get(key).Line == 0 {
			return v, errors.New("it has no " + key)
		}
	}
	return v, nil
}

// isTool reports whether a subagent of Gemini CLI can have a tool of this name.
func isTool(name string) bool {
	server, tool, found := strings.Cut(strings.TrimPrefix(name, "mcp_"), "_")
	return name == "*" || strings.HasPrefix(name, "discovered_tool_") || strings.HasPrefix(name, "mcp_") && (server == "*" && tool == "" || found && server != "" && tool != "") ||
		strings.Contains(linesTools, " "+name+" ")
}

// linesTools are those of Gemini CLI 0.61.0.
const linesTools = " glob write_todos write_file google_web_search web_fetch replace run_shell_command grep_search search_file_content read_many_files read_file list_directory " +
	"activate_skill ask_user tracker_create_task tracker_update_task tracker_get_task tracker_list_tasks tracker_add_dependency tracker_visualize get_internal_docs " +
	"enter_plan_mode exit_plan_mode update_topic complete_task invoke_agent read_mcp_resource list_mcp_resources "
