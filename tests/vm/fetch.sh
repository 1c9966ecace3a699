#!/bin/sh
# Fills the cache of the test machine: stock Debian kernels and a small Debian tree, from what the archive signs and apt verifies.
# It refuses to touch this system's packages, sources or apt lists, to need root, and to leave half a cache behind.
#
# Usage: tests/vm/fetch.sh [CACHE]     prints the cache's folder. Default: ${AGENTJAIL_CACHE:-~/.cache/agentjail}/vm
#        CACHE/kernel/VERSION/{vmlinuz,modules/}   CACHE/system/{system.cpio,busybox,packages}
#        AGENTJAIL_MIRROR=URL: another mirror of the Debian archive than deb.debian.org
set -eu
umask 022
. "$(dirname "$0")/../private_apt.sh"
release=bookworm
fresh_days=7
cache=${1:-${AGENTJAIL_CACHE:-${HOME:?}/.cache/agentjail}/vm}

# The tree holds the commands of the test scripts, systemd with a login session, and the packages that they depend on.
packages='systemd systemd-sysv libpam-systemd dbus dbus-user-session python3 coreutils dash sed grep mawk findutils diffutils
	util-linux mount procps libcap2-bin iproute2 kmod attr libc-bin login openssl curl'
# Modules in the order in which they are loaded: each after those that it needs. The last ones are for NAT by nftables: without nft_tproxy a
# network by allow-list is led by it.
modules='overlay veth tun libcrc32c nfnetlink nf_defrag_ipv4 nf_defrag_ipv6 nf_conntrack nf_tables nf_nat nft_chain_nat nft_nat nft_ct'
# Packages that install packages, or are only dependencies of those: no package is installed in the tree.
not_wanted='perl|perl-.*|libperl.*|.*-perl|usrmerge|debconf|adduser|dpkg|tar|passwd|libsemanage.*|libsepol.*|gcc-.*-base|media-types'
# Folders that no test in the machine reads.
not_packed='usr/share/doc usr/share/man usr/share/locale usr/share/info usr/share/lintian usr/share/bash-completion usr/share/zsh usr/share/doc-base
	usr/lib/udev/hwdb.d usr/lib/x86_64-linux-gnu/gconv usr/lib/x86_64-linux-gnu/perl-base usr/lib/systemd/boot
	usr/lib/python3.11/test usr/lib/python3.11/lib2to3 usr/lib/python3.11/pydoc_data usr/lib/python3.11/idlelib usr/lib/python3.11/ensurepip
	usr/lib/python3.11/distutils usr/lib/python3.11/unittest usr/lib/python3.11/turtledemo'

die() {
	echo "tests/vm/fetch.sh: $*" >&2
	exit 1
}
say() {
	echo "vm: $*" >&2
}

[ "$(uname -m)" = x86_64 ] || die "the test machine is x86-64, and this one is not"
for tool in apt-get dpkg-deb tar flock xz; do
	command -v $tool >/dev/null || die "$tool is needed: this works on Debian and its relatives"
done
[ -r $debian_keyring ] || die "$debian_keyring is missing: install debian-archive-keyring (.ci/deps vm)"
mkdir -p "$cache"
cache=$(cd "$cache" && pwd)
exec 9>"$cache/lock"
flock 9
work=$cache/work # on the cache's file system: what is finished is renamed into its place
trap 'rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM
rm -rf "$work"
mkdir "$work"

private_apt "$cache/apt" $release $release-backports
refresh() {
	if [ -e "$apt/refreshed" ] && cmp -s "$apt/sources.list" "$apt/refreshed" && [ -z "$(find "$apt/refreshed" -mtime +$fresh_days)" ]; then
		return
	fi
	say "asking $debian_mirror what there is"
	if in_apt apt-get -qq update >"$work/log" 2>&1; then
		cp "$apt/sources.list" "$apt/refreshed"
	elif [ -e "$apt/refreshed" ]; then
		say "$debian_mirror does not answer; going on with the lists of $(date -r "$apt/refreshed" +%F)"
	else
		# One suite may be unreachable and the other not: what can be had is seen below.
		cat "$work/log" >&2
	fi
}
refresh

download() { # FOLDER PACKAGE...: the packages' files
	folder=$1
	shift
	mkdir -p "$folder"
	(cd "$folder" && in_apt apt-get -qq download "$@" >"$work/log" 2>&1) || { cat "$work/log" >&2; die "cannot download: $*"; }
}
version() {
	in_apt apt-cache show --no-all-versions "$1" 2>/dev/null | sed -n 's/^Version: //p' | head -n 1
}
# The sources of an item: this file, and the packages with their versions. An item with another stamp is stale.
recipe=$(sha256sum <"$0" | cut -c 1-16)
is_fresh() { # ITEM STAMP
	[ -e "$cache/$1/stamp" ] && [ "$(cat "$cache/$1/stamp")" = "$2" ]
}
finish() { # ITEM STAMP: what lies in $work/item becomes it
	printf '%s\n' "$2" >"$work/item/stamp"
	mkdir -p "$(dirname "$cache/$1")"
	rm -rf "$work/old"
	[ ! -e "$cache/$1" ] || mv "$cache/$1" "$work/old"
	mv "$work/item" "$cache/$1"
	rm -rf "$work/old" "$work/debs" "$work/tree"
}

