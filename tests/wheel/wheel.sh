#!/bin/sh
# The wheel: what is in it, and what an installed one does, as root and as another user, in the places where pip puts one.
# It needs no index and leaves the Python of this host as it was; wheel/elsewhere.sh has other distributions.
#
# Usage: tests/wheel/wheel.sh [WHEEL]     default: the one that `make wheel` left in build/wheel
. "$(dirname "$0")/../lib.sh"

top=$(cd "$tests/.." && pwd -P)
WHEEL=$(readlink -f "${1:-$(echo "$top"/build/wheel/*.whl)}")
unset AGENTJAIL AGENTJAIL_ROOTFS PYTHONPATH MAKEFLAGS MFLAGS MAKELEVEL
export XDG_CACHE_HOME="$T/cache" PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PIP_NO_CACHE_DIR=1 PIP_CONFIG_FILE=/dev/null
USER_ID=58901

[ -f "$WHEEL" ] || { fail "there is a wheel" "make wheel"; finish; }
counted contents "$PY" "$tests/wheel/contents.py" "$WHEEL" "$top/build/rootfs/default" "$top/src/sdk/python/agentjail" "$top" "${HOME:-/root}/"

# --- the same bytes from another folder, with another umask, time zone and clock of files: WHOLE=1, since it links and packs everything again ---
again() {
	(umask 077 && TZ=Asia/Tokyo make -s -C "$top" wheel WHEEL="$T/again" >"$T/check.make" 2>&1) || { cat "$T/check.make"; return 1; }
	cmp "$WHEEL" "$T"/again/*.whl
}
if [ -n "${WHOLE:-}" ]; then
	if [ -w "$top/build" ]; then check "packed again: the same bytes" again; else skip "packed again" "this user did not build"; fi
fi

# --- in a virtual environment, which is where `agentjail` is then on PATH ---
py() { # CODE: by the client of the environment in $venv
	timeout 60 "$venv/bin/python" -c "$1" >"$T/out" 2>"$T/err"
	rc=$?
}
runs() { # NAME: the program and the client, in $venv
	is "$1: agentjail exec" 4 "$(PATH=$venv/bin:$PATH; timeout 60 agentjail exec -c 2+2 2>&1)"
	py 'import agentjail; print(agentjail.run("2+2").value)'
	is "$1: agentjail.run" 4 "$(cat "$T/out" "$T/err")"
}
venv=$T/venv
"$PY" -m venv --without-pip "$venv" || fail "a virtual environment" "$PY -m venv"
check "pip installs the wheel" "$PY" -m pip --python "$venv/bin/python" install -q "$WHEEL"
runs "in a virtual environment"
is "the version" "agentjail $(basename "$WHEEL" | cut -d- -f2)" "$("$venv/bin/agentjail" --version)"
commit=$(cd "$tests/.." && git ls-files --error-unmatch Makefile >/dev/null 2>&1 && TZ=UTC0 git log -1 --format=.post%cd --date=format-local:%Y%m%d%H%M%S)
[ -z "$commit" ] || check "a later commit has a later version" expr "$WHEEL" : ".*/libagentjail-[0-9.]*$commit-"
py 'import agentjail, importlib.metadata as m; print(m.version("libagentjail"), agentjail.__version__)'
is "the version for Python" "$(basename "$WHEEL" | cut -d- -f2 | sed 's/.*/& &/')" "$(cat "$T/out")"
py 'from agentjail._program import find_program; print(find_program())'
is "the client finds the program of its environment" "$(readlink -f "$venv/bin/agentjail")" "$(cat "$T/out")"
check "the tree is as in its manifest" "$venv/bin/agentjail" rootfs verify
is "agentjail mcp without the SDK names the extra" "  fix: pip install 'libagentjail[mcp]'" "$("$venv/bin/agentjail" mcp </dev/null 2>&1 | tail -1)"
check "a line in the cache says that it was read" test -s "$(echo "$T"/cache/agentjail/verified-*)"

# --- the client alone, from its sources ---
"$PY" -m venv --without-pip "$T/dev" || fail "a virtual environment" "$PY -m venv"
check "pip installs the client from its sources" env PYTHONPATH="$top/build/cache/hatchling" "$PY" -m pip --python "$T/dev/bin/python" install -q \
	--no-build-isolation --no-deps -e "$top/src/sdk/python"
is "it finds the program of these sources" "$top/src/sdk/python $top/build/agentjail" "$(cd / && "$T/dev/bin/python" -c 'import agentjail, agentjail._program as p
print(agentjail.__path__[0][: -len("/agentjail")], p.find_program())' 2>&1)"
is "… and of the same extras as the wheel" "$(sed -n 's/^Provides-Extra: //p' "$venv"/lib/python*/site-packages/libagentjail-*.dist-info/METADATA | sort)" \
	"$(sed -n 's/^Provides-Extra: //p' "$T"/dev/lib/python*/site-packages/libagentjail-*.dist-info/METADATA | sort)"

# --- root installs, another user runs: nothing there may be written, and the user has no home ---
if [ "$(id -u)" = 0 ]; then
	is "another user: agentjail exec" 4 "$(cd / && timeout 60 setpriv --reuid $USER_ID --regid $USER_ID --clear-groups env -i "$venv/bin/agentjail" exec -c 2+2 2>&1)"
	is "another user: agentjail.run" 4 "$(cd / && timeout 60 setpriv --reuid $USER_ID --regid $USER_ID --clear-groups env -i HOME=/nonexistent \
		"$venv/bin/python" -c 'import agentjail; print(agentjail.run("2+2").value)' 2>&1)"
	# A user's own installation, and two processes at its first use. The stricter umask is the one that could close something to the jail.
	mkdir "$T/user" && chown $USER_ID:$USER_ID "$T/user" && cp "$WHEEL" "$T/user/"
	cat >"$T/user.sh" <<-'SH'
		umask "$3" && cd "$1" && "$2" -m venv --without-pip "v$3" && "$2" -m pip --python "v$3/bin/python" install -q --no-compile ./*.whl &&
		"v$3/bin/agentjail" rootfs verify >/dev/null &&
		for i in 1 2; do "v$3/bin/python" -c 'import agentjail; print(agentjail.run("2+2").value)' & done; wait
	SH
	for mask in ${WHOLE:+002} 077; do
		is "installed by a user with umask $mask" "4 4" "$(setpriv --reuid $USER_ID --regid $USER_ID --clear-groups env -i PATH="$PATH" HOME="$T/user" \
			PIP_NO_INDEX=1 timeout 120 sh "$T/user.sh" "$T/user" "$PY" $mask 2>&1 | tr '\n' ' ' | sed 's/ $//')"
	done
fi

# --- below links: of the prefix (venv itself makes lib64 a link to lib), of a folder in it ---
mkdir "$T/real" && mv "$venv/libexec" "$T/real/" && ln -s "$T/real/libexec" "$venv/libexec" && ln -s venv "$T/link"
venv=$T/link
runs "below links"
rm "$T/venv/libexec" && mv "$T/real/libexec" "$T/venv/libexec"

# --- a tree that is not what was installed ---
venv=$T/venv
victim=$(cd "$venv/libexec/agentjail/rootfs/default/tree" && find . -name 'abc.*' | head -n 1)
printf x | dd of="$venv/libexec/agentjail/rootfs/default/tree/$victim" bs=1 seek=30 conv=notrunc 2>/dev/null
rm -rf "$T/cache"
py 'import agentjail; print(agentjail.run("2+2").value)'
says "a changed file: an exception" 'SetupError: .*abc.*different content'
says "with the remedy" 'fix: .*pip install'
rm "$venv/libexec/agentjail/rootfs/default/tree/$victim"
py 'import agentjail; print(agentjail.run("2+2").value)'
says "a file that was deleted" 'SetupError: .*abc.*No such file'
rm "$venv/bin/agentjail"
(PATH=/usr/bin:/bin; py 'import agentjail; print(agentjail.run("2+2").value)')
if command -v agentjail >/dev/null; then skip "no program" "agentjail is installed on this host"; else
	says "no program: an exception" 'SetupError: .*no program agentjail'; fi
check "pip takes it away again" "$PY" -m pip --python "$venv/bin/python" uninstall -q -y libagentjail
is "and no file of it is left" "" "$(find "$venv" -path '*agentjail*' -type f)"

# --- a folder of packages, which has no environment around it ---
check "pip install --target" "$PY" -m pip install -q --no-compile --target "$T/target" "$WHEEL"
is "--target: the client" 4 "$(PYTHONPATH=$T/target timeout 60 "$PY" -c 'import agentjail; print(agentjail.run("2+2").value)' 2>&1)"
is "--target: the program" 4 "$(timeout 60 "$T/target/bin/agentjail" exec -c 2+2 2>&1)"

finish
