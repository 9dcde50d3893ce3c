#!/bin/sh
# Puts into build/ what the image copies: a static agent, and the resolvers. Run
# it before `coder templates push`. AGENT and HARNESS take programs that are
# built already; RESOLVERS names the directories of other resolvers.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
repository=$(cd "$here/../.." && pwd)
BUILD=${BUILD:-$here/build}
GO=${GO:-go}
RESOLVERS=${RESOLVERS:-$repository/examples/cursor-rules}

cd "$repository"
mkdir -p "$BUILD/plugins"
if [ -n "${AGENT:-}" ]; then
	cp "$AGENT" "$BUILD/agent"
else
	make guest GO="$GO"
	CGO_ENABLED=0 GOOS=linux "$GO" build -trimpath -ldflags='-s -w' -o "$BUILD/agent" ./cmd/agent
fi
for resolver in $RESOLVERS; do
	output=$BUILD/plugins/$(basename "$resolver").wasm
	if [ -n "${HARNESS:-}" ]; then
		"$HARNESS" build "$resolver" --output "$output"
	else
		"$GO" run ./cmd/harness build "$resolver" --output "$output"
	fi
done
