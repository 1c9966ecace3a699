#!/bin/sh
# The promises of `agentjail run` to a caller: exit status, signals, binds, folders, variables, network, limits, dry run.
# It tries no escape (tests/escape does); every command here is one that an honest caller might give.
. "$(dirname "$0")/../lib.sh"

# --- status: NAME EXIT REGEX COMMAND... ---
while IFS='|' read -r want command; do
	text "exit $want of \`$command\`" "$want" '' run -- sh -c "$command"
done <<'TABLE'
0|true
1|false
7|exit 7
124|exit 124
125|exit 125
137|exit 137
255|exit 255
129|kill -HUP $$
130|kill -INT $$
134|kill -ABRT $$
137|kill -KILL $$
139|kill -SEGV $$
143|kill -TERM $$
TABLE
text "cp -p, cp -a, mv and install keep modes without extended attributes" 0 '^640 640 640 750 $' run -- sh -ec '
	cd /tmp && echo x >a && chmod 640 a && cp -p a b && cp -a a c && mv c /dev/shm/d && install -m 750 a e && stat -c %a a b /dev/shm/d e | tr "\n" " "; echo'
text "not found" 127 'no-such-command' run -- no-such-command
text "not executable" 126 'Permission denied|passwd' run -- /etc/passwd
text "a folder" 126 '' run -- /tmp
text "no command" 2 'no command' run --
text "no command at all" 2 'no command' run
text "output" 0 '^hello$' run -- echo hello
text "arguments as they are" 0 '^a b\|\*\|--json\|$' run -- printf '%s|' 'a b' '*' --json
aj run -- sh -c 'cat; echo E >&2' <<'IN'
from stdin
IN
is "the three standard streams" "from stdin|E" "$(cat "$T/out")|$(cat "$T/err")"
# --- an MCP server: standard output is the server's alone; its client is told why it did not start ---
first='{"jsonrpc":"2.0","id":"a","method":"initialize","params":{}}'
# NAME EXIT ANSWER ARGUMENT...: `run --mcp` is sent one request, and ANSWER is a pattern for all that it prints.
mcp() {
	name=$1 want=$2 answer=$3
	shift 3
	printf '%s\n' "${REQUEST:-$first}" | timeout 60 "$AJ" run --mcp "$@" >"$T/out" 2>"$T/err"
	is "$name: exit" "$want" $?
	if [ "$answer" ]; then check "$name" grep -Eqx -- "$answer" "$T/out"; else is "$name" "" "$(cat "$T/out")"; fi
}
refusal='\{"jsonrpc":"2.0","id":"a","error":\{"code":-32603,"message":"agentjail: '
mcp "a server's answers pass" 0 '\{"jsonrpc":"2.0","id":"a",.*"params":\{\}\}' -- cat
mcp "a server that is not there" 127 "$refusal"'exec: run `no-such-server` in the jail: .*"\}\}' -- no-such-server
mcp "a policy that is not there" 2 "$refusal"'policy: .*no-such-policy.*; fix: .*"\}\}' --policy no-such-policy -- cat
mcp "an option that is not there" 2 "$refusal"'options: unknown option.*"\}\}' --no-such-option -- cat
mcp "a wall that cannot be built" 125 "$refusal"'cgroup: .*"\}\}' --limits strict --cgroup /nowhere -- cat
REQUEST='{"jsonrpc":"2.0","method":"x"}' mcp "a notification gets no answer" 127 '' -- no-such-server
REQUEST='[' mcp "no request gets no answer" 127 '' -- no-such-server
text "--json and --mcp" 2 'leaves standard output to the server' run --mcp --json -- true
text "the policy of --mcp" 0 'mcp-server' run --mcp --dry-run -- true

