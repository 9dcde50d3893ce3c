package why

import (
	"fmt"

	"waymark/host/vfs"
)

// rule is one row of a table of reasons. If its test holds for the subject of the table, the
// answer has the rule's reason and its text. A rule without a reason passes the question on
// to another table: its test returns the whole answer.
type rule[T any] struct {
	reason Reason
	test   func(subject T) (facts, bool)
	text   string // a format for the arguments of the test
}

// facts is what a test that holds returns: the fields of the answer other than reason and
// text, and the arguments of the text.
type facts struct {
	Answer
	args []any
}

// first returns the answer of the first rule in a table whose test holds.
func first[T any](rules []rule[T], subject T) (Answer, bool) {
	for i := range rules {
		f, ok := rules[i].test(subject)
		if !ok {
			continue
		}
		if f.Reason == "" {
			f.Reason, f.Detail = rules[i].reason, fmt.Sprintf(rules[i].text, f.args...)
		}
		return f.Answer, true
	}
	return Answer{}, false
}

// with makes facts of the arguments of a text.
func with(args ...any) (facts, bool) { return facts{args: args}, true }

// about makes facts that name a resolver, or none if r is nil.
func about(r *Run, args ...any) (facts, bool) {
	f := facts{args: args}
	if r != nil {
		f.Resolver = r.Resolver
	}
	return f, true
}

// answered makes facts of an answer that another table gave.
func answered(a Answer, ok bool) (facts, bool) { return facts{Answer: a}, ok }

// notAsked are the reasons for what can't be the path of a file.
var notAsked = []rule[string]{
	{ReasonOutsideRoots, isRelative, "not an absolute path: give the whole path, from / on"},
	{ReasonMissing, isTooLong, "longer than any path can be: there is no such file"},
	{ReasonMissing, holdsNUL, "it holds a NUL, which no file name can: there is no such file"},
}

// ofPath are the reasons for a path. The tables to which it passes a question on follow in
// the order in which they are evaluated.
var ofPath = []rule[*question]{
	{test: (*question).foundHere},       // a find belongs to the path as given: ofFind
	{test: (*question).deniedToAll},     // each resolver that reads files of this name was refused it: ofDenial
	{test: (*question).foundBehindLink}, // a find belongs to the path's target: ofFind
	{test: (*question).inRefusedRoot},   // it lies in a configured root that isn't looked at: ofRefusedRoot
	{test: (*question).inRoots},         // it lies in a root: inRoot

	{ReasonMissing, (*question).inMissingRoot, "the configured root or source %s doesn't exist; it is looked at as soon as it does"},
	{ReasonOutsideRoots, (*question).aboveRoot, "in no root itself: %s below it is one"},
	{ReasonOutsideRoots, (*question).nextToFileRoot, "only the file %s of this directory is a root%s"},
	{ReasonOutsideRoots, (*question).outsideOneRoot, "not in the root%s"},
	{ReasonOutsideRoots, (*question).outsideRoots, "in none of the %s%s"},
}

// ofFind are the reasons for what a resolver found. None holds for a find that is newer than
// the snapshot.
var ofFind = []rule[*find]{
	// What replaces it.
	{ReasonCollapsedInto, (*find).isCollapsed, "a link to what is listed as %s%s"},
	{ReasonDeduplicated, (*find).isDeduplicated, "%s; rename or remove one of them. Listed is %s%s"},
	{ReasonExcluded, (*find).isLeftOut, "%s"},

	// What its resource says, if it is listed.
	{ReasonFound, (*find).isMCP, "listed as an MCP configuration; its text stays on this machine%s"},
	{ReasonFound, (*find).isContent, "the text of the %s %s, %s%s"},
	{ReasonFound, (*find).isOK, "%s, %s%s"},
	{ReasonOversize, (*find).isOversize, "%s; it is listed without its text: shorten it, or raise max_resource_bytes under [snapshot]"},
	{ReasonExcluded, (*find).isExcluded, "%s; it is listed without its text: remove what isn't needed, or see [snapshot] in the configuration"},
	{test: (*find).isNoFile}, // the fault isn't its text but what exists there: ofEntry
	{ReasonUnreadable, (*find).isUnreadable, "%s"},
	{ReasonInvalid, (*find).isListed, "%s"},
}

