#!/bin/sh
# Is it true what `agentjail policy explain` says? Each kind of question, under each preset, asked and then tried in a real jail.
# It trusts no table: what is denied must fail inside, what is allowed must work, and both must occur.
. "$(dirname "$0")/../lib.sh"
cd "$T" || exit 1
runner_rootfs
PRESETS="snippet minimal text utility science data-analysis smolagents locked command offline-build coding-agent"
mkdir -m 777 "$T/ws"
echo hello >"$T/ws/file"
chmod 666 "$T/ws/file"
umask 022
allowed=0 denied=0
# The tree is the site's, since a policy that locks it would not have it named by an option or a variable.
mkdir "$T/trees"
ln -s ../runner "$T/trees/default"
printf 'rootfs.path = "%s"\n' "$T/trees" >"$T/trees.toml"

is_command() { case $1 in command | offline-build | coding-agent) true ;; *) false ;; esac; }
# Further options that a run under the preset needs.
extra() {
	case $1 in
	offline-build) echo "--workspace $T/ws" ;;
	coding-agent) echo "--workspace $T/ws --network none" ;;
	esac
}
# agree NAME SAID DID: both are `allowed` or `denied`.
agree() {
	if [ "$2" = "$3" ]; then ok "$1"; else fail "$1" "explain says $2, the jail $3: $(shown)"; fi
	case $2 in allowed) allowed=$((allowed + 1)) ;; denied) denied=$((denied + 1)) ;; esac
}
said() { # the verdict of each question, a line each
	# shellcheck disable=SC2046
	aj policy explain $(extra "$1") "$@"
	cut -d' ' -f1 "$T/out"
}

# --- paths: the probe opens them ---
READ="/ /etc /etc/shadow /etc/passwd /etc/hostname /etc/ssl /root /root/.ssh /home /home/x /var/log /usr /usr/bin /usr/bin/env /usr/bin/awk /bin/sh /lib64
 /usr/share/no-such-file /usr/bin/python3 /usr/lib/python3.11/os.pyc /proc /proc/self/status /proc/kcore /dev/null /dev/urandom /dev/zero
 /dev/mem /dev/sda /dev/shm /sys /sys/kernel /run /boot /tmp /workspace /workspace/file /workspace/nothing /opt /mnt"
WRITE="/ /etc /etc/passwd /etc/x /usr/x /usr/bin/env /tmp/x /dev/null /dev/x /dev/shm/x /proc/x /proc/sys/kernel/hostname /workspace/file /workspace/new /root/x /var/x /home/x"
try_paths() { # PRESET read|write PATH...: an outcome each, into $T/tried
	local name=$1 verb=look
	[ "$2" = read ] || verb=change
	shift 2
	if is_command "$name"; then
		# shellcheck disable=SC2046
		aj run --policy "$name" $(extra "$name") --bind "$PROBE:/opt/probe" -- /opt/probe $verb "$@"
	else
		aj exec --config "$T/trees.toml" --policy "$name" -c "$verb $*"
	fi
	sed -n 's/^.* OK$/allowed/p; s/^.* \(E[A-Z0-9]*\|HIDDEN\)$/denied/p' "$T/out" >"$T/tried"
}
for name in $PRESETS; do
	for how in read write; do
		set --
		[ $how = write ] && set -- --write
		paths=
		for path in $([ $how = read ] && echo $READ || echo $WRITE); do
			# The bind of the probe itself makes /opt.
			[ "$path" = /opt ] && continue
			set -- "$@" --path "$path"
			paths="$paths $path"
		done
		said "$name" --config "$T/trees.toml" "$@" >"$T/said"
		is "$name, $how: an answer each" "$(echo $paths | wc -w)" "$(wc -l <"$T/said")"
		try_paths "$name" $how $paths
		echo $paths | tr ' ' '\n' | paste -d' ' "$T/said" "$T/tried" - >"$T/answers"
		while read -r one other path; do agree "$name, $how $path" "$one" "$other"; done <"$T/answers"
	done
