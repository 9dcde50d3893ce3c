package mcp

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	_ "image/gif" // formats of images that are scaled
	"image/jpeg"
	"image/png"
	"sync"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp" // which image.Decode then knows

	"waymark/agentapi"
)

const (
	// maxSide is the width and height up to which large models take an image, and scaledSide
	// that to which a larger one is scaled: models don't look at more.
	maxSide    = 8000
	scaledSide = 1568
	// maxPixels limits the pixels of an image that is scaled, because it is decoded into four
	// bytes each.
	maxPixels = 24 << 20
	// quality is that of a JPEG, for photographs.
	quality = 85
)

// scaling serializes the work, because of the memory that it takes.
var scaling sync.Mutex

// scaleDown scales an image that is too large for a large model, and says so; what is "" if
// it isn't too large, or can't be scaled.
func scaleDown(c *agentapi.MCPContent) (what string) {
	if !isMedia(c) || c.Type != "image" {
		return ""
	}
	data, err := base64.StdEncoding.DecodeString(c.Data)
	if err != nil {
		return ""
	}
	config, _, err := image.DecodeConfig(bytes.NewReader(data))
	width, height := config.Width, config.Height
	if err != nil || len(c.Data) <= maxMedia && max(width, height) <= maxSide || min(width, height) < 1 || width > maxPixels/height {
		return ""
	}
	scaling.Lock()
	defer scaling.Unlock()
	from, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return ""
	}
	longest := max(width, height)
	to := image.NewNRGBA(image.Rect(0, 0, max(width*min(scaledSide, longest)/longest, 1), max(height*min(scaledSide, longest)/longest, 1)))
	draw.ApproxBiLinear.Scale(to, to.Bounds(), from, from.Bounds(), draw.Src, nil)
	var b bytes.Buffer
	media := "image/png"
	if err := png.Encode(&b, to); err != nil {
		return ""
	}
	if base64.StdEncoding.EncodedLen(b.Len()) > maxMedia/4 && to.Opaque() { // a photograph
		b.Reset()
		if media = "image/jpeg"; jpeg.Encode(&b, to, &jpeg.Options{Quality: quality}) != nil {
			return ""
		}
	}
	if base64.StdEncoding.EncodedLen(b.Len()) > maxMedia {
		return ""
	}
	what = fmt.Sprintf("%s of %d × %d pixels and %d bytes, is scaled down to %d × %d", c.MediaType, width, height, len(data), to.Rect.Dx(), to.Rect.Dy())
	c.Data, c.MediaType = base64.StdEncoding.EncodeToString(b.Bytes()), media
	return what
}
