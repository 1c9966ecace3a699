#!/bin/sh
# Which folders of the host are workspaces: what is refused before anything runs, by whatever name it is called, and what is not.
# It writes into its own folder alone; other places are shown read-only, or refused.
. "$(dirname "$0")/../lib.sh"
mkdir -p "$T/p" "$T/ws/sub" "$HOME/src" "$HOME/.keys" "$T/config"
chmod 755 "$HOME" "$HOME/src" "$T/p"
[ "$(id -u)" != 0 ] || chmod 777 "$T/ws" "$HOME/src"
work() { # NAME UNDER [MODE]
	printf 'extends = "command"\n[filesystem]\nworkspace = "%s"\n%s\n' "${3:-read-write}" "${2:+workspace_under = $2}" >"$T/p/$1.toml"
}
work default ''
work shown '' read-only
work anywhere '["@anywhere"]'
# refused NAME REGEX OPTION...: of `run`, and nothing ran.
refused() {
	local name=$1 regex=$2
	shift 2
	aj run "$@" -- echo RAN
	if [ "$rc" = 2 ] && grep -qaE -e "$regex" "$T/err" && ! grep -qa RAN "$T/out"; then ok "$name"; else fail "$name" "want exit 2 and \`$regex\`: $(shown)"; fi
}
runs() { # NAME OPTION...
	local name=$1
	shift
	text "$name" 0 '^RAN$' run "$@" -- echo RAN
}

# --- the system's places, by every name ---
PLACES="/ $HOME $T /etc /etc/ssl /usr /usr/share /usr/local/lib /boot /proc /proc/self/task /sys /sys/kernel /dev /dev/shm /run /tmp/../etc /etc/../usr/./share/ //etc /tmp/../"
for place in $PLACES; do
	[ -d "$place" ] || continue
	for policy in default anywhere shown; do
		aj run --policy-file "$T/p/$policy.toml" --workspace "$place" -- echo RAN
		# /proc/self is a link
		if [ "$rc" = 125 ] && [ "$place" = /proc/self/task ]; then rc=2; fi
		is "workspace-system: $place under $policy" "2 " "$rc $(cat "$T/out")"
	done
done
refused "workspace-system: the reason and what helps" '^  fix: start in a project.s folder' --policy-file "$T/p/default.toml" --workspace /etc
says "workspace-system: names the place" '`/etc` cannot be a workspace: the folder belongs to the system'
for from in / /etc "$HOME"; do
	cd "$from" || exit 1
	refused "workspace-system: as the working directory: $from" 'cannot be a workspace' --policy-file "$T/p/default.toml" --workspace .
done
cd "$T/ws" || exit 1
refused "workspace-system: by a relative path" '`/etc` cannot be a workspace' --policy-file "$T/p/default.toml" --workspace "$(pwd -P | sed 's,/[^/]*,../,g')etc"
ln -s /etc "$T/ws/link"
ln -s / "$T/ws/root"
for link in link root root/etc link/ssl; do
	aj run --policy-file "$T/p/anywhere.toml" --workspace "$T/ws/$link" -- echo RAN
	if [ "$rc" != 0 ] && ! grep -qa RAN "$T/out"; then ok "workspace-system: by a symlink: $link"; else fail "workspace-system: by a symlink: $link" "$(shown)"; fi
done
says "workspace-system: the link is the reason" 'a symlink in the path'
if [ "$(id -u)" = 0 ] && mkdir "$T/ws/alias" && unshare -m mount --bind /etc "$T/ws/alias" 2>/dev/null; then
	unshare -m sh -c 'mount --bind /etc "$1/ws/alias" && exec timeout 60 "$2" run --policy-file "$1/p/anywhere.toml" --workspace "$1/ws/alias" -- echo RAN' sh "$T" "$AJ" >"$T/out" 2>"$T/err"
	is "workspace-system: by a bind of the host's" 2 $?
