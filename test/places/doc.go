// Package places tests access to each of the agent's own places in every way that is open
// to a chat's actions.
//
// The running agent reports the places (package host/places), so new ones are tested, too.
// They are accessed by processes under each profile, by the profile of MCP servers, by the
// files API, by git, and by resolvers; as a path, through a link and through a hard link;
// in a workspace next to the places and in one that contains them.
//
// It has only tests.
package places
