// Package places tries every one of the agent's own places in every way in which
// something that acts for a chat could reach it.
//
// The places are those that the running agent says it has (package host/places), so that
// one that is added is tried, too. Each is tried by processes under each profile, by the
// profile of MCP servers, by the files API, by git, and by resolvers, as a path, over a
// link and by a hard link, in a workspace beside the places and in one that holds them.
//
// It has tests only.
package places