fi
rm -rf "$T/ws/link" "$T/ws/root" "$T/ws/alias"
if [ "$(id -u)" = 0 ] && unshare -m mount -t tmpfs x /mnt 2>/dev/null; then
	# away [--no-home] POLICY FROM FOLDER: of a run where / is shown in /mnt/root as well, and /etc/passwd says that the home is /mnt/me
	away() {
		local unset=
		[ "$1" != --no-home ] || { unset="-u HOME" && shift; }
		# shellcheck disable=SC2016,SC2086
		unshare -m sh -c 'mount -t tmpfs x /mnt && mkdir -p /mnt/me/src /mnt/root && mount --bind / /mnt/root &&
			sed "s,^root:.*,root:x:0:0:root:/mnt/me:/bin/sh," /etc/passwd >/mnt/passwd && mount --bind /mnt/passwd /etc/passwd && cd "$2" &&
			exec timeout 60 env $1 "$3" run --policy-file "$4" --workspace "$5" -- echo RAN' \
			sh "$unset" "$2" "$AJ" "$T/p/$1.toml" "$3" >"$T/out" 2>"$T/err"
		echo "$? $(cat "$T/out")"
	}
	is "workspace-system: the home of /etc/passwd without a HOME" "2 " "$(away --no-home shown /mnt/me .)"
	is "workspace-system: and with another one" "2 " "$(away shown /mnt/me .)"
	is "workspace-system: and what is above it" "2 " "$(away --no-home shown /mnt .)"
	is "workspace-system: control: a project in it" "0 RAN" "$(away --no-home shown /mnt/me/src .)"
	is "workspace-system: below a bind of the root" "2 " "$(away anywhere / /mnt/root/etc/ssl)"
else
	skip "workspace-system: the home of /etc/passwd, and a bind of the root" "only root mounts here"
fi
work etc '["/etc"]' read-only
runs "workspace-system: control: named, it is shown" --policy-file "$T/p/etc.toml" --workspace /etc
runs "workspace-system: control: and what is below it" --policy-file "$T/p/etc.toml" --workspace /etc/ssl
refused "workspace-system: another one is not" '`/usr/share` cannot be a workspace' --policy-file "$T/p/etc.toml" --workspace /usr/share
work root '["/"]' read-only
runs "workspace-system: control: / is what / names" --policy-file "$T/p/root.toml" --workspace /
refused "workspace-system: and not /etc" '`/etc` cannot be a workspace' --policy-file "$T/p/root.toml" --workspace /etc

# --- below which folders ---
runs "workspace-places: below /tmp" --policy-file "$T/p/default.toml" --workspace "$T/ws"
runs "workspace-places: a project in the home" --policy-file "$T/p/default.toml" --workspace "$HOME/src"
outside=/mnt
[ -d $outside ] || outside=/opt
cd /
refused "workspace-places: elsewhere" "$outside. is not below \[\"@default\"\] \(filesystem.workspace_under" --policy-file "$T/p/shown.toml" --workspace $outside
cd $outside || exit 1
runs "workspace-places: the working directory" --policy-file "$T/p/shown.toml" --workspace .
cd /
work out "[\"$outside\"]" read-only
runs "workspace-places: where the policy says" --policy-file "$T/p/out.toml" --workspace $outside
refused "workspace-places: and nowhere else then" '@?is not below' --policy-file "$T/p/out.toml" --workspace "$T/ws"
work any '["@anywhere"]' read-only
runs "workspace-places: anywhere" --policy-file "$T/p/any.toml" --workspace $outside
# Keys and configurations of the home are hidden; to test that, the home must not be below /tmp, as $T is.
if [ "$(id -u)" = 0 ]; then
	home() { # FOLDER [FROM]: exit code of a run with that workspace in a home of its own
		# shellcheck disable=SC2016
		unshare -m sh -c 'mount -t tmpfs home /mnt && mkdir -p /mnt/me/src/.x /mnt/me/.ssh/x && export HOME=/mnt/me && cd "$3" &&
			exec timeout 60 "$1" run --policy-file "$2" --workspace "$4" -- echo RAN' sh "$AJ" "$T/p/shown.toml" "${2:-/}" "$1" >"$T/out" 2>"$T/err"
		echo $?
	}
	is "workspace-places: control: what is not hidden in the home" "0 0" "$(home /mnt/me/src) $(home /mnt/me/src/.x)"
	is "workspace-places: what is hidden there" "2 2" "$(home /mnt/me/.ssh) $(home /mnt/me/.ssh/x)"
	is "workspace-places: also from the home itself" "2 2" "$(home .ssh /mnt/me) $(home me/.ssh/x /mnt)"
	is "workspace-system: the home, and what is above it" "2 2" "$(home /mnt/me) $(home /mnt)"
