package servers

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// HTTPMode is a server that is reached over HTTP.
type HTTPMode struct {
	// Name is the path at which Handler has it.
	Name string
	// SSE says that it is one of the old kind.
	SSE bool
	// Does says what it does, Outcome what has to become of it.
	Does, Outcome string
	serve         func(w http.ResponseWriter, r *http.Request, elsewhere string)
}

// GoodHTTP is the name of the one that behaves.
const GoodHTTP = "good-http"

// Handler serves all modes, each at its name. elsewhere is the base of another
// origin, to which some lead.
func Handler(elsewhere string) http.Handler {
	mux := http.NewServeMux()
	for _, m := range HTTP() {
		mux.HandleFunc("/"+m.Name, func(w http.ResponseWriter, r *http.Request) { m.serve(w, r, elsewhere) })
	}
	return mux
}

// HTTP are the modes over HTTP.
func HTTP() []HTTPMode {
	const failed = "it has failed"
	return []HTTPMode{
		{GoodHTTP, false, "answers", "works", good},
		{"redirect", false, "redirects to another origin", "it has failed, and nothing was sent there", func(w http.ResponseWriter, r *http.Request, elsewhere string) {
			http.Redirect(w, r, elsewhere+"/good-http", http.StatusTemporaryRedirect)
		}},
		{"redirect-get", false, "redirects to another origin, as a GET", "it has failed, and nothing was sent there", func(w http.ResponseWriter, r *http.Request, elsewhere string) {
			http.Redirect(w, r, elsewhere+"/good-http", http.StatusFound)
		}},
		{"redirect-loop", false, "redirects to itself", failed, func(w http.ResponseWriter, r *http.Request, _ string) {
			http.Redirect(w, r, r.URL.Path, http.StatusPermanentRedirect)
		}},
		{"redirect-call", false, "redirects calls to another origin", "works; its calls fail, and nothing was sent there", func(w http.ResponseWriter, r *http.Request, elsewhere string) {
			body, _ := io.ReadAll(r.Body)
			if bytes.Contains(body, []byte(`"tools/call"`)) {
				http.Redirect(w, r, elsewhere+"/good-http", http.StatusTemporaryRedirect)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			good(w, r, "")
		}},
		{"mute-http", false, "never answers", failed, func(_ http.ResponseWriter, r *http.Request, _ string) { <-r.Context().Done() }},
		{"half-http", false, "sends half an answer", failed, func(w http.ResponseWriter, r *http.Request, _ string) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"resu`)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}},
		{"endless-http", false, "sends an event that doesn't end", failed, func(w http.ResponseWriter, r *http.Request, _ string) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: ")
			endless(w, r)
		}},
		{"endless-json", false, "sends JSON that doesn't end", failed, func(w http.ResponseWriter, r *http.Request, _ string) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":"`)
			endless(w, r)
		}},
		{"zip-bomb", false, "sends 1 GiB of JSON, packed", failed, func(w http.ResponseWriter, r *http.Request, _ string) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, `{"jsonrpc":"2.0","id":1,"result":"`)
			block := bytes.Repeat([]byte("x"), 1<<20)
			for range 1 << 10 {
				if _, err := z.Write(block); err != nil || r.Context().Err() != nil {
					return
				}
			}
		}},
		{"html", false, "is a page for people", failed, func(w http.ResponseWriter, _ *http.Request, _ string) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html><script>alert(1)</script></html>")
		}},
		{"no-content", false, "answers nothing with success", failed, func(w http.ResponseWriter, _ *http.Request, _ string) {
			w.WriteHeader(http.StatusAccepted)
		}},
		{"echo-headers", false, "refuses with an error that holds the request's headers", "it has failed, and no header is shown", func(w http.ResponseWriter, r *http.Request, _ string) {
			text, _ := json.Marshal(r.Header)
			http.Error(w, r.URL.String()+" "+string(text), http.StatusBadRequest)
		}},
		{"echo-unavailable", false, "isn't available, and says the request's headers", "it has failed, and no header is shown", func(w http.ResponseWriter, r *http.Request, _ string) {
			text, _ := json.Marshal(r.Header)
			http.Error(w, string(text), http.StatusServiceUnavailable)
		}},
		{"long-headers", false, "answers with 2 MiB of headers", failed, func(w http.ResponseWriter, r *http.Request, _ string) {
			w.Header().Set("Mcp-Session-Id", strings.Repeat("s", 2<<20))
			good(w, r, "")
		}},
		{"oauth-elsewhere", false, "wants authorization that another origin tells about", "needs_authorization, and nothing was asked there", func(w http.ResponseWriter, _ *http.Request, elsewhere string) {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+elsewhere+`/oauth"`)
			w.WriteHeader(http.StatusUnauthorized)
		}},
		{"forbids", false, "forbids everything", "it has failed, or needs authorization", func(w http.ResponseWriter, _ *http.Request, _ string) {
			w.WriteHeader(http.StatusForbidden)
		}},
		{"new-session", false, "gives another session with each answer", "works, or has failed", func(w http.ResponseWriter, r *http.Request, _ string) {
			w.Header().Set("Mcp-Session-Id", fmt.Sprintf("%p", r))
			good(w, r, "")
		}},
		{"endpoint-elsewhere", true, "names an endpoint of another origin", "it has failed, and nothing was sent there", func(w http.ResponseWriter, r *http.Request, elsewhere string) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "event: endpoint\ndata: %s/good-http\n\n", elsewhere)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}},
		{"no-endpoint", true, "never names its endpoint", failed, func(w http.ResponseWriter, r *http.Request, _ string) {
			w.Header().Set("Content-Type", "text/event-stream")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}},
		{"endless-events", true, "sends events without an end before its endpoint", failed, func(w http.ResponseWriter, r *http.Request, _ string) {
			w.Header().Set("Content-Type", "text/event-stream")
			for i := 0; i < 1<<20 && r.Context().Err() == nil; i++ {
				_, _ = io.WriteString(w, "event: other\ndata: x\n\n: comment\n\n")
			}
		}},
	}
}

// good answers requests with JSON.
func good(w http.ResponseWriter, r *http.Request, _ string) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	m := new(message)
	if err := json.NewDecoder(r.Body).Decode(m); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if len(m.ID) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	var out bytes.Buffer
	s := newServer(nil, &out, nil)
	s.inline = true
	s.handle(m)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(out.Bytes())
}

// endless writes until the other side has had enough.
func endless(w http.ResponseWriter, r *http.Request) {
	block := bytes.Repeat([]byte("x"), 1<<16)
	for i := 0; i < 1<<15 && r.Context().Err() == nil; i++ {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}
