// Package schema holds the JSON Schemas (draft 2020-12) of the resolver ABI,
// version 1. ABI.md is normative; a schema is as much of it as schemas can
// say: sizes in bytes, for example, it can only bound from above.
//
// The texts are constants; unknown fields are allowed by all of them, since
// both sides ignore those.
package schema

import _ "embed"

//go:embed description.schema.json
var description string

//go:embed request.schema.json
var request string

//go:embed response.schema.json
var response string

// Description returns the schema of the answer to describe.
func Description() string { return description }

// Request returns the schema of the input of resolve.
func Request() string { return request }

// Response returns the schema of the answer to resolve.
func Response() string { return response }
