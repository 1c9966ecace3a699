#!/bin/sh
# Fetches AppArmor's parser for the test machine: version 4 of Debian 13, its libraries, and the files that its profiles include.
# It installs nothing, loads nothing on this host, and prints the archive that run.sh takes as AGENTJAIL_VM_MORE; in it is /apparmor.
#
# Usage: tests/vm/apparmor.sh [--run ARGS...]     --run: the parser itself, on this host, as `-QT FILE` to compile a profile
#        AGENTJAIL_CACHE as for fetch.sh
set -eu
umask 022
. "$(dirname "$0")/../private_apt.sh"
cache=${AGENTJAIL_CACHE:-${HOME:?}/.cache/agentjail}/vm
mkdir -p "$cache"
exec 9>"$cache/lock-apparmor"
flock 9
tree=$cache/apparmor
recipe=$(sha256sum <"$0" | cut -c 1-16)

if [ "$(cat "$tree/stamp" 2>/dev/null)" != "$recipe" ]; then
	private_apt "$cache/apt-apparmor" trixie
	work=$cache/work-apparmor
	rm -rf "$work" "$tree"
	mkdir -p "$work/debs" "$work/tree/apparmor/lib"
	{
		in_apt apt-get -qq update &&
			(cd "$work/debs" && in_apt apt-get -qq download apparmor libapparmor1 libc6 libgcc-s1 libstdc++6) &&
			for deb in "$work"/debs/*.deb; do dpkg-deb -x "$deb" "$work/all" || exit 1; done
	} >"$work/log" 2>&1 || { cat "$work/log" >&2; echo "tests/vm/apparmor.sh: AppArmor's parser cannot be fetched" >&2; exit 1; }
	for library in ld-linux-x86-64.so.2 libc.so.6 libm.so.6 libgcc_s.so.1 libstdc++.so.6 libapparmor.so.1; do
		cp -L "$work/all/usr/lib/x86_64-linux-gnu/$library" "$work/tree/apparmor/lib/"
	done
	cp "$work/all/usr/sbin/apparmor_parser" "$work/tree/apparmor/"
	cp -R "$work/all/etc/apparmor.d/abi" "$work/all/etc/apparmor.d/tunables" "$work/tree/apparmor/"
	echo "$recipe" >"$work/tree/stamp"
	mv "$work/tree" "$tree"
	rm -rf "$work"
fi
if [ "${1:-}" = --run ]; then
	shift
	exec "$tree/apparmor/lib/ld-linux-x86-64.so.2" --library-path "$tree/apparmor/lib" "$tree/apparmor/apparmor_parser" --config-file /dev/null \
		--base "$tree/apparmor" "$@"
fi
busybox=$cache/system/busybox
[ -x "$busybox" ] || { echo "tests/vm/apparmor.sh: $busybox is missing; tests/vm/fetch.sh" >&2; exit 1; }
(cd "$tree" && find apparmor | LC_ALL=C sort | "$busybox" cpio -o -H newc -R 0:0 2>/dev/null) >"$tree/apparmor.cpio.$$"
mv "$tree/apparmor.cpio.$$" "$tree/apparmor.cpio"
echo "$tree/apparmor.cpio"
