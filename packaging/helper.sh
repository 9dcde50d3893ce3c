#!/bin/sh
# Prints the flag of the linker by which an agent knows the program that it has hold
# processes: helper.sh SUPERVISOR. See launch.HelperDigest.
set -eu
sum=$(sha256sum "$1" 2>/dev/null || shasum -a 256 "$1")
echo "-X waymark/workspace/launch.HelperDigest=${sum%% *}"
