# Small helpers of build.sh: messages, clean-up, running pack.py, and the final rename.
# It refuses to know where Python comes from: packages.sh and host.sh do.
# shellcheck shell=sh disable=SC2154

say() { printf 'rootfs: %s\n' "$*" >&2; }

die() {
	printf 'rootfs: error: %s\n' "$*" >&2
	exit 1
}

need_tools() {
	for tool in "$@"; do
		command -v "$tool" >/dev/null 2>&1 || die "missing tool: $tool"
	done
}

absolute() { (CDPATH='' cd -- "$(dirname -- "$1")" && printf '%s/%s\n' "$(pwd -P)" "$(basename -- "$1")"); }

# Removes the folders of builds that SIGKILL ended; a folder whose builder still lives is not ours to touch.
sweep_stale() {
	for old in "$1".*; do
		[ -d "$old" ] || continue
		[ -d "/proc/${old##*.}" ] || rm -rf -- "$old"
	done
}

leave() {
	trap - EXIT HUP INT TERM
	# Interrupted between the two renames of publish: the former tree goes back.
	if [ -d "$tmp/old" ] && [ ! -e "$out" ]; then mv -- "$tmp/old" "$out"; fi
	rm -rf -- "$tmp"
	exit "$1"
}

# env -i with a fixed hash seed: nothing of the caller's environment may reach the compiled bytes.
clean_python() {
	env -i PATH=/usr/bin:/bin LC_ALL=C PYTHONHASHSEED=0 "$@"
}

lock() { python3 -I -S "$rootfs/lock.py" "$@"; }

# The column of names.list for a name: 2 the package, 3 the wheel, 4 the module; empty for a name that has no row.
other_name() {
	awk -v name="$(printf '%s' "$1" | tr 'A-Z_' 'a-z-')" -v column="$2" '$1 == name { print $column }' "$rootfs/names.list"
}

# The files that came in, and the interpreter where that is the host's own: it comes with no package.
write_lock() {
	mkdir -p -- "$tmp/came"
	case $from in
	packages) while read -r file _; do ln -s -- "$debs/$file" "$tmp/came/$file"; done <"$tmp/chosen" ;;
	esac
	interpreter=-
	[ "$from" = packages ] || interpreter=$(sha256sum <"$exe" | cut -c1-64)
	[ -z "$locked" ] || lock check "$locked" "$tmp/came" || exit 1
	[ -z "$locked" ] || [ "$(lock head "$locked" interpreter)" = "$interpreter" ] ||
		die "--locked: the host's python ($exe) is not the one of the lock"
	lock write "$tmp/came" "$version" "$interpreter" "$from" "$with" >"$tmp/packages.lock" || die "cannot write the lock"
}

reset_source() {
	rm -rf -- "$tmp/raw" "$tmp/apt"
	# shellcheck disable=SC2034
	python='' version='' reason=''
}

run_pack() {
	write_lock
	modules=''
	for name_ in $(printf '%s' "$with" | tr ',' ' '); do
		module=$(other_name "$name_" 4)
		modules="$modules,${module:-$(printf '%s' "$name_" | tr - _)}"
	done
	# $python and $places are lists of words made by us, without spaces in any word (checked by the sources).
	# shellcheck disable=SC2086
	clean_python $python -X no_debug_ranges -S -s -B "$rootfs/pack.py" $places \
		--source "$from" --with "$with" --modules "${modules#,}" --lock "$tmp/packages.lock" --guest "$guest" --layer "$layer" --out "$tmp/new" ||
		die "packing failed; nothing was written to $out"
}

publish() {
	if [ -e "$out" ]; then mv -- "$out" "$tmp/old"; fi
	mv -- "$tmp/new" "$out"
	awk -v out="$out" '
		$1 == "files" { files = $2 } $1 == "bytes" { bytes = $2 } /^$/ { exit }
		END { printf "rootfs: %s: %d files, %.1f MiB\n", out, files, bytes / 1048576 }' "$out/manifest" >&2
}
