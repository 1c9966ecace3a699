#!/bin/sh
# A Python tree that is somebody else's program: what it can do from its first instruction on, before any filter of its own choice.
# The probe plays it, and tries before it says a word to the supervisor.
. "$(dirname "$0")/../lib.sh"
runner_rootfs
mkdir -m 777 "$T/w"
printf 'extends = "snippet"\n[filesystem]\nbinds = ["%s:/mnt/w:rw"]\n' "$T/w" >"$T/w.toml"
before() { # VERB...
	echo "before $*" >"$T/runner/tree/usr/evil"
	chmod 644 "$T/runner/tree/usr/evil"
	rm -f "$T/w/before"
}
tried() {
	cat "$T/w/before" 2>/dev/null | tr '\n' ';'
}
# fork, vfork, clone of a process, sockets of four families, io_uring, userfaultfd, keys, ptrace, mount, unshare, setns, bpf, perf, memfd_create,
# prctl, personality, chmod, shmget
ATTEMPTS='57 58 56:17 41:1 41:2 41:16 41:17 425 323 250 248 101 165 272:0x10000000 308 321 298 319 157 135 90 29'
refused() { # NAME
	check "tree-first-instruction: $1: it tried" test "$(tried | tr ';' '\n' | wc -l)" -ge 22
	is "tree-first-instruction: $1: nothing came of it" "" "$(tried | tr ';' '\n' | grep -vE ' (EPERM|ENOSYS)$')"
}

# shellcheck disable=SC2086
before syscall $ATTEMPTS
aj exec --rootfs "$T/runner" --policy-file "$T/w.toml" --json -c 'say done'
refused exec
check "tree-first-instruction: exec: and the snippet ran" expect status=ok 'stdout=done\n' 'violations=[]'
# shellcheck disable=SC2086
before syscall $ATTEMPTS
AGENTJAIL_ROOTFS=$T/runner aj exec --policy-file "$T/w.toml" --json -c 'say done'
refused "exec by the variable"
# shellcheck disable=SC2086
before syscall $ATTEMPTS
echo 1 | timeout 60 "$AJ" session --rootfs "$T/runner" --policy-file "$T/w.toml" >"$T/out" 2>"$T/err"
refused session
# shellcheck disable=SC2086
before syscall $ATTEMPTS
timeout -k 5 60 "$AJ" serve --rootfs "$T/runner" --policy-file "$T/w.toml" --parked 1 --socket "$T/socket" >"$T/out" 2>"$T/err" &
served=$!
all_tried() {
	[ "$(tried | tr ';' '\n' | wc -l)" -ge 22 ]
}
await all_tried
kill $served
wait $served 2>/dev/null
refused serve

# A filter with a listener of its own would let a call pass that the baseline reports.
before listener
aj exec --rootfs "$T/runner" --policy-file "$T/w.toml" -c 'say done'
check "tree-first-instruction: no listener of its own" grep -qE '^own-listener (ENOSYS|EINVAL|EBUSY)$' "$T/w/before"
check "tree-first-instruction: a filter of its own that reports to nobody" grep -q '^own-filter OK$' "$T/w/before"
check "tree-first-instruction: changes nothing for what is refused" grep -qE '^ptrace (ENOSYS|EPERM)$' "$T/w/before"
check "tree-first-instruction: and it holds none of ours" sh -c "! grep -q listens '$T/w/before'"

# Every number: what a snippet may call, and the calls of the start, by docs/internals/syscalls.md.
if call_numbers >"$T/names"; then
	before sweep
	timeout 60 "$PROBE" marked "$AJ" exec --rootfs "$T/runner" --policy-file "$T/w.toml" -c 'say done' >"$T/out" 2>"$T/err"
	sed -n 's/^allowed: //p' "$T/w/before" | tr ' ' '\n' | awk -v file="$T/names" 'BEGIN { while ((getline line < file) > 0) { split(line, w, " "); name[w[1]] = w[2] } }
		NF { print ($1 in name) ? name[$1] : "nr" $1 }' | sort -u >"$T/open"
	sed -n '/^## A snippet may call/,/^## A snippet is refused/p; /^## Until Python has started/,/^## A zygote/p' "$tests/../docs/internals/syscalls.md" |
		sed -n 's/^| `\([a-z0-9_]*\)`.*/\1/p' | sort -u >"$T/listed"
	# The sweep's few arguments do not ask for these rows: conditions on pointers and on other values.
	is "tree-first-instruction: open is what docs/internals/syscalls.md lists" "arch_prctl faccessat" \
		"$(comm -3 "$T/open" "$T/listed" | tr -d '\t' | grep -vx faccessat | tr '\n' ' ')faccessat"
