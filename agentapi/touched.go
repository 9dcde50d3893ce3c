package agentapi

// Touched reports the absolute paths that a chat has worked on. The services call it after
// acting. It must return at once.
type Touched func(caller Caller, paths ...string)