printf 'from\nstdin' >"$T/input"
aj run --json -- cat <"$T/input"
check "standard input, with --json too" expect status=ok 'stdout=from\nstdin'
# shellcheck disable=SC2094
(printf 'a pipe' | timeout 60 "$AJ" run --json -- sh -c 'cat; echo more >&2') >"$T/out" 2>"$T/err"
check "a pipe, with --json" expect 'stdout=a pipe' 'stderr=more\n'
timeout 60 "$AJ" run --json-fd 3 -- sh -c 'echo early; sleep 0.1; echo late >&2; ls /proc/self/fd; exit 3' 3>"$T/out" >"$T/passed" 2>"$T/err"
is "--json-fd: the exit status" 3 $?
check "--json-fd: the result" expect status=error exit_code=3 'stdout~^early' 'stderr=late\n'
is "--json-fd: output passes, and the command has no such descriptor" "early 0 1 2 3 late" "$(cat "$T/passed" "$T/err" | tr '\n' ' ' | sed 's/ $//')"
timeout 60 "$AJ" run --json-fd 3 --policy none -- true 3>"$T/out" 2>"$T/err"
check "--json-fd: a refusal" expect status=setup_error error.type=UsageError
# --- what happened, as a file ---
text "--report: a run" 3 'refused by the kernel: unshare' run --report "$T/r.md" -- sh -c 'unshare -U true; exit 3'
is "--report: the block of the end is in FILE.md" "1 1 1" "$(grep -c '^agentjail: refused by the kernel: unshare' "$T/r.md") $(grep -c '^# agentjail: error' "$T/r.md") $(grep -c 'exit code 3' "$T/r.md")"
text "--report: of a run in which nothing happened" 0 '' run --report "$T/r.md" -- true
is "--report: a shorter one takes the place of a longer" "0 1" "$(grep -c refused "$T/r.md") $(grep -c '^# agentjail: ok' "$T/r.md")"
printf 'extends = "command"\n[filesystem]\ntmp_size = "128K"\n' >"$T/small.toml"
text "--report: a limit that was hit in a run that finished" 0 'limit hit: disk, set by filesystem.tmp_size' run --policy-file "$T/small.toml" --report "$T/r.md" -- \
	sh -c 'head -c 200000 /dev/zero >/tmp/x 2>/dev/null; exit 0'
is "--report: and in FILE.md" "1 1" "$(grep -c 'limit hit | disk' "$T/r.md") $(grep -c '^agentjail: limit hit: disk' "$T/r.md")"
text "--report: a limit that ended the run is said once" 122 'limit: `/tmp` is full' run --policy-file "$T/small.toml" --report "$T/r.json" -- \
	sh -c 'head -c 200000 /dev/zero >/tmp/x 2>/dev/null; exit 1'
