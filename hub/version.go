package hub

import (
	"fmt"
	"strconv"
	"strings"

	"waymark/wire"
)

// checkVersion says whether a hub serves the version of the Agent API, in the
// words of Coder's server: an agent that understands those understands these.
// There is no negotiation; a client that gets a no asks for another version.
func checkVersion(version string) error {
	major, minor, err := parseVersion(version)
	switch {
	case err != nil:
		return err
	case major > wire.APIMajor:
		return fmt.Errorf("server is at version %d.%d, behind requested major version %s", wire.APIMajor, wire.APIMinor, version)
	case major < wire.APIMajor:
		return fmt.Errorf("version %s is no longer supported", version)
	case minor > wire.APIMinor:
		return fmt.Errorf("server is at version %d.%d, behind requested minor version %s", wire.APIMajor, wire.APIMinor, version)
	}
	return nil
}

func parseVersion(version string) (major, minor int, err error) {
	first, second, found := strings.Cut(version, ".")
	if !found || strings.Contains(second, ".") {
		return 0, 0, fmt.Errorf("invalid version string: %s", version)
	}
	if major, err = strconv.Atoi(first); err != nil {
		return 0, 0, fmt.Errorf("invalid major version: %s", version)
	}
	if minor, err = strconv.Atoi(second); err != nil {
		return 0, 0, fmt.Errorf("invalid minor version: %s", version)
	}
	return major, minor, nil
}
