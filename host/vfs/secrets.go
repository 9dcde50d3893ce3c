package vfs

// Secret is an entry of the secret list.
type Secret struct {
	// Pattern is the entry's name, as `grant_secrets` spells it. It matches at any depth, in
	// any case, together with everything below what it matches.
	Pattern string
	// What describes what is kept secret.
	What string
}

// SecretPatterns returns the secret list: what no resolver sees unless the operator grants
// the entry by its Pattern. It is matched on the path asked for and on its target. A file
// that several entries match is visible only if all of them are granted.
//
// Single names count only below the root: a root inside ~/.ssh was chosen by its owner.
// Entries of several names may begin above the root, so that a root ~/.docker doesn't show
// its config.json.
func SecretPatterns() []Secret {
	return []Secret{
		{".env*", "environment files of dotenv and direnv"},
		{".git/**", "git's own data: history, credentials in remote URLs, hooks"},
		{".hg/**", "Mercurial's own data"},
		{".svn/**", "Subversion's own data"},
		{".jj/**", "Jujutsu's own data"},
		{".ssh/**", "SSH keys and configuration"},
		{".gnupg/**", "GnuPG keys"},
		{".password-store/**", "pass"},
		{".aws/**", "AWS credentials"},
		{".azure/**", "Azure credentials"},
		{".config/gcloud/**", "Google Cloud credentials"},
		{".config/gh/**", "GitHub CLI tokens"},
		{".config/glab-cli/**", "GitLab CLI tokens"},
		{".config/doctl/**", "DigitalOcean credentials"},
		{".config/hub", "GitHub tokens of hub"},
		{".config/coderv2/**", "Coder session tokens"},
		{".oci/**", "Oracle Cloud credentials"},
		{".kube/**", "Kubernetes credentials"},
		{".docker/config.json", "registry credentials"},
		{".dockercfg", "registry credentials, old form"},
		{".config/containers/auth.json", "registry credentials of podman"},
		{".terraform.d/credentials.tfrc.json", "Terraform Cloud tokens"},
		{".terraformrc", "Terraform tokens"},
		{"*.tfstate", "Terraform state holds secrets in the clear"},
		{"*.tfvars", "Terraform variables"},
		{".vault-token", "HashiCorp Vault token"},
		{".netrc", "passwords for curl, git and others"},
		{"_netrc", "passwords for curl, git and others"},
		{".git-credentials", "git passwords"},
		{".npmrc", "npm tokens"},
		{".yarnrc*", "yarn tokens"},
		{".pypirc", "PyPI tokens"},
		{".gem/credentials", "RubyGems token"},
		{".cargo/credentials*", "crates.io token"},
		{".m2/settings*.xml", "Maven passwords"},
		{".gradle/gradle.properties", "Gradle passwords"},
		{".nuget/nuget.config", "NuGet tokens"},
		{".pgpass", "PostgreSQL passwords"},
		{".my.cnf", "MySQL passwords"},
		{".s3cfg", "S3 credentials"},
		{".boto", "cloud credentials of boto"},
		{".htpasswd", "web passwords"},
		{".rclone.conf", "rclone credentials"},
		{".config/rclone/**", "rclone credentials"},
		{".credentials*", "credential files of several tools, such as Claude Code's"},
		{".codex/auth.json", "Codex tokens"},
		{".gemini/oauth_creds.json", "Gemini CLI tokens"},
		{".local/share/opencode/auth.json", "opencode tokens"},
		{".config/github-copilot/**", "Copilot tokens"},
		{"id_rsa", "private key"},
		{"id_dsa", "private key"},
		{"id_ecdsa", "private key"},
		{"id_ecdsa_sk", "private key"},
		{"id_ed25519", "private key"},
		{"id_ed25519_sk", "private key"},
		{"*.pem", "keys and certificates"},
		{"*.key", "private keys"},
		{"*.ppk", "PuTTY private keys"},
		{"*.p12", "key stores"},
		{"*.pfx", "key stores"},
		{"*.jks", "Java key stores"},
		{"*.keystore", "key stores"},
		{"*.kdbx", "KeePass databases"},
		{".bash_history", "what was typed"},
		{".zsh_history", "what was typed"},
		{".python_history", "what was typed"},
		{".node_repl_history", "what was typed"},
		{".psql_history", "what was typed"},
	}
}
