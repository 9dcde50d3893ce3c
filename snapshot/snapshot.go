package snapshot

import (
	"cmp"
	"slices"
	"strings"
)

// Snapshot is the hashed, versioned set of all resources.
type Snapshot struct { // nobody changes one that is published: readers share it without locks
	// Version counts up from 1 in each life of the agent, whenever anything changed that
	// would be pushed. 0 means that nothing has been resolved yet.
	Version uint64 `json:"version" minimum:"0"`
	// AggregateHash covers what a pin is compared by: everything but MCP.
	AggregateHash Hash `json:"aggregate_hash"`
	// PayloadBytes is the sum of the lengths of all payloads.
	PayloadBytes int64 `json:"payload_bytes" minimum:"0"`
	// SnapshotError says what is wrong with the snapshot as a whole, for example that files
	// can't be watched; usually empty.
	SnapshotError string `json:"snapshot_error"`
	// Discovery says whether resources may still be missing. It isn't part of the aggregate
	// hash, because it doesn't change what a chat pins.
	Discovery Discovery `json:"discovery"`
	// Resources are in order of their ids.
	Resources Resources `json:"resources"`
	// Plugins are the resolver modules.
	Plugins Plugins `json:"plugins"`
}

// Resources is a list of resources, [] in JSON when it is nil. It is assignable to and from
// []Resource without a conversion.
type Resources []Resource

// Plugins is a list of plugins, [] in JSON when it is nil.
type Plugins []Plugin

// Names is a list of names, [] in JSON when it is nil.
type Names []string

// Plugin is the state of one module at the time of the snapshot.
type Plugin struct {
	// Name is the name that the module declares.
	Name string `json:"name"`
	// Version is the version that the module declares.
	Version string `json:"version"`
	// Digest is the SHA-256 of the file, in hexadecimal.
	Digest string `json:"digest"`
	// Path is that of the file, or `builtin` for the module that comes with the agent.
	Path string `json:"path"`
	// State is the state of the module. `quarantined`: not run until `POST
	// /api/v0/plugins/retry`, or, in answers about the agent but not in snapshots, resting
	// between two tries.
	State PluginState `json:"state"`
	// Error says what is wrong with it; empty if nothing is.
	Error string `json:"error"`
	// Resolvers are the names of its resolvers.
	Resolvers Names `json:"resolvers"`
}

// PluginState is the state of a module.
type PluginState string

// The states of a module.
const (
	PluginCompiling PluginState = "compiling"
	PluginReady     PluginState = "ready"
	// PluginFailing: one of its resolvers has failed, and is retried from time to time.
	PluginFailing PluginState = "failing"
	// PluginQuarantined: it isn't run until somebody requests it. An agent's status also uses
	// this state for a failing module between two tries.
	PluginQuarantined   PluginState = "quarantined"
	PluginRejected      PluginState = "rejected"
	PluginNeedsApproval PluginState = "needs_approval"
)

// Failing reports whether the plugin doesn't do its work, so that somebody should look at it.
// A plugin that waits for an approval isn't failing.
func (p *Plugin) Failing() bool {
	return p.State == PluginFailing || p.State == PluginQuarantined || p.State == PluginRejected
}

// Find returns the resource with that ID, or nil.
func (s *Snapshot) Find(id string) *Resource {
	i, ok := slices.BinarySearchFunc(s.Resources, id, func(r Resource, id string) int {
		return cmp.Compare(r.ID(), id)
	})
	if !ok {
		return nil
	}
	return &s.Resources[i]
}

// SameContent reports whether pushing b to a peer that holds a would change nothing there,
// whatever the peer takes: everything but the version is equal, including the precedence of
// the resources.
func SameContent(a, b *Snapshot) bool {
	return a.SnapshotError == b.SnapshotError && a.Discovery.Equal(b.Discovery) &&
		slices.EqualFunc(a.Plugins, b.Plugins, Plugin.Equal) &&
		sameResources(a.Resources, b.Resources)
}

func sameResources(a, b []Resource) bool {
	if sameSlice(a, b) {
		return true
	}
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Order != b[i].Order || !a[i].Equal(&b[i]) {
			return false
		}
	}
	return true
}

// sameSlice reports whether two slices are identical, not only equal.
func sameSlice[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// Equal reports whether all fields are the same.
func (p Plugin) Equal(other Plugin) bool {
	return p.Name == other.Name && p.Version == other.Version &&
		p.Digest == other.Digest && p.Path == other.Path &&
		p.State == other.State && p.Error == other.Error &&
		slices.Equal(p.Resolvers, other.Resolvers)
}

// sortByID sorts a list into the order of snapshots.
func sortByID(list []Resource) {
	slices.SortFunc(list, byID)
}

func byID(a, b Resource) int { return compareIDs(&a, &b) }

// compareIDs compares the results of ID without building them.
func compareIDs(a, b *Resource) int {
	if a.Kind == b.Kind && a.Key == "" && b.Key == "" {
		return strings.Compare(a.Source, b.Source)
	}
	return strings.Compare(a.ID(), b.ID())
}