done
text "a file of the host's /tmp is not in the jail's" 0 "the jail's own /tmp, not the host's" policy explain command --path "$T/canary"
probe look "$T/canary"
says "and it is not" ' ENOENT$'
# A policy with binds and masks of its own.
mkdir -m 755 "$T/p" "$T/data" "$T/data/secret" "$T/data/open"
echo hidden >"$T/data/secret/key"
echo plain >"$T/data/open/file"
echo mine >"$T/data/closed"
chmod 600 "$T/data/closed"
ln -s ../secret/key "$T/data/open/link"
ln -s /data/open/file "$T/data/absolute"
ln -s /etc/shadow "$T/data/out"
chmod 777 "$T/data/open"
cat >"$T/p/own.toml" <<-E
	extends = "command"
	[filesystem]
	binds = ["$T/data:/data", "$T/data/open:/rw:rw"]
	masks = ["/data/secret", "/data/open/masked"]
	E
# The answers for $paths under these options, one a line of $T/said.
explain_paths() {
	for path in $paths; do set -- "$@" --path "$path"; done
	aj policy explain "$@"
	cut -d' ' -f1 "$T/out" >"$T/said"
}
agree_with_run() { # NAME LINE VERB PATH OPTION...: does a jail with these options do what line LINE of $T/said says?
	local name=$1 line=$2 verb=$3 path=$4 did=denied
	shift 4
	aj run "$@" --bind "$PROBE:/opt/probe" -- /opt/probe $verb "$path"
	if grep -q " OK$" "$T/out"; then did=allowed; fi
	agree "$name" "$(sed -n ${line}p "$T/said")" $did
}
for how in read write; do
	paths="/data /data/open/file /data/secret/key /data/open/link /data/absolute /data/out /data/closed /rw/file /rw/new /rw/link /data/open/new"
	set -- --policy-file "$T/p/own.toml"
	verb=look
	[ $how = write ] && set -- "$@" --write && verb=change
	explain_paths "$@"
	i=0
	for path in $paths; do
		i=$((i + 1))
		agree_with_run "own, $how $path" $i $verb "$path" --policy-file "$T/p/own.toml"
	done
done
text "the item of a list that hides it" 1 'filesystem.masks: "/data/secret", ' policy explain --policy-file "$T/p/own.toml" --path /data/secret/key
text "the item of a list that shows it" 0 "filesystem.binds: \"$T/data:/data\", " policy explain --policy-file "$T/p/own.toml" --path /data/open/file

# Places of a writable workspace that the host obeys: present and absent, files and folders, through links, of submodules and worktrees.
mkdir -m 777 "$T/work" "$T/work/.git" "$T/work/.git/objects" "$T/work/.git/refs" "$T/work/.vscode" "$T/work/ci"
echo ref: refs/heads/main >"$T/work/.git/HEAD"
for file in .git/config .git/index .envrc.real .vscode/tasks.json ci/run.sh; do echo x >"$T/work/$file" && chmod 666 "$T/work/$file"; done
ln -s .envrc.real "$T/work/.envrc"
ln -s .git "$T/work/g"
mkdir -p "$T/work/.git/modules/sub/hooks" "$T/work/.git/modules/group/x"
echo x >"$T/work/.git/modules/sub/HEAD"
chmod -R a+rwX "$T/work"
printf 'extends = "offline-build"\n[filesystem]\nextend_protect = ["ci/*.sh", "later/"]\n' >"$T/p/held.toml"
PLACES=".git/config .git/config.worktree .git/commondir .git/hooks .git/hooks/x .git/info/exclude .git/index .git/HEAD .git/new .git/objects/x g/config g/hooks/x
 .git/modules/sub/config .git/modules/sub/hooks/x .git/modules/sub/new .git/modules/group/config .git/modules/group/x/config
 .vscode/tasks.json .vscode/new .idea/x .envrc .envrc.real .mcp.json agentjail-policy.toml ci/run.sh ci/new.sh later/x later file sub/.vscode"
