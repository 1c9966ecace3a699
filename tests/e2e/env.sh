#!/bin/sh
# Environments: made from a local index by pip, and by uv where it is, used by exec, kept complete and removed whole.
. "$(dirname "$0")/../lib.sh"

"$PY" -B "$folder/env_index.py" "$T" || exit 1
export PIP_INDEX_URL="file://$T/simple" UV_DEFAULT_INDEX="file://$T/simple" UV_CACHE_DIR="$T/uv" PIP_CACHE_DIR="$T/pip"
envs=$XDG_DATA_HOME/agentjail/envs
uv=$(command -v uv)
without_uv=$(printf '%s' "$PATH" | tr ':' '\n' | while read -r folder; do [ -x "$folder/uv" ] || printf '%s:' "$folder"; done)
both=$PATH

# --- what each installer makes ---
makes() { # TOOL
	text "$1: an environment with what the package needs" 0 "^$envs/$1: 2 packages" env create "$1" --packages ajalpha 'ajbeta<2'
	text "$1: its packages can be imported" 0 '^42 8$' exec --env "$1" -c 'import ajalpha; print(ajalpha.answer(), ajalpha.size)'
	text "$1: a submodule, too" 0 '^41$' exec --env "$1" -c 'import ajbeta.inner; print(ajbeta.inner.value)'
	text "$1: with versions and licences" 0 '^ajbeta +1\.0 .* MIT$' env show "$1"
	check "$1: the installer is named" grep -q "\"installer\": \"$1\"" "$envs/$1/env.json"
	check "$1: its modules are compiled" test -s "$envs/$1/site/ajbeta/__pycache__/inner.cpython-311.pyc"
	text "$1: each file is as it was made" 0 'files as in the manifest' env verify "$1"
	text "$1: a wheel for an older C library" 0 '"imports":\["ajnative"\]' env create "$1-native" --packages ajnative --json
	text "$1: a wheel for a newer C library is refused, with the installer's words" 125 'ajfuture' env create "$1-future" --packages ajfuture
	check "$1: and nothing is left" test ! -e "$envs/$1-future"
}
PATH=$without_uv
makes pip
PATH=$both
if [ -n "$uv" ]; then makes uv; else skip "environments made by uv" "no uv here"; fi
PATH=$without_uv

# --- what a snippet gets ---
text "without an environment there is no package" 126 'ajalpha' exec -c 'import ajalpha'
text "where the policy allows it, the command that gets it is named" 1 'fix: `agentjail env create data --packages scikit-learn`, then --env data' \
	exec --policy data-analysis -c 'import sklearn.svm'
text "with an environment, too" 1 'fix: `agentjail env update pip --packages' exec --env pip --allow-import polars -c 'import polars'
text "*.pth files are named" 0 'ajalpha\.pth is not executed' env create again --packages ajalpha
text "and not executed" 0 '^False$' exec --env pip --layer off -c 'import os; print(os.path.exists("/tmp/ran"))'
text "the packages are read-only" 1 'Read-only|Permission|not allowed' exec --env pip --layer off -c 'open("/env/ajbeta/__init__.py", "w")'
text "ctypes is for packages" 126 'ctypes' exec --env pip -c 'import ctypes'
text "a variable is given with its value" 0 '^v$' exec --env pip --env A=v --layer off -c 'import os; print(os.environ["A"])'
text "an environment that is not there" 2 'create missing --packages' exec --env missing -c 1
printf 'extends = "snippet"\n[python]\nenv = "pip"\n' >"$T/p.toml"
text "a policy may name it" 0 '^42$' exec --policy-file "$T/p.toml" -c 'import ajalpha; print(ajalpha.answer())'
printf 'extends = "snippet"\nlock = ["python.env"]\n' >"$T/p.toml"
text "a lock of python.env holds" 2 'locks that key' exec --policy-file "$T/p.toml" --env pip -c 1
printf 'extends = "snippet"\nlock = ["python.imports"]\n' >"$T/p.toml"
text "under a lock of python.imports no name is added" 126 'ajalpha' exec --policy-file "$T/p.toml" --env pip -c 'import ajalpha'

