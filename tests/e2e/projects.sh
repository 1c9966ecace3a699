#!/bin/sh
# Projects of several languages, in place, with one policy name and no further option: what was built outside is used inside, and the other way.
# It needs no network; `make check-projects` adds packages from registries, with PACKAGES=1.
real_home=${HOME:-/nonexistent} # the tests have one of their own
. "$(dirname "$0")/../lib.sh"

: "${PACKAGES:=}"
H=$T/home
mkdir -p "$H/code"
export HOME="$H"
agents=${PACKAGES:+coding-agent} # besides the policy of a language: each knows its registries
project() { # NAME: an empty folder, which the jail of root may write
	mkdir -p "$H/code/$1" && cd "$H/code/$1" || exit 1
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
text "make" 0 "^$H/code/make\$" run --policy coding-agent -- make -s test
is "what it has built runs outside" "$H/code/make" "$(./program)"
touch -d '1 hour ago' program.c
text "and is not built again" 0 "^$H/code/make\$" run --policy coding-agent -- make test
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
	text "pip in the environment" 0 '' run --policy python-dev -- .venv/bin/pip install -q --disable-pip-version-check six
	for policy in python-dev $agents; do
		text "$policy: pytest" 0 '^1 passed' run --policy $policy -- .venv/bin/pytest -q test_six.py
	done
fi

# --- Node ---
if found npm; then
	project node
	mkdir -p nut && printf '{"name":"nut","version":"1.0.0","main":"nut.js"}' >nut/package.json && echo 'module.exports = "fine"' >nut/nut.js
	printf '{"name":"x","version":"1.0.0","private":true,"scripts":{"test":"node check.js"},"dependencies":{"nut":"file:nut"%s}}' "${PACKAGES:+,\"left-pad\":\"1.3.0\"}" >package.json
	echo "console.log(require('nut')); ${PACKAGES:+require('left-pad')}" >check.js
	ready
	for policy in node-dev $agents; do
		rm -rf node_modules
		text "$policy: npm" 0 '^fine$' run --policy $policy -- sh -c 'npm install -s --no-audit --no-fund && npm test -s'
		if [ -n "$PACKAGES" ] && [ $policy = node-dev ]; then
			rm -rf node_modules
			text "$policy: npm, from the cache of the last run" 0 '^fine$' run --policy $policy --network none -- sh -c 'npm install -s --offline --no-audit --no-fund && npm test -s'
		fi
		check "$policy: what it has installed is there outside" test -e node_modules/nut
	done
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
	for policy in go-dev $agents; do
		LIMIT=500 text "$policy: go" 0 '^ok .*example.org/x' run --policy $policy -- sh -c "${PACKAGES:+go mod tidy && }go test -vet=off ./..."
		[ $policy != go-dev ] || LIMIT=500 text "$policy: go, from the modules of the last run" 0 '^ok .*example.org/x' run --policy $policy --network none --env GOPROXY=off -- go test -vet=off ./...
	done
fi

# --- Rust: of the caller's own home, where rustup puts it ---
if HOME=$real_home cargo --version >/dev/null 2>&1; then
	project rust
	mkdir src
	printf '[package]\nname = "own"\nversion = "0.1.0"\nedition = "2018"\n[dependencies]\n%s\n' "${PACKAGES:+itoa = \"1\"}" >Cargo.toml
	printf 'fn main() { println!("{}", %s); }\n#[test]\nfn t() {}\n' "${PACKAGES:+itoa::Buffer::new().format(}42${PACKAGES:+)}" >src/main.rs
	ready
	offline=--offline
	[ -z "$PACKAGES" ] || offline=
	for policy in rust-dev $agents; do
		rm -rf target
		HOME=$real_home text "$policy: cargo" 0 '1 passed' run --policy $policy -- sh -c "cargo build -q $offline && cargo test -q $offline"
		is "$policy: what it has built runs outside" 42 "$(target/debug/own)"
		[ $policy != rust-dev ] || HOME=$real_home text "$policy: cargo, from the registry of the last run" 0 '1 passed' run --policy $policy --network none -- sh -c "rm -rf target; cargo test -q --offline"
	done
else
	skip "cargo" "it is not installed"
fi

[ ! -e "$XDG_STATE_HOME/agentjail" ] || text "what the agents keep is removed" 0 '' homes remove --all
finish
