package redact

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"

	"waymark/internal/lazyregexp"
)

// Ordinary reports whether a value is left in texts, because it is shorter than
// MinPart or says nothing that others don't: an address without a name, a locale, a
// word such as "localhost" or "production", one character again and again, a path,
// or several with colons between them, and a URL or JSON document without anything
// in it that may be secret.
func Ordinary(value string) bool { return len(appendWindows(nil, value)) == 0 }

// words are those of MinPart letters or more that configurations are full of. A
// part of a value that lies in one of them is left.
var words = strings.Fields(`
	localhost workspace workspaces production development staging testing database postgres postgresql mongodb elasticsearch
	username password passwords passphrase credential credentials secret-key access-key api-token apitoken authorization
		application applications environment environments configuration container containers kubernetes internal external
	default defaults disabled enabled required optional readonly read-only read-write readwrite public private protected
	document documents download downloads repository repositories directory filesystem everything development-server
	us-east-1 us-east-2 us-west-1 us-west-2 eu-west-1 eu-central-1 service services account accounts anonymous
	information verbose warning function functions`)

var (
	scheme   = lazyregexp.New(`^[A-Za-z][A-Za-z0-9+.-]*://`)
	locale   = lazyregexp.New(`^([a-z]{2,3}(_[A-Z]{2})?|C|POSIX)\.(UTF|utf|ISO|iso)[0-9A-Za-z-]*$`)
	relative = lazyregexp.New(`^(\.{0,2}|~)/`)
	prefix   = lazyregexp.New(`^(?i:bearer|basic|digest|token|apikey|negotiate) +`)
	boundary = lazyregexp.New(`(?m)^-----(BEGIN|END) [A-Z0-9 ]*-----$`)
	piece    = lazyregexp.New(`[\pL\pN]+`)
)

// appendWindows appends the windows of a value: all runs of MinPart bytes but those
// that are of ordinary text.
func appendWindows(to []uint64, value string) []uint64 {
	if len(value) < MinPart || locale().MatchString(value) || isWord(value) || strings.Contains(Mask, value) {
		return to
	}
	if _, err := netip.ParseAddr(value); err == nil {
		return to
	}
	if _, err := netip.ParseAddrPort(value); err == nil {
		return to
	}
	if leaves, ok := document(value); ok {
		for _, leaf := range leaves {
			to = appendWindows(to, leaf)
		}
		return to
	}
	secret := secretBytes(value)
	total := count(secret)
	if total == 0 {
		return to
	}
	const half = MinPart / 2 // of a window have to be secret, or "Bearer s" were
	before := len(to)
	if to = appendRuns(to, value, secret, min(half, total), true); len(to) > before {
		return to
	}
	if to = appendRuns(to, value, secret, min(half, total), false); !repeats(value) {
		return to
	}
	return to[:before]
}

// appendRuns appends the windows of a value that have so many secret bytes; with
// choosy, not those that lie in a word or repeat two characters.
func appendRuns(to []uint64, value string, secret []bool, least int, choosy bool) []uint64 {
	var w uint64
	number := 0 // of secret bytes in the window
	for i := range len(value) {
		w = w<<8 | uint64(value[i])
		from := i - MinPart + 1
		if secret[i] {
			number++
		}
		if from > 0 && secret[from-1] {
			number--
		}
		if from < 0 || number < least {
			continue
		}
		if choosy && (repeats(value[from:i+1]) || wordWindows().has(lower(w))) {
			continue
		}
		to = append(to, w)
	}
	return to
}

func count(list []bool) int {
	n := 0
	for _, is := range list {
		if is {
			n++
		}
	}
	return n
}

// repeats reports whether a text has two characters at most, as lines in tables and
// numbers of zeros do.
func repeats(s string) bool {
	other := strings.TrimLeft(s, s[:1])
	return other == "" || strings.Trim(s, s[:1]+other[:1]) == ""
}

// isWord reports whether a value lies in a word.
func isWord(s string) bool {
	s = strings.ToLower(s)
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(word, s) })
}

// wordWindows are all windows of words.
var wordWindows = sync.OnceValue(func() *set {
	var list []uint64
	for _, word := range words {
		for i := range len(word) - MinPart + 1 {
			list = append(list, binary.BigEndian.Uint64([]byte(word[i:])))
		}
	}
	return newSet(list)
})

// lower makes the capitals of a window small ones.
func lower(w uint64) uint64 {
	for shift := 0; shift < 64; shift += 8 {
		if isUpper(byte(w >> shift)) { //nolint:gosec // one byte of it
			w |= 0x20 << shift
		}
	}
	return w
}

