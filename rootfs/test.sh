#!/bin/sh
# Checks a built rootfs: nothing forbidden in it, small, listed truly, the same when built again, every module imports.
# It refuses to change the tree it checks, and to call a skipped check a pass.
set -u

rootfs=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
top=$(dirname -- "$rootfs")
dir=${1:-$top/build/rootfs/default}
passed=0 failed=0 skipped=0
limit_mib=38

work=$top/build/.rootfs-test.$$
trap 'rm -rf -- "$work"' EXIT
trap 'exit 130' HUP INT TERM
mkdir -p -- "$work" || exit 2

ok() { passed=$((passed + 1)); printf 'ok    %s\n' "$1"; }
bad() { failed=$((failed + 1)); printf 'FAIL  %s\n' "$1"; [ -z "${2:-}" ] || printf '%s\n' "$2" | sed 's/^/      /' | head -n 20; }
skip() { skipped=$((skipped + 1)); printf 'SKIP  %s: %s\n' "$1" "$2"; }

# absent NAME FIND-EXPRESSION...: the tree holds no such file.
absent() {
	label=$1
	shift
	hits=$(find "$dir/tree" "$@")
	if [ -z "$hits" ]; then ok "no $label"; else bad "no $label" "$hits"; fi
}

# The tree as /usr, as the launcher shows it; $jail is how, or empty where this machine allows neither way.
pick_jail() {
	jail=''
	for way in with_bwrap with_unshare; do
		$way /usr/bin/python3 -I -S -c '' >/dev/null 2>&1 && jail=$way && return
	done
}
with_bwrap() {
	bwrap --unshare-all --die-with-parent --clearenv --ro-bind "$dir/tree/usr" /usr --symlink usr/lib /lib \
		--symlink usr/lib64 /lib64 --symlink usr/bin /bin --tmpfs /tmp --dev /dev "$@"
}
with_unshare() {
	mkdir -p "$work/root/usr" "$work/root/tmp"
	for link in lib lib64 bin; do ln -sfn "usr/$link" "$work/root/$link"; done
	# shellcheck disable=SC2016
	unshare -rm sh -c 'mount --bind "$0" "$1/usr" && shift_root=$1 && shift && exec env -i chroot "$shift_root" "$@"' \
		"$dir/tree/usr" "$work/root" "$@"
}

# python LABEL CODE: the code exits 0 in the jail.
python() {
	if [ -z "$jail" ]; then
		skip "$1" "neither bwrap nor unshare works here"
	elif said=$($jail /usr/bin/python3 -I -S -c "$2" 2>&1 </dev/null); then
		ok "$1"
	else
		bad "$1" "$said"
	fi
}

check_content() {
	absent "setuid or setgid file" -type f -perm /6000
	absent "file or folder others can write" ! -type l -perm /022
	absent "file with another mode" -type f ! -perm 0644 ! -perm 0755
	absent "folder with another mode" -type d ! -perm 0755
	absent "device, socket or pipe" ! -type f ! -type d ! -type l
	absent "executable but python3 and the loader" -type f -perm /111 ! -path '*/usr/bin/python3' ! -name 'ld*.so*'
	absent "shell or helper program" -path '*bin/*' ! -name python3
	absent "shell by name" '(' -name sh -o -name '*sh' -path '*bin*' -o -name busybox -o -name env ')'
	absent "pip, setuptools, ensurepip" '(' -name 'pip*' -o -name setuptools -o -name ensurepip -o -name pkg_resources ')' ! -name 'pipes.pyc'
	# Of these two only what environments have, off the sys.path of a snippet without one.
	absent "ctypes" '(' -name '_ctypes*' -o -path '*/python3.*/ctypes*' ')' -not -path '*/for-packages/*'
	absent "OpenSSL" '(' -name '_ssl*' -o -name 'ssl.py*' -o -name '_hashlib*' ')' -not -path '*/for-packages/*'
	absent "source or __pycache__" '(' -name '*.py' -o -name __pycache__ ')'
	absent "test suite" -type d '(' -name test -o -name tests -o -name idle_test ')' ! -path '*/numpy*'
	absent "start-up code of the host" '(' -name 'sitecustomize*' -o -name '*.pth' ')'
	absent "link that leads outside" -type l '(' -lname '/*' -o -lname '*../../../*' ')'
}

