#!/bin/sh
# Projects of several languages, in place, with one policy name and no further option: what was built outside is used inside, and the other way.
# It needs no network; `make check-projects` adds packages from registries, with PACKAGES=1.
. "$(dirname "$0")/../lib.sh"

: "${PACKAGES:=}"
H=$T/home
mkdir -p "$H/work"
export HOME="$H"
project() { # NAME: an empty folder, which the jail of root may write
	mkdir -p "$H/work/$1" && cd "$H/work/$1" || exit 1
}
ready() {
	[ "$(id -u)" != 0 ] || chown -R 65534:65534 .
}
found() { # PROGRAM
	[ -n "$(PATH="/usr/bin:/usr/local/bin:/usr/local/go/bin:$PATH" command -v "$1")" ] || { skip "$1" "it is not installed"; return 1; }
}

# --- make ---
project make
printf 'test: program\n\t./program\nprogram: program.c\n\t$(CC) -DHERE=\\"$(CURDIR)\\" -o $@ $<\n' >Makefile
printf '#include <stdio.h>\nint main(void) { puts(HERE); return 0; }\n' >program.c
ready
text "make" 0 "^$H/work/make\$" run --policy coding-agent -- make -s test
is "what it has built runs outside" "$H/work/make" "$(./program)"
touch -d '1 hour ago' program.c
text "and is not built again" 0 "^$H/work/make\$" run --policy coding-agent -- make test
silent "really" 'cc '

# --- Python: a virtual environment holds its own path ---
project python
"$PY" -m venv --without-pip .venv
mkdir -p .venv/lib/python3/site-packages
site=$(.venv/bin/python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
printf 'def nut():\n    return "from the environment"\n' >"$site/nut.py"
printf '#!%s\nimport unittest\nunittest.main(module=None)\n' "$PWD/.venv/bin/python3" >.venv/bin/tests && chmod 755 .venv/bin/tests
printf 'import unittest, nut\nclass T(unittest.TestCase):\n    def test_nut(self):\n        self.assertEqual(nut.nut(), "from the environment")\n' >test_nut.py
ready
case $(readlink -f .venv/bin/python3) in
/usr/*) text "a script of the environment" 0 '^OK$' run --policy python-dev -- .venv/bin/tests ;;
*) skip "a script of the environment" "this Python is not below /usr" ;;
esac
if [ -n "$PACKAGES" ]; then
	rm -rf .venv
	"$PY" -m venv .venv && printf 'import six\ndef test_six():\n    assert six.PY3\n' >test_six.py
	.venv/bin/pip install -q --disable-pip-version-check pytest
	ready
	text "pip in the environment" 0 '' run --policy python-dev -- .venv/bin/pip install -q --disable-pip-version-check --no-cache-dir six
	text "pytest" 0 '^1 passed' run --policy python-dev -- .venv/bin/pytest -q test_six.py
fi

# --- Node ---
if found npm; then
	project node
	mkdir -p nut && printf '{"name":"nut","version":"1.0.0","main":"nut.js"}' >nut/package.json && echo 'module.exports = "fine"' >nut/nut.js
	printf '{"name":"x","version":"1.0.0","private":true,"scripts":{"test":"node check.js"},"dependencies":{"nut":"file:nut"%s}}' "${PACKAGES:+,\"left-pad\":\"1.3.0\"}" >package.json
	echo "console.log(require('nut')); ${PACKAGES:+require('left-pad')}" >check.js
	ready
	text "npm" 0 '^fine$' run --policy node-dev -- sh -c 'npm install -s --no-audit --no-fund && npm test -s'
	check "what it has installed is there outside" test -e node_modules/nut
fi

# --- Go ---
if [ -n "$PACKAGES" ] && found go; then # its standard library is compiled first
	project go
	PATH="/usr/local/go/bin:$PATH"
	printf 'module example.org/x\n\ngo 1.18\n%s' "${PACKAGES:+
require golang.org/x/text v0.14.0
}" >go.mod
	printf 'package x\n\nimport "testing"\n%s\nfunc TestX(t *testing.T) { %s }\n' "${PACKAGES:+import \"golang.org/x/text/language\"}" "${PACKAGES:+_ = language.English}" >x_test.go
	ready
	LIMIT=500 text "go" 0 '^ok .*example.org/x' run --policy go-dev -- sh -c "${PACKAGES:+go mod tidy && }go test -vet=off ./..."
fi

finish
