package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"waymark/agentapi"
)

// grain is an image that can't be compressed.
func grain(width, height int, opaque bool) image.Image {
	i := image.NewNRGBA(image.Rect(0, 0, width, height))
	r := rand.NewChaCha8([32]byte{})
	_, _ = r.Read(i.Pix)
	for at := 3; opaque && at < len(i.Pix); at += 4 {
		i.Pix[at] = 0xff
	}
	return i
}

// TestScaleDown: an image beyond the limits becomes one within them that shows the same, and
// what can't be scaled stays as it is.
func TestScaleDown(t *testing.T) {
	encoded := func(i image.Image) []byte {
		var b bytes.Buffer
		if err := (&png.Encoder{CompressionLevel: png.NoCompression}).Encode(&b, i); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	flood := encoded(image.NewGray(image.Rect(0, 0, 1, 1)))
	binary.BigEndian.PutUint32(flood[16:], 1<<20) // it says that it is wide and high
	binary.BigEndian.PutUint32(flood[20:], 1<<20)
	binary.BigEndian.PutUint32(flood[29:], crc32.ChecksumIEEE(flood[12:29]))
	cut := encoded(grain(1200, 1200, true))
	for name, c := range map[string]struct {
		kind, media string
		data        []byte
		want        string // media type, width and height; "" if it stays
	}{
		"small":         {"image", "image/png", encoded(grain(100, 100, true)), ""},
		"many bytes":    {"image", "image/png", encoded(grain(1600, 900, true)), "image/jpeg 1568 882"},
		"transparent":   {"image", "image/png", encoded(grain(4000, 300, false)), "image/png 1568 117"},
		"a long strip":  {"image", "image/png", encoded(image.NewGray(image.Rect(0, 0, 2, 9000))), "image/png 1 1568"},
		"says too much": {"image", "image/png", flood, ""},
		"cut off":       {"image", "image/png", cut[:len(cut)-1000], ""},
		"no image":      {"image", "image/png", make([]byte, 5<<20), ""},
		"sound":         {"audio", "audio/wav", make([]byte, 5<<20), ""},
	} {
		content := agentapi.MCPContent{Type: c.kind, MediaType: c.media, Data: base64.StdEncoding.EncodeToString(c.data)}
		before := content
		what := scaleDown(&content)
		if c.want == "" {
			if what != "" || content != before {
				t.Errorf("%s: %s", name, what)
			}
			continue
		}
		data, err := base64.StdEncoding.DecodeString(content.Data)
		if err != nil {
			t.Fatal(err)
		}
		config, format, err := image.DecodeConfig(bytes.NewReader(data))
		if err != nil || !strings.HasPrefix(what, c.media+" of ") {
			t.Errorf("%s: %s, %v", name, what, err)
			continue
		}
		if want := strings.Fields(c.want); content.MediaType != want[0] || "image/"+format != want[0] || len(content.Data) > maxMedia || !strings.HasSuffix(what, "to "+want[1]+" × "+want[2]) || config.Width > scaledSide || config.Height > scaledSide {
			t.Errorf("%s: %s, %d × %d %s of %d bytes", name, what, config.Width, config.Height, content.MediaType, len(content.Data))
		}
	}
}
