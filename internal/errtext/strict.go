package errtext

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ofStrictJSON rephrases errors of the JSON package that reads bodies of requests and answers
// of guests.
func ofStrictJSON(err error) (text string, known bool) {
	switch err := err.(type) { //nolint:errorlint // as in phrase
	case *jsontext.SyntacticError:
		text := fmt.Sprintf("%s at byte %d", withoutPackage(Of(err.Err)), err.ByteOffset)
		if err.Err == jsontext.ErrDuplicateName { //nolint:errorlint // that is what it is
			return fmt.Sprintf("%s is there twice", pointed(err.JSONPointer)), true
		}
		return text, true
	case *json.SemanticError:
		switch {
		case errors.Is(err.Err, json.ErrUnknownName):
			return fmt.Sprintf("unknown key %q", err.JSONPointer.LastToken()), true
		case errors.Is(err.Err, strconv.ErrRange):
			return pointed(err.JSONPointer) + " is out of range", true
		case errors.Is(err.Err, strconv.ErrSyntax) && err.JSONKind == jsontext.KindNumber: // one with a fraction, or a sign
			return fmt.Sprintf("%s must be %s", pointed(err.JSONPointer), wanted(err.GoType)), true
		case err.Err != nil:
			return pointed(err.JSONPointer) + ": " + Of(err.Err), true
		}
		return fmt.Sprintf("%s must be %s, not %s", pointed(err.JSONPointer), wanted(err.GoType), kinds[err.JSONKind.String()]), true
	}
	return "", false
}

// pointed names a place in JSON.
func pointed(at jsontext.Pointer) string {
	return member(strings.ReplaceAll(strings.TrimPrefix(string(at), "/"), "/", "."))
}
