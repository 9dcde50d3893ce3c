// Package approval is the signed approval of an MCP server: what somebody with a
// private key writes, a hub keeps and delivers, and an agent verifies with the
// public keys that its machine's operator has named.
//
// A signed approval is JSON, an envelope:
//
//	{"v":1,"body":BASE64,"signature":BASE64,"key_id":"HEX"}
//
// The signature (Ed25519) is over the bytes "waymark-mcp-approval-v1", a zero byte
// and the body, so that nothing that was signed for another purpose can be taken
// for an approval. The body is an [Approval] as JSON.
//
// # Guarantees
//
//   - What [Verify] returns was signed by one of the keys, whole: there is one way to
//     write an approval, and a body that is written otherwise (with unknown fields, a
//     field twice, in other letters) is refused, also where its signature is good.
//   - An approval names a definition by its digest, and ends: at most [MaxLife] after
//     it was issued.
//
// Verify knows no clock and no agent: [Approval.At] and [Approval.For] say whether an
// approval counts now and here. What no signature can say is said elsewhere: that it
// was taken back, by the hub, which no longer delivers it.
//
// All functions are safe for concurrent use.
package approval