paths=
for path in $PLACES; do paths="$paths /workspace/$path"; done
explain_paths --policy-file "$T/p/held.toml" --workspace "$T/work" --write
i=0
for path in $paths; do
	i=$((i + 1))
	cp -a "$T/work" "$T/fresh"
	agree_with_run "held, $path" $i change "$path" --policy-file "$T/p/held.toml" --workspace "$T/fresh"
	rm -rf "$T/fresh"
done
held() { # NAME RC REGEX PATH...
	local name=$1 want=$2 regex=$3
	shift 3
	text "$name" "$want" "$regex" policy explain --policy-file "$T/p/held.toml" "$@"
}
held "the built-in list and its place" 1 '`.git/hooks/` is held unchanged.*filesystem.protect: "@default"' --workspace "$T/work" --write --path /workspace/.git/hooks/x
held "an item of one's own" 1 'filesystem.protect: "ci/\*.sh"' --workspace "$T/work" --write --path /workspace/ci/run.sh
held "a place that is only watched" 0 'reported at the end, as the place `.mcp.json`' --workspace "$T/work" --write --path /workspace/.mcp.json
held "to read it is another question" 0 '^allowed' --workspace "$T/work" --path /workspace/.git/config
held "where no workspace is named" 1 'where the folder of --workspace has it' --write --path /workspace/.git/hooks/x
if command -v git >/dev/null; then
	printf 'extends = "offline-build"\n[filesystem]\nworktree = true\nworkspace_under = ["@anywhere"]\n' >"$T/p/tree.toml"
	git -c init.defaultBranch=main init -q "$T/main" && git -C "$T/main" -c user.name=x -c user.email=x commit -q --allow-empty -m x && git -C "$T/main" worktree add -q "$T/linked"
	text "the main repository of a linked worktree" 1 '^denied.*`.git/hooks/` is held' policy explain --policy-file "$T/p/tree.toml" --workspace "$T/linked" --write --path "$T/main/.git/hooks/x"
else
	skip "the main repository of a linked worktree" "no git on this host"
fi

# --- hosts: the probe connects. 127.0.0.1 is the jail's own where it has one ---
start_canaries
for name in command offline-build; do
	for mode in none loopback; do
		aj policy explain "$name" $(extra "$name") --network $mode --host "127.0.0.1:$TCP"
		said=$(cut -d' ' -f1 "$T/out")
		# shellcheck disable=SC2046
		aj run --policy "$name" $(extra "$name") --network $mode --bind "$PROBE:/opt/probe" -- /opt/probe loopback
		if grep -q '^loopback OK' "$T/out"; then did=allowed; else did=denied; fi
		agree "$name, $mode: loopback" "$said" $did
		aj policy explain "$name" $(extra "$name") --network $mode --host 192.0.2.1:80
		said=$(cut -d' ' -f1 "$T/out")
		# shellcheck disable=SC2046
		aj run --policy "$name" $(extra "$name") --network $mode --bind "$PROBE:/opt/probe" -- /opt/probe tcp 192.0.2.1 80
		if grep -q ' OK$' "$T/out"; then did=allowed; else did=denied; fi
		agree "$name, $mode: an address elsewhere" "$said" $did
	done