else
	skip "tree-first-instruction: every number" "no C compiler"
fi

# --- it stops after the baseline ---
for lie in unfiltered child-armed; do
	echo $lie >"$T/runner/tree/usr/evil"
	aj exec --json --rootfs "$T/runner" --timeout 30s -c 'say RAN'
	check "tree-no-filter: $lie" expect status=setup_error error.step=attest 'wall_ms<60000'
	silent "tree-no-filter: $lie: no code was handed over" RAN
done
echo one-more >"$T/runner/tree/usr/evil"
aj exec --json --rootfs "$T/runner" -c 'say RAN'
check "tree-no-filter: one too many" expect status=setup_error error.step=attest
rm "$T/runner/tree/usr/evil"
aj exec --json --rootfs "$T/runner" -c 'say RAN'
check "tree-no-filter: control: a tree that installs what it is sent" expect status=ok 'stdout=RAN\n'
check "tree-no-filter: nothing is left behind" gone

# --- machine code while the snippet runs: tests/escape/native.py tries what is its own ---
MAPS='import mmap
def code(path):
    with open(path, "rb") as f:
        try: mmap.mmap(f.fileno(), 1, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC)
        except OSError as e: return e.errno
    return "code"
with open("/tmp/own", "w") as f: f.write("x")
[code("/usr/bin/python3"), code(mmap.__file__), code("/tmp/own"), code("/mnt/given")]'
native() { # VALUE BIND
	printf 'extends = "snippet"\n[python]\nlayer = false\nnative = "%s"\n[filesystem]\nbinds = ["%s:/mnt%s"]\n' "$@" >"$T/native.toml"
}
mkdir "$T/given" && echo x >"$T/given/given" && chmod -R a+rwX "$T/given"
for write in '' :rw; do
	native tree "$T/given" $write
	json "tree-machine-code: the tree's alone" 0 'value=["code","code",1,1]' 'enforced.machine_code~^only files of the read-only tree, at any time' -- exec --policy-file "$T/native.toml" -c "$MAPS"
done
native start "$T/given"
json "tree-machine-code: none once the snippet runs" 0 'value=[1,1,1,1]' 'enforced.machine_code~before the snippet begins' -- exec --policy-file "$T/native.toml" -c "$MAPS"
# As another jail, or a run with a writable workspace, could change the tree for the jails that follow.
for folder in "$ROOTFS" "$(dirname "$ROOTFS")" "$ROOTFS/tree/usr/lib"; do
	native tree "$folder" :rw
	text "tree-machine-code: not with a writable folder that shows the tree" 2 'could change its own machine code|cannot be bound writable' exec --policy-file "$T/native.toml" -c 'print("RAN")'
	silent "tree-machine-code: and nothing ran" RAN
	native tree "$folder"
	text "tree-machine-code: control: a folder that is only read" 0 RAN exec --policy-file "$T/native.toml" -c 'print("RAN")'
done

# Written by hand, as `agentjail env` makes them.
envs=$XDG_DATA_HOME/agentjail/envs
for name in mine other; do
	mkdir -p "$envs/$name/site"
	echo "word = '$name'" >"$envs/$name/site/ajpackage.py"
	echo '{"format": 1, "imports": ["ajpackage"], "packages": []}' >"$envs/$name/env.json"
done
SEE='import os, ajpackage
def tried(f):
    try: f(); return 0
    except OSError as e: return e.errno
out = [ajpackage.word, sorted(os.listdir("/env")), tried(lambda: open("/env/new", "w")), tried(lambda: open("/env/ajpackage.py", "a")), tried(lambda: os.listdir("'$envs'"))]
out'
json "tree-env: its own, and read-only" 0 'value~^\["mine",\["ajpackage.py"\],30,(13|30),2\]$' 'enforced.machine_code~^only files of the read-only tree' -- exec --env mine --layer off -c "$SEE"
native tree "$envs" :rw
text "tree-env: not with a writable folder that shows it" 2 'could change its own machine code|cannot be bound writable' exec --policy-file "$T/native.toml" --env mine -c 'print("RAN")'
silent "tree-env: and nothing ran" RAN
chmod o+w "$envs/mine"
text "tree-env: not where others may write it" 2 'others may write' exec --env mine -c 1

finish
