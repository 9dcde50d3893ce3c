package launch

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// May says in sentences what a program may do under the profile, for a person who decides
// about it. The nil Profile confines nothing.
func (p *Profile) May() []string {
	if p == nil {
		return []string{"It may do everything that the user can: it is not confined."}
	}
	if p.may != nil {
		return append(p.may, p.mayReach()...)
	}
	list := []string{sentence("It may read", p.Read, "nothing"), sentence("It may write", p.Write, "nothing")}
	if len(p.List) > 0 {
		list = append(list, sentence("It may list the names in", p.List, ""))
	}
	return append(list, p.mayReach()...)
}

// mayReach describes everything in a profile except files.
func (p *Profile) mayReach() []string {
	var list []string
	switch {
	case p.NoTCP:
		list = append(list, "It may not use the network.")
	case p.Ports == nil:
		list = append(list, "It may connect to every address, and listen.")
	case len(p.Ports) == 0:
		list = append(list, "It may not connect by TCP, nor listen; UDP isn't held.")
	default:
		ports := strings.Trim(strings.ReplaceAll(fmt.Sprint(p.Ports), " ", ", "), "[]")
		list = append(list, "It may connect to the TCP ports "+ports+" of every address, and not listen; UDP isn't held.")
	}
	list = append(list, "It may not signal programs that it hasn't started, nor change their limits, priorities and processors.")
	if p.NoUnix {
		list = append(list, "It may not use Unix sockets, such as those of containers, keys and the desktop.")
	} else {
		list = append(list, "It may use Unix sockets, and ask what listens on them to act for it: containers, keys, the desktop.")
		if p.Ports != nil {
			list = append(list, "It may not listen on Unix sockets: they can't be told from others.")
		}
	}
	if len(p.Capabilities) > 0 {
		list = append(list, sentence("Of root's capabilities it keeps", p.Capabilities, ""))
	}
	if p.KeepModes {
		list = append(list, "It may not change modes, owners and attributes of files.")
	}
	return list
}

// sentence joins a list into a sentence.
func sentence(begin string, things []string, none string) string {
	if len(things) == 0 {
		return begin + " " + none + "."
	}
	return begin + " " + strings.Join(things, ", ") + "."
}

// serverMay describes the files of the profile "server" in words, which would otherwise be
// hundreds of paths.
func serverMay(p Places, wide Widening, read, write []string) []string {
	var list []string
	software := "installed programs with the system's configuration, toolchains and package caches"
	if p.Root == "" {
		list = append(list, "It may read "+software+".")
	} else {
		list = append(list, "It may read the workspace "+p.Root+", and "+software+".")
	}
	if len(read) > 0 {
		list = append(list, sentence("It may also read", read, ""))
	}
	list = append(list, "It may write a cache and temporary files of its own.")
	if len(write) > 0 {
		list = append(list, sentence("It may also write", write, ""))
	} else if p.Root != "" {
		list = append(list, "It may not write the workspace.")
	}
	if len(wide.Env) > 0 {
		list = append(list, sentence("It gets the variables", wide.Env, ""))
	}
	return append(list, "It may not read keys, tokens, and what other programs keep in "+filepath.Join(p.Home, ".config")+
		" and the like, nor anything of the agent's.")
}

// Weaknesses says in sentences what of May this machine can't enforce: all of it, or what
// needs a newer kernel. It is empty if the machine can enforce everything.
func (p *Profile) Weaknesses() []string {
	if p == nil {
		return nil
	}
	abi, err := Supported()
	if err != nil {
		return []string{"Nothing of this is held: " + err.Error() + "."}
	}
	return p.weaknesses(abi, HoldsSignals(), hasFilter())
}

// weaknesses are those for a version of Landlock, with or without scoped signals, and with
// or without a filter of system calls.
func (p *Profile) weaknesses(abi int, signals, filter bool) (list []string) {
	newer := func(least int, kernel, what string) {
		if abi < least {
			list = append(list, fmt.Sprintf("%s (that takes version %d of Landlock, Linux %s, and the kernel has %d).", what, least, kernel, abi))
		}
	}
	if p.Ports != nil {
		newer(4, "6.7", "TCP ports can't be held, and the program doesn't start")
	}
	newer(5, "6.10", "Devices that it may use can be sent commands of any kind")
	newer(6, "6.12", "Other programs of the same user can be signaled")
	if abi >= 6 && !signals {
		list = append(list, "Other programs of the same user can be signaled (that takes a later release of Linux 6.12, or a newer one).")
	}
	if p.NoUnix {
		newer(6, "6.12", "Abstract Unix sockets can be used by descriptors")
	}
	switch {
	case filter:
	case p.cutsCalls():
		list = append(list, "System calls can't be cut on "+runtime.GOARCH+", and the program doesn't start.")
	default:
		list = append(list, "Limits, priorities and processors of other programs can be changed on "+runtime.GOARCH+".")
	}
	return list
}
