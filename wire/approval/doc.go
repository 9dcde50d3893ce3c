// Package approval is the signed approval of an MCP server. The owner of a private key signs
// it, a hub stores and delivers it, and an agent verifies it with the public keys that its
// machine's operator has configured.
//
// A signed approval is JSON, an envelope:
//
//	{"v":1,"body":BASE64,"signature":BASE64,"key_id":"HEX"}
//
// The signature (Ed25519) is over the bytes "waymark-mcp-approval-v1", a zero byte and the
// body, so that no signature made for another purpose can pass as an approval. The body is an
// [Approval] as JSON.
//
// # Guarantees
//
//   - What [Verify] returns was signed as a whole by one of the keys. There is one way to
//     write an approval: a body in any other form (with unknown fields, duplicate fields, or
//     different case) is refused, even if its signature is valid.
//   - An approval names a definition by its digest, and ends: at most [MaxLife] after it was
//     issued.
//
// Verify checks neither time nor agent: [Approval.At] and [Approval.For] do. Revocation isn't
// part of a signature: the hub stops delivering a revoked approval.
//
// All functions are safe for concurrent use.
package approval
