package server_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"waymark/agent/server"
	"waymark/agent/server/servertest"
	"waymark/agentapi/status"
	"waymark/host/applicability"
	"waymark/host/sources"
)

const (
	snapshotPath   = "/api/v0/context/snapshot"
	resyncPath     = "/api/v0/context/resync"
	resourcePath   = "/api/v0/context/resources/{id}"
	whyPath        = "/api/v0/context/why"
	coveragePath   = "/api/v0/context/coverage"
	skillFilesPath = "/api/v0/context/skill-files"
	skillFilePath  = "/api/v0/context/skill-file"
	clientPath     = "/api/v0/context/client"
	forPath        = "/api/v0/context/for"
	rootPath       = "/api/v0/context/root"
	readyPath      = "/api/v0/context/ready"
	sourcesPath    = "/api/v0/context/sources"
	sourcePath     = "/api/v0/context/sources/{path}"
	statusPath     = "/api/v0/status"
	pluginsPath    = "/api/v0/plugins"
	retryPath      = "/api/v0/plugins/retry"
	waitingPath    = "/api/v0/plugins/waiting"
	approvePath    = "/api/v0/plugins/approve"
	documentPath   = "/api/v0/openapi.json"
	healthPath     = "/healthz"
	metricsPath    = "/metrics"
	encodedSource  = "/api/v0/context/sources/%2Fhome%2Fme%2F50%25%20of%20%231%3F%2Fa%20b"
)

// skilled has a skill of one file.
func skilled(f *servertest.Backend, _ *server.Options) {
	f.Skills = map[string]map[string]string{"skill:/s": {"SKILL.md": "hello"}}
}

// routeCase is one request and what must come of it.
type routeCase struct {
	name           string
	method, path   string // as documented
	target         string // as requested; empty for path
	body           string
	headers        []string
	with           func(*servertest.Backend, *server.Options)
	code           int
	contains       string
	header, answer string // a header that must have that value
}

