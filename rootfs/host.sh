# The source "host": finds the real python3 interpreter of this machine and says where its library lives.
# It refuses shims (they are shell scripts) and interpreters that cannot tell where their standard library is.
# shellcheck shell=sh disable=SC2034,SC2154

host_find() {
	for candidate in /usr/bin/python3 "$(command -v python3 || :)"; do
		[ -x "$candidate" ] || continue
		# Asking the interpreter itself sees through shims, virtual environments and symlinks. A shim needs the environment.
		if facts=$("$candidate" -I -S - 2>/dev/null <<-'PY'
			import json, os, sys, sysconfig, zipfile
			exe = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
			print("%d.%d" % sys.version_info[:2], exe, sysconfig.get_path("stdlib"),
			      os.path.join(sysconfig.get_path("platstdlib"), "lib-dynload"), sep="\n")
		PY
		); then
			break
		fi
		facts=''
	done
	[ -n "${facts:-}" ] || { reason="no working python3 with its standard library on this host"; return 1; }
	case "$facts$tmp$rootfs" in *' '* | *'	'*) reason="a space in a path: $facts"; return 1 ;; esac
	# shellcheck disable=SC2086
	set -- $facts
	version=$1
	python=$2 exe=$2
	[ -z "$locked" ] || [ "$version" = "$(lock head "$locked" python)" ] ||
		die "--locked: the lock is for Python $(lock head "$locked" python), this host has $version"
	say "host python: $python"
	places="--version $version --exe $2 --stdlib $3 --dynload $4 --zoneinfo /usr/share/zoneinfo --root /"
	[ -z "$with" ] || host_wheels
}

# Wheels, never source packages: building one would run its code here.
host_wheels() {
	kept=$cache/wheels/$version
	mkdir -p -- "$kept" "$tmp/dist" "$tmp/came" || die "cannot write to $kept"
	asked=$tmp/asked
	if [ -n "$locked" ]; then
		lock wheels "$locked" >"$asked" || exit 1
		set -- --no-deps --require-hashes
	else
		for name_ in $(printf '%s' "$with" | tr ',' ' '); do
			wheel=$(other_name "$name_" 3)
			printf '%s\n' "${wheel:-$name_}"
		done >"$asked"
		set --
	fi
	# pip compares what an index gives with the hashes of the index.
	if [ -n "$wheels" ]; then set -- "$@" --no-index --find-links "$wheels"; else set -- "$@" --find-links "$kept"; fi
	"$python" -m pip --version >/dev/null 2>&1 || die "--with needs pip for $python (not there)"
	"$python" -m pip --disable-pip-version-check -q download --only-binary=:all: -d "$tmp/came" "$@" -r "$asked" \
		>"$tmp/get.log" 2>&1 || die "pip cannot get $with: $(sed -n '/^ERROR/{p;q;}' "$tmp/get.log")"
	for wheel in "$tmp"/came/*.whl; do
		"$python" -m zipfile -e "$wheel" "$tmp/dist" || die "cannot unpack $wheel"
		cp -- "$wheel" "$kept/"
	done
	# A wheel may keep modules under NAME.data/purelib or platlib.
	for data in "$tmp"/dist/*.data/purelib "$tmp"/dist/*.data/platlib; do
		[ -d "$data" ] && cp -R -- "$data/." "$tmp/dist/"
	done
	rm -rf -- "$tmp"/dist/*.data
	places="$places --dist $tmp/dist"
}