else
	skip "workspace-places: what is hidden in the home" "only root makes a home that is not below /tmp, and takes it away again"
fi
aj run --policy-file "$T/p/default.toml" --workspace "$T/nothing" -- true
is "workspace-places: one that is not there" 125 "$rc"
if [ ! -e /etc/agentjail/agentjail.toml ]; then
	printf '[ceilings.filesystem]\nworkspace_under = ["%s/ws"]\n' "$T" >"$T/config/site.toml"
	runs "workspace-places: below the site's ceiling" --config "$T/config/site.toml" --policy offline-build --workspace "$T/ws/sub"
	refused "workspace-places: not beside it" "is not below .*/ws.*config/site.toml:2:1" --config "$T/config/site.toml" --policy offline-build --workspace "$HOME/src"
	refused "workspace-places: nor by a policy of its own" 'AJ006.*ceiling' --config "$T/config/site.toml" --policy-file "$T/p/anywhere.toml" --workspace "$HOME/src"
else
	skip "workspace-places: the site's ceiling" "this machine has its own /etc/agentjail/agentjail.toml"
fi
aj policy explain offline-build --workspace /etc --path /workspace/x
is "workspace-places: policy explain says so, too" 2 "$rc"
says "workspace-places: with the reason" 'cannot be a workspace'
printf 'extends = "snippet"\n[filesystem]\nworkspace = "read-only"\n' >"$T/p/snippet.toml"
echo 'print("RAN")' >"$T/code.py"
for place in /etc "$HOME" $outside; do
	timeout 60 "$AJ" session --policy-file "$T/p/snippet.toml" --workspace "$place" <"$T/code.py" >"$T/out" 2>"$T/err"
	is "workspace-places: a session, by the library: $place" "2 " "$? $(cat "$T/out")"
	aj exec --policy-file "$T/p/snippet.toml" --workspace "$place" -c 'print("RAN")'
	is "workspace-places: exec: $place" "2 " "$rc $(cat "$T/out")"
done
timeout 60 "$AJ" session --policy-file "$T/p/snippet.toml" --workspace "$T/ws" <"$T/code.py" >"$T/out" 2>"$T/err"
is "workspace-places: control: a session" "RAN" "$(cat "$T/out")"

