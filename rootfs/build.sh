#!/bin/sh
# Builds the read-only world of a jail: CPython, its standard library and the few shared libraries it needs, with a manifest.
# It refuses to need root, to leave a half-made tree where a whole one is expected, and to take in what exclude.list names.
set -eu

rootfs=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
top=$(dirname -- "$rootfs")
cache=$top/build/cache/rootfs

# shellcheck source-path=SCRIPTDIR
. "$rootfs/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$rootfs/packages.sh"
# shellcheck source-path=SCRIPTDIR
. "$rootfs/host.sh"

usage() {
	cat <<-'USAGE'
	usage: rootfs/build.sh [--out DIR] [--with NAME,NAME...] [--from packages|host] [--wheels DIR] [--locked FILE]
	                       [--guest FILE.so] [--layer DIR]

	  --out DIR    where to build (default build/rootfs/default): DIR/manifest and DIR/tree
	  --with LIST  add Python packages, for example numpy,pandas
	  --from KIND  packages: the distribution's own, downloaded and unpacked without root
	               host: the python3 installed here (default: packages where apt is, else host)
	  --wheels DIR take wheels from DIR alone, and from no index; implies --from host
	  --locked FILE  build from what this packages.lock of another tree names, with equal hashes
	  --guest FILE copy FILE to /usr/lib/agentjail/guest.so
	  --layer DIR  compile the .py files of DIR's folders to /usr/lib/python3.X/agentjail
	USAGE
}

out=$top/build/rootfs/default
with='' from='' guest='' layer='' wheels='' locked=''

while [ $# -gt 0 ]; do
	case $1 in
	--out | --with | --from | --guest | --layer | --wheels | --locked)
		[ $# -ge 2 ] || die "$1 needs a value"
		case $1 in
		--out) out=$2 ;;
		--with) with=$2 ;;
		--from) from=$2 ;;
		--guest) guest=$2 ;;
		--layer) layer=$2 ;;
		--wheels) wheels=$2 from=${from:-host} ;;
		--locked) locked=$2 ;;
		esac
		shift 2
		;;
	-h | --help)
		usage
		exit 0
		;;
	*) die "unknown argument: $1 (see rootfs/build.sh --help)" ;;
	esac
done

case $from in
'' | packages | host) ;;
*) die "--from is packages or host, not $from" ;;
esac
case $with in
*[!A-Za-z0-9._,-]* | -* | *,-*) die "--with takes package names separated by commas, not: $with" ;;
esac
[ -z "$guest" ] || [ -f "$guest" ] || die "--guest: no such file: $guest"
[ -z "$layer" ] || [ -d "$layer" ] || die "--layer: no such folder: $layer"
[ -z "$wheels" ] || [ -d "$wheels" ] || die "--wheels: no such folder: $wheels"
[ -z "$wheels" ] || [ "$from" = host ] || die "--wheels is for --from host"
need_tools awk sed sort find sha256sum cp mv rm mkdir python3

# From here on every path is absolute, because the work happens in other folders.
parent=$(dirname -- "$out")
mkdir -p -- "$parent" "$cache" || die "cannot create $parent and $cache"
parent=$(CDPATH='' cd -- "$parent" && pwd -P)
name=$(basename -- "$out")
out=$parent/$name
[ -z "$guest" ] || guest=$(absolute "$guest")
[ -z "$wheels" ] || wheels=$(CDPATH='' cd -- "$wheels" && pwd -P)
if [ -n "$locked" ]; then
	[ -z "$with$from" ] || [ -n "$wheels" ] || die "--locked says itself what to take: without --with and --from"
	locked=$(absolute "$locked")
	with=$(lock head "$locked" with) || exit 1
	from=$(lock head "$locked" from) || exit 1
	[ "$with" != - ] || with=''
	[ "$(lock head "$locked" arch)" = "$(uname -m)" ] || die "--locked: $locked is for $(lock head "$locked" arch), this is $(uname -m)"
	[ -z "$wheels" ] || [ "$from" = host ] || die "--wheels: $locked is for packages"
fi
[ -z "$layer" ] || layer=$(absolute "$layer")
if [ -e "$out" ] && [ ! -f "$out/manifest" ] && [ -n "$(ls -A -- "$out")" ]; then
	die "$out is there but is not a rootfs: remove it, or choose another --out"
fi

# Beside the result, so that the last step is a rename within one file system.
sweep_stale "$parent/.$name.tmp"
tmp=$parent/.$name.tmp.$$
trap 'leave $?' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
mkdir -m 0755 -- "$tmp" "$tmp/new" "$tmp/new/tree" || die "cannot write to $parent"

# A source fills: version, python (argv to run the interpreter), and the options of pack.py that say where things are.
case $from in
packages) packages_fetch || die "$reason" ;;
host) host_find || die "$reason" ;;
*)
	if packages_fetch; then
		from=packages
	else
		say "not from packages ($reason): taking the python3 of this host"
		reset_source
		from=host
		host_find || die "$reason"
	fi
	;;
esac

say "packing python $version from $from${with:+ with $with}"
run_pack

publish
