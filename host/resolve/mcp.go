package resolve

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"waymark/plugins/mcpconfig/servers"
)

// explainMCP says why a file that its resolver calls invalid isn't a valid MCP
// configuration, in words that hold no value of the file: such files hold
// tokens. It names at most a server. The place says in which shape the file is.
func explainMCP(place string, data []byte) string {
	if shape := servers.ShapeOf(place); shape != servers.Claude {
		if problem := servers.Check(shape, data); problem != "" {
			return printable(problem, maxShown)
		}
		return "not a valid MCP configuration"
	}
	if bytes.HasPrefix(data, []byte("\xEF\xBB\xBF")) {
		return "not valid JSON: it starts with a byte order mark"
	}
	dec := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	reason, err := walkMCP(dec)
	if err == nil {
		err = checkEnd(dec)
	}
	if err != nil {
		var syntax *jsontext.SyntacticError
		if errors.As(err, &syntax) {
			line := 1 + bytes.Count(data[:min(syntax.ByteOffset, int64(len(data)))], []byte("\n"))
			return fmt.Sprintf("not valid JSON: see line %d", line)
		}
		return "not valid JSON: it ends too early"
	}
	if reason == "" {
		return "not a valid MCP configuration"
	}
	return reason
}

// checkEnd fails when anything but space follows.
func checkEnd(dec *jsontext.Decoder) error {
	_, err := dec.ReadToken()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		return &jsontext.SyntacticError{ByteOffset: dec.InputOffset()}
	}
	return err
}

func walkMCP(dec *jsontext.Decoder) (reason string, err error) {
	if dec.PeekKind() != '{' {
		if err := dec.SkipValue(); err != nil {
			return "", err
		}
		return "not a JSON object", nil
	}
	if _, err := dec.ReadToken(); err != nil {
		return "", err
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return "", err
		}
		if name.String() != "mcpServers" {
			if err := dec.SkipValue(); err != nil {
				return "", err
			}
			continue
		}
		r, err := walkServers(dec)
		if err != nil {
			return "", err
		}
		if reason == "" {
			reason = r
		}
	}
	_, err = dec.ReadToken()
	return reason, err
}

func walkServers(dec *jsontext.Decoder) (reason string, err error) {
	switch dec.PeekKind() {
	case '{':
	case 'n': // null stands for missing servers
		return "", dec.SkipValue()
	default:
		return "mcpServers is not an object", dec.SkipValue()
	}
	if _, err := dec.ReadToken(); err != nil {
		return "", err
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return "", err
		}
		server := name.String() // before the decoder moves on
		if dec.PeekKind() != '{' && reason == "" {
			reason = fmt.Sprintf("server %q is not an object", printable(server, maxShown))
		}
		if err := dec.SkipValue(); err != nil {
			return "", err
		}
	}
	_, err = dec.ReadToken()
	return reason, err
}