# --- the Python client ---
client() { PYTHONPATH="${folder%/*}/../src/sdk/python" AGENTJAIL=$AJ timeout 100 "$PY" -s -B -c "import agentjail; $1" 2>"$T/err"; }
is "Env.create finds it" "('ajalpha', 'ajbeta') 1.0" "$(client 'e = agentjail.Env.create("pip", ["ajalpha", "ajbeta<2"]); print(e.imports, e.packages["ajbeta"])')"
is "a jail, cold and warm" '[42, 42]' "$(client 'j = agentjail.Jail(env="pip"); print([j.run("import ajalpha; ajalpha.answer()").value for _ in "12"])')"
is "a session" 42 "$(client 's = agentjail.Session(env=agentjail.Env.find("pip")); print(s.run("import ajalpha; ajalpha.answer()").value); s.close()')"
is "run() with packages" 82 "$(client 'print(agentjail.run("import ajbeta; ajbeta.value", packages=["ajbeta"]).value)')"
is "an error has the installer's words" 'True True' \
	"$(client '
try:
    agentjail.Env.create("no", ["ajmissing"])
except agentjail.SetupError as e:
    print("ajmissing" in str(e), "could not install" in str(e))')"

# --- making, updating, removing ---
text "the same request finds it" 0 'as it was there' env create pip --packages ajalpha 'ajbeta<2'
text "another one is refused" 2 'with other packages' env create pip --packages ajbeta
text "update takes other packages" 0 '1 package' env update pip --packages ajbeta
text "which a snippet sees" 0 '^82$' exec --env pip -c 'import ajbeta; print(ajbeta.value)'
check "equal files share an inode" test "$(stat -c %h "$envs/again/site/ajalpha/data file.txt")" -ge 2
chmod u+w "$envs/pip/site/ajbeta/__init__.py"
echo 'value = 3' >"$envs/pip/site/ajbeta/__init__.py"
text "verify names a changed file" 125 '/ajbeta/__init__.py: different' env verify pip
chmod g+w "$envs/pip"
text "an environment that others may write is refused" 2 'others may write' exec --env pip -c 1
chmod g-w "$envs/pip"
printf 'ajbeta==1.0\n' >"$T/requirements.txt"
text "a requirements file" 0 '1 package' env create file -r "$T/requirements.txt"
text "a lock needs hashes" 125 'hashes' env create locked --lock "$T/requirements.txt"
printf 'ajbeta==1.0 --hash=sha256:%s\n' "$(sha256sum <"$T/simple/ajbeta/ajbeta-1.0-py3-none-any.whl" | cut -d' ' -f1)" >"$T/requirements.txt"
text "and takes what has them" 0 '1 package' env create locked --lock "$T/requirements.txt"
text "another Python is refused" 2 'has Python 3' env create old --packages ajbeta --python 2.7
text "list" 0 '^locked +Python 3' env list
text "remove" 0 '' env remove locked file again
check "and they are gone" test ! -e "$envs/locked"
text "one that is not there" 125 'no environment' env remove locked
mkdir "$envs/.left.new-1"
text "what a killed process left is removed" 0 '1 package' env create left --packages ajbeta
check "by the next one" test ! -e "$envs/.left.new-1"
"$AJ" env create two --packages ajbeta >"$T/one" 2>&1 &
text "a second creator waits for the first" 0 '1 package' env create two --packages ajbeta
wait
check "and both end well" grep -q '1 package' "$T/one"
# The file of requirements never comes to its end: the installer runs when the signal comes.
mkfifo "$T/fifo"
"$AJ" env create stopped -r "$T/fifo" >"$T/one" 2>&1 &
stopped=$!
begun() { ls -d "$envs"/.stopped.new-*; }
await begun
kill -TERM $stopped
wait $stopped
is "interrupted, it ends as by the signal" 143 $?
check "and leaves nothing" sh -c "! ls -d '$envs'/.stopped.new-*"

finish
