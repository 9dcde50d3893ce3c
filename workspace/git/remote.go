package git

import (
	"net/url"
	"strings"

	"waymark/internal/text"
)

// maxRemote bounds what is told of a remote, in bytes.
const maxRemote = 2048

// userInfo is what may stand before the host of a URL, wherever it is: in one
// that net/url doesn't understand, or behind the name of a remote helper.
var userInfo = text.Lazy(`//[^/@]*@`)

// withoutCredentials returns a remote's URL as it may be told: without user and
// password, and without the query, where some servers take tokens. The user of
// an SSH URL stays, since it says which service is meant and proves nothing.
func withoutCredentials(remote string) string {
	remote = text.Line(remote, maxRemote)
	scheme, _, isURL := strings.Cut(remote, "://")
	if !isURL {
		// git@host:path stays. A password is no part of this form, but
		// somebody may have forgotten the "https://".
		before, after, found := strings.Cut(remote, "@")
		if found && strings.Contains(before, ":") {
			return after
		}
		return remote
	}
	u, err := url.Parse(remote)
	if err != nil || u.Opaque != "" || u.Host == "" && u.User == nil {
		remote, _, _ = strings.Cut(remote, "?")
		for {
			// One that holds an @ itself leaves the rest of it before the next one.
			cut := userInfo().ReplaceAllString(remote, "//")
			if cut == remote {
				return cut
			}
			remote = cut
		}
	}
	if user := u.User; user != nil {
		u.User = nil
		if strings.HasSuffix(scheme, "ssh") {
			u.User = url.User(user.Username())
		}
	}
	u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = "", false, "", ""
	return u.String()
}
