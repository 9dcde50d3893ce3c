package trust_test

import "testing"

func BenchmarkDigest(b *testing.B) {
	w := newWorld(b)
	w.write("tools/server.js", "x", 0o600)
	e := stdio("node", "./tools/server.js", "--port=80")
	w.digest(e)
	for b.Loop() {
		w.digest(e)
	}
}