// ofRefusedRoot are the reasons why a configured root isn't looked at.
var ofRefusedRoot = []rule[Refused]{
	{ReasonLinkEscapes, refusedForLink(vfs.ReasonEscape), rootRefused},
	{ReasonHiddenSecret, refusedForLink(vfs.ReasonSecret), rootRefused},
	{ReasonExcludedByConfig, refusedForLink(vfs.ReasonExcluded), rootRefused},
	{ReasonNotAKnownPlace, Refused.forAnyLink, rootRefused},
	{ReasonNotRegular, Refused.forType, rootRefused},
	{ReasonLinkBroken, Refused.forLoop, rootRefused},
	{ReasonUnreadable, Refused.forPermission, rootRefused},
	{ReasonOutsideRoots, Refused.forAnything, rootRefused},
}

const rootRefused = "the configured root or source %s is not looked at: %s"

// inRoot are the reasons for a path in one root that no find explains. The last one always
// holds.
var inRoot = []rule[*pathInRoot]{
	// Names that nobody may see.
	{ReasonMissing, (*pathInRoot).hasBadNameAndIsMissing, "there is no such file"},
	{ReasonNotAKnownPlace, (*pathInRoot).hasBadName, "its name is not valid UTF-8, and such names are not shown to resolvers: rename it"},
	{ReasonNotAKnownPlace, (*pathInRoot).isRoot, "a root, in which resolvers look for what they know: %s; ask for a file in it"},
	{test: (*pathInRoot).isProtected}, // by its own name, whether or not it exists: ofDenial

	// Nothing exists.
	{ReasonWrongCase, (*pathInRoot).isWantedInThisCase, "%s looks for it, and there is only %s: names count in exact case, rename that"},
	{ReasonWrongCase, (*pathInRoot).existsInOtherCase, "there is no such file, only %s: ask for that, since names count in exact case"},
	{ReasonWrongCase, (*pathInRoot).isWantedInOtherCase, "%s looks for %s"},
	{ReasonMissing, (*pathInRoot).isInMissingRoot, "the configured root or source %s doesn't exist; it is looked at as soon as it does"},
	{ReasonMissing, (*pathInRoot).isMissing, "there is no such file%s"},
	{ReasonMissing, (*pathInRoot).isBelowFile, "there is no such file: a name on the way to it is a file and not a directory"},

	// Something exists that can't be read, or not as what it is.
	{test: (*pathInRoot).leadsToProtected}, // ofDenial
	{test: (*pathInRoot).leadsNowhere},     // ofEntry
	{ReasonResolverFailed, (*pathInRoot).resolverFailed, "%s, which may look at it, failed in this root: %s"},
	{test: (*pathInRoot).isSpecial}, // ofEntry
	{ReasonNotRegular, (*pathInRoot).isDirForFile, "%s is a directory, where a file belongs"},
	{ReasonNotAKnownPlace, (*pathInRoot).isFileForDir, "%s is a file, where %s looks for a directory"},
	{ReasonUnreadable, (*pathInRoot).isBelowClosedDir, "no permission to look at %s: a directory on the way is closed to this user"},
	{ReasonUnreadable, (*pathInRoot).isClosed, "no permission to read %s"},
	{test: (*pathInRoot).deniedToOne}, // ofDenial

	// Nobody's, although resolvers look nearby.
	{ReasonNotAKnownPlace, (*pathInRoot).isOfUnloadedPlugin, "%s"},
	{ReasonNotAKnownPlace, (*pathInRoot).isPartOfFind, "part of the directory of the %s %s, of which only %s is sent; the agent may read it in the workspace%s"},
	{ReasonNotAKnownPlace, (*pathInRoot).wasReadInVain, "%s looked at it and made no resource of it; its warnings, in the log, may say why%s"},
	{ReasonNotAKnownPlace, (*pathInRoot).wasLeftUnread, "%s may read it, but doesn't take it for one of its files%s"},
	{ReasonNested, (*pathInRoot).belongsBelowRoot, "%s looks for %s right below the root: move it there%s"},
	{ReasonNested, (*pathInRoot).belongsInOwnRoot, "%s looks for %s at a root's top level only%s%s"},
	{ReasonNested, (*pathInRoot).isTooDeep, "%s doesn't look so deep: move it to %s%s"},
	{ReasonNotAKnownPlace, (*pathInRoot).holdsFinds, "a directory; %s: ask for a file in it"},
	{test: (*pathInRoot).holdsDenied}, // ofDenial
	{ReasonWrongCase, (*pathInRoot).holdsInOtherCase, "%s looks for %s in it, and there is only %s: names count in exact case, rename that"},
	{ReasonMissing, (*pathInRoot).lacksFile, "%s looks for %s in it, and there is none"},
	{ReasonNotAKnownPlace, (*pathInRoot).isEmptyForAll, "a directory that %s looks into; nothing in it is in the context"},

	// Nobody's at all.
	{ReasonNotAKnownPlace, (*pathInRoot).isReadByTools, "no resolver here reads this place; %s"},
	{ReasonWrongCase, (*pathInRoot).isReadInOtherCase, "no resolver here reads this place, and agents neither; %s, in exact case"},
	{ReasonNested, (*pathInRoot).isReadHigherUp, "no resolver here reads this place, and agents neither; %s, but not so deep"},
	{ReasonNotAKnownPlace, (*pathInRoot).isMisnamed, "%s are looked for in this directory, by %s, and only those whose name is like %s: rename it, if it is one"},
	{ReasonNotAKnownPlace, (*pathInRoot).isReadByToolsElsewhere, "no resolver here reads this place; %s"},
	{ReasonNotAKnownPlace, (*pathInRoot).isFileRoot, "it is a root by itself, but no resolver takes a file of this name%s"},
	{ReasonNotAKnownPlace, (*pathInRoot).hasReaderElsewhere, "%s may read it, but doesn't look here in this root%s"},
	{ReasonNotAKnownPlace, (*pathInRoot).hasNoResolver, "no resolver is loaded: see 'agent plugins'"},
	{ReasonNotAKnownPlace, (*pathInRoot).isNobodys, "no resolver here looks at this place"},
}

