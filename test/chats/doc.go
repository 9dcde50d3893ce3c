// Package chats walks what a chat server does, with the programs as they are built: the
// hub, an agent, and examples/chat. Its benchmark compares calls of tools through
// a hub with calls without one.
package chats
