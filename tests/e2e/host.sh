#!/bin/sh
# The errors and advice of agentjail on a host that is not as it should be: no user namespaces, no or a damaged Python tree, a jail around it.
# It changes no setting of the host; what is missing is taken away in namespaces of the test's own.
. "$(dirname "$0")/../lib.sh"

aj doctor
says "doctor works here" 'ok +snippet jail +works'
says "doctor tells about cgroups" 'cgroup v2'
verdict=$rc
check "doctor's status: in full or in part" test $verdict -le 1
aj doctor --json
check "doctor --json says the same" expect "verdict~^$([ $verdict = 0 ] && echo full || echo partial)\$" 'checks.0.mark=ok'
printf '[default]\nexec = "nothing"\n' >"$T/site.toml"
text "doctor names a default policy that is not there" 125 'FAIL +policy of exec +there is no policy' doctor --config "$T/site.toml"
printf '[limits]\n' >"$T/site.toml"
text "doctor names a broken configuration" 125 'FAIL +site ' doctor --config "$T/site.toml"
mkdir -m 777 "$T/open" && mkdir -m 500 "$T/closed" && mkdir -m 700 "$T/own"
printf 'audit.destination = "file:%s/trail"\n' "$T/open" >"$T/site.toml"
text "doctor names an audit trail that cannot be written" 125 "part +audit trail +audit: .$T/open. is writable by every user" doctor --config "$T/site.toml"
says "and that runs fail" 'FAIL +policy of run +.command. requires a record of each run'
text "as the run says" 125 'is writable by every user' run --config "$T/site.toml" -- true
printf 'audit.destination = "file:%s/trail"\n' "$T/own" >"$T/site.toml"
aj doctor --config "$T/site.toml"
says "a trail that can be written" 'ok +audit trail +.file:'
check "which doctor does not make" test ! -e "$T/own/trail"
if [ "$(id -u)" != 0 ]; then
	printf 'audit.destination = "file:%s/trail"\n' "$T/closed" >"$T/site.toml"
	text "a folder of another user's, or of no one's" 125 'part +audit trail +audit: make a file in .*: Permission denied' doctor --config "$T/site.toml"
	says "and what records every user" 'fix: a file records only the runs of its owner: set audit.destination = "journal"'
fi
rmdir "$T/closed"
text "doctor prints a profile for AppArmor" 0 '^profile agentjail /' doctor --apparmor
text "doctor takes no other word" 2 'unexpected .--all' doctor --all

# Run COMMAND as root of a user namespace in which no further one can be made.
no_userns() {
	timeout 60 unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"' sh "$@" >"$T/out" 2>"$T/err"
	rc=$?
}
if unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces' 2>/dev/null; then
	no_userns "$AJ" run -- echo RAN
	is "no user namespaces: run fails" 125 $rc
	says "no user namespaces: the step is named" 'agentjail: clone: '
	says "no user namespaces: cause and fix" 'fix: user namespaces are switched off.*max_user_namespaces'
	silent "no user namespaces: the command does not run" 'RAN'
	no_userns "$AJ" exec --json -c 'print("RAN")'
	is "no user namespaces: exec fails" 125 $rc
	check "no user namespaces: the result says setup_error" expect status=setup_error error.step=clone 'error.fix~max_user_namespaces' enforced={}
	silent "no user namespaces: the snippet does not run" 'RAN'
	no_userns "$AJ" doctor
	check "no user namespaces: doctor fails" test $rc != 0
	says "no user namespaces: doctor says how to get them" 'FAIL.*jail'
	says "no user namespaces: doctor says the fix" 'fix: .*max_user_namespaces'
else
	skip "no user namespaces" "this user cannot make one to switch them off in"
fi
# In a jail there are none either, so that is a second case: agentjail in agentjail.
if grep -qa __asan_init "$AJ"; then
	skip "a jail in a jail" "a launcher with sanitizers does not even start in one"
else
	text "a jail in a jail is refused clearly" 125 'agentjail: [a-z_]+: .*' run --bind "$AJ:/opt/agentjail" -- /opt/agentjail run -- echo RAN
	silent "a jail in a jail runs nothing" '^RAN'
fi

# --- filters ---
cat >"$T/openat2.py" <<'X'
# What RestrictSUIDSGID= of systemd does: openat2(2), whose modes a filter cannot read, fails with ENOSYS.
import ctypes, os, struct, sys
LOAD, EQUAL, RETURN, OPENAT2 = 0x20, 0x15, 0x06, 437
rows = [(LOAD, 0, 0, 0), (EQUAL, 0, 1, OPENAT2), (RETURN, 0, 0, 0x50026), (RETURN, 0, 0, 0x7fff0000)]
filter = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(38, 1, 0, 0, 0)
if libc.prctl(22, 2, struct.pack("HxxxxxxP", len(rows), ctypes.addressof(filter))):
    sys.exit("no such filter")
os.execvp(sys.argv[1], sys.argv[1:])
X
timeout 60 "$PY" -I "$T/openat2.py" "$AJ" run -- echo RAN >"$T/out" 2>"$T/err"
is "openat2 refused: run fails" 125 $?
says "openat2 refused: the cause has a fix" 'fix: .*RestrictSUIDSGID'
silent "openat2 refused: nothing runs" '^RAN'

# --- cgroups ---
text "a cgroup that is none" 125 'not a cgroup' run --cgroup "$T" -- true
text "a cgroup that is not there" 125 'not a cgroup' run --cgroup /sys/fs/cgroup/not-there -- true
aj run --limits strict --memory 64M -- echo RAN
if [ "$rc" = 125 ]; then
	says "strict limits are refused without a cgroup" 'fix: .*(Delegate|--cgroup)'
	silent "strict limits: nothing runs" '^RAN'