// document returns the strings and numbers of a JSON object or array. Names and
// everything between them are in all such documents.
func document(value string) (leaves []string, ok bool) {
	if trimmed := strings.TrimSpace(value); trimmed == "" || trimmed[0] != '{' && trimmed[0] != '[' || !json.Valid([]byte(value)) {
		return nil, false
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(value)))
	dec.UseNumber()
	var objects []bool // of the nesting, whether it is an object's
	name := false      // comes next
	for {
		token, err := dec.Token()
		if err != nil {
			return leaves, true
		}
		wasName := name
		switch token := token.(type) {
		case json.Delim:
			if token == '{' || token == '[' {
				objects = append(objects, token == '{')
			} else {
				objects = objects[:len(objects)-1]
			}
		case string:
			if !wasName {
				leaves = append(leaves, token)
			}
		case json.Number:
			leaves = append(leaves, token.String())
		}
		name = len(objects) > 0 && objects[len(objects)-1] && !wasName
	}
}

// secretBytes says of each byte of a value whether it may be secret.
func secretBytes(value string) []bool {
	secret := make([]bool, len(value))
	if list := strings.Split(value, ":"); relative().MatchString(value) && !slices.ContainsFunc(list, func(s string) bool { return !relative().MatchString(s) }) {
		at := 0
		for _, path := range list {
			markPath(secret[at:at+len(path)], path)
			at += len(path) + 1
		}
		return secret
	}
	if lead := scheme().FindString(value); lead != "" {
		if u, err := url.Parse(value); err == nil && u.Host != "" {
			markURL(secret, value, len(lead))
			return secret
		}
	}
	fill(secret, true)
	if lead := prefix().FindString(value); len(lead) < len(value) {
		fill(secret[:len(lead)], false)
	}
	for _, at := range boundary().FindAllStringIndex(value, -1) {
		fill(secret[at[0]:at[1]], false)
	}
	return secret
}

func fill(list []bool, is bool) {
	for i := range list {
		list[i] = is
	}
}

// markURL marks user and password, what of the path looks random, and the values
// of the query and the fragment. host is where they begin.
func markURL(secret []bool, value string, host int) {
	end := len(value)
	if i := strings.IndexAny(value[host:], "/?#"); i >= 0 {
		end = host + i
	}
	if i := strings.LastIndexByte(value[host:end], '@'); i >= 0 {
		fill(secret[host:host+i], true)
	}
	query := len(value)
	if i := strings.IndexAny(value[end:], "?#"); i >= 0 {
		query = end + i
	}
	markRandom(secret[end:query], value[end:query])
	for at := query; at < len(value); {
		next := len(value)
		if i := strings.IndexAny(value[at+1:], "&#;"); i >= 0 {
			next = at + 1 + i
		}
		from := at + 1
		if i := strings.IndexByte(value[from:next], '='); i >= 0 {
			from += i + 1
		}
		fill(secret[from:next], true)
		at = next
	}
}

// roots are where paths begin that are surely paths.
var roots = strings.Fields("bin boot data dev etc home lib lib64 media mnt nix opt private proc root run sbin snap srv sys tmp usr var workspace workspaces Applications Library System Users Volumes . .. ~")

// markPath marks what of a path looks random; and all of one that begins with no
// directory that machines have, when some of it does: base64 has slashes, too.
func markPath(secret []bool, path string) {
	markRandom(secret, path)
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if count(secret) > 0 && !slices.Contains(roots, first) {
		fill(secret, true)
	}
}

func markRandom(secret []bool, text string) {
	for _, at := range piece().FindAllStringIndex(text, -1) {
		if looksRandom(text[at[0]:at[1]]) {
			fill(secret[at[0]:at[1]], true)
		}
	}
}

// looksRandom reports whether letters and digits are no name: digits among the
// letters, capitals here and there, or too many of them.
func looksRandom(s string) bool {
	const short, long, changes = 7, 24, 4
	if len(s) < short {
		return false
	}
	digit := func(r rune) bool { return r >= '0' && r <= '9' }
	body := strings.TrimRightFunc(strings.TrimLeftFunc(s, digit), digit)
	if len(body) >= long || strings.ContainsFunc(body, digit) {
		return true
	}
	n := 0
	for i := 1; i < len(body); i++ {
		if isUpper(body[i]) != isUpper(body[i-1]) {
			n++
		}
	}
	return n > changes || n > 2 && len(body) < 3*n
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