done
text "the host's own network" 0 'no wall enforces it' policy explain command --network host --host "127.0.0.1:$TCP"
text "coding-agent: by its list" 0 '^allowed +host pypi.org:443: the list allows this host.*network.allow: "pypi.org:443"' policy explain coding-agent --host pypi.org:443
text "and no other host" 1 '^denied +host example.org:443: no item of the list' policy explain coding-agent --host example.org:443
text "a host that somebody is asked about" 1 '^asks +host example.org:443: .*network.ask' policy explain coding-agent --network-ask --host example.org:443
text "a port of the host's loopback is not asked for" 1 '^denied +host host:5432: a port of the host.s own loopback' policy explain coding-agent --network-ask --host host:5432
printf 'extends = "command"\n[network]\nmode = "allow"\nallow = ["host:5432"]\n' >"$T/host.toml"
text "one that is on the list" 0 "^allowed +host host:5432: the list allows this port of the host's own loopback" policy explain --policy-file "$T/host.toml" --host host:5432
text "localhost is the jail's own" 0 "^allowed +host localhost:5432: .*the host.s loopback is .host:PORT." policy explain --policy-file "$T/host.toml" --host localhost:5432
text "an address is not asked for" 1 '^denied +host 203.0.113.7:443: an address' policy explain coding-agent --network-ask --host 203.0.113.7:443
for name in $PRESETS; do
	is_command "$name" && continue
	aj policy explain "$name" --host localhost:80
	said=$(cut -d' ' -f1 "$T/out")
	aj exec --config "$T/trees.toml" --policy "$name" -c "socket 2:1:0"
	if grep -q ' OK$' "$T/out"; then did=allowed; else did=denied; fi
	agree "$name: a socket" "$said" $did
done

# The rest is the same for every user.
[ -z "$ROOT_TOO" ] || finish

# --- modules: snippets import them, those together that should end in the same way, and all by themselves if they do not ---
MODULES="__future__ json math re os sys subprocess socket collections collections.abc numpy numpy.random pandas agentjail agentjail.check.name_rules builtins
 zlib array datetime zoneinfo ctypes pickle no_such_module os.path email.mime importlib"
code_for() {
	case $1 in __future__) echo "from __future__ import annotations" ;; *) echo "import $1" ;; esac
}
imports() { # allowed|denied|absent MODULE...: how a snippet that imports them ends, each in $T/tried
	local want=$1 module n
	shift
	for module; do code_for "$module"; done >"$T/code.py"
	aj exec --policy "$name" --layer $layer "$T/code.py"
	case $rc in
	0) n=$# did=allowed ;;
	126) n=$(grep -c '^line .* PolicyError: Import of' "$T/err") did=denied ;;
	*) n=1 did="exit $rc" && grep -q ModuleNotFound "$T/err" && did=absent ;;
	esac
	if [ "$did" = "$want" ] && [ "$n" = $# ]; then
		for module; do agree "$name, layer $layer: import of $module" "$want" "$did"; done
	elif [ $# = 1 ]; then
		agree "$name, layer $layer: import of $module" "$want" "$did"
	else
		for module; do imports "$want" "$module"; done
	fi
}
for name in $PRESETS; do
	for layer in on off; do
		is_command "$name" && continue
		[ "$name $layer" = "locked off" ] && continue
		set --
		for module in $MODULES; do set -- "$@" --import "$module"; done
		aj policy explain "$name" --layer $layer "$@"
		sed "s/^[a-z]*  *\(.*tree does not have it\)/absent \1/; s/ .*//" "$T/out" >"$T/said"
		is "$name, layer $layer: an answer for each module" "$(echo $MODULES | wc -w)" "$(wc -l <"$T/said")"
		echo $MODULES | tr ' ' '\n' | paste -d' ' "$T/said" - >"$T/answers"
		for want in $(sort -u "$T/said"); do
			# shellcheck disable=SC2046
			imports "$want" $(sed -n "s/^$want //p" "$T/answers")
		done
	done
done

# --- system calls: every one, by its number, under every kind of filter ---
if ! call_numbers | sort -n >"$T/names" || [ ! -s "$T/names" ]; then
	skip "system calls" "no C compiler"
	finish
fi
calls() { # NAME POLICY OPTIONS...: the probe's sweep against explain
	local title=$1 is_run=0 answered
	shift
	local run=$*
	case $1 in
	--policy-file) is_run=1 ;;
	*) is_command "$1" && is_run=1 run="--policy $run" ;;
	esac
	for call in $(cut -d' ' -f2 "$T/known"); do set -- "$@" --syscall "$call"; done
	aj policy explain "$@"
	# Calls that the filter answers in the kernel's place are allowed, and never made: reach/disk tries those.
	grep -vE 'the call is not made and returns 0|syscall iop(l|erm): .* only where .*, which returns 0 and is not made;' "$T/out" | sed -n 's/^allowed *syscall \([a-z0-9_]*\):.*/\1/p' | sort >"$T/said"
	answered=$(sed -n 's/^allowed *syscall \([a-z]*\):.*the call is not made and returns 0.*/\1/p' "$T/out" | sort | tr '\n' ' ' | sed 's/ $//')
	sed -n 's/^allowed: //p' "$T/sweep" | tr ' ' '\n' >"$T/numbers"
	awk 'NR == FNR { ran[$1]; next } $1 in ran { print $2 }' "$T/numbers" "$T/known" | sort >"$T/did"
	# The sweep's own listener takes the place of ours: without one connect(2) cannot be mediated, and sockets of AF_UNIX are refused
	# where a folder of the host is writable. So this one call is made in a jail that has its listener.
	if [ "$title" = offline-build ] || [ "$title" = coding-agent ]; then
		# shellcheck disable=SC2046
		aj run --policy "$title" $(extra "$title") --bind "$PROBE:/opt/probe" -- /opt/probe socket 1:1
		grep -qx socket "$T/did" && fail "$title: the sweep has no listener" "socket(2) is allowed without one"
		if grep -q ' OK$' "$T/out"; then echo socket | sort -m - "$T/did" >"$T/both" && mv "$T/both" "$T/did"; fi
	fi
	# Locks neither: without one they are refused all, and so flock(2), whose descriptor is no argument that a filter could tell apart.
	if [ "$is_run" = 1 ]; then
		# shellcheck disable=SC2086
		aj run $run -- sh -c 'exec flock -n 9 9</tmp'
		grep -qx flock "$T/did" && fail "$title: the sweep has no listener" "flock(2) is allowed without one"
		if [ "$rc" = 0 ]; then echo flock | sort -m - "$T/did" >"$T/both" && mv "$T/both" "$T/did"; fi
	fi
	is "$title: each call as explain says" "" "$(diff "$T/said" "$T/did" | tr '\n' ' ')"
	check "$title: some are allowed" test -s "$T/did"
	if [ "$is_run" = 1 ]; then
		is "$title: two are answered and not made" "sync syncfs" "$answered"
	fi
}
# Names that the header has and the program does not know are newer than the library it was built with: it names the first.
cp "$T/names" "$T/known"
while
	# shellcheck disable=SC2046
	aj policy explain $(sed 's/.* /--syscall /' "$T/known")
	[ "$rc" = 2 ]
