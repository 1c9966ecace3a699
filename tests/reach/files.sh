#!/bin/sh
# Hostile trees in /output, of code that may make links and FIFOs, and what the host gets of them.
. "$(dirname "$0")/../lib.sh"

# A snippet under the list of commands, without the layer: it can make whatever an owner of /tmp can make.
cat >"$T/any.toml" <<'EOS'
extends = "snippet"
[python]
layer = false
[process]
exec = true
fork = true
EOS
chmod 644 "$T/any.toml"
mkdir -p "$T/secret" "$T/copies"
echo CANARY-FILES >"$T/secret/canary"
hostile() { # NAME EXPECT... -- CODE
	local name=$1
	shift
	rm -rf "$T/copies/out"
	json "$name" "$@"
}
MAKE="import os, socket
o = '/output/'
with open(o + 'ok', 'w') as f: f.write('fine')
"
hostile "files-links: to the host and to the jail's tree" 0 'files.0.name=ok' 'files.1=(absent)' 'files_skipped.3.why=it is not a regular file' 'files_skipped.4=(absent)' -- \
	exec --policy-file "$T/any.toml" --output "$T/copies/out" -c "$MAKE
os.symlink('$T/secret/canary', o + 'canary'); os.symlink('/proc/self/environ', o + 'env'); os.symlink('/', o + 'root'); os.symlink('.', o + 'loop')"
is "files-links: and nothing was copied" ok "$(ls -A "$T/copies/out")"
hostile "files-links: /output itself a link" 0 'files=[]' 'files_skipped.0.why~no longer a folder' -- \
	exec --policy-file "$T/any.toml" --output "$T/copies/out" -c "$MAKE
os.remove(o + 'ok'); os.rmdir('/tmp/output'); os.symlink('/usr/lib', '/tmp/output')"
hostile "files-links: /output itself another folder" 0 'files.0.name=moved' -- \
	exec --policy-file "$T/any.toml" --output "$T/copies/out" -c "$MAKE
os.rename('/tmp/output', '/tmp/away'); os.mkdir('/tmp/output'); open('/tmp/output/moved', 'w')"
hostile "files-links: a hard link is the file" 0 'files.1.name=x' files.1.size=5 -- \
	exec --policy-file "$T/any.toml" --output "$T/copies/out" -c "$MAKE
with open('/tmp/x', 'w') as f: f.write('outer')
os.link('/tmp/x', o + 'x')"
hostile "files-tree: FIFOs and sockets" 0 'files.0.name=ok' 'files.1=(absent)' 'files_skipped.1.why=it is not a regular file' -- \
	exec --policy-file "$T/any.toml" --output "$T/copies/out" -c "$MAKE
os.mkfifo(o + 'fifo'); socket.socket(socket.AF_UNIX).bind(o + 'socket')"
hostile "files-tree: names" 0 'files.0.name=..x' 'files.1.name=ok' 'files.2=(absent)' 'files_skipped.3.why~its name' -- \
	exec --policy-file "$T/any.toml" --output "$T/copies/out" -c "$MAKE
for name in (b'a\nb', b'\x1b[31m', b'\xc2\x9b31m', b'\xff', b'..x'): open(o.encode() + name, 'w')"
hostile "files-tree: a terabyte of nothing" 0 'files.0.name=ok' 'files.1=(absent)' 'files_skipped.0.why~output.files' 'peak_memory_bytes<100000000' -- \
	exec --policy-file "$T/any.toml" --output "$T/copies/out" -c "$MAKE
os.truncate(os.open(o + 'sparse', os.O_RDWR | os.O_CREAT), 64 << 20)"
hostile "files-tree: deep" 0 'files.0.name=ok' 'files.1=(absent)' 'files_skipped.0.why~nested too deep' -- \
	exec --policy-file "$T/any.toml" --output "$T/copies/out" -c "$MAKE
os.makedirs(o + '/'.join(['d'] * 300)); open(o + '/'.join(['d'] * 300) + '/f', 'w')"
hostile "files-tree: wide" 0 truncated.files=true 'files.99.size=0' 'files.100=(absent)' 'files_skipped.19.why~output.files_count' 'files_skipped.20=(absent)' -- \
	exec --policy-file "$T/any.toml" --output "$T/copies/out" -c "$MAKE
for i in range(3000): os.close(os.open(o + str(i), os.O_CREAT | os.O_WRONLY))"
hostile "files-tree: processes that go on writing" 0 'files.0.name~^ok2?$' files.0.size=4 -- \
	exec --policy-file "$T/any.toml" --output "$T/copies/out" -c "$MAKE
if os.fork() == 0:
    os.setsid()
    while True:
        try: os.rename(o + 'ok', o + 'ok2'); os.symlink('$T/secret/canary', o + 'ok'); os.remove(o + 'ok'); os.rename(o + 'ok2', o + 'ok')
        except OSError: pass"
hostile "files-copies: no mode of the jail's" 0 files.0.name=ok -- \
	exec --policy-file "$T/any.toml" --output "$T/copies/out" -c "$MAKE
os.chmod(o + 'ok', 0o777)"
is "files-copies: 0644" 644 "$(stat -c %a "$T/copies/out/ok")"
# A copy that programs of the host obey would have them run what the jail wrote: git its core.fsmonitor at the next `git status`.
OBEYED="$MAKE
for name in ('.git/config', '.git/HEAD', 'sub/.git', 'bare/HEAD', 'bare/config', '.envrc', 'sub/.vscode/tasks.json', '.Git/config', 'agentjail-policy.toml'):
    os.makedirs(os.path.dirname(o + name), exist_ok=True); open(o + name, 'x')"
hostile "files-obeyed: none is copied" 0 files.0.name=bare/config files.1.name=ok 'files.2=(absent)' 'files_skipped.7.why~filesystem.protect' 'files_skipped.8=(absent)' -- \
	exec --policy-file "$T/any.toml" --output "$T/copies/out" -c "$OBEYED"
is "files-obeyed: nor is a folder made for one" "bare bare/config ok" "$(cd "$T/copies/out" && find . -mindepth 1 | sed 's|^./||' | sort | tr '\n' ' ' | sed 's/ $//')"
sed 's/^\[python\]/[filesystem]\nprotect = []\n&/' "$T/any.toml" >"$T/all.toml"
chmod 644 "$T/all.toml"
hostile "files-obeyed: the policy may want them" 0 'files.9.name~tasks.json' files_skipped=\(absent\) -- exec --policy-file "$T/all.toml" --output "$T/copies/out" -c "$OBEYED"
rm -rf "$T/copies/out"
mkdir "$T/copies/out"
echo mine >"$T/copies/out/mine"
text "files-copies: not beside files of the host" 2 'is not empty' exec --output "$T/copies/out" -c 1
ln -s "$T/secret" "$T/copies/link"
text "files-copies: not behind a symlink" 2 'symlink' exec --output "$T/copies/link" -c 1
text "files-copies: nor below one" 2 'symlink' exec --output "$T/copies/link/new" -c 1
is "files-copies: nothing was written there" "canary" "$(ls -A "$T/secret")"
driver reach/files
finish