func goodCases() []routeCase {
	return []routeCase{
		{name: "health", method: "GET", path: healthPath, code: 200, contains: `{"status":"ok"}`},
		{name: "metrics", method: "GET", path: metricsPath, code: 200, contains: "waymark_up 1"},
		{name: "document", method: "GET", path: documentPath, code: 200, contains: `"openapi": "3.1.0"`},
		{name: "status", method: "GET", path: statusPath, code: 200, contains: `"pid":42`},
		{name: "empty status", method: "GET", path: statusPath, code: 200, contains: `"roots":[]`,
			with: func(f *servertest.Backend, _ *server.Options) {
				f.Report = status.Status{Watch: status.Watch{Mode: "off"}}
			}},
		{name: "status without reasons", method: "GET", path: statusPath, code: 200, contains: `"reasons":{}`,
			with: func(f *servertest.Backend, _ *server.Options) {
				f.Report.Push.HeldBack.Reasons = nil
				f.Report.Push.LastAccepted = nil
				f.Report.Push.Protocol = ""
			}},
		{name: "plugins", method: "GET", path: pluginsPath, code: 200, contains: `"state":"ready"`},
		{name: "no plugins", method: "GET", path: pluginsPath, code: 200, contains: `[]`,
			with: func(f *servertest.Backend, _ *server.Options) { f.Report.Plugins = nil }},
		{name: "retry", method: "POST", path: retryPath, code: 204},
		{name: "retry with an empty object", method: "POST", path: retryPath, body: " {} ", code: 204},
		{name: "waiting", method: "GET", path: waitingPath, code: 200, contains: `"new_reads":["docs/**"]`},
		{name: "nothing waits", method: "GET", path: waitingPath, code: 200, contains: `[]`,
			with: func(f *servertest.Backend, _ *server.Options) { f.Waiting = nil }},
		{name: "approve", method: "POST", path: approvePath, body: `{"name":"acme","digest":"2c26"}`, code: 200, contains: `"serving_version":"1.0.0"`},
		{name: "ready", method: "POST", path: readyPath, code: 204},
		{name: "root", method: "PUT", path: rootPath, body: `{"path":"/w/../w/x/"}`, code: 204},
		{name: "snapshot", method: "GET", path: snapshotPath, code: 200, contains: `"aggregate_hash":"`},
		{name: "snapshot, head", method: "HEAD", path: snapshotPath, code: 200},
		{name: "snapshot is known", method: "GET", path: snapshotPath, headers: []string{"If-None-Match", "*"}, code: 304},
		{name: "wait for what is there", method: "GET", path: snapshotPath, target: snapshotPath + "?wait=1m&after=0", code: 200},
		{name: "no wait", method: "GET", path: snapshotPath, target: snapshotPath + "?wait=0s&after=1", code: 200},
		{name: "resync", method: "POST", path: resyncPath, code: 200, contains: `"version":1`},
		{name: "resync within", method: "POST", path: resyncPath, target: resyncPath + "?timeout=1h", code: 200},
		{name: "text", method: "GET", path: resourcePath, target: "/api/v0/context/resources/instruction_file:%2Fw%2F50%25%2FAGENTS.md",
			code: 200, contains: "# Hello\n", header: "Content-Type", answer: "text/plain; charset=utf-8"},
		{name: "text, slashes as they are", method: "GET", path: resourcePath, target: "/api/v0/context/resources/instruction_file:/w/50%25/AGENTS.md",
			code: 200, contains: "# Hello\n"},
		{name: "text, head", method: "HEAD", path: resourcePath, target: "/api/v0/context/resources/instruction_file:/w/50%25/AGENTS.md",
			code: 200, header: "Content-Length", answer: "8"},
		{name: "bytes", method: "GET", path: resourcePath, target: "/api/v0/context/resources/command:%2Fw%2Fx%23k%2F1",
			code: 200, contains: "\x00\xff", header: "Content-Type", answer: "application/octet-stream"},
		{name: "text is known", method: "GET", path: resourcePath, target: "/api/v0/context/resources/instruction_file:/w/50%25/AGENTS.md",
			headers: []string{"If-None-Match", `W/"x", "90f8ec5669cd34183b9b0fdf8b94f5efb4c3672876330f4aa76088c2b4ad17be"`}, code: 304},
		{name: "why for a client", method: "GET", path: whyPath, target: whyPath + "?path=/w/50%25/AGENTS.md&client=codex", code: 200, contains: `"client":{"client":"codex","version":"`},
		{name: "for a client", method: "GET", path: forPath, target: forPath + "?path=/w/50%25/new.go&client=opencode", code: 200, contains: `"when":"start"`},
		{name: "client", method: "GET", path: clientPath, target: clientPath + "?client=codex", code: 200, contains: `"included":true,"cut_bytes":0}],"budget":{"instruction_bytes":32768`},
		{name: "client elsewhere", method: "GET", path: clientPath, target: clientPath + "?client=claude&dir=/w", code: 200, contains: `"root":"/w"`},
		{name: "why", method: "GET", path: whyPath, target: whyPath + "?path=/b&path=%2Fa%FF", code: 200, contains: `[{"path":"/b","found":true`},
		{name: "sources", method: "GET", path: sourcesPath, code: 200, contains: `[{"path":"/home/me/50% of #1?/a b",`},
		{name: "no sources", method: "GET", path: sourcesPath, code: 200, contains: `[]`,
			with: func(f *servertest.Backend, _ *server.Options) { f.SetSources() }},
		{name: "add", method: "POST", path: sourcesPath, body: `{"path":"/x y","persist":true}`, code: 201,
			contains: `"persisted":true,"origin":"api","error":"","added":true`, header: "Location", answer: sourcesPath + "/%2Fx%20y"},
		{name: "add again", method: "POST", path: sourcesPath, body: `{"path":"/home/me/50% of #1?/a b"}`, code: 201, contains: `"added":false`},
		{name: "show", method: "GET", path: sourcePath, target: encodedSource, code: 200, contains: `{"path":"/home/me/50% of #1?/a b",`},
		{name: "show, not clean", method: "GET", path: sourcePath, target: encodedSource + "%2F..%2Fa%20b%2F", code: 200},
		{name: "show, slashes as they are", method: "GET", path: sourcePath,
			target: "/api/v0/context/sources//home/me/50%25%20of%20%231%3F/a%20b", code: 200},
		{name: "show the top", method: "GET", path: sourcePath, target: "/api/v0/context/sources/%2F", code: 200,
			with: func(f *servertest.Backend, _ *server.Options) {
				f.SetSources(sources.Source{Path: "/", Origin: sources.OriginFlag})
			}},
		{name: "remove", method: "DELETE", path: sourcePath, target: encodedSource, code: 204},
	}
}

