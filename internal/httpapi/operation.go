package httpapi

import (
	"net/http"
	"strings"

	"waymark/internal/httpapi/problem"
)

// About is what the description of a service says beside its routes.
type About struct {
	// Title, Summary, Text, which is Markdown, and Servers are of the first service that a
	// document describes.
	Title, Summary, Text string
	Servers              []Address
	// Groups are the groups of operations, with what they are about. Operations without
	// one belong to the first.
	Groups []Group
	// Schemes are the ways to show who one is; see Operation.Security.
	Schemes []Scheme
	// Security are the schemes of operations that say nothing else, any of which will do;
	// "" among them: or none at all. Scoped, if not nil, are those of routes with a scope.
	Security, Scoped []string
	// Errors says what statuses mean that operations name without a text, where it isn't
	// what they mean everywhere.
	Errors map[int]string
	// Names are those of components that aren't called as their types are.
	Names map[string]any
	// Messages are values of types that no operation answers with as a whole: the events
	// of a stream, the messages of a WebSocket.
	Messages []any
}

// Address is where an API is, and when; Text may be empty.
type Address struct{ URL, Text string }

// Group is a group of operations, "tag" in OpenAPI.
type Group struct{ Name, Text string }

// Scheme is a way to show who one is: "bearer" in a header, or a cookie.
type Scheme struct{ Name, Kind, Cookie, Text string }

// Operation is what the description of an API says of a route. Its types say the rest:
// comments of fields are their descriptions, constants of a type its values. Package
// openapitest makes the description.
type Operation struct {
	// ID is the operationId, which is unique in the API, and Group one of About.
	ID, Group string
	// Summary is a phrase. Text says more, in Markdown; it may be empty.
	Summary, Text string
	// Params is a struct, of which each field is a parameter: its tag "path", "query" or
	// "header" has the name. Nil means that there is none.
	Params any
	// Body is a value of the type of the JSON body, or Content. Nil means that there is none.
	Body any
	// Optional says that the body may be left out.
	Optional bool
	// Example is one of the body.
	Example any
	// Answers are those that say something of their own; at least one. Errors are the
	// statuses of others. What the router refuses by itself needn't be said: a body that
	// can't be right, a token that isn't there.
	Answers []Answer
	Errors  []int
	// Security, if not nil, stands in the place of About's; "" among it: or none at all.
	Security []string
}

// Content is a body that isn't JSON, by its media type.
type Content string

// Contents is a body of one of several types: Content, and values of the types of
// JSON, one or more.
type Contents []any

// Answer is one that an operation gives. An error's body is problem.Error, and needn't be
// said.
type Answer struct {
	// Code is the status; 0 stands for all that aren't named.
	Code int
	Text string
	// Body is as that of Operation; nil: there is none.
	Body any
	// Headers is a struct, of which each field is a header: its tag "header" has the name.
	Headers any
	// Example is one of the body.
	Example any
}

// AgentAbout is what services of an agent begin with: a group of operations, and the tokens.
// What only reads needs none over the Unix socket, and what is shown may depend on a minted one.
func AgentAbout(group, text string) About {
	return About{
		Groups: []Group{{group, text}},
		Schemes: []Scheme{
			{Name: "control", Kind: "bearer", Text: "Over the Unix socket, too: what `control.token` in the workspace's state directory holds, or a token that was minted with it."},
			{Name: "token", Kind: "bearer", Text: "Over TCP: what `--listen-token-file` holds. Over the Unix socket none is needed."},
		},
		Security: []string{"", "token", "control"}, Scoped: []string{"control"},
	}
}

// OK is the answer of a success.
func OK(text string, body any) Answer { return Answer{Code: http.StatusOK, Text: text, Body: body} }

// Refuse is the answer of an error, with an example: message, and detail behind ": ".
func Refuse(code int, text, example string) Answer {
	a := Answer{Code: code, Text: text}
	if message, detail, _ := strings.Cut(example, ": "); message != "" {
		a.Example = &problem.Error{Message: message, Detail: detail}
	}
	return a
}
