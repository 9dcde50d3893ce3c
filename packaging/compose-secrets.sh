#!/bin/sh
# Makes what compose.yaml wants beside it: a directory for each agent to look
# into, and secrets that only you can read. What is there stays as it is.
set -eu
umask 077
dir=${1:-$(cd "$(dirname "$0")/.." && pwd)/compose}
mkdir -p "$dir/one" "$dir/two"

# secret PREFIX: 32 random bytes in base64url.
secret() {
	printf '%s%s\n' "$1" "$(head -c 32 /dev/urandom | base64 | tr '+/' '-_' | tr -d '=\n')"
}

# keep FILE: writes what comes in, unless the file is there.
keep() {
	if [ -e "$dir/$1" ]; then cat >/dev/null; else cat >"$dir/$1"; fi
}

secret wma_ | keep one.token
secret wma_ | keep two.token
secret wmr_ | keep reader.token
secret '' | keep postgres
printf '*:*:*:*:%s\n' "$(cat "$dir/postgres")" | keep pgpass
{
	echo "agent one $(cat "$dir/one.token")"
	echo "agent two $(cat "$dir/two.token")"
	echo "reader compose $(cat "$dir/reader.token")"
} | keep tokens
printf '# One\n\nInstructions of the first workspace.\n' | keep one/AGENTS.md
printf '# Two\n\nInstructions of the second workspace.\n' | keep two/AGENTS.md
echo "made $dir; the reader's token is in $dir/reader.token"