else
	json "strict limits with a cgroup" 0 'enforced.memory~cgroup' -- run --limits strict --memory 64M -- true
fi

# --- the Python tree ---
text "rootfs verify" 0 'files as in the manifest' rootfs verify
text "rootfs path" 0 '^/' rootfs path
text "rootfs of nowhere" 125 'rootfs: ' exec --rootfs /nonexistent -c 1
mkdir "$T/hollow"
text "a rootfs without Python" 125 'rootfs: .*python3' exec --rootfs "$T/hollow" -c 1
says "with the way to build one" 'fix: .*make rootfs'
text "a rootfs that no mount would show" 2 "rootfs: .*shows the host's /usr.*$T/hollow" run --rootfs "$T/hollow" -- true
says "with the key that chooses" 'fix: .*filesystem.rootfs'
text "rootfs verify of nothing" 125 'rootfs' rootfs verify "$T/hollow"
text "rootfs without a verb" 2 'fix: ' rootfs
text "rootfs with a bad verb" 2 'fix: ' rootfs build
# A launcher that stands alone finds none.
mkdir "$T/alone"
cp "$AJ" "$T/alone/agentjail"
(
	unset AGENTJAIL_ROOTFS
	timeout 60 "$T/alone/agentjail" exec -c 1 >"$T/out" 2>"$T/err"
	echo $? >"$T/code"
)
if [ -d /usr/local/lib/agentjail ]; then
	skip "no rootfs at all" "agentjail is installed on this host"
else
	is "no rootfs at all" 125 "$(cat "$T/code")"
	says "no rootfs: what to do" 'fix: .*make rootfs'
fi
# Damaged trees: NAME|REGEX|COMMAND in a copy. A copy for each would be slow; each damage is undone.
cp -R "$ROOTFS" "$T/copy"
chmod -R a+rX,u+w "$T/copy"
json "control: the copy works" 0 value=42 -- exec --rootfs "$T/copy" -c '6*7'
text "control: the copy verifies" 0 'files as in the manifest' rootfs verify "$T/copy"
file=$(cd "$T/copy/tree" && find . -type f -name 'abc.*' | head -n 1)
cp "$T/copy/tree/$file" "$T/saved"
damage() { # NAME REGEX
	text "verify sees $1" 125 "$2" rootfs verify "$T/copy"
}
printf x | dd of="$T/copy/tree/$file" bs=1 seek=30 conv=notrunc 2>/dev/null
damage "other content" 'abc.*different content'
printf x >>"$T/copy/tree/$file"
damage "another size" 'abc.*different size'
rm "$T/copy/tree/$file"
damage "a missing file" 'abc.*No such file'
ln -s /etc/passwd "$T/copy/tree/$file"
damage "a symlink in place of a file" 'abc'
rm "$T/copy/tree/$file"
mkfifo "$T/copy/tree/$file"
damage "a FIFO in place of a file" 'abc.*not a regular file'
rm "$T/copy/tree/$file"
cp "$T/saved" "$T/copy/tree/$file"
chmod 4755 "$T/copy/tree/$file"
damage "a set-id bit" 'abc.*different mode'
chmod "$(stat -c %a "$ROOTFS/tree/$file")" "$T/copy/tree/$file"
# An installer's umask.
chmod g+w "$T/copy/tree/$file"
text "verify: a group that may write" 0 'files as in the manifest' rootfs verify "$T/copy"
chmod u=rw,go= "$T/copy/tree/$file"
if [ "$(id -u)" = 0 ]; then
	damage "a file that root's jails cannot read" 'abc.*different mode'
else
	text "verify: a file for its owner alone, whose jails they are" 0 'files as in the manifest' rootfs verify "$T/copy"
fi
chmod "$(stat -c %a "$ROOTFS/tree/$file")" "$T/copy/tree/$file"
text "control: mended" 0 'files as in the manifest' rootfs verify "$T/copy"
echo 'print(1)' >"$T/copy/tree/usr/lib/extra.py"
damage "a file too many" '^/usr/lib/extra.py: not in the manifest'
mv "$T/copy/tree/usr/lib/extra.py" "$T/copy/tree/usr/lib/$(printf 'a\033\342\200\256b')"
damage "and shows its name" '^/usr/lib/a.x1b.xe2.x80.xaeb: not in the manifest'
mkdir "$T/copy/tree/usr/lib/new"
mv "$T/copy/tree/usr/lib/a"*b "$T/copy/tree/usr/lib/new/x"
damage "one in a new folder" '^/usr/lib/new/x: not in the manifest'
rm -r "$T/copy/tree/usr/lib/new"
cp "$T/copy/manifest" "$T/manifest"
head -c 300 "$T/manifest" >"$T/copy/manifest"
damage "half a manifest" 'manifest|different|in the tree'
echo "something else" >"$T/copy/manifest"
damage "another kind of file as manifest" 'not a manifest'
rm "$T/copy/manifest"
damage "no manifest" 'manifest'
cp "$T/manifest" "$T/copy/manifest"
# Damage that a run meets: it must say so, and never report success.
find "$T/copy/tree" -name guest.so -exec rm {} +
aj exec --json --rootfs "$T/copy" --timeout 5s -c 'print("RAN")'
check "without the runner nothing runs" sh -c "test $rc = 125 && ! grep -q RAN '$T/out'"
check "without the runner: setup_error" expect status=setup_error

finish
