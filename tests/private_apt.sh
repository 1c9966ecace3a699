# An apt of the tests' own: its sources, lists and (empty) record of what is installed lie in one folder. The system's proxies and certificates serve it.
# It reads no source, preference or list of this system, and installs nothing. For scripts that source this file.

debian_mirror=${AGENTJAIL_MIRROR:-http://deb.debian.org/debian}
debian_keyring=/usr/share/keyrings/debian-archive-keyring.gpg

private_apt() { # FOLDER SUITE...: what in_apt uses from here on, with the packages of these suites of Debian
	local suite
	apt=$1
	shift
	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
	: >"$apt/status"
	for suite; do
		echo "deb [arch=amd64 signed-by=$debian_keyring] $debian_mirror $suite main"
	done >"$apt/sources.list"
	cat >"$apt/conf" <<-CONF
		Dir::Etc::SourceList "$apt/sources.list";
		Dir::Etc::SourceParts "/dev/null";
		Dir::Etc::Preferences "/dev/null";
		Dir::Etc::PreferencesParts "/dev/null";
		Dir::State::Lists "$apt/lists";
		Dir::State::Status "$apt/status";
		Dir::Cache "$apt/cache";
		APT::Architecture "amd64";
		APT::Install-Recommends "false";
		APT::Sandbox::User "";
		Acquire::Languages "none";
		Acquire::GzipIndexes "true";
		Acquire::Retries "3";
		Debug::NoLocking "true";
	CONF
}
in_apt() { # COMMAND ARGS...
	env LC_ALL=C APT_CONFIG="$apt/conf" "$@"
}
