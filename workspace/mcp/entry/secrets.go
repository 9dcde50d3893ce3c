package entry

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"waymark/internal/text"
)

// credentialWords are words that names of credentials are made of.
var credentialWords = []string{
	"token", "tokens", "secret", "secrets", "password", "passwd", "passphrase", "pass", "pwd", "key", "apikey", "api-key", "auth", "authorization",
	"bearer", "credential", "credentials", "cookie", "pat", "jwt", "sig", "signature",
}

// aboutWords end names of what is said about a credential: where it is, how it is used.
var aboutWords = []string{
	"file", "path", "dir", "directory", "url", "uri", "host", "endpoint", "name", "type", "method", "mode", "cache", "ttl", "timeout", "id",
	"user", "username", "algorithm", "scope", "scopes", "issuer", "audience", "enabled",
}

// Credential reports whether a variable, header, flag or parameter of that name is
// likely to hold a credential.
func Credential(name string) bool {
	if name == "PWD" || name == "OLDPWD" {
		return false
	}
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
	words := strings.Fields(b.String())
	if len(words) > 0 && slices.Contains(aboutWords, words[len(words)-1]) {
		return false
	}
	return slices.ContainsFunc(words, func(word string) bool {
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

// ordinary are variables that everybody is shown: what holds a reference to one isn't a
// secret as a whole.
var ordinary = strings.Fields("HOME USER LOGNAME PWD OLDPWD PATH SHELL TMPDIR LANG TZ HOSTNAME XDG_CONFIG_HOME XDG_CACHE_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_RUNTIME_DIR")

// Secrets returns what of a value must not be shown, when it is given to a variable, a
// header or a parameter of that name:
//
//   - all of it where the name is a credential's, and what follows the scheme in it
//     ("Bearer …"; of "Basic …" the password, too): but for words of less than 8 letters
//     and all of less than 6 bytes, of which other texts are full;
//   - the password of a URL, or its user where it has none; parameters of its query and
//     fragment, of a connection string and of a JSON document that have a credential's
//     name;
//   - what has the form of a token; see Token.
func Secrets(name, value string) (list []string) {
	if Credential(name) {
		scheme, rest, ok := strings.Cut(value, " ")
		if list = append(list, value); ok {
			list = append(list, strings.TrimSpace(rest))
		}
		if plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(rest)); err == nil && strings.EqualFold(scheme, "basic") {
			_, password, _ := strings.Cut(string(plain), ":")
			list = append(list, string(plain), password)
		}
	}
	list = append(list, parts(value)...)
	return slices.DeleteFunc(list, func(v string) bool {
		return len(v) < 6 || len(v) < 8 && strings.Trim(strings.ToLower(v), "abcdefghijklmnopqrstuvwxyz") == ""
	})
}

// parts returns what of a value is a secret whatever its name is.
func parts(value string) (list []string) {
	if _, after, ok := strings.Cut(value, "://"); ok {
		user, _ := URLParts(value)
		name, password, ok := strings.Cut(user, ":")
		if !ok {
			password = name
		}
		list = append(list, password)
		if plain, err := url.PathUnescape(password); err == nil {
			list = append(list, plain)
		}
		value = after[min(len(user), len(after)):]
	}
	var document any
	if json.Unmarshal([]byte(value), &document) == nil {
		list = append(list, leaves("", document)...)
	}
	// Blanks and semicolons are between the parameters of connection strings.
	for _, pair := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune("?&#; \t\r\n", r) }) {
		if name, text, ok := strings.Cut(pair, "="); ok && Credential(name) {
			list = append(list, text)
			if plain, err := url.QueryUnescape(text); err == nil {
				list = append(list, plain)
			}
		}
	}
	for _, word := range strings.FieldsFunc(value, func(r rune) bool { return !isWord(r) && r != '.' }) {
		if Token(word) {
			list = append(list, word)
		}
	}
	return list
}

// leaves returns the texts of a JSON document that are secrets.
func leaves(name string, value any) (list []string) {
	switch v := value.(type) {
	case string:
		if name != "" { // else it is what parts looks at
			list = Secrets(name, v)
		}
	case []any:
		for _, item := range v {
			list = append(list, leaves(name, item)...)
		}
	case map[string]any:
		for name, item := range v {
			list = append(list, leaves(name, item)...)
		}
	}
	return list
}

// isWord reports whether a character is of a word that may be a token.
func isWord(r rune) bool {
	return r < 0x80 && (r == '-' || r == '_' || r == '+' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z')
}

// issued is how tokens of some services begin.
var issued = text.Lazy(`^(gh[pousr]_|github_pat_|glpat-|sk-|[spr]k_(live|test)_|xox[abeprs]-|xapp-|AKIA|ASIA|AIza|ya29\.|eyJ|npm_|pypi-|hf_|dop_v1_|whsec_|SG\.|wm_|lin_api_)[A-Za-z0-9._=+-]{12,}$`)

// Token reports whether a word has the form of a token: it begins as those of a known
// service do and has a digit, or it has 20 letters and digits or more and goes from capitals
// to small letters to digits as often as what is random does. Digests, UUIDs, versions
// and names don't.
func Token(word string) bool {
	if !strings.ContainsAny(word, "0123456789") {
		return false
	}
	if issued().MatchString(word) {
		return true
	}
	const least = 20
	kinds, changes, n := map[byte]bool{}, 0, 0
	var last byte
	for _, r := range word {
		kind := byte('a')
		switch {
		case r >= '0' && r <= '9':
			kind = '0'
		case r >= 'A' && r <= 'Z':
			kind = 'A'
		case r < 'a' || r > 'z':
			if r == '.' {
				return false // between names
			}
			continue
		}
		if n++; last != 0 && kind != last && (last != 'A' || kind != 'a') { // as words begin
			changes++
		}
		kinds[kind], last = true, kind
	}
	return len(kinds) == 3 && n >= least && changes*10 >= (n-1)*3
}
