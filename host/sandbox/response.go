package sandbox

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"waymark/abi"
)

// maxRows is how many rows of one answer are kept, twenty times what any peer
// takes. A row of three bytes takes a hundred times that in memory.
const maxRows = 20_000

// rowCounter decodes a list of rows up to maxRows, and counts them all.
type rowCounter struct{ rows int }

// decode checks the form of what isn't kept, too.
func (c *rowCounter) decode(d *jsontext.Decoder, rows *[]abi.Resource) error {
	if d.PeekKind() != '[' {
		return errors.ErrUnsupported // for the error that the library gives
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	*rows = []abi.Resource{}
	for ; d.PeekKind() != ']'; c.rows++ {
		if c.rows >= maxRows {
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
}

// decodeResponse decodes the answer to resolve. The library is strict about
// syntax, duplicate keys and UTF-8, and tolerant of unknown members, as ABI
// version 1 demands. The number is that of all rows, also those that are not
// kept.
func decodeResponse(data []byte) (*abi.Response, int, error) {
	var r abi.Response
	var c rowCounter
	if err := json.Unmarshal(data, &r, json.WithUnmarshalers(json.UnmarshalFromFunc(c.decode))); err != nil {
		return nil, 0, &RunError{Kind: ErrAnswer, Detail: oneLine(err.Error(), guestTextMax)}
	}
	return &r, c.rows, nil
}
