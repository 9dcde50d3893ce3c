// Package openapitest compares an HTTP API's answers with its OpenAPI document, in tests.
//
// Load reads a document and makes it stricter: consumers must accept undocumented members,
// but there should be none. Check must be called with every answer in a test. Afterwards
// Unseen and Undocumented report parts of the document that no answer had, and parts of
// answers that the document lacks.
//
// A Checker may be used by concurrent tests.
package openapitest
