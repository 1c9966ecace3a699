# Other systems for tests: packages of a Debian release, unpacked below $T, and commands that run with such a folder as their root.
# It installs nothing on this host; what it fetches, apt verifies, and it stays in ~/.cache/agentjail. For scripts that
# set AGENTJAIL_CACHE and then sourced lib.sh.

cache=${AGENTJAIL_CACHE:?}/elsewhere

release() { # SUITE PACKAGE...: unpacked into $T/SUITE, with what they need
	local suite=$1 apt=$cache/$1-$(echo "$*" | cksum | cut -d' ' -f1) deb
	shift
	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/debs"
	: >"$apt/status"
	echo "deb [arch=amd64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${AGENTJAIL_MIRROR:-http://deb.debian.org/debian} $suite main" >"$apt/sources.list"
	cat >"$apt/conf" <<-CONF
		Dir::Etc::SourceList "$apt/sources.list";
		Dir::Etc::SourceParts "/dev/null";
		Dir::Etc::PreferencesParts "/dev/null";
		Dir::State::Lists "$apt/lists";
		Dir::State::Status "$apt/status";
		Dir::Cache "$apt/cache";
		APT::Architecture "amd64";
		APT::Install-Recommends "false";
		APT::Sandbox::User "";
		Acquire::Languages "none";
		Debug::NoLocking "true";
	CONF
	if [ ! -e "$apt/complete" ]; then
		APT_CONFIG=$apt/conf apt-get -qq update &&
			(cd "$apt/debs" && APT_CONFIG=$apt/conf apt-get -qq -s install "$@" | awk '/^Inst / { print $2 }' |
				grep -vxE 'debconf|gcc-.*-base|media-types' | APT_CONFIG=$apt/conf xargs apt-get -qq download) &&
			: >"$apt/complete" || return 1
	fi
	for folder in bin sbin lib lib64; do
		mkdir -p "$T/$suite/usr/$folder"
		ln -s "usr/$folder" "$T/$suite/$folder"
	done
	for deb in "$apt"/debs/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink --no-same-owner -C "$T/$suite" || return 1
	done
	mkdir -p "$T/$suite/proc" "$T/$suite/dev" "$T/$suite/tmp"
}
enter() { # ROOT USER COMMAND...
	timeout 120 "$PY" -I "$tests/wheel/enter.py" "$T/$@" 2>&1
}
