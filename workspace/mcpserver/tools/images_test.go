package tools_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/workspace/mcpserver/tools"
)

// answering is an agent whose servers' tools answer with a result, and which keeps another.
type answering struct {
	client.Client
	result agentapi.MCPToolResult
	kept   string
}

func (a *answering) CallMCPTool(context.Context, agentapi.CallMCPTool, func(agentapi.MCPProgress)) (*agentapi.MCPToolResult, error) {
	r := a.result
	r.Content = append([]agentapi.MCPContent{}, r.Content...)
	return &r, nil
}

func (a *answering) MCPResult(_ context.Context, _ string, offset, limit int64) (*agentapi.MCPResultPage, error) {
	end := min(offset+limit, int64(len(a.kept)))
	return &agentapi.MCPResultPage{Text: a.kept[offset:end], NextOffset: end, Length: int64(len(a.kept))}, nil
}

func encoded(t *testing.T, width, height int, encode func(b *bytes.Buffer, i image.Image) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

func toPNG(b *bytes.Buffer, i image.Image) error { return png.Encode(b, i) }

// TestImages: an image that a model's API would refuse costs itself, and one that isn't of
// the type that it says is called what it is.
func TestImages(t *testing.T) {
	small := encoded(t, 2, 2, toPNG)
	for name, c := range map[string]struct{ data, media, want string }{
		"PNG":          {small, "image/png", "image/png"},
		"called JPEG":  {small, "image/jpeg", "image/png"},
		"of no type":   {small, "", "image/png"},
		"JPEG":         {encoded(t, 2, 2, func(b *bytes.Buffer, i image.Image) error { return jpeg.Encode(b, i, nil) }), "image/jpg", "image/jpeg"},
		"GIF":          {encoded(t, 2, 2, func(b *bytes.Buffer, i image.Image) error { return gif.Encode(b, i, nil) }), "image/gif", "image/gif"},
		"WebP":         {base64.StdEncoding.EncodeToString([]byte("RIFF\x1a\x00\x00\x00WEBPVP8L")), "image/webp", "image/webp"},
		"very long":    {encoded(t, 1, 8001, toPNG), "image/png", "[an image, image/png, is left out: it has 1 × 8001 pixels"},
		"cut":          {small[:16], "image/png", "it is damaged"},
		"SVG":          {base64.StdEncoding.EncodeToString([]byte("<svg xmlns='http://www.w3.org/2000/svg'/>")), "image/svg+xml", "[an image, image/svg+xml, is left out: it is text"},
		"BMP":          {base64.StdEncoding.EncodeToString([]byte("BM\x00\x00\x00\x00")), "image/bmp", "it is image/bmp, and models take PNG"},
		"without data": {"", "image/png", "it has no data"},
	} {
		a := &answering{result: agentapi.MCPToolResult{Content: []agentapi.MCPContent{
			{Type: "text", Text: "before"}, {Type: "image", Data: c.data, MediaType: c.media}, {Type: "text", Text: "after"},
		}}}
		offer := tools.All()
		r, err := offer.CallServer(t.Context(), a, "demo__picture", nil)
		if err != nil || len(r.Content) != 3 || r.Content[0].Text != "before" || r.Content[2].Text != "after" {
			t.Fatalf("%s: %+v, %v", name, r, err)
		}
		switch got := r.Content[1]; {
		case got.Type == "image" && (got.MediaType != c.want || got.Data != c.data):
			t.Errorf("%s is %s", name, got.MediaType)
		case got.Type != "image" && (!strings.Contains(got.Text, c.want) || got.Data != ""):
			t.Errorf("%s is %+v", name, got)
		}
	}
}

// TestPiece: tool_result gives a piece of a long result as it is.
func TestPiece(t *testing.T) {
	large := encoded(t, 3, 3, toPNG)
	kept, err := json.Marshal(agentapi.MCPToolResult{Content: []agentapi.MCPContent{
		{Type: "text", Text: strings.Repeat("x", 3<<20)}, {Type: "image", Data: large, MediaType: "image/png"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	a := &answering{kept: string(kept)}
	offer := tools.All()
	r, err := offer.Call(t.Context(), a, tools.ToolResult, json.RawMessage(`{"result_id":"x","piece":2}`))
	if err != nil || len(r.Content) != 1 || r.Content[0].Type != "image" || r.Content[0].Data != large {
		t.Errorf("the piece is %+v, %v", r, err)
	}
	refused(t, a, tools.ToolResult, `{"result_id":"x","piece":3}`, "the result has 2 pieces")
	refused(t, a, tools.ToolResult, `{"result_id":"x","piece":-1}`, "piece is a number, from 1")
}
