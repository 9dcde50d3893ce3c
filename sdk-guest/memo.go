package guest

// Memo returns what compute returns, or what it returned in an earlier run if nothing that it
// read then has changed. A host that remembers units (abi/ABI.md, "Units") runs compute again
// only for those whose files have changed. Memo is for resolvers that do the same thing for
// each of many files or directories.
//
// The result must be a function of the key, the Request and what compute reads of the root.
// If it depends on anything else, that has to be part of the key. compute must open the files
// that it reads itself, and must not change what others depend on, because it may not run.
// Keys are unique in a run and have at most 4095 bytes. An empty result isn't remembered, and
// neither is anything inside another Memo.
func (r *Request) Memo(key string, compute func() []byte) []byte {
	if r.inUnit || len(key) > maxUnitKey {
		return compute()
	}
	if value, ok := memoBegin(key); ok {
		return value
	}
	r.inUnit = true
	value := compute()
	r.inUnit = false
	memoEnd(value)
	return value
}

// maxUnitKey is the ABI's bound without the byte that ends a key.
const maxUnitKey = 4<<10 - 1

// Part is what one unit of a resolver found.
type Part struct {
	Rows     Rows
	Warnings []string
	// Note is for the resolver itself: what else it has to know of the part, whether computed
	// or remembered.
	Note string
	// Forget prevents remembering a part that depends on more than Memo allows.
	Forget bool
}

// Part is Memo for a unit that finds resources. It is cheaper: the rows of a remembered unit
// stay with the host until they are needed.
func (r *Request) Part(key string, compute func() Part) Part {
	if r.inUnit || len(key) > maxUnitKey {
		return compute()
	}
	if p, ok := partBegin(key); ok {
		return p
	}
	r.inUnit = true
	p := compute()
	r.inUnit = false
	partEnd(&p)
	return p
}

// encode returns what precedes the rows of a stored part: texts with their lengths. Only the
// same module reads it again, by cutting it into pieces, which costs less than parsing.
func (p *Part) encode() []byte {
	b := make([]byte, 0, len(p.Note)+8)
	b = appendText(b, p.Note)
	b = appendUint(b, len(p.Warnings))
	for _, s := range p.Warnings {
		b = appendText(b, s)
	}
	return b
}

func (p *Part) decode(s string) (ok bool) {
	r := cutter{rest: s}
	p.Note = r.text()
	n := r.uint()
	if n > len(r.rest) { // each has at least one byte
		return false
	}
	for range n {
		p.Warnings = append(p.Warnings, r.text())
	}
	return !r.bad && r.rest == ""
}

func appendText(b []byte, s string) []byte { return append(appendUint(b, len(s)), s...) }

func appendUint(b []byte, n int) []byte {
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n&0x7f)|0x80)
	}
	return append(b, byte(n&0x7f))
}

// cutter cuts pieces off a string. Once it has failed, all results are empty.
type cutter struct {
	rest string
	bad  bool
}

func (c *cutter) text() string {
	n := c.uint()
	if n > len(c.rest) {
		c.rest, c.bad = "", true
		return ""
	}
	s := c.rest[:n]
	c.rest = c.rest[n:]
	return s
}

func (c *cutter) uint() (n int) {
	const bits = 28 // enough for what fits into a kernel block
	for shift := 0; shift < bits && c.rest != ""; shift += 7 {
		b := c.rest[0]
		c.rest = c.rest[1:]
		n |= int(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	c.rest, c.bad = "", true
	return 0
}