# --- what agentjail is configured by, and is ---
mkdir "$T/own"
chmod 755 "$T/own"
cp "$T/p/default.toml" "$T/own/work.toml"
refused "workspace-own: the policy" 'contains agentjail.s configuration or program .*/own/work.toml' --policy-file "$T/own/work.toml" --workspace "$T/own"
printf 'extends = "%s/own/work.toml"\n' "$T" >"$T/p/child.toml"
refused "workspace-own: what it extends" 'contains .*/own/work.toml' --policy-file "$T/p/child.toml" --workspace "$T/own"
printf 'extends = "command"\n[filesystem]\nworkspace = "read-write"\nworkspace_under = ["%s/own"]\n' "$T" >"$T/own/named.toml"
runs "workspace-own: control: named, it is given" --policy-file "$T/own/named.toml" --workspace "$T/own"
cp "$T/p/shown.toml" "$T/own/shown.toml"
runs "workspace-own: control: read-only, it is shown" --policy-file "$T/own/shown.toml" --workspace "$T/own"
refused "workspace-own: a writable bind of it" 'bind: .*cannot be bound writable: .*/own/work.toml' --policy-file "$T/own/work.toml" --workspace "$T/ws" --bind "$T/own:/o:rw"
refused "workspace-own: also where it is named" 'cannot be bound writable: .*' --policy-file "$T/own/named.toml" --workspace "$T/ws" --bind "$T/own:/o:rw"
printf 'extends = "command"\n[filesystem]\nbinds = ["%s/own:/o:rw"]\n' "$T" >"$T/own/binds.toml"
refused "workspace-own: a bind of the policy itself" 'cannot be bound writable: .*/own/binds.toml' --policy-file "$T/own/binds.toml"
runs "workspace-own: control: a read-only bind" --policy-file "$T/own/work.toml" --workspace "$T/ws" --bind "$T/own:/o"
rm "$T/own"/*
if [ ! -e /etc/agentjail/agentjail.toml ]; then
	: >"$T/own/site.toml"
	refused "workspace-own: the site's configuration" 'contains .*/own/site.toml' --config "$T/own/site.toml" --policy-file "$T/p/default.toml" --workspace "$T/own"
	printf 'audit.destination = "file:%s/own/trail.jsonl"\n' "$T" >"$T/config/trail.toml"
	refused "workspace-own: the audit trail, before it is there" 'contains .*/own' --config "$T/config/trail.toml" --policy-file "$T/p/default.toml" --workspace "$T/own"
	runs "workspace-own: control: which another run makes" --config "$T/config/trail.toml" --policy-file "$T/p/default.toml" --workspace "$T/ws"
	refused "workspace-own: and after" 'contains .*/own/trail.jsonl' --config "$T/config/trail.toml" --policy-file "$T/p/default.toml" --workspace "$T/own"
	refused "workspace-own: nor by a bind" 'contains .*/own/trail.jsonl' --config "$T/config/trail.toml" --bind "$T/own:/o:rw"
	rm -rf "${T:?}/own"/*
	mkdir "$T/own/policies"
	printf 'policies.path = ["%s/own/policies"]\n' "$T" >"$T/config/path.toml"
	refused "workspace-own: the folder of policies" 'contains .*/own/policies' --config "$T/config/path.toml" --policy-file "$T/p/default.toml" --workspace "$T/own"
	rm -rf "${T:?}/own"/*
fi
cp "$AJ" "$T/own/agentjail"
timeout 60 "$T/own/agentjail" run --policy-file "$T/p/default.toml" --workspace "$T/own" -- echo RAN >"$T/out" 2>"$T/err"
is "workspace-own: the program" "2 " "$? $(cat "$T/out")"
says "workspace-own: by its name" 'contains .*/own/agentjail'
rm "$T/own/agentjail"
mkdir -p "$T/own/tree/usr/bin"
cp "$PROBE" "$T/own/tree/usr/bin/python3"
printf 'extends = "snippet"\n[filesystem]\nworkspace = "read-write"\n' >"$T/p/tree.toml"
aj exec --policy-file "$T/p/tree.toml" --rootfs "$T/own" --workspace "$T/own" -c 1
is "workspace-own: the Python tree" 2 "$rc"
says "workspace-own: by its folder" 'contains .*/own\)'
cd /

# --- inodes of the host ---
mkdir "$T/shared"
chmod 777 "$T/shared"
mkfifo -m 666 "$T/shared/fifo"
exec 8<>"$T/shared/fifo"
echo host >&8
json "workspace-inodes: what the table says of it is so: a FIFO of the host is read, and the result says so" 0 'stdout=host\n' \
	'enforced.filesystem~; the host.s FIFOs below /mnt/rw' -- run --bind "$T/shared:/mnt/rw:rw" -- head -n 1 /mnt/rw/fifo
exec 8>&-
cat >"$T/watch.py" <<'EOF'
import ctypes, os, select
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.inotify_init1(0)
assert libc.inotify_add_watch(fd, b"/mnt/rw", 0x100) > 0
print("up", flush=True)
print("told" if select.select([fd], [], [], 20)[0] else "nothing", flush=True)
EOF
timeout 60 "$AJ" run --bind "$T/shared:/mnt/rw:rw" --bind "$T/watch.py:/opt/watch.py" -- "$PY" -I -S /opt/watch.py >"$T/watched" 2>&1 &
watcher=$!
await test -s "$T/watched"
: >"$T/shared/new"
wait $watcher
is "workspace-inodes: inotify tells of the host's doing" "up told" "$(tr '\n' ' ' <"$T/watched" | sed 's/ $//')"

