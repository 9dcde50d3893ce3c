package wire

// The sizes that a receiver insists on, in bytes where nothing else is said.
// They are those of Coder's server, and our hub repeats them: one resource
// over one of them makes a server refuse the whole push.
const (
	// MaxSource bounds Resource.source and source_path: in Coder's database
	// the source is part of a btree key.
	MaxSource = 1024
	// MaxError bounds a resource's error and the snapshot's.
	MaxError = 4096
	// MaxHash bounds content and aggregate hashes.
	MaxHash = 64
	// MaxResources bounds the number of resources of one push.
	MaxResources = 1000
	// MaxBodyJSON bounds the protojson form of one body, in which bytes are
	// base64.
	MaxBodyJSON = 256 << 10
	// MaxBodies bounds the sum of the bodies' protojson forms.
	MaxBodies = 4 << 20
	// MaxMessage bounds one encoded message: it is DRPC's default buffer. A
	// longer one makes the receiver drop the stream without saying why.
	MaxMessage = 4 << 20
	// MaxParts bounds the messages within a message (resources, attributes,
	// the values of a schema): decoded, each takes a hundred bytes and more,
	// whatever it took on the wire. It is our hub's own rule, and far above
	// what fits into the other limits by any honest use.
	MaxParts = 500_000
)
