// Package mcpserving has what the agent's and the hub's MCP servers share: how tools and
// resources of other servers are passed on to clients, and the messages of MCP's skills
// extension (SEP-2640), which the SDK lacks.
//
// Clients validate a list of tools as a whole, and so do the APIs of large models: because of
// one invalid schema a chat loses all tools of all servers. So [Mend] mends input schemas.
//
// # Guarantees
//
// The official SDKs and the APIs of large models accept every result of Mend: it is an object
// without a union at its top, by draft 2020-12 of JSON Schema. A schema that they accept
// already is returned byte for byte. A result may leave open what the server's schema
// narrows, but never describes other arguments; if that can't be ensured, there is no schema.
//
// # Concurrency
//
// Functions may be called from any goroutine.
package mcpserving
