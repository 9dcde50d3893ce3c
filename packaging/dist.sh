#!/bin/sh
# Makes static binaries for several platforms, and a tarball of each, with
# checksums. `make dist` calls it, with these variables:
#
#   DIST       where to put them; made anew
#   PLATFORMS  like "linux/amd64 darwin/arm64"
#   COMMANDS   the programs; by default all
#   VERSION    what the tarballs are named by
#   EPOCH      the time of everything in them, in seconds
#   GUEST      the module of the built-in resolvers
#   NATIVE     its native code for this machine, or nothing
#   GO         the go command
#
# The same sources and the same toolchain give the same bytes. The native code
# is made for the CPU of the machine that builds, and only for its platform:
# elsewhere the agent compiles the module when it first runs. In an agent with it
# the code is placed so that it begins at a page of its file (see
# internal/tools/aot), and the module itself is packed.
set -eu

fail() { echo "dist: $*" >&2; exit 1; }

tar --version 2>/dev/null | grep -q 'GNU tar' || fail "GNU tar is needed, for tarballs that are the same each time"
sum=sha256sum
command -v sha256sum >/dev/null || sum='shasum -a 256'

case $VERSION in
'' | *[!A-Za-z0-9._+-]*) fail "VERSION is \"$VERSION\": use letters, digits and ._+-" ;;
esac

root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$DIST"
dist=$(cd "$DIST" && pwd)
[ "$dist" != "$root" ] && [ "$dist" != / ] || fail "DIST must be a directory of its own"
rm -rf "$dist"/waymark_* "$dist/SHA256SUMS"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
here=$("$GO" env GOHOSTOS)/$("$GO" env GOHOSTARCH)

# overlay FILE GUEST NATIVE: what the agent embeds, whatever the tree has there.
overlay() {
	printf '{"Replace": {"%s": "%s", "%s": "%s"}}\n' \
		"$root/host/builtin/dist/builtin.wasm" "$2" "$root/host/builtin/dist/builtin.native" "$3" >"$1"
}

# build COMMAND: without symbols and DWARF; Go's own table of functions, by which
# a crash is told, stays. Functions begin at every 16 bytes, and of the agent's what
# no edit waits for is not inlined: a twentieth of it.
build() {
	link='-s -w -funcalign=16'
	if [ "$1" = agent ] && [ -e "$work/$name/supervisor" ]; then
		link="$link $("$root/packaging/helper.sh" "$work/$name/supervisor")"
	fi
	set -- "$1" -trimpath -ldflags="$link" -overlay "$work/overlay.json" -o "$work/$name/$1"
	if [ "$1" = agent ]; then
		for packages in github.com google.golang.org waymark/cmd waymark/hub waymark/workspace waymark/agent; do
			set -- "$@" "-gcflags=$packages/...=-l"
		done
		set -- "$@" -gcflags=github.com/tetratelabs/...=
	fi
	program=$1
	shift
	CGO_ENABLED=0 GOOS=${platform%/*} GOARCH=${platform#*/} "$GO" build "$@" "./cmd/$program"
}

cd "$root"
COMMANDS=${COMMANDS:-$(cd cmd && for c in */main.go; do dirname "$c"; done)}
first='' rest='' # the supervisor comes first: the agent knows its digest
for command in $COMMANDS; do
	if [ "$command" = supervisor ]; then first=supervisor; else rest="$rest $command"; fi
done
COMMANDS="$first$rest"
for platform in $PLATFORMS; do
	name=waymark_${VERSION}_$(echo "$platform" | tr / _)
	mkdir -p "$work/$name"
	native=
	guest=$GUEST
	if [ "$platform" = "$here" ] && [ -n "$NATIVE" ]; then
		native=$work/builtin.native
		cp "$NATIVE" "$native"
		guest=$work/builtin.wasm
		"$GO" run ./internal/tools/aot -pack "$guest" "$GUEST"
	fi
	overlay "$work/overlay.json" "$guest" "$native"
	for command in $COMMANDS; do
		build "$command"
		if [ "$command" = agent ] && [ -n "$native" ]; then
			"$GO" run ./internal/tools/aot -place "$work/$name/agent" "$native"
		fi
	done
	cp LICENSE README.md CHANGELOG.md plugin.toml "$work/$name/"
	case $platform in linux/*) cp packaging/waymark-agent.service packaging/waymark-supervisor@.service "$work/$name/" ;; esac
	chmod 755 "$work/$name"
	chmod 644 "$work/$name"/*
	for command in $COMMANDS; do chmod 755 "$work/$name/$command"; done
	tar --sort=name --format=ustar --owner=0 --group=0 --numeric-owner --mtime="@$EPOCH" \
		-C "$work" -cf - "$name" | gzip -9n >"$dist/$name.tar.gz"
	rm -rf "${work:?}/$name"
done
cd "$dist"
$sum waymark_*.tar.gz >SHA256SUMS
cat SHA256SUMS
