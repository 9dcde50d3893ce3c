package vfs

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// fold maps names that some file system treats as equal to one spelling. It covers file
// systems that fold case (HFS+, APFS, NTFS, FAT, ext4 and f2fs with casefold, ZFS), that
// compare decomposed (HFS+, APFS, ext4) or compatible characters (ZFS), that drop ignorable
// ones (HFS+, ext4), or dots and blanks at the end (FAT, NTFS), or that take what follows a
// colon for a part of a file (NTFS). It folds more than any single one of them, on every file
// system.
func fold(name string) string {
	plain := true
	for i := 0; i < len(name) && plain; i++ {
		c := name[i]
		plain = c < utf8.RuneSelf && c != ':' && (c < 'A' || c > 'Z')
	}
	if !plain {
		name = foldLetters(name)
	}
	return strings.TrimRight(name, ". ")
}

func foldLetters(name string) string {
	if i := strings.IndexByte(name, ':'); i >= 0 {
		name = name[:i]
	}
	for i := 0; i < len(name); i++ {
		if name[i] >= utf8.RuneSelf {
			// Twice, because a letter of the other case may decompose, and the parts may have
			// a case.
			return foldOnce(foldOnce(name))
		}
	}
	return strings.ToLower(name)
}

func foldOnce(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.Is(ignorable, r) {
			return -1
		}
		// Through upper case, so that letters such as the long s fold too.
		return unicode.ToLower(unicode.ToUpper(r))
	}, norm.NFKD.String(name))
	// The only letter that folds to letters which no decomposition yields.
	return strings.ReplaceAll(name, "ß", "ss")
}

// ignorable is Default_Ignorable_Code_Point of Unicode, which includes what HFS+ ignores.
var ignorable = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x00AD, Hi: 0x00AD, Stride: 1}, {Lo: 0x034F, Hi: 0x034F, Stride: 1}, {Lo: 0x061C, Hi: 0x061C, Stride: 1},
		{Lo: 0x115F, Hi: 0x1160, Stride: 1}, {Lo: 0x17B4, Hi: 0x17B5, Stride: 1}, {Lo: 0x180B, Hi: 0x180F, Stride: 1},
		{Lo: 0x200B, Hi: 0x200F, Stride: 1}, {Lo: 0x202A, Hi: 0x202E, Stride: 1}, {Lo: 0x2060, Hi: 0x206F, Stride: 1},
		{Lo: 0x3164, Hi: 0x3164, Stride: 1}, {Lo: 0xFE00, Hi: 0xFE0F, Stride: 1}, {Lo: 0xFEFF, Hi: 0xFEFF, Stride: 1},
		{Lo: 0xFFA0, Hi: 0xFFA0, Stride: 1}, {Lo: 0xFFF0, Hi: 0xFFF8, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0x1BCA0, Hi: 0x1BCA3, Stride: 1}, {Lo: 0x1D173, Hi: 0x1D17A, Stride: 1}, {Lo: 0xE0000, Hi: 0xE0FFF, Stride: 1},
	},
	LatinOffset: 1,
}

// shortNames returns patterns for the 8.3 names by which FAT and NTFS find a file with a
// longer name: GIT~1 for .git. pattern is folded, and may contain stars. There are none if
// the short name equals the long one, or if the pattern matches it as well.
func shortNames(pattern string) []string {
	if pattern == "" || strings.ContainsFunc(pattern, func(c rune) bool { return c >= utf8.RuneSelf || c == '\\' }) {
		return nil
	}
	stem, ext := strings.TrimLeft(pattern, "."), ""
	if i := strings.LastIndexByte(stem, '.'); i >= 0 {
		stem, ext = stem[:i], stem[i+1:]
	}
	if same := pattern[0] != '.' && len(stem) <= 8 && len(ext) <= 3 && !strings.Contains(stem, "."); same && (stem == "*" || !strings.Contains(pattern, "*")) {
		return nil
	}
	stem = strings.ReplaceAll(stem, ".", "")
	if i := strings.IndexByte(stem, '*'); i >= 0 {
		stem = stem[:i+1]
	}
	if ext != "" {
		ext = "." + ext[:min(len(ext), 3)]
	}
	list := []string{stem[:min(len(stem), 6)] + "~[0-9]*" + ext}
	if len(stem) > 5 { // a longer number leaves less of the name
		list = append(list, stem[:5]+"~[0-9][0-9]*"+ext)
	}
	if begin := stem[:min(len(stem), 2)]; !strings.Contains(begin, "*") { // after many similar names, with a hash
		list = append(list, begin+"[0-9a-f][0-9a-f][0-9a-f][0-9a-f]~[0-9]*"+ext)
	}
	return list
}