func badCases() []routeCase {
	failing := func(err error) func(*servertest.Backend, *server.Options) {
		return func(f *servertest.Backend, _ *server.Options) { f.Fail = err }
	}
	long := `{"path":"/` + strings.Repeat("a", 64<<10) + `"}`
	return []routeCase{
		{name: "no metrics", method: "GET", path: metricsPath, code: 404, with: func(_ *servertest.Backend, o *server.Options) { o.Metrics = nil }},
		{name: "after is no version", method: "GET", path: snapshotPath, target: snapshotPath + "?after=-1", code: 400, contains: "after"},
		{name: "after twice", method: "GET", path: snapshotPath, target: snapshotPath + "?after=1&after=2", code: 400, contains: "more than once"},
		{name: "wait is no time", method: "GET", path: snapshotPath, target: snapshotPath + "?wait=30", code: 400, contains: "30s"},
		{name: "wait is negative", method: "GET", path: snapshotPath, target: snapshotPath + "?wait=-1s", code: 400},
		{name: "bad query", method: "GET", path: snapshotPath, target: snapshotPath + "?wait=1s;after=2", code: 400, contains: "semicolon"},
		{name: "wait fails", method: "GET", path: snapshotPath, target: snapshotPath + "?wait=1s&after=1", code: 500,
			with: failing(errors.New("broken")), contains: "broken"},
		{name: "resync fails", method: "POST", path: resyncPath, code: 500, with: failing(errors.New("broken")), contains: "broken"},
		{name: "resync misses a file", method: "POST", path: resyncPath, code: 500, with: failing(fs.ErrNotExist)},
		{name: "add what can't be looked at", method: "POST", path: sourcesPath, body: `{"path":"/x"}`, code: 400, with: failing(fs.ErrPermission)},
		{name: "resync stops", method: "POST", path: resyncPath, code: 503, with: failing(fmt.Errorf("x: %w", server.ErrStopping)),
			header: "Retry-After", answer: "1"},
		{name: "resync is held", method: "POST", path: resyncPath, code: 409, with: failing(fmt.Errorf("x: %w", server.ErrHeld)),
			contains: "is held back until the file of --wait-for is there; 'agent ready' makes it now\",\"see\":\"POST /api/v0/context/ready\""},
		{name: "resync is canceled", method: "POST", path: resyncPath, code: 503, with: failing(context.Canceled)},
		{name: "resync with a body", method: "POST", path: resyncPath, body: `{"timeout":"1s"}`, code: 400},
		{name: "resync, timeout is no time", method: "POST", path: resyncPath, target: resyncPath + "?timeout=soon", code: 400},
		{name: "no such resource", method: "GET", path: resourcePath, target: "/api/v0/context/resources/skill:%2Fnone", code: 404},
		{name: "oversize", method: "GET", path: resourcePath, target: "/api/v0/context/resources/" + servertest.BigID, code: 404, contains: "oversize: 81920 bytes"},
		{name: "oversize, and read anew", method: "GET", path: resourcePath, target: "/api/v0/context/resources/" + servertest.BigID,
			with: func(f *servertest.Backend, _ *server.Options) {
				f.Bodies = map[string][]byte{servertest.BigID: []byte("all of it")}
			}, code: 200, contains: "all of it"},
		{name: "oversize, and reading fails", method: "GET", path: resourcePath, target: "/api/v0/context/resources/" + servertest.BigID,
			with: failing(errors.New("broken")), code: 500},
		{name: "never a payload", method: "GET", path: resourcePath, target: "/api/v0/context/resources/" + servertest.SecretID, code: 404, contains: "tokens"},
		{name: "an id with NUL", method: "GET", path: resourcePath, target: "/api/v0/context/resources/skill:%00", code: 400, contains: "NUL"},
		{name: "coverage", method: "GET", path: coveragePath, code: 200, contains: `"reason":"no_kind"`},
		{name: "coverage is held", method: "GET", path: coveragePath, code: 409, with: failing(server.ErrHeld)},
		{name: "coverage fails", method: "GET", path: coveragePath, code: 500, with: failing(errors.New("broken"))},
		{name: "for", method: "GET", path: forPath, target: forPath + "?path=/w/50%25/a.ts", code: 200,
			contains: `{"path":"/w/50%/a.ts","root":"/","items":[{"id":"instruction_file:/w/50%/AGENTS.md","kind":"instruction_file","path":"w/50%/AGENTS.md",`},
		{name: "files of a skill", method: "GET", path: skillFilesPath, target: skillFilesPath + "?id=skill:/s", code: 200, contains: `"files":[{"path":"SKILL.md","size_bytes":5,"digest":"sha256:2cf2`, with: skilled},
		{name: "files of no skill", method: "GET", path: skillFilesPath, target: skillFilesPath + "?id=skill:/t", code: 404, with: skilled},
		{name: "files of nothing", method: "GET", path: skillFilesPath, code: 400, contains: "once"},
		{name: "a file of a skill", method: "GET", path: skillFilePath, target: skillFilePath + "?id=skill:/s&path=SKILL.md", code: 200, contains: "hello", with: skilled},
		{name: "a file of a skill by its digest", method: "GET", path: skillFilePath, target: skillFilePath + "?id=skill:/s&path=SKILL.md&digest=sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", code: 200, contains: "hello", with: skilled},
		{name: "a file of a skill that is another now", method: "GET", path: skillFilePath, target: skillFilePath + "?id=skill:/s&path=SKILL.md&digest=sha256:0000000000000000000000000000000000000000000000000000000000000000", code: 409, contains: "another content", with: skilled},
		{name: "a file of a skill that is known", method: "GET", path: skillFilePath, target: skillFilePath + "?id=skill:/s&path=SKILL.md", headers: []string{"If-None-Match", `"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"`}, code: 304, with: skilled},
		{name: "no file of a skill", method: "GET", path: skillFilePath, target: skillFilePath + "?id=skill:/s&path=x", code: 404, with: skilled},
		{name: "a file of nothing", method: "GET", path: skillFilePath, target: skillFilePath + "?id=skill:/s", code: 400, contains: "once"},
		{name: "for nothing", method: "GET", path: forPath, code: 400},
		{name: "for two", method: "GET", path: forPath, target: forPath + "?path=/a&path=/b", code: 400, contains: "once"},
		{name: "for a relative path", method: "GET", path: forPath, target: forPath + "?path=a", code: 400, contains: "absolute"},
		{name: "for a NUL", method: "GET", path: forPath, target: forPath + "?path=/a%00", code: 400},
		{name: "for what isn't UTF-8", method: "GET", path: forPath, target: forPath + "?path=/a%FF", code: 400},
		{name: "for what is outside", method: "GET", path: forPath, target: forPath + "?path=/a", code: 404, with: failing(applicability.ErrOutside)},
		{name: "for a secret", method: "GET", path: forPath, target: forPath + "?path=/a", code: 403, with: failing(applicability.ErrSecret)},
		{name: "for is held", method: "GET", path: forPath, target: forPath + "?path=/a", code: 409, with: failing(server.ErrHeld)},
		{name: "for fails", method: "GET", path: forPath, target: forPath + "?path=/a", code: 500, with: failing(errors.New("broken"))},
		{name: "why for an unknown client", method: "GET", path: whyPath, target: whyPath + "?path=/b&client=codec", code: 400, contains: "claude, cline, codex, "},
		{name: "for two clients", method: "GET", path: forPath, target: forPath + "?path=/b&client=codex&client=claude", code: 400, contains: "once"},
		{name: "no client", method: "GET", path: clientPath, code: 400, contains: "claude, cline, codex, "},
		{name: "unknown client", method: "GET", path: clientPath, target: clientPath + "?client=Codex", code: 400, contains: "claude, cline, codex, "},
		{name: "client in two directories", method: "GET", path: clientPath, target: clientPath + "?client=codex&dir=/a&dir=/b", code: 400, contains: "once"},
		{name: "client in a relative directory", method: "GET", path: clientPath, target: clientPath + "?client=codex&dir=a", code: 400, contains: "relative"},
		{name: "client is held", method: "GET", path: clientPath, target: clientPath + "?client=codex", code: 409, with: failing(server.ErrHeld)},
		{name: "client outside", method: "GET", path: clientPath, target: clientPath + "?client=codex&dir=/x", code: 404, with: failing(applicability.ErrOutside)},
		{name: "client in a secret directory", method: "GET", path: clientPath, target: clientPath + "?client=codex&dir=/x", code: 403, with: failing(applicability.ErrSecret)},
		{name: "why nothing", method: "GET", path: whyPath, code: 400},
		{name: "why is held", method: "GET", path: whyPath, target: whyPath + "?path=/b", code: 409, with: failing(server.ErrHeld)},
		{name: "why relative", method: "GET", path: whyPath, target: whyPath + "?path=/a&path=b", code: 400, contains: "absolute"},
		{name: "why too many", method: "GET", path: whyPath, target: whyPath + "?" + strings.Repeat("path=/a&", 65), code: 400},
		{name: "why fails", method: "GET", path: whyPath, target: whyPath + "?path=/a", code: 500, with: failing(errors.New("broken"))},
		{name: "root is relative", method: "PUT", path: rootPath, body: `{"path":"w"}`, code: 400, contains: "absolute"},
		{name: "root is missing", method: "PUT", path: rootPath, body: `{"path":"/w"}`, code: 400,
			with: failing(&fs.PathError{Op: "open", Path: "/w", Err: fs.ErrNotExist}), contains: "/w"},
		{name: "root was set", method: "PUT", path: rootPath, body: `{"path":"/w"}`, code: 409,
			with: failing(&server.Error{Code: 409, Message: "it is set"}), contains: "it is set"},
		{name: "root is null", method: "PUT", path: rootPath, body: `null`, code: 400},
		{name: "root is too long", method: "PUT", path: rootPath, body: long, code: 413},
		{name: "root as a form", method: "PUT", path: rootPath, body: `path=/w`, code: 415,
			headers: []string{"Content-Type", "application/x-www-form-urlencoded"}, contains: "application/json"},
		{name: "add nothing", method: "POST", path: sourcesPath, body: `{}`, code: 400, contains: "missing"},
		{name: "add without a body", method: "POST", path: sourcesPath, code: 415},
		{name: "add an empty body", method: "POST", path: sourcesPath, headers: []string{"Content-Type", "application/json"}, code: 400},
		{name: "add a relative path", method: "POST", path: sourcesPath, body: `{"path":"x"}`, code: 400, contains: "relative"},
		{name: "add what isn't allowed", method: "POST", path: sourcesPath, body: `{"path":"/etc"}`, code: 400,
			with: failing(fmt.Errorf("%w: /etc", sources.ErrNotAllowed)), contains: "not allowed: /etc"},
		{name: "add too many", method: "POST", path: sourcesPath, body: `{"path":"/x"}`, code: 400, with: failing(sources.ErrTooMany)},
		{name: "add what can't be kept", method: "POST", path: sourcesPath, body: `{"path":"/x"}`, code: 500, with: failing(sources.ErrPersist)},
		{name: "add too much", method: "POST", path: sourcesPath, body: long, code: 413, contains: "64 KiB"},
		{name: "add text", method: "POST", path: sourcesPath, body: `{"path":"/x"}`, headers: []string{"Content-Type", "text/plain"}, code: 415},
		{name: "add an unknown key", method: "POST", path: sourcesPath, body: `{"path":"/x","persisted":true}`, code: 400, contains: "persisted"},
		{name: "add a key in the wrong case", method: "POST", path: sourcesPath, body: `{"Path":"/x"}`, code: 400},
		{name: "add a key twice", method: "POST", path: sourcesPath, body: `{"path":"/x","path":"/y"}`, code: 400, contains: "is there twice"},
		{name: "add with more behind", method: "POST", path: sourcesPath, body: `{"path":"/x"}{}`, code: 400},
		{name: "add a number", method: "POST", path: sourcesPath, body: `{"path":1}`, code: 400},
		{name: "add half an object", method: "POST", path: sourcesPath, body: `{"path":`, code: 400},
		{name: "add what isn't UTF-8", method: "POST", path: sourcesPath, body: "{\"path\":\"/\xff\"}", code: 400, contains: "UTF-8"},
		{name: "show none", method: "GET", path: sourcePath, target: sourcesPath + "/%2Fnone", code: 404},
		{name: "show a relative one", method: "GET", path: sourcePath, target: sourcesPath + "/..", code: 404},
		{name: "show with NUL", method: "GET", path: sourcePath, target: sourcesPath + "/%2F%00", code: 400},
		{name: "show with a body", method: "GET", path: sourcePath, target: encodedSource, body: "{}", code: 400, contains: "no body"},
		{name: "remove none", method: "DELETE", path: sourcePath, target: sourcesPath + "/%2Fnone", code: 404, contains: "/none"},
		{name: "remove bytes", method: "DELETE", path: sourcePath, target: sourcesPath + "/%2F%FF%FE", code: 404},
		{name: "remove a relative one", method: "DELETE", path: sourcePath, target: sourcesPath + "/x", code: 404,
			with: failing(sources.ErrRelative)},
		{name: "remove with NUL", method: "DELETE", path: sourcePath, target: sourcesPath + "/%2F%00", code: 400},
		{name: "remove what can't be forgotten", method: "DELETE", path: sourcePath, target: encodedSource, code: 500,
			with: failing(sources.ErrPersist)},
		{name: "approve what doesn't wait", method: "POST", path: approvePath, body: `{"name":"acme","digest":"0000"}`, code: 404},
		{name: "approve whatever it is", method: "POST", path: approvePath, body: `{"name":"acme","digest":""}`, code: 400, contains: "digest"},
		{name: "approve without a body", method: "POST", path: approvePath, code: 415},
		{name: "approve too much", method: "POST", path: approvePath, body: strings.Replace(long, "path", "name", 1), code: 413},
		{name: "approve with more", method: "POST", path: approvePath, body: `{"name":"acme","digest":"2c26","all":true}`, code: 400},
		{name: "approve in vain", method: "POST", path: approvePath, body: `{"name":"acme","digest":"2c26"}`, code: 500, with: failing(errors.New("broken"))},
		{name: "retry with a body", method: "POST", path: retryPath, body: `{"all":true}`, code: 400},
		{name: "retry with text", method: "POST", path: retryPath, body: `{}`, headers: []string{"Content-Type", "text/plain"}, code: 415},
		{name: "a backend without sense", method: "POST", path: retryPath, code: 500, with: failing(&server.Error{Code: 200, Message: "hm"})},
	}
}
