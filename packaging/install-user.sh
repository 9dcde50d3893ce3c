#!/bin/sh
# Puts the programs, the agent's systemd user units and shell completions in
# place, or takes them away again: install-user.sh install|uninstall. `make
# install-user` calls it, with these variables:
#
#   BIN      a directory with the programs to install: agent, hub, harness, supervisor
#   PREFIX   where it goes, ~/.local for one user
#   DESTDIR  a directory that stands for / while packaging; usually empty
set -eu

# The agent's output names hub, and the README harness.
programs="agent hub harness"
bin=$PREFIX/bin
# What the agent starts, and nobody else.
libexec=$PREFIX/libexec/waymark
units=$PREFIX/share/systemd/user
unit=$units/waymark-agent.service
bash=$PREFIX/share/bash-completion/completions
zsh=$PREFIX/share/zsh/site-functions
fish=$PREFIX/share/fish/vendor_completions.d

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

# complete PROGRAM SHELL FILE: writes the completions of a program.
complete() {
	script=$("$DESTDIR$bin/$1" completion "$2")
	printf '%s\n' "$script" | put "$3" 644
}

# finds DIR: whether systemd looks for the units of users below a data directory.
finds() {
	case :${XDG_DATA_HOME:-${HOME-}/.local/share}:${XDG_DATA_DIRS:-/usr/local/share:/usr/share}: in
	*":$1:"*) return 0 ;;
	esac
	return 1
}

case ${1-} in
install)
	here=$(cd "$(dirname "$0")" && pwd)
	for program in $programs supervisor; do
		[ -x "$BIN/$program" ] || fail "there is no program $BIN/$program: run make build"
	done
	for program in $programs; do
		put "$bin/$program" 755 <"$BIN/$program"
		complete "$program" bash "$bash/$program"
		complete "$program" zsh "$zsh/_$program"
		complete "$program" fish "$fish/$program.fish"
	done
	put "$libexec/supervisor" 755 <"$BIN/supervisor"
	sed "s|^ExecStart=%h/.local/bin/agent |ExecStart=$bin/agent |" "$here/waymark-agent.service" | put "$unit" 644
	sed "s|^ExecStart=:%h/.local/libexec/waymark/supervisor |ExecStart=:$libexec/supervisor |" "$here/waymark-supervisor@.service" |
		put "$units/waymark-supervisor@.service" 644
	echo "installed"
	for program in $programs; do echo "  $bin/$program"; done
	echo "  $libexec/supervisor"
	echo "  $unit"
	echo "  $units/waymark-supervisor@.service"
	echo "  completions for bash, zsh and fish below $PREFIX/share"
	echo "zsh finds them with this line before compinit in ~/.zshrc"
	echo "  fpath+=($zsh)"
	case :$PATH: in *":$bin:"*) ;; *) echo "$bin is not in your PATH yet" ;; esac
	echo "start the agent in a directory with '$bin/agent run', or as a service of yours with"
	if finds "$PREFIX/share"; then
		echo "  systemctl --user daemon-reload && systemctl --user enable --now waymark-agent"
	else # it takes units from elsewhere by their paths
		echo "  systemctl --user link $units/waymark-supervisor@.service"
		echo "  systemctl --user enable --now $unit"
	fi
	echo "and see with '$bin/agent doctor' whether all is well"
	;;
uninstall)
	# The entries in the configurations of coding agents would start what is no longer there.
	if [ -z "$DESTDIR" ] && [ -x "$bin/agent" ]; then
		"$bin/agent" connect --undo || [ $? = 3 ] || echo "look at 'agent connect --list' before you remove the programs by hand"
	fi
	for program in $programs; do
		for file in "$bin/$program" "$bash/$program" "$zsh/_$program" "$fish/$program.fish"; do rm -f "$DESTDIR$file"; done
	done
	rm -f "$DESTDIR$unit" "$DESTDIR$units/waymark-supervisor@.service" "$DESTDIR$libexec/supervisor"
	rmdir "$DESTDIR$libexec" 2>/dev/null || true
	echo "removed agent, hub and harness from $bin, supervisor, the units and completions"
	if [ -z "$DESTDIR" ]; then
		echo "what stays, and may be removed by hand:"
		echo "  ${XDG_CONFIG_HOME:-$HOME/.config}/waymark   what you have configured, and your plugins"
		echo "  ${XDG_STATE_HOME:-$HOME/.local/state}/waymark   approvals, tokens, and the database of your own hub"
		echo "  ${XDG_CACHE_HOME:-$HOME/.cache}/waymark   what is made again"
	fi
	echo "if the service was enabled, take it out with"
	echo "  systemctl --user disable --now waymark-agent"
	;;
*) fail "usage: install-user.sh install|uninstall" ;;
esac