is "--report: by its reason" 0 "$(grep -c 'limit hit' "$T/err")"
text "--report: as JSON" 0 '' run --report "$T/r.json" -- true
cp "$T/r.json" "$T/out"
check "--report: FILE.json is the whole result" expect status=ok exit_code=0
ln -s "$T/elsewhere" "$T/link.md"
text "--report: not by way of a symlink" 2 'report: write .*link.md' run --report "$T/link.md" -- echo ran
mkfifo "$T/fifo.md"
text "--report: nor into a FIFO" 2 'report: write .*fifo.md' run --report "$T/fifo.md" -- echo ran
is "--report: which are errors before anything runs" "" "$(cat "$T/out")"
# --- a jail in a jail ---
case $AJ in
*-san/*) skip "nested: a jail in a jail" "sanitizers need setrlimit(2) before main()" ;;
*)
	text "nested: a jail in a jail is refused, with the reason" 125 'in a jail already, and jails do not nest' run --bind "$AJ:/tmp/aj" -- /tmp/aj run -- true
	text "nested: doctor says that it is in one" 125 'in a jail  *this process seems to be in a jail' run --bind "$AJ:/tmp/aj" -- /tmp/aj doctor
	;;
esac
text "nested: a variable hints at it" 0 '^1$' run -- sh -c 'echo $AGENTJAIL'
text "--json-fd without a descriptor" 2 'inherited descriptor' run --json-fd 99 -- true
json "as JSON" 3 status=error exit_code=3 'stdout=o\n' 'stderr=e\n' policy.name=command signal=null 'enforced.seccomp~command' -- run -- sh -c 'echo o; echo e >&2; exit 3'
json "a signal as JSON" 143 status=signal signal=15 exit_code=null -- run -- sh -c 'kill -TERM $$'
json "output beyond the cap keeps head and tail" 0 'stdout~^HEAD\n(?s:.*)bytes omitted(?s:.*)\nTAIL\n$' truncated.stdout=true \
	truncated.total_bytes=50000011 -- run --bind "$PROBE:/opt/probe" -- /opt/probe output 50000000
json "1 GB of output" 122 status=limit 'limits_hit=["output"]' 'stdout~^HEAD' -- run --bind "$PROBE:/opt/probe" -- /opt/probe output 2000000000

# --- files ---
mkdir "$T/dir" "$T/open"
echo inside >"$T/dir/file"
chmod 777 "$T/open"
ln -s dir "$T/link"
ln -s /etc "$T/out-link"
text "a bind" 0 '^inside$' run --bind "$T/dir:/mnt" -- cat /mnt/file
text "a bind at its own path" 0 '^inside$' run --bind "$T/dir" -- cat "$T/dir/file"
text "a bind is read-only" 1 'Read-only' run --bind "$T/open:/mnt" -- touch /mnt/x
mkdir -p "$T/venv/bin" && : >"$T/venv/pyvenv.cfg" && cp "$(readlink -f /bin/true)" "$T/venv/bin/only-there"
PATH=$T/venv/bin:$PATH text "a program of a virtual environment: the folder and the path to use" 127 "fix: .only-there. is in the virtual environment .$T/venv., .*--bind '$T/venv' .*-- '$T/venv/bin/only-there'" run -- only-there
text "and that works" 0 '' run --bind "$T/venv" -- "$T/venv/bin/only-there"
mkdir -p "$T/home/.local/bin" && chmod 755 "$T/home"
HOME=$T/home PATH=/usr/bin:/bin:$T/home/.local/bin text "a program that fetches others, and that nobody has: what to install, and what shows it" 127 \
	'fix: the host has no .uvx. either: install uv .*--toolchain auto or --policy python-dev' run --mcp -- uvx server
cp "$(readlink -f /bin/true)" "$T/home/.local/bin/uvx"
HOME=$T/home PATH=/usr/bin:/bin:$T/home/.local/bin text "and that works" 0 '' run --mcp --toolchain auto -- uvx server
mkdir -p "$T/dir/sub"
cd "$T/dir/sub" || exit 1
text "a bind by a relative path, at its own" 0 '^inside$' run --bind ../file -- cat "$T/dir/file"
text "and elsewhere" 0 '^inside$' run --bind ../../dir:/mnt -- cat /mnt/file
HOME=$T/dir text "a bind below the home, where the shell has not expanded it" 0 '^inside$' run --bind '~/file:/mnt/f' -- cat /mnt/f
mkdir "$T/policies"
printf 'extends = "command"\n[filesystem]\nbinds = ["~/file:/mnt/f", "../dir/file:/mnt/g"]\n' >"$T/policies/p.toml"
HOME=$T/dir text "binds of a policy file: from the home, and from the file's folder" 0 '^inside
inside$' run --policy-file "$T/policies/p.toml" -- cat /mnt/f /mnt/g
printf 'extends = "command"\nfilesystem.binds = ["/usr:/mnt/u",\n  "~nobody/file:/mnt/f"]\n' >"$T/policies/p.toml"
text "the home of somebody else: file, line and column" 2 'p.toml:3:3: error AJ004: .*~nobody/file.*~/ for the caller' run --policy-file "$T/policies/p.toml" -- true
cd / || exit 1
text "a bind that hides an earlier one: both are named" 2 'bind of `.*/open` at `/mnt` hides `.*/dir` at `/mnt/a/b`' run --bind "$T/dir:/mnt/a/b" --bind "$T/open:/mnt" -- cat /mnt/a/b/file
text "a bind of a file" 0 '^inside$' run --bind "$T/dir/file:/mnt/f" -- cat /mnt/f
text "a writable bind" 0 '' run --bind "$T/open:/mnt:rw" -- sh -c 'echo made >/mnt/made'
is "what was written there" made "$(cat "$T/open/made" 2>&1)"
text "without :rw the same is refused" 2 'Read-only' run --bind "$T/open:/mnt:ro" -- sh -c 'echo made >/mnt/made2 || exit 2'
text "a writable bind at its own path" 0 '' run --bind "$T/open:rw" -- touch "$T/open/own"
text "a bind never executes what is set-id" 0 'nosuid' run --bind "$T/dir:/mnt" -- grep ' /mnt ' /proc/self/mountinfo
text "a symlink as source" 125 'symlink' run --bind "$T/link:/mnt" -- true
text "a symlink in the source" 125 'symlink' run --bind "$T/out-link/hostname:/mnt" -- true
text "a missing source" 125 'No such file' run --bind "$T/none:/mnt" -- true
mkdir "$T/pre"
ln -s /etc "$T/pre/sub"
text "a bind over a symlink inside an earlier bind" 125 '' run --bind "$T/pre:/mnt" --bind "$T/dir:/mnt/sub" -- true
for target in /usr /usr/lib /proc /proc/self /dev /dev/null; do
	text "a bind over $target" 2 'cover' run --bind "$T/dir:$target" -- true
done
for value in '' : :/x "$T/dir:/" "$T/dir:relative" "$T/dir:/a/../b" "$T/dir:/x:zz" "$T/dir:"; do
	text "bad: --bind \`$value\`" 2 '--bind' run --bind "$value" -- true
done
text "the host's files" 0 '^nothing$' run -- sh -c 'cat "$1" /etc/shadow /root/.bashrc /home/*/.* 2>/dev/null || echo nothing' sh "$HOME/.ssh/id_rsa"
text "/usr is read-only" 1 'Read-only' run -- touch /usr/x
text "the root is read-only" 1 'Read-only' run -- touch /x
text "/etc is read-only" 2 'Read-only|Permission denied' run -- sh -c 'echo x >>/etc/passwd || exit 2'
text "/tmp is empty and private" 0 '^0$' run -- sh -c 'ls -A /tmp | wc -l; touch /tmp/aj-leaves-nothing'
check "and gone afterwards" test ! -e /tmp/aj-leaves-nothing
text "start folder" 0 '^/tmp$' run -- pwd
text "--chdir" 0 '^/usr/lib$' run --chdir /usr/lib -- pwd
text "--chdir that is not there" 2 '/nowhere' run --chdir /nowhere -- true
text "--chdir relative" 2 'absolute' run --chdir usr -- true
text "--proc none" 0 '^absent$' run --proc none -- sh -c 'ls /proc/self 2>/dev/null || echo absent'
text "control: --proc fresh" 0 'status' run --proc fresh -- ls /proc/self

# --- variables, identity, processes ---
text "a variable" 0 '^v$' run --env AJ_X=v -- sh -c 'echo $AJ_X'
text "nothing else" 0 '^AGENTJAIL CARGO_NET_RETRY HOME LANG PATH PIP_RETRIES TMPDIR USER UV_HTTP_RETRIES npm_config_fetch_retries ' run -- "$PY" -I -S -c 'import os; print(*sorted(k for k in os.environ if k not in ("PWD", "LC_CTYPE", "_", "SHLVL")), "")'
text "an ordinary user" 0 '^1000 1000 1000$' run -- sh -c 'echo $(id -u) $(id -g) $(id -G)'
text "only its own processes" 0 '^[1-6]$' run -- sh -c 'ls -d /proc/[0-9]* | wc -l'
text "its own host name" 0 '^jail$' run -- uname -n
json "time" 124 status=timeout 'limits_hit=["wall_clock"]' 'wall_ms<60000' -- run --timeout 300ms -- sleep 1000
aj run --json --memory 64M --bind "$PROBE:/opt/probe" -- sh -c '/opt/probe memhog 4000; exit 1'
if expect 'enforced.memory~^cgroup' >/dev/null 2>&1; then
	check "memory of a jail" expect status=oom 'limits_hit=["memory"]'
else
	check "memory of one process, with a hint" expect status=error 'stdout~memory [0-9]+ ENOMEM' 'hint~at most 64 MiB'
	text "a failed allocation, for people" 1 'hint: the memory limit may have been reached' run --memory 64M --bind "$PROBE:/opt/probe" -- sh -c '/opt/probe memhog 4000; exit 1'
	is "and where its output goes into a pipe of the caller's: what to look for" 1 \
		"$("$AJ" run --memory 64M -- "$PY" -I -S -c 'raise SystemExit(1)' 2>&1 | grep -c 'hint: the memory limit may have been reached: each process has at most 64 MiB .* not counted: look for')"
	json "a sanitizer's, which no limit is high enough for" 1 'hint~use --memory none' -- \
		run --memory 64M -- sh -c 'echo "==2==ERROR: AddressSanitizer failed to allocate 0xdfff0001000 bytes" >&2; exit 1'
fi
if ! expect 'enforced.pids~^cgroup' >/dev/null 2>&1; then
	json "a failed fork, with a hint and no limit" 2 status=error 'limits_hit=[]' 'hint~at most 5 processes and threads.*says .Cannot fork.*--pids' -- \
		run --json --pids 5 -- dash -c 'sleep 9 & sleep 9 & sleep 9 & sleep 9 & sleep 9 & sleep 9'
fi
json "processes" 0 'stdout~forks ([0-9]|1[0-9]) EAGAIN' -- run --pids 16 --bind "$PROBE:/opt/probe" -- /opt/probe forkbomb

# --- processors ---
json "a limit by its option" 0 status=ok -- run --cpu-percent 50 -- true
if ! expect 'enforced.cpu~^cgroup' >/dev/null 2>&1; then
	if [ "$(nproc)" -gt 1 ]; then
		text "half a processor is a whole one" 0 '^1 1$' run --cpu-percent 50 -- sh -c 'echo $(env -u OMP_NUM_THREADS nproc) $GOMAXPROCS'
		says "and standard error says so" 'agentjail: --cpu-percent 50 is enforced by affinity to 1 of [0-9]* processors'
		text "its processes cannot take more" 0 '^kept$' run --cpu-percent 50 -- sh -c 'taskset -pc 0-99 $$ 2>&1 | grep -q "not permitted" && [ "$(env -u OMP_NUM_THREADS nproc)" = 1 ] && echo kept'
		json "nor those of a snippet" 0 value=1 -- exec --cpu-percent 100 --layer off -c 'import os; len(os.sched_getaffinity(0))'
	fi
	text "more than a part of the last processor" 0 "is not enforced: no cpu cgroup" run --cpu-percent "$(($(nproc) * 100 - 1))" -- true
fi
aj run --cpu-percent none --memory none --pids none -- true
is "what was not asked for has no line" "0 " "$rc $(cat "$T/err")"
json "and none has a caller of --json" 0 status=ok -- run --json --cpu-percent 50 -- true
is "but in its result" "" "$(cat "$T/err")"

# --- network ---
start_canaries
text "none: no interface is up" 0 '^lo 0' run -- sh -c 'sed -n "s/^ *\(.*\): *\([0-9]*\).*/\1 \2/p" /proc/net/dev'
text "none: no connection" 0 'tcp .*(EAFNOSUPPORT|ENETUNREACH|EPERM)' run --bind "$PROBE:/opt/probe" -- /opt/probe tcp 127.0.0.1 "$TCP"
text "none: not even with itself" 0 'loopback E' run --bind "$PROBE:/opt/probe" -- /opt/probe loopback
text "loopback: with itself" 0 'loopback OK' run --network loopback --bind "$PROBE:/opt/probe" -- /opt/probe loopback
text "loopback: not with the host" 0 'tcp 127.0.0.1 ECONNREFUSED|tcp 127.0.0.1 OK' run --network loopback --bind "$PROBE:/opt/probe" -- /opt/probe tcp 127.0.0.1 "$TCP"
text "loopback: nothing beyond" 0 'tcp 192.0.2.1 ENETUNREACH' run --network loopback --bind "$PROBE:/opt/probe" -- /opt/probe tcp 192.0.2.1 80
is "so far nobody came" "" "$(cat "$T/visitors")"
text "control: host" 0 'tcp 127.0.0.1 OK' run --network host --bind "$PROBE:/opt/probe" -- /opt/probe tcp 127.0.0.1 "$TCP"
await test -s "$T/visitors"
is "control: it came" "tcp" "$(cat "$T/visitors")"
: >"$T/visitors"
end_canaries
json "host is said to be no wall" 0 'enforced.network~^none' -- run --network host -- true

# --- options ---
while IFS='|' read -r option value; do
	text "bad: $option $value" 2 "agentjail: .*$option" run "$option" "$value" -- true
done <<'TABLE'
--network|all
--network|
--timeout|0
--memory|15M
--pids|0
--proc|maybe
--limits|x
--env|
--cgroup|x
--layer|on
--allow-import|os
-c|1
--file|/etc/passwd
--nonsense|1
TABLE
text "help of run" 0 '--bind' run --help
aj run --bind "$T/open:/mnt:rw" --dry-run -- touch /mnt/dry
is "a dry run exits with 0" 0 "$rc"
says "a dry run prints the plan" '^namespaces: user pid mount net ipc uts cgroup'
# --- what a newcomer tries first ---
text "a workspace under a policy without one" 2 'fix: --workspace-mode ro .*; aider, .*offline-build, .* have one \(--policy NAME\); --bind DIR' run --workspace "$T/dir" -- ls
text "one that browser takes all the same" 0 '^good$' run --policy browser --workspace-mode ro --workspace "$T/dir" -- echo good
text "for snippets no policy has one" 2 'fix: --workspace-mode ro shows it under this policy' exec --workspace "$T/dir" -c 1
silent "and none is named" 'offline-build'
text "it is shown so" 0 '^True$' exec --workspace "$T/dir" --workspace-mode ro -c 'import os; os.path.isdir("/workspace")'
text "a session has no such option" 2 'extends = .snippet.. and .filesystem.workspace' session --workspace "$T/dir"
text "nor has a policy that locks it" 2 'fix: the policy.s owner has locked that' exec --policy locked --workspace "$T/dir" -c 1
mkdir -m 755 "$T/more"
printf 'extends = "snippet"\n[filesystem]\nworkspace = "read-only"\n' >"$T/more/readers.toml"
printf '[policies]\npath = ["%s"]\n' "$T/more" >"$T/more-site.toml"
text "but one of the site's" 2 'fix: --workspace-mode ro .*; --policy readers has one$' exec --config "$T/more-site.toml" --workspace "$T/dir" -c 1

printf '#!/nix/bin/python -u\nprint(1)\n' >"$T/dir/nixed"
printf '#!/bin/sh\r\n' >"$T/dir/windows"
printf '#!/bin/sh\necho it runs\n' >"$T/dir/good"
sed 's|/lib64/ld-linux|/nix64/ld-linux|' /usr/bin/env >"$T/dir/foreign"
chmod 755 "$T/dir/nixed" "$T/dir/windows" "$T/dir/good" "$T/dir/foreign"
text "a script whose interpreter is elsewhere" 127 '`/mnt/nixed` is there, but its interpreter `/nix/bin/python` is not in the jail$' \
	run --bind "$T/dir:/mnt" -- /mnt/nixed
text "by its name" 127 '`nixed` is there, but its interpreter `/nix/bin/python`' run --bind "$T/dir:/mnt" --env PATH=/usr/bin:/mnt -- nixed
text "lines that end as on Windows" 127 'its interpreter `/bin/sh.x0d`' run --bind "$T/dir:/mnt" -- /mnt/windows
if grep -q /nix64/ld-linux "$T/dir/foreign"; then
	text "a program whose loader is elsewhere" 127 'its loader `/nix64/ld-linux-[^`]*` is not in the jail' run --bind "$T/dir:/mnt" -- /mnt/foreign
else
	skip "a program whose loader is elsewhere" "this system's programs name another loader"
fi
text "a program that the host has elsewhere" 127 "the host has it at .$T/dir/good., which the jail does not show: --bind '$T/dir' -- '$T/dir/good'\$" run -- "$T/dir/good"
echo 'exit 3' >"$T/dir/script"
ln -s /bin/sh "$T/dir/npx"
aj run -- sh "$T/dir/script"
says "a script that the host has elsewhere" "^agentjail: hint: the host has .$T/dir/script., which the jail does not show: --bind '$T/dir' -- sh '$T/dir/script'\$"
text "what is advised runs it" 3 '' run --bind "$T/dir" -- sh "$T/dir/script"
silent "and then nothing is advised" hint
text "nor for code on the command line" 3 '' run -- sh -c 'exit 3' "$T/dir/script"
silent "which is no script" hint
text "a program that downloads, without a network" 0 'npm_config_fetch_retries=0' run --mcp --bind "$T/dir" -- "$T/dir/npx" -c env
is "the first line says what has one" "agentjail: \`npx\` downloads what is not installed, and policy \`mcp-server\` has no network: use --policy node-dev, or mcp-server with --allow-host registry.npmjs.org" "$(head -n 1 "$T/err")"
text "the host's loopback by the jail's name for its own" 2 "fix: write .host:5432., and connect to the name .host. or .host.docker.internal. in the jail, in place of .127.0.0.1.$" run --allow-host 127.0.0.1:5432 -- true
text "with a network" 0 '' run --allow-host registry.npmjs.org --bind "$T/dir" -- "$T/dir/npx" -c 'echo "${npm_config_fetch_retries-none}"'
silent "nothing is said" downloads
text "what is advised works" 0 '^it runs$' run --bind "$T/dir" -- "$T/dir/good"
(cd "$T/dir" && timeout 60 "$AJ" run -- ./good >"$T/out" 2>"$T/err")
says "one beside us" "the host has it at .$T/dir/good."
(PATH="$T/dir:$PATH" && export PATH && timeout 60 "$AJ" run -- good >"$T/out" 2>"$T/err")
says "one of our PATH" "the host has it at .$T/dir/good."
text "one that nobody has" 127 'run `no-such-command` in the jail: No such file' run -- no-such-command
says "which the fix says" "fix: no folder of the host's PATH has .no-such-command. either"

cat >"$T/term.py" <<'PY'
import os, sys
sys.path.insert(0, sys.argv[1])
from terminal import Terminal, check
SAY = ("sh", "-c", "printenv TERM || echo none")
def at_a_terminal(name, want, *more, term="xterm"):
    t = Terminal("/usr/bin/env", "TERM=" + term, sys.argv[2], "run", *more, "--", *SAY)
    t.expect(name, "^%s\r\n" % want)
    t.exits(name + ", and ends", 0)
at_a_terminal("TERM is passed to a terminal", "xterm")
at_a_terminal("one that is no name of a terminal is not", "none", term="../../x")
at_a_terminal("nor an empty one", "none", term="")
at_a_terminal("an option's wins", "dumb", "--env", "TERM=dumb")
t = Terminal(sys.argv[2], "run", "--mcp", "--no-such-option")
t.type('{"jsonrpc":"2.0","id":1}\n')
t.expect("an MCP server that is refused at a terminal", "unknown option")
t.exits("and ends", 2)
check("and answers no client", "error" not in t.text, repr(t.text))
PY
"$PY" -B "$T/term.py" "$tests" "$AJ" >"$T/lines" 2>&1
is "terminals" "11 ok" "$(grep -c '^ok' "$T/lines") $(grep -v '^ok' "$T/lines" | head -c 600)ok"
TERM=xterm text "without a terminal it is not passed" 1 '' run -- printenv TERM
TERM=xterm json "nor when outputs are collected" 1 stdout= -- run -- printenv TERM
AJ_TOKEN=$SECRET aj run --dry-run --env AJ_TOKEN --env "AJ_TYPED=$SECRET" -- true
says "a dry run names a variable that was passed on" '^  AJ_TOKEN  # value not shown$'
silent "and prints no value" "$SECRET"
aj exec --dry-run --env "AJ_TOKEN=$SECRET" -c 1
says "a snippet's, too" '^  AJ_TOKEN  # value not shown, set once the filter stands$'
silent "nor prints that value" "$SECRET"
mkdir -m 755 "$T/secrets"
printf 'extends = "command"\n[process]\nenv = ["API_KEY=%s", "CI=1"]\n' "$SECRET" >"$T/secrets/p.toml"
aj run --dry-run --policy-file "$T/secrets/p.toml" -- true
says "a variable of the policy that looks like a secret" '^  API_KEY  # value not shown$'
says "and one that does not" '^  CI=1$'
silent "nor is a policy's secret printed" "$SECRET"
aj run --bind "$T/open:/mnt:rw" --dry-run -- touch /mnt/dry
says "a dry run prints the binds" "bind +/mnt +<- $T/open rw"
check "a dry run runs nothing" test ! -e "$T/open/dry"
text "a dry run of exec" 0 'syscalls: profile snippet, [0-9]+ allowed' exec --dry-run -c 'print("ran")'
silent "and runs nothing" '^ran'

# An error quotes foreign text.
mkdir "$T/hostile"
echo 'extends = "command"' >"$T/hostile/$(printf 'a\033[2J').toml"
text "a hostile name of a command" 127 'run `x\\x1b\]0;t\\x07\\n  fix: y`' run -- "$(printf 'x\033]0;t\007\n  fix: y')"
text "of a policy" 2 'policy `a\\x1b\[2J`' exec --policy-file "$T/hostile/$(printf 'a\033[2J').toml" -c 1

# --- signals that a caller sends: SIGNAL EXIT ---
while read -r signal want; do
	rm -f "$T/out"
	env --default-signal=INT,QUIT "$AJ" run --timeout 50s -- sh -c 'trap "" PIPE; echo up; exec sleep 60' >"$T/out" 2>"$T/err" &
	pid=$!
	await test -s "$T/out"
	sleep 0.1
	kill "-$signal" $pid
	wait $pid
	is "SIG$signal reaches the command" "$want" $?
done <<'TABLE'
TERM 143
INT 130
HUP 129
QUIT 131
USR1 138
TABLE
rm -f "$T/out"
"$AJ" run --timeout 50s -- sh -c 'trap "echo caught; exit 5" TERM; echo up; while :; do sleep 0.1; done' >"$T/out" 2>&1 &
pid=$!
await grep -q up "$T/out"
kill -TERM $pid
wait $pid
is "a command may handle the signal" "5 caught" "$? $(tail -n 1 "$T/out")"

# --- a command that ignores the signal: a second one kills it, and else the grace time; one that repeats at once is the same signal ---
stubborn='trap "" TERM INT QUIT'
for signals in "TERM TERM 143" "INT INT 130" "TERM INT 130" "QUIT TERM 143"; do
	rm -f "$T/out"
	# shellcheck disable=SC2086
	set -- $signals
	env --default-signal=INT,QUIT "$AJ" run --timeout 50s -- sh -c "$stubborn; echo up; while :; do sleep 0.1; done" >"$T/out" 2>"$T/err" &
	pid=$!
	await grep -q up "$T/out"
	kill "-$1" $pid
	sleep 1
	check "SIG$1 alone does not end a command that ignores it" kill -0 $pid
	kill "-$2" $pid
	wait $pid
	is "SIG$2 after it kills the command" "$3" $?
done
rm -f "$T/out"
"$AJ" run --timeout 50s -- sh -c "$stubborn; echo up; while :; do sleep 0.1; done" >"$T/out" 2>&1 &
patient=$!
await grep -q up "$T/out"
kill -TERM $patient
# timeout(1) passes a signal of its own on as it sends the one for its time: to the launcher, and to the group.
timeout 50 "$AJ" run --timeout 50s -- sh -c 'trap "sleep 1; echo cleaned; exit 5" TERM; echo up; while :; do sleep 0.1; done' >"$T/twice" 2>&1 &
twice=$!
await grep -q up "$T/twice"
kill -TERM $twice
wait $twice
is "timeout(1) sends its signal twice, and the command may clean up" "up cleaned " "$(tr '\n' ' ' <"$T/twice")"
wait $patient
is "a command that ignores the signal is killed when the grace time is over" 143 $?

# --- signals that the caller ignores, as nohup has it for its programs ---
for command in "run -- sh -c" "exec --layer off -c"; do
	rm -f "$T/out"
	code='echo up; sleep 1; echo over'
	[ "${command%% *}" = run ] || code='import time; print("up", flush=True); time.sleep(1); print("over")'
	# shellcheck disable=SC2086
	env --ignore-signal=HUP,INT "$AJ" $command "$code" >"$T/out" 2>&1 &
	pid=$!
	await grep -q up "$T/out"
	kill -HUP $pid
	kill -INT $pid
	wait $pid
	is "\`${command%% *}\` continues after an ignored signal" "0 over" "$? $(tail -n 1 "$T/out")"
done

finish