# --- the disk below a workspace: growth is measured, what was there does not count ---
mkdir "$T/grown"
chmod 777 "$T/grown"
printf 'extends = "command"\n[filesystem]\nworkspace = "read-write"\n[limits]\nworkspace = "1M"\nworkspace_files = 100\n' >"$T/p/size.toml"
printf 'extends = "snippet"\n[filesystem]\nworkspace = "read-write"\n[python]\nlayer = false\n[limits]\nworkspace = "1M"\n' >"$T/p/size-snippet.toml"
sized="--policy-file $T/p/size.toml --workspace $T/grown"
grown() { # NAME RC EXPECT... -- ARGS...
	rm -rf "$T/grown/"*
	head -c 3000000 /dev/urandom >"$T/grown/old"
	chmod 666 "$T/grown/old"
	json "$@"
}
write='for i in 1 2 3 4 5; do head -c 500000 /dev/urandom >$i; done'
# shellcheck disable=SC2086
{
	grown "workspace-size: a run that writes too much is ended" 122 status=limit 'limits_hit=["workspace"]' \
		'reason~the workspace has grown by [0-9]+ bytes, of at most 1048576' 'enforced.workspace_size~measured every 1 s' -- run $sized -- sh -c "$write; sleep 60"
	grown "workspace-size: or makes too many files" 122 status=limit 'limits_hit=["workspace"]' 'reason~files and folders, of at most 100' -- \
		run $sized -- sh -c 'mkdir d; for i in $(seq 100); do : >d/$i; done; sleep 60'
	grown "workspace-size: one that is over by then says so" 0 status=ok 'limits_hit=["workspace"]' -- run $sized -- sh -c "$write"
	grown "workspace-size: a single file" 122 status=limit 'limits_hit=["workspace"]' -- run $sized -- dd if=/dev/zero of=f bs=1M count=9
	grown "workspace-size: control: up to it" 0 status=ok 'limits_hit=[]' -- run $sized -- sh -c 'rm old; head -c 900000 /dev/urandom >f; sleep 3'
	grown "workspace-size: of a snippet" 122 status=limit 'limits_hit=["workspace"]' -- exec --policy-file "$T/p/size-snippet.toml" --workspace "$T/grown" --timeout 25s -c '
import time
for i in range(5):
    with open("/workspace/%d" % i, "wb") as f: f.write(b"x" * 500000)
time.sleep(60)'
	grown "workspace-size: without a limit nothing is measured, and the result says so" 0 'enforced.workspace_size=none: no limit asked for' -- \
		run --policy-file "$T/p/default.toml" --workspace "$T/grown" -- sh -c "$write"
}
printf '%s\n' 'for i in range(5):' '    with open("/workspace/%d" % i, "wb") as f: f.write(b"x" * 500000)' 'import time' 'time.sleep(60)' >"$T/cells"
rm -rf "$T/grown/"*
timeout 60 "$AJ" session --json --timeout 25s --policy-file "$T/p/size-snippet.toml" --workspace "$T/grown" <"$T/cells" >"$T/out" 2>"$T/err"
check "workspace-size: of a session" grep -q '"limits_hit":\["workspace"\]' "$T/out"

# --- agentjail in the project's own virtual environment ---
project=$T/project
mkdir -p "$project/env/bin" "$project/src"
cp "$AJ" "$project/env/bin/agentjail"
by_project() { # NAME RC REGEX OPTION... -- COMMAND...: by the program in the environment
	local AJ=$project/env/bin/agentjail
	cd "$project" || exit 1
	text "$@"
	cd "$T" || exit 1
}
by_project "workspace-own: a program in the workspace, without a virtual environment" 2 'contains agentjail.s configuration or program' run --policy offline-build --workspace "$project" -- true
: >"$project/env/pyvenv.cfg"
for mode in rw overlay copy; do
	by_project "workspace-own: $mode: a virtual environment that holds the program is read-only, and the rest is not" 1 '`.*/project/env` is read-only in the jail' \
		run --policy offline-build --workspace "$project" --workspace-mode $mode -- sh -c 'touch src/made; echo x >>env/pyvenv.cfg; rm -f env/bin/agentjail; mv env src/; ls src; test ! -e env/bin/agentjail'
	says "workspace-own: $mode: the folder stays in its place" 'cannot move .env. to|Device or resource busy'
	says "workspace-own: $mode: the rest was written" '^made$'
