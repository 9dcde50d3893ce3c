package launch

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// passed are variables that every server gets: about the user, the language, the network
// and toolchains.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TERM",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NIX_SSL_CERT_FILE",
	"NVM_DIR", "NVM_BIN", "VOLTA_HOME", "PYENV_ROOT", "PYENV_VERSION", "ASDF_DIR", "ASDF_DATA_DIR", "JAVA_HOME", "GOROOT", "GOPATH", "CARGO_HOME", "RUSTUP_HOME",
}

// ServerEnv returns the complete environment of a server, sorted by name. It consists of
// those variables in base that servers need or the widening names, without any
// AgentVariable; then directories for temporary files and caches, so that programs don't
// write to the home directory; then the entry's own variables, which take precedence.
//
// A server can't read the configuration of other programs and shouldn't look for it. So
// XDG_CONFIG_HOME and the like point to the cache, too, unless it is Unconfined.
func ServerEnv(base []string, own map[string]string, s ServerPlaces, wide Widening) []string {
	env := map[string]string{}
	for _, have := range base {
		name, value, ok := strings.Cut(have, "=")
		if ok && name != "" && !AgentVariable(name) && (matches(passed, name) || slices.Contains(wide.Env, name)) {
			env[name] = value
		}
	}
	if s.Dir != "" {
		env["PWD"] = s.Dir
	}
	if s.Tmp != "" {
		for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
			env[name] = s.Tmp
		}
	}
	if s.Cache != "" {
		for name, dir := range cacheVariables {
			if wide.Unconfined && slices.Contains(homes, name) || slices.Contains(wide.Env, name) && env[name] != "" {
				continue
			}
			env[name] = filepath.Join(s.Cache, dir)
		}
	}
	maps.Copy(env, own)
	list := make([]string, 0, len(env))
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}

// cacheVariables are the variables for directories below a server's cache. Variables whose
// default follows XDG_CACHE_HOME aren't listed.
var cacheVariables = map[string]string{
	"XDG_CACHE_HOME": ".", "XDG_CONFIG_HOME": "config", "XDG_DATA_HOME": "data", "XDG_STATE_HOME": "state",
	"npm_config_cache": "npm", "npm_config_userconfig": "npmrc", "YARN_CACHE_FOLDER": "yarn", "BUN_INSTALL_CACHE_DIR": "bun",
	"PYTHONPYCACHEPREFIX": "pycache", "NODE_REPL_HISTORY": "node_history",
}

// homes are those of cacheVariables that replace the user's own files.
var homes = []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "npm_config_userconfig"}