check_size() {
	bytes=$(sed -n 's/^bytes //p;/^$/q' "$dir/manifest")
	case $(sed -n 's/^with //p;/^$/q' "$dir/manifest") in
	-)
		if [ "$bytes" -lt $((limit_mib << 20)) ]; then ok "$((bytes >> 20)) MiB, under $limit_mib"; else bad "size: $bytes bytes"; fi
		;;
	*) skip "size" "a variant has no limit" ;;
	esac
}

# The manifest against the tree, in shell tools alone: a second opinion on what wrote it.
check_manifest() {
	manifest=$dir/manifest
	if [ "$(sed 1q "$manifest")" = 'agentjail-rootfs 1' ]; then ok "manifest: first line"; else bad "manifest: first line"; fi
	for key in python source arch with files bytes; do
		sed '/^$/q' "$manifest" | grep -q "^$key ." || bad "manifest: no $key"
	done
	sed '1,/^$/d' "$manifest" >"$work/rows"
	grep -v '^link ' "$work/rows" | cut -d' ' -f1,4 | sed "s,^\([0-9a-f]*\) /,\1  ," >"$work/sums"
	if said=$(cd "$dir/tree" && sha256sum --quiet -c "$work/sums" 2>&1); then ok "manifest: hashes"; else bad "manifest: hashes" "$said"; fi
	(cd "$dir/tree" && find . -type f -printf '%s %04m %P\n' | sort) >"$work/there"
	grep -v '^link ' "$work/rows" | cut -d' ' -f2- | sed 's, /, ,' | sort >"$work/listed"
	if said=$(diff "$work/listed" "$work/there"); then ok "manifest: sizes, modes and names, nothing besides"; else bad "manifest: sizes, modes and names" "$said"; fi
	if cut -d' ' -f4 "$work/rows" | LC_ALL=C sort -c 2>"$work/order"; then ok "manifest: sorted"; else bad "manifest: sorted" "$(cat "$work/order")"; fi
	count=$(wc -l <"$work/rows")
	if [ "$count" -eq "$(sed -n 's/^files //p;/^$/q' "$manifest")" ]; then ok "manifest: $count files"; else bad "manifest: files"; fi
}

check_python() {
	python "the standard library imports, every module" "$(cat "$rootfs/test_imports.py")"
	python "hashes without OpenSSL" 'import hashlib as h; [h.new(n, b"x").hexdigest() for n in sorted(h.algorithms_guaranteed) if not n.startswith("shake")]; h.sha256(); import random, secrets, hmac; hmac.new(b"k", b"m", "sha256").hexdigest()'
	python "time zones" 'import zoneinfo, datetime as d; assert len(zoneinfo.available_timezones()) > 400; assert d.datetime(2024, 7, 1, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin")).utcoffset() == d.timedelta(hours=2)'
	python "sqlite3 in memory" 'import sqlite3; assert sqlite3.connect(":memory:").execute("select 6*7").fetchone() == (42,)'
	python "zlib, bz2, lzma" 'import zlib, bz2, lzma; [m.decompress(m.compress(b"x" * 99)) for m in (zlib, bz2, lzma)]'
	python "asyncio" 'import asyncio; assert asyncio.run(asyncio.sleep(0, 7)) == 7'
	python "the C versions of decimal and json" 'import _decimal, _json, _datetime, _pickle, _elementtree'
	python "no path of the builder inside" 'import sysconfig, re; assert not [v for v in sysconfig.get_config_vars().values() if re.search("/(root|home|build|tmp)/", str(v))]'
	python "tracebacks name /usr/lib" 'import json; assert json.dumps.__code__.co_filename == "/usr/lib/python%d.%d/json/__init__.py" % __import__("sys").version_info[:2]'
	case ,$(sed -n 's/^with //p;/^$/q' "$dir/manifest"), in
	*,numpy,*) python "numpy computes" 'import sys; sys.path.append("/usr/lib/python3/dist-packages"); import numpy as n; assert n.allclose(n.linalg.inv(n.eye(3) * 2), n.eye(3) / 2); n.fft.fft(n.arange(8.)); n.random.default_rng(1).normal(size=3)' ;;
	esac
	case ,$(sed -n 's/^with //p;/^$/q' "$dir/manifest"), in
	*,pandas,*) python "pandas computes" 'import sys; sys.path.append("/usr/lib/python3/dist-packages"); import pandas as p, io; f = p.read_csv(io.StringIO("a,b\n1,2\n1,4\n")); assert f.groupby("a").b.sum()[1] == 6; p.date_range("2024-01-01", periods=2, tz="Europe/Berlin"); f.describe().to_string()' ;;
	esac
}