# --- kernels: the newest of the release and of its backports ---
kernel() { # SUITE
	image=$(in_apt apt-cache -o "APT::Default-Release=$1" show --no-all-versions linux-image-cloud-amd64 2>/dev/null |
		sed -n 's/^Depends: \(linux-image-[^ ]*\).*/\1/p' | head -n 1)
	[ -n "$image" ] || { say "no kernel to be had from $1"; return; }
	name=$(echo "$image" | sed 's/^linux-image-\([0-9]*\.[0-9]*\).*/\1/')
	kernels="$kernels $name"
	stamp="$recipe $image=$(version "$image")"
	! is_fresh "kernel/$name" "$stamp" || return 0
	say "fetching $image"
	download "$work/debs" "$image"
	mkdir -p "$work/item/modules" "$work/tree"
	dpkg-deb -x "$work"/debs/*.deb "$work/tree"
	cp "$work"/tree/boot/vmlinuz-* "$work/item/vmlinuz"
	number=10
	for module in $modules; do
		file=$(find "$work/tree/lib/modules" -name "$module.ko*")
		to=$work/item/modules/$number-$module.ko
		case $file in
		*.ko) cp "$file" "$to" ;;
		*.xz) xz -dc "$file" >"$to" ;;
		*) grep -q "/$module\.ko" "$work"/tree/lib/modules/*/modules.builtin || die "$image: no module $module" ;;
		esac
		number=$((number + 1))
	done
	finish "kernel/$name" "$stamp"
}
kernels=''
kernel $release
kernel $release-backports
for old in "$cache"/kernel/*; do
	case " $kernels " in *" ${old##*/} "*) ;; *) [ -z "$kernels" ] || rm -rf "$old" ;; esac
done
ls "$cache"/kernel/*/vmlinuz >/dev/null 2>&1 || die "there is no kernel, neither to be had nor in $cache"

# --- the tree, as one archive that the kernel unpacks ---
pack() { # FOLDER: as cpio, owned by root
	(cd "$1" && find . -mindepth 1 | LC_ALL=C sort | "$work/item/busybox" cpio -o -H newc -R 0:0 2>/dev/null)
}
system() {
	# shellcheck disable=SC2086
	names=$(in_apt apt-get -s install $packages 2>/dev/null | awk '/^Inst / { print $2 }' | grep -vxE "$not_wanted" | sort || :)
	[ -n "$names" ] || { [ -e "$cache/system/stamp" ] || die "no packages to be had from $release"; return; }
	# shellcheck disable=SC2086
	list=$(in_apt apt-cache show --no-all-versions $names busybox-static | awk '/^Package: / { p = $2 } /^Version: / { print p "=" $2 }')
	stamp="$recipe $(echo "$list" | sha256sum | cut -c 1-16)"
	! is_fresh system "$stamp" || return 0
	say "fetching a Debian tree of $(echo "$list" | wc -l) packages"
	# shellcheck disable=SC2086
	download "$work/debs" $names
	download "$work/debs/busybox" busybox-static
	mkdir -p "$work/item" "$work/tree/usr" "$work/busybox"
	dpkg-deb -x "$work"/debs/busybox/*.deb "$work/busybox"
	cp "$(find "$work/busybox" -type f -path '*/bin/busybox')" "$work/item/busybox"
	for folder in bin sbin lib lib32 lib64 libx32; do
		mkdir -p "$work/tree/usr/$folder"
		ln -s "usr/$folder" "$work/tree/$folder"
	done
	for deb in "$work"/debs/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink --no-same-owner -C "$work/tree"
	done
	# shellcheck disable=SC2086
	(cd "$work/tree" && rm -rf $not_packed && ln -sf mawk usr/bin/awk && rmdir usr/lib32 usr/libx32 2>/dev/null) || :
	# Compiled by the tree's own Python: the test machine is slow, and must not do it at every start.
	libs=$work/tree/usr/lib
	env -i PYTHONHOME="$work/tree/usr" "$libs/x86_64-linux-gnu/ld-linux-x86-64.so.2" --library-path "$libs/x86_64-linux-gnu" "$work/tree/usr/bin/python3" \
		-m compileall -q -s "$work/tree" --invalidation-mode unchecked-hash "$libs/python3.11" >"$work/log" 2>&1 || { cat "$work/log" >&2; die "compileall failed"; }
	echo "$list" >"$work/item/packages"
	pack "$work/tree" >"$work/item/system.cpio"
	finish system "$stamp"
}
system
echo "$cache"
