#!/bin/sh
# Copies the licences of what a package of ours holds besides agentjail's own files: of the archives that the program was linked from,
# and of the distribution's packages that the Python tree came from. It refuses to leave one out: without its text the build ends.
#
# usage: licences.sh INPUTS TREE DEBS OUT
#   INPUTS  what the linker read (--trace)      TREE  a built tree (rootfs/build.sh), made from packages      DEBS  those packages
set -eu
inputs=$1 tree=$2 debs=$3 out=$4
lock=$tree/tree/usr/lib/agentjail/packages.lock

die() {
	echo "licences: $*" >&2
	exit 1
}

command -v dpkg-query >/dev/null 2>&1 || die "the texts come from Debian's packages, and this is no Debian or Ubuntu"
grep -qx 'from packages' "$lock" || die "the Python tree is not from packages (rootfs/build.sh --from packages), so its licences are unknown"

tmp=$(mktemp -d)
trap 'rm -rf -- "$tmp"' EXIT
rm -rf -- "$out"
mkdir -p -- "$out" "$tmp/usr/share/doc"

# Packages of the program: toml++ is in headers alone, so that no linker reads it.
grep '^/' "$inputs" | sort -u | xargs realpath -e -- >"$tmp/inputs" || die "what was linked is gone: build again"
echo /usr/include/toml++/toml.h >>"$tmp/inputs"
while read -r file; do
	# Where /lib is a link to /usr/lib, some packages still know their files as /lib/NAME.
	dpkg-query -S "$file" 2>/dev/null || dpkg-query -S "${file#/usr}" 2>/dev/null || die "no package holds $file, which was linked"
done <"$tmp/inputs" >"$tmp/owners"
sed 's/:.*//' "$tmp/owners" | sort -u | while read -r package; do
	echo "program $package $(dpkg-query -W -f '${Version}' "$package" 2>/dev/null || dpkg-query -W -f '${Version}' "$package:$(dpkg --print-architecture)")"
done >"$tmp/packages"

# Packages of the tree: a package whose documentation is a link to another's, which did not come, has it on this machine.
sed '1,/^$/d' "$lock" | while read -r _ _ package version file; do
	echo "tree $package $version"
	dpkg-deb --fsys-tarfile "$debs/$file" | tar -x -C "$tmp" --wildcards './usr/share/doc/*' || die "cannot unpack $debs/$file"
done >>"$tmp/packages"

: >"$tmp/texts"
while read -r part package version; do
	text=$tmp/usr/share/doc/$package/copyright
	[ "$part" = tree ] && [ -e "$text" ] || text=/usr/share/doc/$package/copyright
	[ -e "$text" ] || die "no licence of $package: neither in the package nor in /usr/share/doc"
	hash=$(sha256sum <"$text" | cut -c1-64)
	name=$(sed -n "s/^$hash //p" "$tmp/texts")
	if [ -z "$name" ]; then
		name=$package.txt
		echo "$hash $name" >>"$tmp/texts"
		cp -- "$text" "$out/$name"
	fi
	printf '%-8s %-28s %-32s %s\n' "$part" "$package" "$version" "$name" >>"$tmp/index"
done <"$tmp/packages"

# Debian's texts name the long licences by their place on a Debian machine.
grep -oh '/usr/share/common-licenses/[A-Za-z0-9.+-]*[A-Za-z0-9+]' "$out"/*.txt | sort -u | while read -r text; do
	[ ! -e "$text" ] || cp -- "$text" "$out/common-${text##*/}.txt"
done

{
	cat <<-'TEXT'
	agentjail's program (`program`) is linked statically with code of these Debian packages, and the Python tree
	(`tree`) holds files of these. Each has its licence in the file named beside it; what a text calls
	/usr/share/common-licenses/NAME is common-NAME.txt. The sources are Debian's, of the same version
	(https://snapshot.debian.org). agentjail's own source builds the program again with other versions of
	these libraries, as the LGPL asks.

	TEXT
	cat "$tmp/index"
} >"$out/THIRD-PARTY.txt"
