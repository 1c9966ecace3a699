#!/bin/sh
# Which host id is behind a jail: one of its own where root has a range, taken and given back whatever happens; and what is said where there is none.
# It leaves one empty file in /run, as every run under a range does.
. "$(dirname "$0")/../lib.sh"
MAP='awk "{ print \$2 }" /proc/self/uid_map'
mkdir "$T/ws" "$T/p"
chmod 777 "$T/ws"
if [ -e /etc/agentjail/agentjail.toml ]; then
	skip "everything" "this machine has its own /etc/agentjail/agentjail.toml"
	finish
fi
FIRST=$((700000 + $$ % 1000 * 100)) # others may test, too
site() { # NAME COUNT
	printf 'identity.uids = "%d-%d"\n' $FIRST $((FIRST + $2 - 1)) >"$T/$1.toml"
}
site many 50
site two 2
for range in 1000-2000 65534-70000 70000 80000-70000 a-b 70000-4294967295; do
	printf 'identity.uids = "%s"\n' $range >"$T/bad.toml"
	text "ids-range: no range: $range" 2 'bad.toml:1:10: error AJ004.*FIRST-LAST' run --config "$T/bad.toml" -- true
done
if [ "$(id -u)" != 0 ]; then
	json "ids-shared: an ordinary user has no other" 0 status=ok "enforced.identity=host id $(id -u), shared: the caller's own" -- run --config "$T/many.toml" -- true
	json "ids-shared: nor has a snippet" 0 status=ok "enforced.identity~^host id $(id -u), shared" -- exec --config "$T/many.toml" -c 1
	skip "ids-range: ids of their own" "only root chooses ids"
	finish
fi

json "ids-shared: root without a range" 0 status=ok 'enforced.identity~^host id 65534, shared by all jails of root: the site gives no range' 'stdout=65534\n' -- run -- sh -c "$MAP"
json "ids-range: run" 0 status=ok "enforced.identity~this jail's alone" -- run --config "$T/many.toml" -- sh -c "$MAP"
id=$(field stdout)
check "ids-range: the kernel's map has an id of the range" test "$id" -ge $FIRST -a "$id" -lt $((FIRST + 50))
check "ids-range: enforced names that id" expect "enforced.identity~^host id $id,"
json "ids-range: its scratch space is its own" 0 'stdout=1000 1000\n' -- run --config "$T/many.toml" -- sh -c 'touch /tmp/x /dev/shm/y; stat -c %u /tmp/x /dev/shm/y | tr "\n" " " | sed "s/ $//"; echo'
json "ids-range: a snippet runs, layer and all" 0 status=ok value=42 "enforced.identity~this jail's alone" -- exec --config "$T/many.toml" -c 'import json
6 * 7'
text "ids-range: --dry-run says which kind" 0 "identity: host id [0-9]+, this jail's alone" exec --config "$T/many.toml" --dry-run -c 1
text "ids-range: and policy explain" 0 "identity: host id $FIRST, this jail's alone" policy explain --config "$T/many.toml"

# --- writable folders keep one owner ---
printf 'extends = "command"\n[filesystem]\nworkspace = "read-write"\n' >"$T/p/work.toml"
json "ids-shared: with a writable workspace" 0 status=ok 'enforced.identity~^host id 65534, shared by all jails of root that write' 'stdout=65534\n' -- \
	run --config "$T/many.toml" --policy-file "$T/p/work.toml" --workspace "$T/ws" -- sh -c "touch made && $MAP"
is "ids-shared: whose files are that id's" 65534 "$(stat -c %u "$T/ws/made")"
json "ids-range: a read-only one takes nothing away" 0 "enforced.identity~this jail's alone" -- run --config "$T/many.toml" --bind "$T/ws" -- ls "$T/ws"

