#!/bin/sh
# Builds and package managers of others in a workspace that is the folder itself, an overlay, or a copy: what is in the workspace after
# `agentjail changes apply` must be what the same program leaves in the folder itself. Packages come from PyPI and npm, before the jails.
SYSROOT=$(rustc --print sysroot 2>/dev/null) # as long as HOME is the caller's
export SYSROOT
. "$(dirname "$0")/../lib.sh"

export XDG_STATE_HOME="$T/state"
printf 'extends = "offline-build"\n[filesystem]\ntmp_size = "1G"\ntmp_files = 100000\n[limits]\npids = 512\n' >"$T/build.toml"

picture() { (cd "$ws" && find . -printf '%p %y %m %s %i %C@ %l\n' | LC_ALL=C sort); }

# each NAME BEGIN STEP...: BEGIN makes the workspace on the host; each STEP is a run of its own, which goes on with the changes of the last.
each() {
	local name=$1 begin=$2 mode ws id link
	shift 2
	for mode in rw overlay copy; do
		ws=$T/$name.$mode
		mkdir "$ws"
		(cd "$ws" && eval "$begin") >"$T/begin" 2>&1 || { fail "$name: the beginning" "$(tail -n 5 "$T/begin")"; return; }
		[ "$(id -u)" != 0 ] || chown -R 65534:65534 "$ws"
		picture >"$T/before"
		id=
		for step; do
			# shellcheck disable=SC2086
			json "$name, $mode: $(printf %.60s "$step")" 0 status=ok -- run --policy-file "$T/build.toml" --workspace "$ws" --workspace-mode $mode \
				${id:+--changes $id} --bind "$T/packages:/packages" ${toolchain:-} --env HOME=/tmp --env GIT_AUTHOR_NAME=a --env GIT_AUTHOR_EMAIL=a@b --env GIT_COMMITTER_NAME=a --env GIT_COMMITTER_EMAIL=a@b -- sh -ec "$step"
			[ $mode = rw ] || id=$(field changes.id)
		done
		if [ $mode != rw ]; then
			picture >"$T/after"
			check "$name, $mode: before that the host has none of it" cmp "$T/before" "$T/after"
			text "$name, $mode: the changes are applied" 0 '' changes apply "$id"
			# A link out of the workspace is applied where a path names it, unless only root writes there.
			for link in $([ $name != pytest ] || (cd "$T/$name.rw" && echo v/bin/python*)); do
				[ -L "$ws/$link" ] || text "$name, $mode: and the link $link" 0 '' changes apply "$id" "$link"
			done
			text "$name, $mode: and are forgotten" 0 '' changes discard "$id"
		fi
		(cd "$ws" && find . ! -name '*.pyc' ! -path './.git/*' ! -name '.pytest_cache' ! -path '*/CACHEDIR.TAG' -printf '%p %y %l\n' | LC_ALL=C sort) >"$T/$name.$mode.names"
	done
	for mode in overlay copy; do
		check "$name: $mode and rw leave the same files" diff "$T/$name.rw.names" "$T/$name.$mode.names"
	done
}

mkdir -m 755 "$T/packages"
PY3=/usr/bin/python3
toolchain=

each git 'git init -q . && mkdir d && echo 1 >d/a && echo 1 >b && git add . && git -c user.name=a -c user.email=a@b commit -qm first' \
	'git mv b c; mv d e; echo 2 >>c; git add -A; git commit -qm second; git checkout -qb side HEAD~; echo 3 >f; git add f; git commit -qm third; git checkout -q -; git merge -q side -m merge; git log --oneline | wc -l' \
	'git gc -q; git fsck --strict; git stash list; git status --short'

each make 'printf "all: out/p\nout/p: p.c\n\tmkdir -p out && cc -o \$@ p.c\nclean:\n\trm -rf out\n" >Makefile; printf "int main(void) { return 0; }\n" >p.c' \
	'make && out/p && make -q' 'touch -d "1 hour" p.c; ! make -q; make clean; make -j4 && out/p'

each sqlite 'python3 -c "import sqlite3; c = sqlite3.connect(\"db\"); c.execute(\"create table t (n)\"); c.commit()"' \
	'python3 -c "
import sqlite3
for mode in \"delete\", \"wal\", \"delete\":
    c = sqlite3.connect(\"db\"); c.execute(\"pragma journal_mode=\" + mode)
    for i in range(100):
        c.execute(\"insert into t values (?)\", (i,)); c.commit()
    c.close()
c = sqlite3.connect(\"db\"); assert c.execute(\"select count(*) from t\").fetchone() == (300,), c.execute(\"pragma integrity_check\").fetchall()"'

if $PY3 -m pip --version >/dev/null 2>&1 && $PY3 -m pip download -q --disable-pip-version-check -d "$T/packages" pytest==8.3.4 setuptools==75.6.0 wheel==0.45.1 2>"$T/fetch"; then
	each pytest 'printf "def test_one(tmp_path):\n    (tmp_path / \"x\").write_text(\"y\")\n    assert 1\n" >test_one.py; printf "[project]\nname = \"own\"\nversion = \"1\"\n[tool.setuptools]\npy-modules = [\"test_one\"]\n" >pyproject.toml' \
		'python3 -m venv --without-pip v && python3 -m pip --python v/bin/python install -q --no-index --find-links /packages pytest setuptools wheel' \
		'v/bin/python -m pytest -q' \
		'python3 -m pip --python v/bin/python install -q --no-index --no-build-isolation . && python3 -m pip --python v/bin/python uninstall -qy wheel && v/bin/python -m pytest -q'
else
	skip "pip and pytest" "no pip, or no packages from PyPI: $(tail -n 1 "$T/fetch" 2>/dev/null)"
fi

if command -v npm >/dev/null && (cd "$T/packages" && npm pack --silent is-number@7.0.0 left-pad@1.3.0 left-pad@1.2.0) >"$T/fetch" 2>&1; then
	each npm 'printf "{\"name\": \"own\", \"version\": \"1.0.0\"}\n" >package.json' \
		'npm install --offline --no-audit --no-fund /packages/is-number-7.0.0.tgz /packages/left-pad-1.2.0.tgz' \
		'npm install --offline --no-audit --no-fund /packages/left-pad-1.3.0.tgz && node -e "require(\"left-pad\")"' \
		'npm uninstall --offline --no-audit --no-fund is-number && ! test -e node_modules/is-number && mv node_modules/left-pad node_modules/renamed 2>/dev/null; mv node_modules/renamed node_modules/left-pad 2>/dev/null; node -e "require(\"left-pad\")"'
else
	skip "npm" "no npm, or no packages from npm: $(tail -n 1 "$T/fetch")"
fi

if [ -n "$SYSROOT" ] && [ -x "$SYSROOT/bin/cargo" ] && [ -r "$SYSROOT/bin/cargo" ]; then
	toolchain="--bind $SYSROOT:/opt/rust --env PATH=/opt/rust/bin:/usr/bin:/bin --env CARGO_HOME=/tmp/cargo --env CARGO_INCREMENTAL=0"
	each cargo 'mkdir src; printf "[package]\nname = \"own\"\nversion = \"0.1.0\"\nedition = \"2021\"\n" >Cargo.toml; printf "fn main() { println!(\"{}\", own()); }\nfn own() -> u32 { 42 }\n#[test]\nfn t() { assert_eq!(own(), 42); }\n" >src/main.rs' \
		'cargo build -q --offline && target/debug/own' 'echo "// more" >>src/main.rs && cargo test -q --offline && cargo clean -q && cargo build -q --offline'
else
	skip "cargo" "no Rust toolchain of this user's"
fi
finish
