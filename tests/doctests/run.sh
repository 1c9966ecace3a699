#!/bin/sh
# Compares documented examples, and CPython's own tests, in a jail and as an ordinary program, and writes docs/internals/python.md.
# It downloads CPython's documentation and tests once (Debian's packages, about 10 MB) and installs nothing.
set -eu
top=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd -P)
build=$(dirname -- "$(readlink -f "$AGENTJAIL")")
python=$(sed -n 's/^python \([0-9]*\.[0-9]*\).*/\1/p' "$build/rootfs/default/manifest")
cache=$build/cache/doctests

if [ ! -d "$cache/$python" ]; then
	mkdir -p "$cache/debs" "$cache/new"
	(cd "$cache/debs" && apt-get -qq download -o APT::Sandbox::User="$(id -un)" "python$python-doc" "libpython$python-testsuite" "libpython$python-stdlib")
	for deb in "$cache"/debs/*.deb; do dpkg-deb -x "$deb" "$cache/new"; done
	mv "$cache/new" "$cache/$python"
fi
"$top/rootfs/build.sh" --with numpy,pandas --guest "$build/guest.so" --layer "$top/src/guest/layer" --out "$build/rootfs/data"
cd "$top/tests/doctests"
python3 doctests.py "$AGENTJAIL" "$build/rootfs/data" --docs "$cache/$python/usr/share/doc/python$python/html/_sources" --out "$build/doctests.json"
python3 unittests.py "$AGENTJAIL" "$build/rootfs/default" "$cache/$python/usr/lib/python$python/test" --out "$build/unittests.json"
python3 page.py "$build/doctests.json" "$build/unittests.json" "$top/docs/internals/python.md"