done
mkdir -p "$project/.git/objects" "$project/.git/refs" && echo 'ref: refs/heads/main' >"$project/.git/HEAD"
printf 'extends = "command"\n[filesystem]\nworkspace = "read-write"\nworkspace_at = "same"\nworkspace_here = true\nworkspace_repository = true\n' >"$T/p/agent.toml"
(cd "$project/src" && "$project/env/bin/agentjail" run --policy-file "$T/p/agent.toml" -- sh -c 'pwd; ls ..; touch ../env/x') >"$T/out" 2>"$T/err"
says "workspace-own: the repository around it is the workspace" "the workspace is .$project., the root of this git repository"
says "workspace-own: and the environment in it is read-only" "cannot touch '../env/x': Read-only file system"
printf '%s\n' 'for path in "src/cell", "env/pyvenv.cfg", "env/bin/agentjail":' '    try: open("/workspace/" + path, "w").close()' \
	'    except OSError as e: print(path, e.strerror)' '' >"$T/cells"
by_project "workspace-own: session: that environment is read-only" 0 '^env/pyvenv.cfg Read-only file system' session --rootfs "$ROOTFS" --policy-file "$T/p/size-snippet.toml" --workspace "$project" <"$T/cells"
check "workspace-own: session: the rest was written" test -e "$project/src/cell"
check "workspace-own: what a run leaves of it" cmp "$AJ" "$project/env/bin/agentjail"

# --- homes and toolchains; tests/e2e/home.sh has more ---
mkdir -p "$HOME/.cargo/bin" && echo '#!/bin/sh' >"$HOME/.cargo/bin/tool" && echo SECRET >"$HOME/.cargo/credentials.toml" && chmod -R a+rX "$HOME/.cargo" && chmod a+x "$HOME/.cargo/bin/tool"
printf 'extends = "./default.toml"\n[filesystem]\nhome = "kept"\nhome_import = [".imported", ".linked"]\ntoolchains = ["rust"]\n' >"$T/p/homely.toml"
echo imported >"$HOME/.imported" && ln -s .keys "$HOME/.linked"
homely() { # NAME WORKSPACE REGEX SCRIPT
	text "$1" 0 "$3" run --policy-file "$T/p/homely.toml" --workspace "$2" -- sh -c "$4"
}
homely "home-kept: control: what a run leaves" "$T/ws" '' 'echo left >~/.left'
homely "home-kept: is there for the same workspace" "$T/ws" '^left$' 'cat ~/.left'
homely "home-kept: and for no other" "$T/ws/sub" '^none$' 'cat ~/.left 2>/dev/null || echo none'
check "home-kept: nor in the caller's own home" test ! -e "$HOME/.left"
refused "home-kept: a bind of it is refused" 'agentjail.s configuration' --bind "$XDG_STATE_HOME/agentjail/homes:/x:rw"
refused "home-kept: and a workspace that holds it" 'agentjail.s configuration' --policy-file "$T/p/anywhere.toml" --workspace "$XDG_STATE_HOME/agentjail"
mkdir -p "$T/no-state/a"
XDG_STATE_HOME=$T/no-state/a/state refused "state: a workspace in which it would be made" 'agentjail.s configuration' --policy-file "$T/p/anywhere.toml" --workspace "$T/no-state"
XDG_STATE_HOME=$T/no-state/a/state refused "state: a bind in which it would be made" 'agentjail.s configuration' --bind "$T/no-state:/x:rw"
homely "home-import: a copy" "$T/ws" '^imported$' 'cat ~/.imported; echo changed >~/.imported'
is "home-import: the caller's file stays" imported "$(cat "$HOME/.imported")"
homely "home-import: a link is not followed" "$T/ws" 'linked. is behind a symlink' 'ls ~/.linked; true'
homely "toolchains: shown, and nothing else of the home" "$T/ws" '^end$' 'tool && cat ~/.cargo/credentials.toml 2>/dev/null; touch ~/.cargo/bin/x 2>/dev/null && echo WROTE; echo end'
silent "toolchains: no secret of it" 'SECRET|WROTE'

# --- owners ---
ROOTS=$T/roots
mkdir -m 755 "$ROOTS" "$ROOTS/others"
echo old >"$ROOTS/file"
git init -q "$ROOTS"
printf 'extends = "snippet"\n[filesystem]\nworkspace = "read-write"\nworkspace_under = ["@anywhere"]\n' >"$T/p/snippets.toml"
[ "$(id -u)" != 0 ] || chown 65533:65533 "$ROOTS/others"
for policy in offline-build python-dev; do
	text "workspace-owner: $policy writes" 0 '^1000 1000$' run --policy $policy --network none --workspace "$ROOTS" -- \
		sh -c "echo new >>file && touch made && mkdir -p dir && mv made dir && git add file && stat -c '%u %g' dir/made"
	is "workspace-owner: $policy: new files have the owner of the folder" "$(id -u) $(id -g)" "$(stat -c '%u %g' "$ROOTS/dir/made")"
	text "workspace-owner: $policy: what is protected stays so" 1 'Read-only file system' run --policy $policy --network none --workspace "$ROOTS" -- touch .git/hooks/x
