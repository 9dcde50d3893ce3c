// Package mcpconformance runs the conformance suite of the Model Context Protocol, with
// package session as client and package mcpserver as server.
package mcpconformance
