package agentapi

// Touched is told which paths a chat has worked on, absolute ones: by the services
// when they have acted. It returns at once.
type Touched func(caller Caller, paths ...string)