done
echo 'open("/workspace/by-session", "w").write("x")' | timeout 60 "$AJ" session --policy-file "$T/p/snippets.toml" --workspace "$ROOTS" >"$T/out" 2>"$T/err"
check "workspace-owner: a session writes" test -s "$ROOTS/by-session"
if [ "$(id -u)" = 0 ]; then
	text "workspace-owner: files of further owners stay theirs" 1 '^65534$' run --policy offline-build --workspace "$ROOTS" -- sh -c 'stat -c %u others; touch others/x'
	text "workspace-owner: no file gets a set-id bit" 1 '' run --policy offline-build --workspace "$ROOTS" -- chmod 4755 file
	is "workspace-owner: nor on the host" 644 "$(stat -c %a "$ROOTS/file")"
	cp /bin/true "$ROOTS/tool" && chmod 4755 "$ROOTS/tool"
	text "workspace-owner: a set-id file can be written" 0 '' run --policy offline-build --workspace "$ROOTS" -- sh -c 'echo >>tool'
	is "workspace-owner: and loses the bit" 755 "$(stat -c %a "$ROOTS/tool")"
	chmod 777 "$ROOTS"
	text "workspace-owner: a folder that all may write is shown as it is" 2 '^65534$' run --policy offline-build --workspace "$ROOTS" -- sh -c 'stat -c %u .; echo x >>file'
	# sysfs has no mounts with mapped ids.
	printf 'extends = "command"\n[filesystem]\nworkspace = "read-write"\nprotect = []\nworkspace_under = ["/sys/kernel"]\n' >"$T/p/sysfs.toml"
	text "workspace-owner: where the ids cannot be mapped nothing runs" 125 'belongs to user id 0 and the jail has user id 65534' run --policy-file "$T/p/sysfs.toml" --workspace /sys/kernel -- echo RAN
	silent "workspace-owner: and nothing ran" RAN
fi

# --- what a run's repository does to the host's git; ../e2e/fetch.py has more of these ---
REPO=$T/history
git init -q -b main "$REPO" && git -C "$REPO" -c user.name=a -c user.email=a@b commit -q --allow-empty -m one
[ "$(id -u)" != 0 ] || chown -R 65533:65533 "$REPO"
cat >"$T/evil.sh" <<'EOF'
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
echo x >f; git add f; git commit -qm two; git branch side; git update-ref refs/notes/x HEAD; git update-ref refs/remotes/o/main HEAD
git config uploadpack.packObjectsHook 'touch /tmp/ran'; git replace HEAD~1 HEAD; git config core.fsmonitor 'touch /tmp/ran'
printf '#!/bin/sh\ntouch /tmp/ran\n' >.git/hooks/reference-transaction; chmod 755 .git/hooks/*
EOF
text "workspace-history: control: the run" 0 '' run --policy coding-agent --workspace "$REPO" --workspace-mode copy --id history --changes-end keep \
	--bind "$T/evil.sh:/mnt/evil.sh" -- sh -e /mnt/evil.sh
find "$REPO/.git" -type f ! -path '*/objects/*' -exec sha256sum {} + | sort >"$T/before"
text "workspace-history: commits arrive" 0 'refs/agentjail/history/side' changes fetch history
find "$REPO/.git" -type f ! -path '*/objects/*' ! -path '*/refs/agentjail/history/*' -exec sha256sum {} + | sort >"$T/after"
check "workspace-history: nothing else does" cmp "$T/before" "$T/after"
is "workspace-history: below one name" "HEAD main side" \
	"$(git -c safe.directory='*' -C "$REPO" for-each-ref --format='%(refname:lstrip=3)' refs/agentjail/history | tr '\n' ' ' | sed 's/ $//')"
finish
