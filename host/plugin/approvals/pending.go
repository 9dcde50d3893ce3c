package approvals

// Pending is a module that waits for the operator. It is what the local API
// shows.
type Pending struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Path    string `json:"path"`
	Digest  string `json:"digest"`
	// Reason is why it waits, in one line.
	Reason string `json:"reason"`
	// NewReads is what it reads beyond what was let run last; Reads is all.
	NewReads []string `json:"new_reads"`
	Reads    []string `json:"reads"`
	// GrantSecrets are the entries of the secret list that the configuration
	// grants to it.
	GrantSecrets []string `json:"grant_secrets"`
	// ServingVersion and ServingDigest are of what runs meanwhile; empty when
	// nothing of the file does.
	ServingVersion string `json:"serving_version"`
	ServingDigest  string `json:"serving_digest"`
}

// Texts spells reads for a person; never nil.
func Texts(reads []Read) []string {
	texts := make([]string, len(reads))
	for i, r := range reads {
		texts[i] = r.String()
	}
	return texts
}
