package snapshot

// The default caps. The first three are what a hub takes; a Projection has those of other
// peers.
const (
	// DefaultMaxResourceBytes bounds one payload.
	DefaultMaxResourceBytes = 256 << 10
	// DefaultMaxBytes bounds the sum of all payloads.
	DefaultMaxBytes = 16 << 20
	// DefaultMaxResources bounds the resources that are kept.
	DefaultMaxResources = 4000
	// DefaultMaxListed bounds all rows, including excluded ones, unless more are to be kept.
	DefaultMaxListed = 4000
	// DefaultDropInResources and DefaultDropInBytes bound what one dropped-in module
	// contributes, so that none can crowd out another.
	DefaultDropInResources = 200
	DefaultDropInBytes     = 1 << 20
	// DefaultProvidedResources and DefaultProvidedBytes bound what all providers make
	// together, whether or not there is more room, so that the list of tools doesn't shrink
	// with each file that is added. They also rank last, so that they never displace a
	// workspace's own files.
	DefaultProvidedResources = 200
	DefaultProvidedBytes     = 1 << 20
)

// What a Coder peer gets: the caps of Coder's own agent, and the rows that Coder's server
// accepts in a push.
const (
	CoderMaxResourceBytes = 64 << 10
	CoderMaxBytes         = 2 << 20
	CoderMaxResources     = 500
	CoderMaxListed        = 1000
)

// CoderCaps returns the caps of a Coder peer.
func CoderCaps() Caps {
	return Caps{
		MaxResourceBytes: CoderMaxResourceBytes, MaxBytes: CoderMaxBytes,
		MaxResources: CoderMaxResources, MaxListed: CoderMaxListed,
	}
}

// Caps bounds a list of resources. Zero fields mean the default.
type Caps struct {
	// MaxResourceBytes is the largest payload, in bytes. A resource above it is oversize.
	MaxResourceBytes int64
	// MaxBytes is the largest sum of all payloads, in bytes. A resource whose payload doesn't
	// fit any more is excluded; a smaller one after it may still fit.
	MaxBytes int64
	// MaxResources is how many resources are kept; the others are excluded.
	MaxResources int
	// MaxListed bounds all rows, and MaxResources; its default is at least MaxResources.
	// Excluded rows beyond it are dropped, with a note.
	MaxListed int
	// DropInResources and DropInBytes are MaxResources and MaxBytes for each dropped-in
	// module.
	DropInResources int
	DropInBytes     int64
	// ProvidedResources and ProvidedBytes are those for all provided candidates together.
	ProvidedResources int
	ProvidedBytes     int64
}

func (c Caps) withDefaults() Caps {
	setDefault(&c.MaxResourceBytes, DefaultMaxResourceBytes)
	setDefault(&c.MaxBytes, DefaultMaxBytes)
	setDefault(&c.MaxResources, DefaultMaxResources)
	setDefault(&c.MaxListed, max(DefaultMaxListed, c.MaxResources))
	setDefault(&c.DropInResources, DefaultDropInResources)
	setDefault(&c.DropInBytes, DefaultDropInBytes)
	setDefault(&c.ProvidedResources, DefaultProvidedResources)
	setDefault(&c.ProvidedBytes, DefaultProvidedBytes)
	c.MaxResources = min(c.MaxResources, c.MaxListed)
	return c
}

func setDefault[N int | int64](field *N, value N) {
	if *field <= 0 {
		*field = value
	}
}

// budget counts down what may still be kept.
type budget struct {
	resources int
	bytes     int64
}

// take counts one resource.
func (b *budget) take(payload int64) {
	b.resources--
	b.bytes -= payload
}
