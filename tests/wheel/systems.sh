# Other systems for tests: packages of a Debian release, unpacked below $T, and commands that run with such a folder as their root.
# It installs nothing on this host; what it fetches, apt verifies, and it stays in ~/.cache/agentjail. For scripts that
# set AGENTJAIL_CACHE and then sourced lib.sh.

cache=${AGENTJAIL_CACHE:?}/elsewhere
. "$tests/private_apt.sh"

release() { # SUITE PACKAGE...: unpacked into $T/SUITE, with what they need
	local suite=$1 packages=$cache/$1-$(echo "$*" | cksum | cut -d' ' -f1) deb
	shift
	private_apt "$packages" "$suite"
	mkdir -p "$packages/debs"
	if [ ! -e "$packages/complete" ]; then
		in_apt apt-get -qq update &&
			(cd "$packages/debs" && in_apt apt-get -qq -s install "$@" | awk '/^Inst / { print $2 }' |
				grep -vxE 'debconf|gcc-.*-base|media-types' | in_apt xargs apt-get -qq download) &&
			: >"$packages/complete" || return 1
	fi
	for folder in bin sbin lib lib64; do
		mkdir -p "$T/$suite/usr/$folder"
		ln -s "usr/$folder" "$T/$suite/$folder"
	done
	for deb in "$packages"/debs/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink --no-same-owner -C "$T/$suite" || return 1
	done
	mkdir -p "$T/$suite/proc" "$T/$suite/dev" "$T/$suite/tmp"
}
enter() { # ROOT USER COMMAND...
	local into="$T/$1"
	shift
	timeout 120 "$PY" -I "$tests/wheel/enter.py" "$into" "$@" 2>&1
}
