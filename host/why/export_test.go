package why

// Patterns are those of the table of other tools' places.
func Patterns() (patterns []string) {
	for _, c := range conventions {
		if c.readers == "" || c.as == "" {
			panic("half a row: " + c.pattern)
		}
		patterns = append(patterns, c.pattern)
	}
	return patterns
}
