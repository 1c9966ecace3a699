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
	python=$2
	say "host python: $python"
	places="--version $version --exe $2 --stdlib $3 --dynload $4 --zoneinfo /usr/share/zoneinfo --root /"
	[ -z "$with" ] || host_wheels
}

# Wheels, never source packages: building one would run its code here.
host_wheels() {
	wheels=$cache/wheels/$version
	mkdir -p -- "$wheels" "$tmp/dist" "$tmp/get" || die "cannot write to $wheels"
	"$python" -m pip --version >/dev/null 2>&1 || die "--with needs pip for $python (not there)"
	# shellcheck disable=SC2046
	"$python" -m pip --disable-pip-version-check -q download --only-binary=:all: --find-links "$wheels" -d "$tmp/get" \
		$(printf '%s' "$with" | tr ',' ' ') >"$tmp/get.log" 2>&1 ||
		die "pip cannot download $with: $(sed -n '/^ERROR/{p;q;}' "$tmp/get.log")"
	for wheel in "$tmp"/get/*.whl; do
		"$python" -m zipfile -e "$wheel" "$tmp/dist" || die "cannot unpack $wheel"
		mv -- "$wheel" "$wheels/"
	done
	# A wheel may keep modules under NAME.data/purelib or platlib.
	for data in "$tmp"/dist/*.data/purelib "$tmp"/dist/*.data/platlib; do
		[ -d "$data" ] && cp -R -- "$data/." "$tmp/dist/"
	done
	rm -rf -- "$tmp"/dist/*.data
	places="$places --dist $tmp/dist"
}
