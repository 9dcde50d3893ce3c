// Package openapitest compares the answers of an HTTP API with its OpenAPI
// document, in tests.
//
// Load reads a document made stricter than it is: consumers must take members
// that aren't documented, but there are none. Check is called with every answer
// that a test gets; Unseen and Undocumented tell afterwards what of the
// document no answer had, and what answers had that it doesn't name.
//
// A Checker may be used by tests that run at the same time.
package openapitest
