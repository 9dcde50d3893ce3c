package openapitest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waymark/internal/httpapi"
)

// Color is a text with values.
type Color string

// The colors.
const (
	Red  Color = "red"
	Blue Color = "blue"
)

// Paint is what is asked for, see [Shade].
//
// It has a second paragraph.
type Paint struct {
	// Color is the paint's; nil Coats mean one.
	Color Color `json:"color"`
	Coats *int  `json:"coats,omitempty" minimum:"1"` // Coats are put on one after the other.
	// Names are what people call it.
	Names []string `json:"names" required:"false" enum:"a,b"`
}

// Shade answers.
type Shade struct {
	Dried
	// Parts are by their name.
	Parts map[string][]int `json:"parts"`
	// RAL is its number in RAL.
	RAL int `json:"ral"`
}

// Dried is part of Shade.
type Dried struct {
	// DriedAt is null until it is.
	DriedAt *time.Time `json:"dried_at"`
}

// News is told by itself.
type News struct {
	// Dried is what has.
	Dried []Coat `json:"dried"`
}

// Coat is part of News.
type Coat struct {
	// Number counts from 1.
	Number int `json:"number"`
}

type bare struct {
	Said string `json:"said"`
}

// paintParams are parameters.
type paintParams struct {
	// Wall is painted.
	Wall string `path:"wall"`
	// Only is the color wanted.
	Only Color `query:"only" example:"red"`
	// At most so many.
	Limit int `query:"limit" minimum:"1" default:"20"`
}

func service(routes ...httpapi.Route) httpapi.Service {
	return httpapi.Service{Routes: routes, About: httpapi.About{Title: "Paint", Groups: []httpapi.Group{{Name: "paint", Text: "Walls."}}, Schemes: []httpapi.Scheme{{Name: "token", Kind: "bearer", Text: "A token."}}, Security: []string{"token"}}}
}

func TestGenerate(t *testing.T) {
	painting := service(httpapi.Route{
		Method: http.MethodPost, Pattern: "/walls/{wall...}", Scope: "paint",
		Operation: &httpapi.Operation{
			ID: "paint", Summary: "Paint a wall", Params: paintParams{}, Body: Paint{}, Example: Paint{Color: Red, Names: []string{"a"}},
			Answers: []httpapi.Answer{httpapi.OK("It is.", httpapi.Contents{Shade{}, httpapi.Content("text/plain")}), httpapi.Refuse(409, "It is wet.", "no: wait")},
			Errors:  []int{404},
		},
	})
	painting.About.Messages = []any{News{}}
	document, problems := generate(painting)
	if problems != nil {
		t.Fatal(problems)
	}
	Load(t, document).Valid(t)
	var got struct {
		Paths      map[string]map[string]json.RawMessage
		Components struct{ Schemas map[string]json.RawMessage }
	}
	if err := json.Unmarshal(document, &got); err != nil {
		t.Fatal(err)
	}
	var op struct {
		Parameters []any
		Responses  map[string]any
		Security   any
	}
	if err := json.Unmarshal(got.Paths["/walls/{wall}"]["post"], &op); err != nil {
		t.Fatal(err)
	}
	if len(op.Responses) != 9 || op.Security == nil { // 200, 409, 404, default, and what the router refuses by itself
		t.Errorf("%d responses, security %v", len(op.Responses), op.Security)
	}
	for name, want := range map[string]string{
		"Paint": `{"additionalProperties":false,"type":"object","required":["color"],
			"description":"Paint is what is asked for, see Shade.\n\nIt has a second paragraph.",
			"properties":{
				"color":{"$ref":"#/components/schemas/Color","description":"` + "`color` is the paint's; null `coats` mean one." + `"},
				"coats":{"type":"integer","minimum":1,"description":"` + "`coats` are put on one after the other." + `"},
				"names":{"type":"array","items":{"type":"string","enum":["a","b"]},"description":"` + "`names` are what people call it." + `"}}}`,
		"Color": `{"type":"string","enum":["red","blue"]}`,
		"Coat": `{"type":"object","required":["number"],"description":"Coat is part of News.",
			"properties":{"number":{"type":"integer","description":"` + "`number` counts from 1." + `"}}}`,
		"Shade": `{"type":"object","required":["dried_at","parts","ral"],"description":"Shade answers.","properties":{
			"dried_at":{"type":["null","string"],"format":"date-time","description":"` + "`dried_at` is null until it is." + `"},
			"parts":{"type":"object","additionalProperties":{"type":"array","items":{"type":"integer"}},"description":"` + "`parts` are by their name." + `"},
			"ral":{"type":"integer","description":"` + "`ral` is its number in RAL." + `"}}}`,
	} {
		if diff := cmp.Diff(decoded(t, []byte(want)), decoded(t, got.Components.Schemas[name])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	wantParameters := `[
		{"name":"wall","in":"path","required":true,"description":"` + "`wall` is painted." + `","schema":{"type":"string"}},
		{"name":"only","in":"query","description":"` + "`only` is the color wanted." + `","example":"red","schema":{"type":"string","enum":["red","blue"]}},
		{"name":"limit","in":"query","description":"At most so many.","schema":{"type":"integer","minimum":1,"default":20}}]`
	if diff := cmp.Diff(decoded(t, []byte(wantParameters)), any(op.Parameters)); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
}

func decoded(t *testing.T, text []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// TestGenerateComplains: nothing is left without a word.
func TestGenerateComplains(t *testing.T) {
	answers := []httpapi.Answer{httpapi.OK("Yes.", nil)}
	for want, s := range map[string]httpapi.Service{
		"GET /x says nothing of itself":        service(httpapi.Route{Method: "GET", Pattern: "/x"}),
		"needs an ID, a summary and an answer": service(httpapi.Route{Method: "GET", Pattern: "/x", Operation: &httpapi.Operation{ID: "x", Answers: answers}}),
		"the parameter y is not among Params":  service(httpapi.Route{Method: "GET", Pattern: "/x/{y}", Operation: &httpapi.Operation{ID: "x", Summary: "X", Answers: answers}}),
		"bare.Said has no comment":             service(httpapi.Route{Method: "GET", Pattern: "/x", Operation: &httpapi.Operation{ID: "x", Summary: "X", Answers: []httpapi.Answer{httpapi.OK("Yes.", bare{})}}}),
		"what is 200?":                         service(httpapi.Route{Method: "GET", Pattern: "/x", Operation: &httpapi.Operation{ID: "x", Summary: "X", Answers: []httpapi.Answer{httpapi.OK("", nil)}}}),
		"what does 418 mean?":                  service(httpapi.Route{Method: "GET", Pattern: "/x", Operation: &httpapi.Operation{ID: "x", Summary: "X", Answers: answers, Errors: []int{418}}}),
		"About needs a group":                  {},
	} {
		if _, problems := generate(s); !strings.Contains(strings.Join(problems, "\n"), want) {
			t.Errorf("%q is not among %q", want, problems)
		}
	}
}
