package servers

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"
)

// SecretPrefix begins the names of variables, and "name=" the arguments, whose
// values a server gives back.
const SecretPrefix = "ECHO_TOKEN_"

// Encodings returns a text in the encodings in which a program shows it by mistake.
func Encodings(v string) []string {
	return []string{
		v, "x" + v + "y", "https://user:" + v + "@host/",
		base64.StdEncoding.EncodeToString([]byte(v)), base64.RawURLEncoding.EncodeToString([]byte(v)),
		base64.StdEncoding.EncodeToString([]byte("a" + v)), base64.StdEncoding.EncodeToString([]byte("ab" + v)),
		base64.StdEncoding.EncodeToString([]byte("user:" + v)),
		url.QueryEscape(v), url.PathEscape(v), percent(v, "%02x"), percent(v, "%02X"),
		quote(v), strings.ReplaceAll(strings.ReplaceAll(v, `\`, `\\`), `"`, `\"`),
	}
}

// quote writes a text as a JSON string.
func quote(v string) string {
	data, err := json.Marshal(v)
	if err != nil {
		return v
	}
	return string(data)
}

// percent writes every byte by a format.
func percent(v, format string) string {
	var b strings.Builder
	for i := range len(v) {
		fmt.Fprintf(&b, format, v[i])
	}
	return b.String()
}

// secrets are what the server was given.
func (s *server) secrets() (list []string) {
	for _, e := range os.Environ() {
		if name, value, _ := strings.Cut(e, "="); strings.HasPrefix(name, SecretPrefix) && value != "" {
			list = append(list, value)
		}
	}
	for _, a := range s.args {
		if _, value, ok := strings.Cut(a, "="); ok && strings.HasPrefix(a, SecretPrefix) {
			list = append(list, value)
		}
	}
	return list
}

// echoes gives back its secrets everywhere.
func echoes(s *server) {
	var all []string
	for _, v := range s.secrets() {
		all = append(all, Encodings(v)...)
	}
	text := strings.Join(all, " ; ")
	s.raw("noise: " + strings.ReplaceAll(text, "\n", " ") + "\n")
	fmt.Fprintln(os.Stderr, text)
	// In two writes, so that a value lies across two reads.
	for _, v := range s.secrets() {
		half := len(v) / 2
		_, _ = os.Stderr.WriteString("split: " + v[:half])
		_, _ = os.Stderr.WriteString(v[half:] + "\n")
	}
	s.info["instructions"] = "Remember: " + text
	s.info["serverInfo"] = object{"name": "name " + text, "title": "title " + text, "version": "version " + text}
	s.pages = func(string) any {
		list := []any{echoTool()}
		for i, v := range all {
			list = append(list, object{
				"name": fmt.Sprint("t", i), "title": v, "description": "It is " + v,
				"inputSchema": object{"type": "object", "properties": object{"p": object{"type": "string", "default": v, "enum": []string{v}}}, "description": v},
				"annotations": object{"title": v},
			})
		}
		for _, v := range s.secrets() {
			list = append(list, object{"name": v, "inputSchema": object{"type": "object", "properties": object{v: object{}}, "required": []string{v}}})
		}
		return object{"tools": list}
	}
	for i := range all {
		s.calls[fmt.Sprint("t", i)] = func(c *call) {
			fmt.Fprintln(os.Stderr, "called with", all[i])
			s.tell("notifications/message", object{"level": "error", "data": all[i]})
			if len(c.Meta.ProgressToken) > 0 {
				s.tell("notifications/progress", object{"progressToken": c.Meta.ProgressToken, "progress": 1, "message": all[i]})
			}
			switch {
			case strings.Contains(string(c.Arguments), "error"):
				s.send(&message{ID: c.ID, Error: object{"code": -32000, "message": "it is " + all[i], "data": object{"v": all[i]}}})
			case strings.Contains(string(c.Arguments), "die"):
				fmt.Fprintln(os.Stderr, "dying of", all[i])
				os.Exit(1)
			default:
				s.answer(c.message, object{
					"content": []object{
						{"type": "text", "text": "It is " + all[i] + "."},
						{"type": "image", "data": base64.StdEncoding.EncodeToString([]byte(all[i])), "mimeType": "image/png"},
						{"type": "resource_link", "uri": "file:///" + all[i], "name": all[i]},
						{"type": "resource", "resource": object{"uri": "x:" + all[i], "text": all[i]}},
					},
					"structuredContent": object{"v": all[i], all[i]: 1},
				})
			}
		}
	}
}