# Package data is packed whatever its size.
check_data() {
	mkdir -p "$work/package/words" && head -c 6000000 /dev/zero >"$work/package/words/dictionary.txt" && echo >"$work/package/words/__init__.py"
	if said=$(python3 -I -B -c 'import sys, types; sys.path.insert(0, sys.argv[1]); import pack
tree = pack.Tree(sys.argv[2] + "/packed", None)
pack.take_modules(tree, types.SimpleNamespace(root="/"), sys.argv[2] + "/package", pack.DIST, pack.Excludes("pkg"), [], lenient=True)' "$rootfs" "$work" 2>&1) &&
		cmp -s "$work/package/words/dictionary.txt" "$work/packed/usr/lib/python3/dist-packages/words/dictionary.txt"; then
		ok "6 MB of a package's data"
	else
		bad "6 MB of a package's data" "${said:-they are not in the tree}"
	fi
}

check_build() {
	from=$(sed -n 's/^source //p;/^$/q' "$dir/manifest")
	mkdir -p "$work/layer/check" "$work/layer/files" "$work/layer/rail" "$work/layer/values" "$work/layer/runtime"
	echo 'ANSWER = 42' >"$work/layer/__init__.py"
	for n in $(cd "$rootfs" && python3 -B -c 'import bundle; print(*map(bundle.path_of, bundle.CORE))') runtime/part; do
		echo 'from agentjail import ANSWER' >"$work/layer/$n.py"
	done
	set -- --from "$from" --layer "$work/layer"
	if command -v cc >/dev/null 2>&1; then
		echo 'int answer(void) { return 42; }' | cc -shared -fPIC -x c -o "$work/guest.so" - && set -- "$@" --guest "$work/guest.so"
	fi
	for n in 1 2; do
		if ! "$rootfs/build.sh" --out "$work/b$n" "$@" >"$work/log" 2>&1; then
			bad "build again from $from" "$(cat "$work/log")"
			return
		fi
	done
	if cmp "$work/b1/manifest" "$work/b2/manifest" >/dev/null; then ok "two builds, one manifest"; else bad "two builds, one manifest" "$(diff "$work/b1/manifest" "$work/b2/manifest")"; fi
	if grep -q '/usr/lib/python3\.[0-9]*/agentjail\.pyc$' "$work/b1/manifest" && grep -q '/agentjail/runtime/part\.pyc$' "$work/b1/manifest"; then ok "--layer is compiled in"; else bad "--layer is compiled in"; fi
	if [ ! -f "$work/guest.so" ]; then
		skip "--guest" "no C compiler"
	elif cmp -s "$work/guest.so" "$work/b1/tree/usr/lib/agentjail/guest.so"; then
		ok "--guest is copied"
	else
		bad "--guest is copied"
	fi
	if "$rootfs/build.sh" --out "$work/b1" --from "$from" --layer /nonexistent >/dev/null 2>&1; then bad "a wrong --layer is refused"; else ok "a wrong --layer is refused"; fi
	if "$rootfs/build.sh" --out "$work/b3" --from "$from" --with no-such-package-here >/dev/null 2>&1; then bad "an unknown package is refused"; else ok "an unknown package is refused"; fi
	echo 'def broken(:' >"$work/layer/rail/broken.py"
	if "$rootfs/build.sh" --out "$work/b2" "$@" >/dev/null 2>&1; then bad "a layer that does not compile is refused"; else ok "a layer that does not compile is refused"; fi
	if cmp -s "$work/b1/manifest" "$work/b2/manifest"; then ok "a failed build keeps the former tree"; else bad "a failed build keeps the former tree"; fi
	left=$(find "$work" -maxdepth 1 -name '.b*')
	if [ -z "$left" ] && [ ! -e "$work/b3" ]; then ok "nothing left behind"; else bad "nothing left behind" "$left"; fi
}

if [ ! -f "$dir/manifest" ]; then
	echo "rootfs/test.sh: no rootfs at $dir: run rootfs/build.sh first" >&2
	exit 2
fi
dir=$(CDPATH='' cd -- "$dir" && pwd -P)
pick_jail
check_content
check_size
check_manifest
check_python
check_data
check_build
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
