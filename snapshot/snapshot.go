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
	// SnapshotError says what is wrong with the snapshot as a whole, for
	// example that files can't be watched; usually empty.
	SnapshotError string `json:"snapshot_error"`
	// Discovery says whether more is still to come. It is no part of the
	// aggregate hash: what a chat pins doesn't differ by it.
	Discovery Discovery `json:"discovery"`
	// Resources are in order of their ids.
	Resources Resources `json:"resources"`
	// Plugins are the resolver modules.
	Plugins Plugins `json:"plugins"`
}

// Resources is a list of resources, [] in JSON when it is nil. Assign a
// []Resource to it and the other way round without a conversion.
type Resources []Resource

// Plugins is a list of plugins, [] in JSON when it is nil.
type Plugins []Plugin

// Names is a list of names, [] in JSON when it is nil.
type Names []string

// Plugin is the state of one module at the time of the snapshot.
type Plugin struct {
	// Name is what the module calls itself.
	Name string `json:"name"`
	// Version is its own.
	Version string `json:"version"`
	// Digest is SHA-256 of the file, in hexadecimal.
	Digest string `json:"digest"`
	// Path is that of the file, or `builtin` for the module that the agent brings along.
	Path string `json:"path"`
	// State is where it is in its life. `quarantined`: not run until
	// `POST /api/v0/plugins/retry`, or, in answers about the agent but not in snapshots,
	// resting between two tries.
	State PluginState `json:"state"`
	// Error says what is wrong with it; empty when nothing is.
	Error string `json:"error"`
	// Resolvers are the names of those that it holds.
	Resolvers Names `json:"resolvers"`
}

// PluginState is where a module is in its life.
type PluginState string

// The states of a module.
const (
	PluginCompiling PluginState = "compiling"
	PluginReady     PluginState = "ready"
	// PluginFailing: a resolver of it has failed, and is tried again from time to
	// time.
	PluginFailing PluginState = "failing"
	// PluginQuarantined: it isn't run until somebody asks for it. The status of an
	// agent also calls so one that fails, between two tries.
	PluginQuarantined   PluginState = "quarantined"
	PluginRejected      PluginState = "rejected"
	PluginNeedsApproval PluginState = "needs_approval"
)

// Failing reports whether somebody should look at the plugin: it doesn't do what it is
// there for. One that waits for an approval isn't failing.
func (p *Plugin) Failing() bool {
	return p.State == PluginFailing || p.State == PluginQuarantined || p.State == PluginRejected
}

// Find returns the resource of that ID, or nil.
func (s *Snapshot) Find(id string) *Resource {
	i, ok := slices.BinarySearchFunc(s.Resources, id, func(r Resource, id string) int {
		return cmp.Compare(r.ID(), id)
	})
	if !ok {
		return nil
	}
	return &s.Resources[i]
}

// SameContent reports whether pushing b to a peer that holds a would change
// nothing there, whatever the peer takes: everything but the version is equal, also the
// precedence of the resources.
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

// sameSlice reports whether two slices are one, and not only equal.
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

// sortByID puts a list into the order in which snapshots list resources.
func sortByID(list []Resource) {
	slices.SortFunc(list, byID)
}

func byID(a, b Resource) int { return compareIDs(&a, &b) }

// compareIDs compares what ID returns, which it needn't make.
func compareIDs(a, b *Resource) int {
	if a.Kind == b.Kind && a.Key == "" && b.Key == "" {
		return strings.Compare(a.Source, b.Source)
	}
	return strings.Compare(a.ID(), b.ID())
}
