package snapshot

import "waymark/abi"

// ClientItem is one thing that a client sees or leaves out.
type ClientItem struct {
	// ID is that of the resource.
	ID string `json:"id"`
	// Kind is that of the resource.
	Kind abi.Kind `json:"kind"`
	// Convention is the id of the row of the table of conventions by which it was found.
	Convention string `json:"convention"`
	// Path is that of the file as it was found, absolute.
	Path string `json:"path"`
	// Name is the client's name for it; empty for instructions of most clients.
	Name string `json:"name"`
	// Bytes is what it would take of the client's context with nothing cut: the text of
	// instructions, and for others the line in a list.
	Bytes int64 `json:"bytes" minimum:"0"`
	// Tokens is what it takes, as an estimate: one for four bytes.
	Tokens int64 `json:"tokens" minimum:"0"`
	// Included says that the client sees it.
	Included bool `json:"included"`
	// CutBytes is how many of the bytes are cut off; all if there is no room for it.
	CutBytes int64 `json:"cut_bytes" minimum:"0"`
	// Description is what a list shows of a description.
	Description string `json:"description,omitempty"`
	// Reason is why it is missing, or not whole; absent if all of it is there.
	Reason ClientReason `json:"reason,omitempty"`
	// Detail says the reason for a person, and whether another could replace an included
	// item.
	Detail string `json:"detail,omitempty"`
	// User says that it is the user's own, and not the project's.
	User bool `json:"user,omitempty"`
	// Imports are what its text names with @, as written there.
	Imports []string `json:"imports,omitempty"`
	// ImportedBy is the file whose text names this one with @.
	ImportedBy string `json:"imported_by,omitempty"`
}

// ClientReason says in a word why a client doesn't see something, or not all of it;
// docs/clients.md lists them.
type ClientReason string

// The reasons.
const (
	ClientCut             ClientReason = "cut"                  // the end is cut off: the budget was used up
	ClientShortened       ClientReason = "shortened"            // the description is cut
	ClientNoRoom          ClientReason = "no_room"              // the budget was used up before
	ClientOverridden      ClientReason = "overridden"           // another one is read in its place
	ClientBlank           ClientReason = "blank"                // there is nothing in it
	ClientTooLarge        ClientReason = "too_large"            // larger than the client reads
	ClientNotAlways       ClientReason = "not_always"           // its mode isn't always
	ClientElsewhere       ClientReason = "elsewhere"            // the client looks for it in another directory
	ClientInvalid         ClientReason = "invalid"              // it can't be read, or isn't what it should be
	ClientNoName          ClientReason = "no_name"              //
	ClientNoDescription   ClientReason = "no_description"       //
	ClientNameTooLong     ClientReason = "name_too_long"        //
	ClientHidden          ClientReason = "hidden"               // it lies in a directory whose name begins with a dot
	ClientTooDeep         ClientReason = "too_deep"             //
	ClientLinkedFile      ClientReason = "linked_file"          // SKILL.md is a link
	ClientDuplicate       ClientReason = "duplicate"            // another one is listed in its place
	ClientPolicy          ClientReason = "policy"               // its own policy removes it from the list
	ClientLongDescription ClientReason = "description_too_long" // its description is longer than allowed
)

// Further reasons of what is said of one file.
const (
	ClientNotItsPlace ClientReason = "not_its_place" // the client looks for nothing there
	ClientNotContext  ClientReason = "not_context"   // it reads the file, but not for its model
	ClientUsersOwn    ClientReason = "users_own"     // it reads it for every project, and that wasn't looked at
	ClientNotFound    ClientReason = "not_found"     // it would look there, and nothing was found
	ClientNested      ClientReason = "nested"        // it isn't of the start's directory, or of one above
)

// ClientBudget is what there is room for, and what is used.
type ClientBudget struct {
	// InstructionBytes bounds all instructions; 0 means no bound.
	InstructionBytes int64 `json:"instruction_bytes" minimum:"0"`
	// UsedBytes is what the instructions take.
	UsedBytes int64 `json:"used_bytes" minimum:"0"`
	// SkillTokens bounds the list of skills; 0 means no bound. It is a share of a context of
	// WindowTokens.
	SkillTokens int64 `json:"skill_tokens" minimum:"0"`
	// WindowTokens is the size of the client's context.
	WindowTokens int64 `json:"window_tokens" minimum:"0"`
	// UsedTokens is what the list takes, with the coding agent's own skills, as an estimate.
	UsedTokens int64 `json:"used_tokens" minimum:"0"`
	// Builtin is how many skills are the coding agent's own.
	Builtin int `json:"builtin_skills" minimum:"0"`
	// Shortened is how many skills have a shortened description for lack of room.
	Shortened int `json:"shortened_skills" minimum:"0"`
	// Dropped is how many skills aren't listed for lack of room.
	Dropped int `json:"dropped_skills" minimum:"0"`
}
