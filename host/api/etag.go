package api

import (
	"net/http"
	"strconv"
	"strings"
)

// etag names one version of one life of the agent.
func (h *handler) etag(version uint64) string {
	return `"` + h.instance + "-" + strconv.FormatUint(version, 10) + `"`
}

// tags returns the values of If-None-Match, as strong ones: this package makes
// no others, and proxies may weaken them.
func tags(r *http.Request) []string {
	var list []string
	for _, line := range r.Header.Values("If-None-Match") {
		for tag := range strings.SplitSeq(line, ",") {
			if tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/"); tag != "" {
				list = append(list, tag)
			}
		}
	}
	return list
}

// hasTag reports whether the client has what etag names.
func hasTag(r *http.Request, etag string) bool {
	for _, tag := range tags(r) {
		if tag == etag || tag == "*" {
			return true
		}
	}
	return false
}

// taggedVersion returns the highest version of this life of the agent that the
// client's ETags name. tagged is false when it sends none at all.
func (h *handler) taggedVersion(r *http.Request) (version uint64, tagged bool) {
	list := tags(r)
	for _, tag := range list {
		text, ok := strings.CutPrefix(strings.Trim(tag, `"`), h.instance+"-")
		if n, err := strconv.ParseUint(text, 10, 64); ok && err == nil {
			version = max(version, n)
		}
	}
	return version, len(list) > 0
}
