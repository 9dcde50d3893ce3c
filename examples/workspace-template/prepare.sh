#!/bin/sh
# Puts into build/ what the image copies: a static agent, and the resolvers. Run
# it before `coder templates push`. AGENT and HARNESS take programs that are
# built already; RESOLVERS names the directories of other resolvers. In Waymark's
# repository they are built from its source, elsewhere the agent and the harness
# in PATH are taken, and the example cursor-rules of the harness.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
repository=$(cd "$here/../.." && pwd)
BUILD=${BUILD:-$here/build}
GO=${GO:-go}
mkdir -p "$BUILD/plugins"
if [ -f "$repository/cmd/agent/main.go" ]; then
	[ -n "${RESOLVERS:-}" ] || set -- "$repository/examples/cursor-rules"
	cd "$repository"
else
	for program in agent harness; do
		command -v "$program" >/dev/null || {
			echo "prepare.sh: there is no $program in PATH: put Waymark's programs there" >&2
			exit 1
		}
	done
	AGENT=${AGENT:-$(command -v agent)}
	HARNESS=${HARNESS:-$(command -v harness)}
	if [ -z "${RESOLVERS:-}" ]; then
		copies=$(mktemp -d)
		trap 'rm -rf "$copies"' EXIT
		"$HARNESS" new --from cursor-rules --dir "$copies/cursor-rules" >/dev/null
		set -- "$copies/cursor-rules"
	fi
fi
if [ -n "${AGENT:-}" ]; then
	cp "$AGENT" "$BUILD/agent"
else
	make guest GO="$GO"
	CGO_ENABLED=0 GOOS=linux "$GO" build -trimpath -ldflags='-s -w' -o "$BUILD/agent" ./cmd/agent
fi
for resolver in "$@" ${RESOLVERS:-}; do # names with blanks only where none are named
	output=$BUILD/plugins/$(basename "$resolver").wasm
	if [ -n "${HARNESS:-}" ]; then
		"$HARNESS" build "$resolver" --output "$output"
	else
		"$GO" run ./cmd/harness build "$resolver" --output "$output"
	fi
done
