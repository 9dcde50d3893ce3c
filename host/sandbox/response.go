package sandbox

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"waymark/abi"
)

// maxRows is how many rows of one answer are kept, ten times what any peer
// takes. A row of three bytes takes a hundred times that in memory.
const maxRows = 10_000

// firstRows decodes a list of rows up to maxRows, and checks the form of the
// rest.
var firstRows = json.WithUnmarshalers(json.UnmarshalFromFunc(func(d *jsontext.Decoder, rows *[]abi.Resource) error {
	if d.PeekKind() != '[' {
		return errors.ErrUnsupported // for the error that the library gives
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	*rows = []abi.Resource{}
	for d.PeekKind() != ']' {
		if len(*rows) == maxRows {
			if err := d.SkipValue(); err != nil {
				return err
			}
			continue
		}
		var row abi.Resource
		if err := json.UnmarshalDecode(d, &row); err != nil {
			return err
		}
		*rows = append(*rows, row)
	}
	_, err := d.ReadToken()
	return err
}))

// decodeResponse decodes the answer to resolve. The library is strict about
// syntax, duplicate keys and UTF-8, and tolerant of unknown members, as ABI
// version 1 demands.
func decodeResponse(data []byte) (*abi.Response, error) {
	var r abi.Response
	if err := json.Unmarshal(data, &r, firstRows); err != nil {
		return nil, &RunError{Kind: ErrAnswer, Detail: oneLine(err.Error(), guestTextMax)}
	}
	return &r, nil
}
