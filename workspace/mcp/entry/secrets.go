package entry

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
)

// credentialWords are words that names of credentials are made of.
var credentialWords = []string{
	"token", "tokens", "secret", "secrets", "password", "passwd", "passphrase", "pass", "pwd", "key", "apikey", "api-key", "auth", "authorization",
	"bearer", "credential", "credentials", "cookie", "pat", "pin", "jwt", "sig", "signature", "dsn",
}

// Credential reports whether a variable, header, flag or parameter of that name is
// likely to hold a credential.
func Credential(name string) bool {
	var b strings.Builder
	for i, r := range name { // apiKey, API_KEY, api-key, api.key
		upper := r >= 'A' && r <= 'Z'
		if upper && i > 0 && name[i-1] >= 'a' && name[i-1] <= 'z' {
			b.WriteByte(' ')
		}
		switch {
		case upper:
			r += 'a' - 'A'
		case (r < 'a' || r > 'z') && (r < '0' || r > '9'):
			r = ' '
		}
		b.WriteRune(r)
	}
	return slices.ContainsFunc(strings.Fields(b.String()), func(word string) bool {
		return slices.Contains(credentialWords, word) || strings.HasSuffix(word, "token") || strings.HasSuffix(word, "apikey") ||
			strings.HasSuffix(word, "secret") || strings.HasSuffix(word, "password")
	})
}

// Argument is where in an argument a credential stands.
type Argument struct {
	// Prefix is what stands before it: "--token=", "Authorization: "; empty where
	// all of the argument is one.
	Prefix string
	// Value is the credential.
	Value string
}

// Credentials finds the arguments that look like credentials: --token=VALUE, the one
// after --api-key, NAME_TOKEN=VALUE, "Authorization: VALUE", and URLs with a user. The
// list is as long as args; others have no Value.
func Credentials(args []string) []Argument {
	list := make([]Argument, len(args))
	for i, arg := range args {
		if i > 0 && named(args[i-1]) && !strings.HasPrefix(arg, "-") {
			list[i] = Argument{Value: arg}
			continue
		}
		list[i] = within(arg)
	}
	return list
}

// named reports whether an argument is a flag whose value follows.
func named(flag string) bool {
	return strings.HasPrefix(flag, "-") && !strings.ContainsAny(flag, "= :") && Credential(flag)
}

// within finds a credential in an argument by itself.
func within(arg string) Argument {
	if i := strings.IndexAny(arg, "=:"); i > 0 && Credential(arg[:i]) && !strings.ContainsAny(arg[:i], "/ ") {
		value := strings.TrimLeft(arg[i+1:], " ")
		return Argument{Prefix: arg[:len(arg)-len(value)], Value: value}
	}
	if i := strings.IndexByte(arg, '='); i > 0 && !strings.ContainsAny(arg[:i], "/:?") { // --header=NAME:VALUE
		inner := within(arg[i+1:])
		return Argument{Prefix: arg[:i+1] + inner.Prefix, Value: inner.Value}
	}
	user, query := URLParts(arg)
	switch {
	case user != "":
		return Argument{Prefix: arg[:strings.Index(arg, user)], Value: arg[strings.Index(arg, user):]}
	case slices.ContainsFunc(strings.Split(query, "&"), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return Credential(name)
	}):
		return Argument{Prefix: arg[:len(arg)-len(query)], Value: query}
	}
	return Argument{}
}

// URLParts finds the user and the query of a URL that may still hold references. The
// query goes on to the end of the text.
func URLParts(text string) (user, query string) {
	_, rest, ok := strings.Cut(text, "://")
	if !ok {
		return "", ""
	}
	authority := rest
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority = rest[:i]
	}
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		user = authority[:at]
	}
	_, query, _ = strings.Cut(rest, "?")
	return user, query
}

// credentials returns what of arguments must not be shown.
func credentials(args []string) (list []string) {
	for i, c := range Credentials(args) {
		if c.Value != "" {
			list = append(append(list, c.Value), secretParts(c.Value)...)
		}
		if Random(args[i]) {
			list = append(list, args[i])
		}
		if strings.Contains(args[i], "://") {
			list = append(list, secretParts(args[i])...)
		}
	}
	return list
}

// secretParts returns what of a secret is one by itself: what follows the scheme of an
// Authorization header, and the password of a URL.
func secretParts(value string) (list []string) {
	if scheme, rest, ok := strings.Cut(value, " "); ok {
		rest = strings.TrimSpace(rest)
		list = append(list, rest)
		if strings.EqualFold(scheme, "basic") {
			if plain, err := base64.StdEncoding.DecodeString(rest); err == nil {
				_, password, _ := strings.Cut(string(plain), ":")
				list = append(list, string(plain), password)
			}
		}
	}
	if strings.Contains(value, "://") {
		if u, err := url.Parse(value); err == nil {
			list = append(list, urlSecrets(u)...)
		}
	}
	return list
}

// urlSecrets returns what of a URL must not be shown: the user, the values of the
// query, and parts of the path that look random, since some services put a token
// there.
func urlSecrets(u *url.URL) (list []string) {
	if u.User != nil {
		list = append(list, u.User.Username(), u.User.String())
		if password, ok := u.User.Password(); ok {
			list = append(list, password)
		}
	}
	for _, pair := range strings.Split(u.RawQuery, "&") {
		_, raw, ok := strings.Cut(pair, "=")
		if !ok {
			raw = pair
		}
		list = append(list, raw)
		if value, err := url.QueryUnescape(raw); err == nil {
			list = append(list, value)
		}
	}
	for _, part := range strings.Split(u.Path, "/") {
		if Random(part) {
			list = append(list, part)
		}
	}
	list = append(list, u.Fragment)
	return list
}

// Random reports whether an argument, or a part of a path, looks like a token: long, of
// letters and digits.
func Random(text string) bool {
	const least = 20
	return len(text) >= least && strings.ContainsAny(text, "0123456789") && !strings.ContainsAny(text, "./ :=$@")
}