# --- two at a time, three are too many ---
hold() { # NAME: a jail that stays, and says its id
	"$AJ" run --config "$T/two.toml" -- sh -c "$MAP; exec sleep 300" >"$T/$1" 2>"$T/$1.err" &
	eval "$1=$!"
	await test -s "$T/$1"
}
hold one
hold another
is "ids-range: two jails have two ids" "$FIRST $((FIRST + 1))" "$(sort "$T/one" "$T/another" | tr '\n' ' ' | sed 's/ $//')"
text "ids-range: a third has none, and does not run" 125 'identity: all ids from .* are in use by jails' run --config "$T/two.toml" -- echo RAN
silent "ids-range: it did not" '^RAN'
# shellcheck disable=SC2154
kill -9 "$one"
wait "$one" 2>/dev/null
json "ids-range: a killed one's is free at once" 0 status=ok "stdout=$(cat "$T/one")\n" -- run --config "$T/two.toml" -- sh -c "$MAP"
json "ids-range: and is given back after a run" 0 status=ok "stdout=$(cat "$T/one")\n" -- run --config "$T/two.toml" -- sh -c "$MAP"
# shellcheck disable=SC2154
kill "$another"
wait "$another" 2>/dev/null
is "ids-range: nobody else may open where they are taken" "600 0" "$(stat -c '%a %u' /run/agentjail.ids)"
chmod 644 /run/agentjail.ids
text "ids-range: nor would it be used then" 125 "is not root's own file" run --config "$T/many.toml" -- echo RAN
chmod 600 /run/agentjail.ids
unshare --user --map-root-user "$AJ" run --config "$T/many.toml" -- echo RAN >"$T/out" 2>"$T/err"
is "ids-range: root without the right to map them gets an error" "125 " "$? $(cat "$T/out")"

# --- warm: a tenant, a policy, an id ---
"$AJ" serve --config "$T/many.toml" --policy snippet --policy science --socket "$T/socket.serve" >"$T/out" 2>"$T/err" &
serve=$!
await test -S "$T/socket.serve"
timeout 60 "$PY" -B -I -S - "$EXAMPLES" "$T/socket.serve" "$serve" >"$T/said" 2>"$T/err" <<'X'
import glob, sys
sys.path.insert(0, sys.argv[1])
from client import Client
c = Client(sys.argv[2])
def identity(**place):
    r = c.ask("exec", code="1", **place)
    assert r["status"] == "ok", r
    return r["enforced"]["identity"], r["warm"]
a, again, b, other = identity(tenant="a"), identity(tenant="a"), identity(tenant="b"), identity(tenant="a", policy="science")
print("same" if a == again else (a, again))
print("apart" if len({a[0], b[0], other[0]}) == 3 else (a, b, other))
print("warm" if a[1] and b[1] else "cold")
print("said" if "the jails' of one tenant and policy" in a[0] else a)
# The kernel's status of every process that the service has made: zygotes, parked jails and their inits.
s = c.ask("open", tenant="a")["session"]
parent, uid = {}, {}
for path in glob.glob("/proc/[0-9]*/status"):
    try:
        text = dict(line.split(":\t", 1) for line in open(path).read().splitlines() if ":\t" in line)
    except OSError:
        continue
    parent[int(text["Pid"])], uid[int(text["Pid"])] = int(text["PPid"]), {int(n) for n in text["Uid"].split()}
ours = {int(sys.argv[3])}
while True:
    more = {p for p in parent if parent[p] in ours} - ours
    if not more:
        break
    ours |= more
ids = set().union(*(uid[p] for p in ours if p != int(sys.argv[3])))
told = {int(i.split()[2].rstrip(",")) for i in (a[0], b[0], other[0])}
print("kernel" if told <= ids and not ids & {65534} else (sorted(ids), told))
X
is "ids-range: the service: one id for each tenant and policy" "same apart warm said kernel " "$(tr '\n' ' ' <"$T/said")$(head -c 300 "$T/err")"
kill "$serve"
wait "$serve" 2>/dev/null
json "ids-range: and gives them back" 0 status=ok -- run --config "$T/two.toml" -- true
finish
