#!/bin/sh
# The lock of a Python tree, packages.lock: what it says of the files that came in, and what --locked refuses.
# No tree is built here (rootfs/test.sh and `make check-trees` do): the refusals come before the work.
. "$(dirname "$0")/../lib.sh"
rootfs=$tests/../rootfs
# It makes no jail: no user id changes anything, and the copy of the tree for an ordinary user has no rootfs/.
[ -z "$ROOT_TOO" ] && [ -e "$rootfs" ] || finish
lock() { $PY -I -S -B "$rootfs/lock.py" "$@"; }
refused() { # NAME REGEX COMMAND...
	local name=$1 regex=$2
	shift 2
	if "$@" >"$T/out" 2>"$T/err"; then
		fail "$name" "not refused"
	elif grep -qaE -e "$regex" "$T/err"; then
		ok "$name"
	else
		fail "$name" "no \`$regex\`: $(cat "$T/err")"
	fi
}

# A wheel of one line, as pip would leave it.
mkdir -p "$T/came"
wheel=tiny_thing-1.2-py3-none-any.whl
(cd "$T" && echo 'NAME = "tiny"' >tiny_thing.py && $PY -m zipfile -c "came/$wheel" tiny_thing.py)
sum=$(sha256sum <"$T/came/$wheel" | cut -c1-64)
size=$(stat -c %s "$T/came/$wheel")
lock write "$T/came" 3.11 - host tiny-thing >"$T/lock"
check 'a lock names package, version, size and hash' grep -qx "$sum $size tiny_thing 1.2 $wheel" "$T/lock"
check 'its head says what the tree is made of' test "$(lock head "$T/lock" with) $(lock head "$T/lock" from) $(lock head "$T/lock" python)" = 'tiny-thing host 3.11'
check 'the rows as requirements with hashes' test "$(lock wheels "$T/lock")" = "tiny_thing==1.2 --hash=sha256:$sum"
check 'the same files are what the lock names' lock check "$T/lock" "$T/came"
lock write "$T/came" 3.11 - host tiny-thing >"$T/again"
check 'the same files give the same lock' cmp "$T/lock" "$T/again"

cp "$T/came/$wheel" "$T/came/more-1-py3-none-any.whl"
refused 'a file that the lock does not name' 'more-1-py3-none-any.whl came, and is not in the lock' lock check "$T/lock" "$T/came"
rm "$T/came/more-1-py3-none-any.whl"
echo >>"$T/came/$wheel"
refused 'a file with another hash' "$wheel has sha256 [0-9a-f]{64}, the lock says $sum" lock check "$T/lock" "$T/came"
rm "$T/came/$wheel"
refused 'a file that did not come' "$wheel is in the lock, and did not come" lock check "$T/lock" "$T/came"

# Files that are no lock, or lead elsewhere.
bad() { # NAME REGEX SED-SCRIPT
	sed "$3" "$T/lock" >"$T/bad"
	refused "$1" "$2" lock check "$T/bad" "$T/came"
}
bad 'another first line' 'is not a lock: the first line' '1s/1$/2/'
bad 'a head without a key' 'is not a lock: its head' '/^arch/d'
bad 'a row without a hash' 'is not a lock: not a row' "s/^$sum/none/"
bad 'a row with a path' 'is not a lock: not a row' 's, tiny_thing-, ../tiny_thing-,'
bad 'a row that names another package' 'is not a lock: not a row' "s/ tiny_thing 1.2 / other 1.2 /"
refused 'no lock' 'No such file' lock check "$T/nothing" "$T/came"

# build.sh, before it takes anything in.
refused '--locked with --with' '--locked says itself what to take' sh "$rootfs/build.sh" --locked "$T/lock" --with numpy --out "$T/tree"
sed 's/^arch .*/arch m68k/' "$T/lock" >"$T/other"
refused '--locked for another machine' 'is for m68k' sh "$rootfs/build.sh" --locked "$T/other" --out "$T/tree"
refused '--wheels of no folder' 'no such folder' sh "$rootfs/build.sh" --wheels "$T/nothing" --out "$T/tree"
check 'no half tree is left' test ! -e "$T/tree"

finish
