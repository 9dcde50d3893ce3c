// Package chats tests what a chat server does, with the real programs: the hub, an agent,
// and examples/chat. Its benchmark compares tool calls through a hub with direct ones.
package chats
