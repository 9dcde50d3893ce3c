// Package mcpconformance runs the conformance suite of the Model Context Protocol with
// package session as the client, and with package mcpserver as the server.
package mcpconformance
