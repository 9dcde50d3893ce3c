#!/bin/sh
# Puts the agent, its systemd user unit and shell completions in place, or
# takes them away again: install-user.sh install|uninstall. `make install-user`
# calls it, with these variables:
#
#   AGENT    the program to install
#   PREFIX   where it goes, ~/.local for one user
#   DESTDIR  a directory that stands for / while packaging; usually empty
set -eu

bin=$PREFIX/bin
unit=$PREFIX/share/systemd/user/waymark-agent.service
bash=$PREFIX/share/bash-completion/completions/agent
zsh=$PREFIX/share/zsh/site-functions/_agent
fish=$PREFIX/share/fish/vendor_completions.d/agent.fish

fail() { echo "install-user: $*" >&2; exit 1; }

case $PREFIX in
/*) ;;
*) fail "PREFIX is \"$PREFIX\": write an absolute path" ;;
esac
case $PREFIX in
*[!A-Za-z0-9/._+@-]*) fail "PREFIX is \"$PREFIX\": a systemd unit takes a plain path, without blanks and quotes" ;;
esac

# put FILE: writes standard input to a file, whole or not at all.
put() {
	mkdir -p "$(dirname "$DESTDIR$1")"
	cat >"$DESTDIR$1.new"
	chmod "$2" "$DESTDIR$1.new"
	mv -f "$DESTDIR$1.new" "$DESTDIR$1"
}

complete() {
	script=$("$DESTDIR$bin/agent" completion "$1")
	printf '%s\n' "$script" | put "$2" 644
}

case ${1-} in
install)
	here=$(cd "$(dirname "$0")" && pwd)
	[ -x "$AGENT" ] || fail "there is no program $AGENT: run make build"
	put "$bin/agent" 755 <"$AGENT"
	sed "s|^ExecStart=%h/.local/bin/agent |ExecStart=$bin/agent |" "$here/waymark-agent.service" | put "$unit" 644
	complete bash "$bash"
	complete zsh "$zsh"
	complete fish "$fish"
	echo "installed $bin/agent, a systemd user unit and completions for bash, zsh and fish below $PREFIX/share"
	echo "start it with"
	echo "  systemctl --user daemon-reload && systemctl --user enable --now waymark-agent"
	case :$PATH: in *":$bin:"*) ;; *) echo "$bin is not in your PATH" ;; esac
	;;
uninstall)
	for file in "$bin/agent" "$unit" "$bash" "$zsh" "$fish"; do rm -f "$DESTDIR$file"; done
	echo "removed $bin/agent, its unit and completions; what the agent has stored stays"
	echo "if the service was enabled, take it out with"
	echo "  systemctl --user disable --now waymark-agent"
	;;
*) fail "usage: install-user.sh install|uninstall" ;;
esac
