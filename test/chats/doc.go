// Package chats tests what a chat server does, with the real programs: the hub, an agent,
// and examples/chat. Its benchmark compares tool calls through a hub with direct ones.
//
// Another test accesses each of the agent's own places in every way that is open to a chat's
// actions. The running agent reports the places (package host/places), so new ones are
// tested, too. They are accessed by processes under each profile, by the profile of MCP
// servers, by the files API, by git, and by resolvers; as a path, through a link and through
// a hard link; in a workspace next to the places and in one that contains them.
package chats
