package store

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Labels are names with values that operators give to agents, such as env=prod. An
// agent has no say in them, so that a token's scope can be said in their terms.
type Labels map[string]string

const (
	// MaxLabels is how many an agent may have.
	MaxLabels = 32
	// maxLabel bounds a name and a value, in bytes.
	maxLabel = 63
)

// Check reports whether these can be labels. The error says what to use.
func (l Labels) Check() error {
	if len(l) > MaxLabels {
		return fmt.Errorf("%w: %d labels, at most %d are allowed", ErrInvalid, len(l), MaxLabels)
	}
	for _, name := range slices.Sorted(maps.Keys(l)) {
		if !isLabel(name) {
			return fmt.Errorf("%w: label name %q: use at most %d letters, digits and . _ - / and begin with a letter or digit", ErrInvalid, name, maxLabel)
		}
		if value := l[name]; value != "" && !isLabel(value) {
			return fmt.Errorf("%w: value %q of label %s: use at most %d letters, digits and . _ - / and begin with a letter or digit", ErrInvalid, value, name, maxLabel)
		}
	}
	return nil
}

func isLabel(s string) bool {
	if s == "" || len(s) > maxLabel || strings.ContainsRune("._-/", rune(s[0])) {
		return false
	}
	return strings.IndexFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("._-/", c)
	}) < 0
}

// Has reports whether all of want are among the labels, with the same values.
func (l Labels) Has(want Labels) bool {
	for name, value := range want {
		if has, there := l[name]; !there || has != value {
			return false
		}
	}
	return true
}

// String is the labels as people write them, in order of their names.
func (l Labels) String() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(l)) {
		list = append(list, name+"="+l[name])
	}
	return strings.Join(list, ",")
}

// ParseLabels reads labels of the form NAME=VALUE.
func ParseLabels(list []string) (Labels, error) {
	labels := make(Labels, len(list))
	for _, text := range list {
		name, value, ok := strings.Cut(text, "=")
		if _, twice := labels[name]; !ok || twice {
			return nil, fmt.Errorf("%w: label %q: want NAME=VALUE, and each name once", ErrInvalid, text)
		}
		labels[name] = value
	}
	return labels, labels.Check()
}
