package process

// The pure parts, which tests compare with simple oracles.
var (
	RuneEnd = runeEnd
	ToText  = toText
)