do
	unknown=$(sed -n 's/.*--syscall `\([a-z0-9_]*\)`: not a system call.*/\1/p' "$T/err")
	[ -n "$unknown" ] || break
	sed -i "/ $unknown\$/d" "$T/known"
done
check "nearly all calls are known by name" test "$(wc -l <"$T/known")" -gt 250
for name in $PRESETS; do
	if is_command "$name"; then
		# shellcheck disable=SC2046
		timeout 60 "$PROBE" marked "$AJ" run --policy "$name" $(extra "$name") --bind "$PROBE:/opt/probe" -- /opt/probe sweep >"$T/sweep" 2>&1
	else
		timeout 60 "$PROBE" marked "$AJ" exec --config "$T/trees.toml" --policy "$name" -c sweep >"$T/sweep" 2>&1
	fi
	# shellcheck disable=SC2046
	calls "$name" "$name" $(extra "$name")
done
printf 'extends = "command"\n[process]\nfork = false\ndeny_syscalls = ["sockets", "ipc", "inotify", "memfd"]\n' >"$T/p/deny.toml"
timeout 60 "$PROBE" marked "$AJ" run --policy-file "$T/p/deny.toml" --bind "$PROBE:/opt/probe" -- /opt/probe sweep >"$T/sweep" 2>&1
calls "denied groups" --policy-file "$T/p/deny.toml"
check "many answers were allowed: $allowed" test "$allowed" -gt 150
check "and many denied: $denied" test "$denied" -gt 300

finish
