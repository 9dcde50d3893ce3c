package tools

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"image"
	_ "image/gif" // of the formats that models take
	_ "image/jpeg"
	_ "image/png"
	"net/http"
	"strings"

	"waymark/agentapi"
)

// maxPixels is how wide and how high an image may be for large models.
const maxPixels = 8000

// unshowable says why an image can't be shown to a model; "" for everything else. The APIs of
// models refuse a whole chat for one image that isn't what it says, again and again. An image
// of another format than it says is mended.
func unshowable(c *agentapi.MCPContent) string {
	if c.Type != "image" {
		return ""
	}
	left := func(format string, args ...any) string {
		return fmt.Sprintf("[an image, %s, is left out: %s]", cmp.Or(c.MediaType, "of no type"), fmt.Sprintf(format, args...))
	}
	data, err := base64.StdEncoding.DecodeString(c.Data)
	if err != nil || len(data) == 0 {
		return left("it has no data")
	}
	switch kind := http.DetectContentType(data); kind {
	case "image/webp":
		c.MediaType = kind
	case "image/png", "image/jpeg", "image/gif":
		c.MediaType = kind
		config, _, err := image.DecodeConfig(bytes.NewReader(data))
		switch {
		case err != nil:
			return left("it is damaged")
		case max(config.Width, config.Height) > maxPixels:
			return left("it has %d × %d pixels, and models take %d in each direction", config.Width, config.Height, maxPixels)
		}
	default:
		if strings.HasPrefix(kind, "text/") {
			kind = "text"
		}
		return left("it is %s, and models take PNG, JPEG, GIF and WebP", kind)
	}
	return ""
}
