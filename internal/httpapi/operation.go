package httpapi

import (
	"net/http"
	"strings"

	"waymark/internal/httpapi/problem"
)

// About is what the description of a service says besides its routes.
type About struct {
	// Title, Summary, Text, which is Markdown, and Servers are taken from the first service
	// of a document.
	Title, Summary, Text string
	Servers              []Address
	// Groups are the groups of operations, with their descriptions. Operations without a
	// group belong to the first.
	Groups []Group
	// Schemes are the ways to authenticate; see Operation.Security.
	Schemes []Scheme
	// Security lists the schemes of operations without their own, any of which suffices; ""
	// means that none is needed. Scoped, if not nil, is the list for routes with a scope.
	Security, Scoped []string
	// Errors describes statuses that operations name without a text, if their meaning is not
	// the general one.
	Errors map[int]string
	// Names are those of components that aren't named after their types.
	Names map[string]any
	// Messages are values of types that no operation answers with as a whole: the events of a
	// stream, the messages of a WebSocket.
	Messages []any
}

// Address is where an API is, and when; Text may be empty.
type Address struct{ URL, Text string }

// Group is a group of operations, "tag" in OpenAPI.
type Group struct{ Name, Text string }

// Scheme is a way to authenticate: "bearer" in a header, or a cookie.
type Scheme struct{ Name, Kind, Cookie, Text string }

// Operation is what the description of an API says of a route. Its types say the rest:
// comments of fields are their descriptions, constants of a type its values. Package
// openapitest makes the description.
type Operation struct {
	// ID is the operationId, which is unique in the API, and Group one of About.
	ID, Group string
	// Summary is a phrase. Text says more, in Markdown; it may be empty.
	Summary, Text string
	// Params is a struct whose fields are the parameters: the tag "path", "query" or "header"
	// has the name. Nil means that there are none.
	Params any
	// Body is a value of the type of the JSON body, or Content. Nil means that there is none.
	Body any
	// Optional says that the body may be left out.
	Optional bool
	// Example is an example of the body.
	Example any
	// Answers are those with a description of their own; at least one. Errors are the
	// statuses of others. Refusals by the router itself, such as an invalid body or a missing
	// token, needn't be listed.
	Answers []Answer
	Errors  []int
	// Security, if not nil, replaces About's; "" means that no scheme is needed.
	Security []string
}

// Content is a body that isn't JSON, by its media type.
type Content string

// Contents is a body of one of several types: Content, and values of the types of JSON, one
// or more.
type Contents []any

// Answer is an answer of an operation. The body of an error is problem.Error and needn't be
// given.
type Answer struct {
	// Code is the status; 0 stands for all others.
	Code int
	Text string
	// Body is as that of Operation; nil if there is none.
	Body any
	// Headers is a struct whose fields are headers: the tag "header" has the name.
	Headers any
	// Example is an example of the body.
	Example any
}

// AgentAbout returns the common part of an agent's services: a group of operations, and the
// tokens. Reading needs none over the Unix socket, and what is shown may depend on a minted
// one.
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

// OK returns the answer of a success.
func OK(text string, body any) Answer { return Answer{Code: http.StatusOK, Text: text, Body: body} }

// Refuse returns the answer of an error, with an example: message, and detail behind ": ".
func Refuse(code int, text, example string) Answer {
	a := Answer{Code: code, Text: text}
	if message, detail, _ := strings.Cut(example, ": "); message != "" {
		a.Example = &problem.Error{Message: message, Detail: detail}
	}
	return a
}