// ofEntry are the reasons for what exists at a path, whoever wants it.
var ofEntry = []rule[*entry]{
	{ReasonLinkEscapes, (*entry).isLinkOut, "%s leads to %s, out of the root: " + linksStayInside},
	{ReasonLinkEscapes, (*entry).isBehindLinkOut, "%s is reached by a link that goes out of the root: " + linksStayInside},
	{ReasonLinkBroken, (*entry).isBehindBrokenLink, "%s is a link to what doesn't exist: mend or remove it"},
	{ReasonLinkBroken, (*entry).isBrokenLink, "%s leads to %s, which doesn't exist: mend or remove the link"},
	{ReasonLinkBroken, (*entry).isLoop, "%s is a link that leads in circles, or through too many others: mend or remove it"},
	{ReasonNotRegular, (*entry).isSpecial, "%s is a %s, not a regular file: such are never opened"},
}

const linksStayInside = "links are followed inside of it only; add the directory that it leads to as a source"

// ofDenial are the reasons why a resolver may not read a path. The last one always holds.
var ofDenial = []rule[denial]{
	{ReasonExcludedByConfig, deniedAs(vfs.ReasonExcluded), "%s matches a pattern of exclude in the configuration, or is the agent's own: nothing there is read"},
	{ReasonHiddenSecret, denial.isSecret, "%s is on %s: no resolver sees it, unless grant_secrets of a plugin names the entry"},
	{ReasonUnreadable, denial.hasManyNames, "%s has several names (it is a hard link), of which one may be secret, and there is too much to search: make it a file of its own"},
	{ReasonNotGranted, deniedAs(vfs.ReasonMCP), "%s is MCP configuration, which holds tokens: only a resolver whose sole kind is mcp_config may read it"},
	{ReasonNotGranted, denial.isNarrowed, "%s declares it, but the operator narrowed what it may read: see reads of the plugin %s in the configuration"},
	{ReasonNotGranted, denial.isUndeclared, "%s is not in the reads that the resolver declares"},
}
