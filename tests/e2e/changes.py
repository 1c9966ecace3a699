"""Changes of runs over overlays: shown, as a patch, applied and discarded; changes.sh runs it and counts."""
import base64, contextlib, fcntl, hashlib, json, os, shutil, stat, struct, subprocess, sys

from client import AJ, EXAMPLES, FOLDER, ROOT, main, same, skip, test
from overlays import CHANGES, ENV, Run, can_overlay, put, settle, tree

EVERY = {"keep": "same\n", "mod": "old\n", "gone": "x\n", "mode": "m\n", "d/a": "1\n", "d/s/b": "2\n", "to-link": "f\n", "to-folder": "f\n",
         "folder-to-file/x": "1\n", "opaque/x": "1\n", "opaque/y": "1\n", "link": "link:keep", "e/": "", "touched": "t\n", "deep/a/b/c": "c\n",
         "replaced/deep/x": "1\n"}
SCRIPT = """
echo new >mod; rm gone; chmod 755 mode; rm -r d; mkdir d; echo n >d/n; rm to-link; ln -s keep to-link; rm to-folder; mkdir to-folder
echo in >to-folder/in; rm -r folder-to-file; echo f >folder-to-file; rm -r opaque; mkdir opaque; echo 2 >opaque/x; ln -sf mod link
rmdir e; touch touched; mkdir -p new/sub/empty; echo a >new/a; ln -s ../a new/sub/l; chmod 700 new/sub; echo q >deep/a/b/c; rm -f none
rm -r replaced; mkdir -p replaced/deep; echo 2 >replaced/deep/y
"""
KINDS = {"mod": "modified", "gone": "deleted", "mode": "mode", "d/a": "deleted", "d/s/b": "deleted", "d/s": "deleted", "d/n": "added",
         "to-link": "type", "to-folder": "type", "to-folder/in": "added", "folder-to-file/x": "deleted", "folder-to-file": "type",
         "opaque/x": "modified", "opaque/y": "deleted", "link": "modified", "e": "deleted", "new": "added", "new/a": "added", "new/sub": "added",
         "new/sub/empty": "added", "new/sub/l": "added", "deep/a/b/c": "modified", "replaced/deep/x": "deleted", "replaced/deep/y": "added"}


def apply_every_kind(mode):
    run = Run(put(EVERY), SCRIPT, mode=mode)
    same(run.kinds(), KINDS)
    same([r["conflict"] for r in run.rows().values() if r["conflict"]], [])
    text = run.ask("show").stdout.decode()
    assert "M  mod  4 bytes (+0)" in text and "T  folder-to-file  folder -> file" in text and "m  mode  mode 644 -> 755" in text, text
    same(run.json("apply")["sum"], {"conflicts": 0, "held": 0, "refused": 0, "applied": len(KINDS)})
    want = Run(put(EVERY), "true", name="want")
    subprocess.run(["sh", "-e"], cwd=want.workspace, input=SCRIPT.encode(), check=True)
    same(tree(run.workspace), tree(want.workspace))
    same(run.kinds(), {})
    assert b"no changes are left" in run.ask("show").stdout
    same([n for n in os.listdir(run.state) if n.startswith(("journal", "unfinished"))], [])


@test
def every_kind():
    apply_every_kind("overlay")


@test
def every_kind_of_a_copy():
    apply_every_kind("copy")


@test
def a_copy_and_its_host():
    files = {"both": "1\n", "host": "1\n", "run": "1\n", "gone": "1\n", "gone-both": "1\n", "d/x": "1\n", "d/y": "1\n", "e/x": "1\n", "f/x": "1\n", "mode": "1\n",
             "odd\nna\\me": "1\n"}
    run = Run(put(files), "echo 2 >both; echo 2 >run; rm gone-both; rm -r d; echo 2 >e/x; chmod 755 mode; for f in odd*; do printf 2 >\"$f\"; done", mode="copy")
    run.write("both", "host\n")
    run.write("host", "host\n")
    run.write("new", "host\n")
    run.write("d/new", "host\n")
    os.unlink(run.path("gone"))
    os.unlink(run.path("gone-both"))
    shutil.rmtree(run.path("e"))
    shutil.rmtree(run.path("f"))
    same({p: (r["kind"], bool(r["conflict"])) for p, r in run.rows().items()},
         {"both": ("modified", True), "run": ("modified", False), "d/x": ("deleted", False), "d/y": ("deleted", False), "d/new": ("deleted", True),
          "d": ("deleted", False), "e": ("added", True), "e/x": ("added", True), "mode": ("mode", False), "odd\nna\\me": ("modified", False)})
    run.ask("apply", rc=1)
    run.ask("apply", "run", "mode", "d/x")
    run.ask("apply", "--force")
    same((run.read("both"), run.read("host"), run.read("new"), run.read("e/x"), run.read("odd\nna\\me")), (b"2\n", b"host\n", b"host\n", b"2\n", b"2"))
    assert not os.path.exists(run.path("gone")) and not os.path.exists(run.path("d")) and not os.path.exists(run.path("f"))
    same(run.kinds(), {})
    run.write("run", "3\n")
    same(run.kinds(), {})
    os.unlink(run.state + "/base")
    run.ask("show", rc=125)
    with open(run.state + "/base", "w") as f:
        f.write("no list\n")
    run.ask("show", rc=125)


@test
def a_later_run_goes_on():
    run = Run(put({"a": "1\n", "b": "1\n", "c": "1\n"}), "echo 2 >a; echo 2 >b; rm c")
    run.ask("apply", "a", "c")
    run.ask("discard", "b")
    same(run.kinds(), {})
    run.run("echo 3 >a; echo 3 >b; echo 3 >c")
    same({p: (r["kind"], r["conflict"]) for p, r in run.rows().items()}, {"a": ("modified", None), "b": ("modified", None), "c": ("added", None)})
    run.ask("apply")
    same([run.read(n) for n in "abc"], [b"3\n"] * 3)


@test
def owners_stay():
    if not ROOT:
        return
    def make(top):
        put({"a": "1\n", "d/b": "1\n"})(top)
        for path, ids in (("a", (40001, 40002)), ("d", (40003, 40004)), ("d/b", (40001, 40001))):
            os.chown(top + "/" + path, *ids)
    run = Run(make, "echo 2 >a; echo 2 >d/b; chown 0:0 a d/b; mkdir d/new; echo 1 >d/new/f; ln -s f d/new/l; rm -f x")
    run.ask("apply")
    same([(os.lstat(run.path(p)).st_uid, os.lstat(run.path(p)).st_gid) for p in ("a", "d/b", "d/new", "d/new/f", "d/new/l")],
         [(40001, 40002), (40001, 40001)] + [(40003, 40004)] * 3)


RENAMES = """
mv a b; mkdir moved; mv d/x moved/x; mv e moved/e; ln h h2; mkdir z; cp -l k z/k; echo 2 >z/k; mv log log.1; echo new >log; cp -pl p p.orig; echo 2 >p.new; mv p.new p
mv one two; mv two three; mv swap s; mv pair swap; mv s pair
mv f1 f; mv f2 f1; mv f f2
"""
RENAMED = {"a": "1\n", "d/x": "x\n", "e/y": "y\n", "h": "h\n", "k": "1\n", "log": "old\n", "p": "1\n", "one": "1\n", "swap": "s\n", "pair": "p\n", "f1/x": "one\n", "f1/z": "1\n", "f2/x": "two\n", "mine": "1\n", "ours": "1\n"}


def renames(mode):
    """Names that files of the workspace got are new, also where the host has changed something else beside them."""
    for busy in (False, True):
        run = Run(put(RENAMED), RENAMES + "echo 2 >mine; echo 2 >ours", mode=mode)
        if busy:
            run.write("beside", "host\n")
            run.write("d/beside", "host\n")
            os.unlink(run.path("mine"))
        same({p: r["conflict"] for p, r in run.rows().items() if r["conflict"]}, {"mine": "the host has removed it since"} if busy else {})
        if busy:
            run.ask("apply", "ours")  # is no doing of the host's
            run.ask("discard", "mine")
        run.ask("apply")
        want = Run(put(RENAMED), "true", name="want")
        subprocess.run(["sh", "-e"], cwd=want.workspace, input=(RENAMES + "echo 2 >ours").encode(), check=True)
        same(*({p: e for p, e in tree(r.workspace).items() if not p.endswith((b"mine", b"beside"))} for r in (run, want)))
        same(run.kinds(), {})


@test
def renames_in_an_overlay():
    renames("overlay")


@test
def renames_in_a_copy():
    renames("copy")


@test
def a_folder_that_the_host_removed():
    run = Run(put({"d/a": "1\n", "d/b": "1\n", "x": "1\n"}), "echo 2 >d/a; mv x d/x")
    shutil.rmtree(run.path("d"))
    same({p: r["conflict"] for p, r in run.rows().items()},
         {"d": "the host has removed it since", "d/a": "the host has removed it since", "d/x": None, "x": None})
    run.ask("discard")


@test
def nothing_is_no_change():
    run = Run(put({"a": "1", "d/b": "2"}), "touch a; chmod 600 d/b; chmod 644 d/b; touch d/x; rm d/x; echo 1 >z; rm z")
    same(run.kinds(), {})
    same(run.json("apply")["sum"]["applied"], 0)


@contextlib.contextmanager
def locked(run):
    """As a supervisor that lives holds it."""
    with open(run.state + "/lock", "r+") as lock:
        fcntl.fcntl(lock, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        yield


@test
def list_and_states():
    run = Run(put({"a": "1"}), "echo 2 >a; echo 3 >b", name="listed")
    def row():
        listed = json.loads(subprocess.run([AJ, "changes", "list", "--json"], env=ENV, stdout=subprocess.PIPE, check=True).stdout)
        return next(r for r in listed["runs"] if r["id"] == run.id)
    same((row()["state"], row()["changes"], row()["workspace"], row()["command"]), ("ended", 2, run.workspace, "sh -c true"))
    run.record["ended_ns"] = None
    run.write_record()
    same(row()["state"], "killed")
    with locked(run):
        same(row()["state"], "running")
        same(len(run.kinds()), 2)
        assert b"still running" in run.ask("apply", rc=2).stderr
        assert b"still running" in run.ask("discard", rc=2).stderr
        run.ask("diff")
    text = subprocess.run([AJ, "changes", "list"], env=ENV, stdout=subprocess.PIPE, check=True).stdout.decode()
    assert "%s  " % run.id in text and "2 changes" in text, text
    complete = '. "$0"; COMP_WORDS=(agentjail changes show "$1"); COMP_CWORD=3; _agentjail; printf "%s " "${COMPREPLY[@]}"'
    path = os.path.dirname(AJ) + ":" + ENV.get("PATH", os.environ["PATH"])
    completions = os.path.join(os.path.dirname(EXAMPLES), "completions", "agentjail.bash")
    if shutil.which("bash"):
        found = subprocess.run(["bash", "--norc", "-c", complete, completions, run.id[:8]], env={**ENV, "PATH": path}, stdout=subprocess.PIPE, check=True)
        same(found.stdout.decode(), run.id + " ", "the shell completes IDs")
    whole, run.id = run.id, run.id[:-1]
    run.id = whole[:8]  # the beginning is enough
    same(len(run.kinds()), 2)


@test
def conflicts():
    run = Run(put({"a": "1\n", "b": "1\n", "c": "1\n", "d/x": "1\n", "same": "1\n", "t": "1\n"}),
              "echo 2 >a; rm b; echo 2 >c; rm -r d; echo 3 >same; echo 2 >made; rm t; mkdir t; echo 2 >fine; mkdir dir; echo 1 >dir/in")
    run.write("a", "host\n")
    run.write("b", "host\n")
    os.unlink(run.path("c"))
    run.write("d/new", "host\n")
    run.write("same", "3\n")
    run.write("made", "host\n")
    run.write("t", "host\n")
    run.write("dir", "host\n")
    before = tree(run.workspace)
    rows = run.rows()
    found = {path: row["conflict"] for path, row in rows.items() if row["conflict"]}
    changed = "the host has changed it since the run began"
    same(found, {"a": changed, "b": changed, "c": "the host has removed it since", "d/new": changed, "made": changed, "t": changed, "dir": changed})
    answer = run.ask("apply", rc=1).stderr.decode()
    assert "7 changes are in conflict" in answer and "conflict  made" in answer, answer
    same(tree(run.workspace), before)
    same(run.json("apply", "fine")["sum"]["applied"], 1)
    same(run.read("fine"), b"2\n")
    same(sorted(p for p, k in run.kinds().items() if p == "fine"), [])
    run.ask("apply", "a", rc=1)
    run.ask("apply", "a", "--force")
    same(run.read("a"), b"2\n")
    run.ask("apply", "--force")
    same(run.kinds(), {})
    same((run.read("made"), run.read("c"), run.read("dir/in"), os.path.exists(run.path("d"))), (b"2\n", b"2\n", b"1\n", False))
    assert os.path.isdir(run.path("t"))


@test
def parts():
    run = Run(put({"d/a": "1\n", "d/b": "1\n", "x": "1\n"}), "echo 2 >d/a; echo 2 >d/b; rm x; mkdir -p new/deep/er; echo 1 >new/deep/er/f; echo 1 >new/g")
    run.ask("apply", "new/deep/er/f")
    same(sorted(run.kinds()), ["d/a", "d/b", "new/g", "x"])
    run.ask("apply", run.workspace + "/d/")
    same(sorted(run.kinds()), ["new/g", "x"])
    run.ask("discard", "x")
    same(sorted(run.kinds()), ["new/g"])
    same(run.read("x"), b"1\n")
    run.write("d/a", "host again\n")  # what was applied stays no change
    same(sorted(run.kinds()), ["new/g"])
    for words in (["none"], ["../x"], ["/etc/passwd"], ["d/a"]):
        run.ask("apply", *words, rc=2)
    run.ask("apply")
    same(run.kinds(), {})
    run.ask("discard")
    assert not os.path.exists(run.state) and os.listdir(CHANGES) is not None


@test
def folders_keep_what_is_left():
    run = Run(put({"d/.envrc": "x\n", "d/a": "1\n", "f/.envrc": "x\n"}), "rm -r d; rm -r f; echo 1 >f")
    answer = run.json("apply")
    same((answer["sum"]["held"], answer["sum"]["refused"], answer["sum"]["applied"]), (2, 2, 1))
    same(tree(run.workspace), {b"d": ("folder", 0o755), b"d/.envrc": ("file", 0o644, b"x\n"), b"f": ("folder", 0o755), b"f/.envrc": ("file", 0o644, b"x\n")})
    run.ask("apply", "d", "d/.envrc", "f", "f/.envrc")
    same(tree(run.workspace), {b"f": ("file", 0o644, b"1\n")})


@test
def held():
    outside = FOLDER + "/outside"
    run = Run(put({"src/main.c": "1\n", "secret/key": "k\n"}), """
echo 1 >.envrc; mkdir -p .vscode sub/.vscode bare/objects bare/refs; echo 1 >.vscode/tasks.json; echo 1 >sub/.vscode/tasks.json; echo 2 >src/main.c
echo ref >bare/HEAD; echo gitdir: x >sub/.git; ln -s %s out; ln -s ../../x sub/up; ln -s /usr/bin/env env; ln -s main.c src/in; ln -s . here
ln -s here/../../x src/trick; echo 2 >secret/key; echo 1 >sub/.ENVRC""" % outside, protected=["@default", "secret/"])
    rows = run.rows()
    same(sorted(p for p, r in rows.items() if r["held"]),
         sorted([".envrc", ".vscode", ".vscode/tasks.json", "sub/.vscode", "sub/.vscode/tasks.json", "bare/HEAD", "bare/objects", "bare/refs", "sub/.git", "out", "sub/up", "src/trick",
                 "secret/key", "sub/.ENVRC"] + ["env"] * ROOT))
    text = run.ask("show").stdout.decode()
    assert "held, and applied only by a PATH of their own:" in text and "!  out  a link that leads out of the workspace" in text, text
    run.ask("apply")
    same(run.json("apply", ".", "sub")["sum"]["applied"], 0)  # neither names a held place
    assert not any(os.path.lexists(run.path(p)) for p in (".envrc", ".vscode", "sub/.vscode", "out", "sub/up", "bare/HEAD", "sub/.git")), tree(run.workspace)
    same((run.read("src/main.c"), run.read("secret/key"), os.readlink(run.path("src/in"))), (b"2\n", b"k\n", "main.c"))
    run.ask("apply", ".vscode", "sub/.vscode/tasks.json", "out", "secret")
    same((run.read(".vscode/tasks.json"), run.read("sub/.vscode/tasks.json"), os.readlink(run.path("out")), run.read("secret/key")),
         (b"1\n", b"1\n", outside, b"2\n"))
    assert ".envrc" in run.rows() and not os.path.exists(outside)


@test
def hostile_tree():
    deep = "/".join(["d"] * 300)
    script = """
mkfifo fifo; ln -s / root; ln -s /etc/shadow shadow; ln -s . loop; truncate -s 1T huge; truncate -s 8G sparse; printf x | dd of=sparse bs=1 seek=4G conv=notrunc 2>/dev/null
printf 1 >"$(printf 'new\\nline')"; printf 1 >"$(printf 'esc\\033[31m')"; printf 1 >"$(printf 'bad\\377')"; printf 1 >' lead'; printf 1 >'-dash'; printf 1 >'tab\t"quote\\'
mkdir closed; echo 1 >closed/f; chmod 000 closed; echo 1 >unreadable; chmod 000 unreadable; echo s >setuid; chmod 6755 setuid; echo 1 >Twin; echo 2 >twin
mkdir -p %s; echo 1 >%s/f; ln sparse hard; mkdir one-way; chmod 555 one-way; echo 1 >.agentjail-00-1.old
mkdir many; i=0; while [ $i -lt 500 ]; do echo $i >many/$i; i=$((i + 1)); done
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("sock")' || mkfifo sock
""" % (deep, deep) + ("mknod disk b 8 0; mknod null c 1 3\n" if ROOT else "")
    run = Run(put({"a": "1"}), script)
    rows = run.json("show")["changes"]
    named = {base64.b64decode(r["path_base64"]) if "path_base64" in r else r["path"].encode(): r for r in rows}
    refused = {path: r["refused"] for path, r in named.items() if r["refused"]}
    assert refused.pop(b"fifo") == "it is a FIFO" and refused.pop(b"sock") in ("it is a socket", "it is a FIFO"), refused
    assert refused.pop(b".agentjail-00-1.old") and refused.pop(b"/".join([b"d"] * 257), None), refused
    same(sorted(refused), [b"disk", b"null"] if ROOT else [])
    assert b"new\nline" in named and b"esc\x1b[31m" in named and b"bad\xff" in named and named[b"setuid"]["note"], sorted(named)[:40]
    assert "case" in named[b"Twin"]["note"] and "case" in named[b"twin"]["note"]
    text = run.ask("show").stdout
    assert b"\x1b" not in text and b"new\\nline" in text and b"\xff" not in text, text[:2000]
    patch = run.ask("diff", "closed", "unreadable").stdout.decode()
    assert "b/closed/f" in patch and "b/unreadable" in patch, patch
    answer = run.json("apply")
    same(answer["sum"]["conflicts"], 0)
    same(sorted(r["path"] for r in answer["held"]), ["root", "shadow"])
    st = os.stat(run.path("huge"))
    same((st.st_size, st.st_blocks < 100), (1 << 40, True))
    st = os.stat(run.path("sparse"))
    same((st.st_size, st.st_blocks < 1000), (8 << 30, True))
    with open(run.path("sparse"), "rb") as f:
        f.seek(4 << 30)
        same(f.read(2), b"x\0")
    same(stat.S_IMODE(os.stat(run.path("setuid")).st_mode), 0o755)
    same(stat.S_IMODE(os.stat(run.path("closed")).st_mode), 0)
    same(stat.S_IMODE(os.stat(run.path("one-way")).st_mode), 0o555)
    same(stat.S_IMODE(os.lstat(run.path("unreadable")).st_mode), 0)
    same(open(os.path.join(os.fsencode(run.workspace), b"bad\xff")).read(), "1")
    same(len(os.listdir(run.path("many"))), 500)
    os.chmod(run.path("closed"), 0o700)
    same(run.read("closed/f"), b"1\n")
    assert not os.path.lexists(run.path("fifo")) and not os.path.lexists(run.path("root"))
    run.ask("discard")
    assert not os.path.exists(run.state)


@test
def patches():
    files = {"a": "".join("%d\n" % i for i in range(40)), "no-newline": "x", "gone": "1\n2\n", "sp ace": "1\n", "d/mode": "m\n", "l": "link:a", "empty": "",
             "type": "f\n", "bin": "\0\1", "lat": "x\n"}
    script = """sed -i 's/^20$/twenty/' a; printf y >no-newline; rm gone; echo 2 >'sp ace'; chmod 755 d/mode; ln -sf d l; echo 1 >empty; rm type; ln -s a type
printf '1\\n2' >new; : >new-empty; printf '\\0\\2' >bin; echo 1 >"$(printf 'q"\\t\\\\x')"; printf 'caf\\351\\n' >lat; echo 1 >'new sp'; echo x >run; chmod 755 run"""
    run = Run(put(files), script)
    patch = run.ask("diff").stdout
    assert b"Binary files a/bin and b/bin differ" in patch and b"+twenty" in patch and b"-20\n" in patch, patch
    run.ask("apply")
    want = tree(run.workspace)
    want[b"bin"] = ("file", 0o644, b"\0\1")
    if not shutil.which("git"):
        return skip("the patch by git", "git is missing")
    plain = FOLDER + "/plain"
    os.mkdir(plain)
    put(files)(plain)
    done = subprocess.run(["git", "apply", "-"], cwd=plain, input=patch, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=dict(ENV, GIT_CEILING_DIRECTORIES=FOLDER, GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_NOSYSTEM="1"))
    same(done.returncode, 0, done.stdout)
    same(tree(plain), want)
    same(run.ask("diff").stdout, b"")  # it was applied
    rows = Run(put(files), script).json("diff")["changes"]
    same([base64.b64decode(r["patch_base64"])[-5:] for r in rows if "patch_base64" in r], [b"caf\xe9\n"])


@test
def permissions():
    files = {"both": "1\n", "mode": "1\n", "open": "1\n", "bin": "\0\1", "plain": "1\n", "d/": "", "was-x": "1\n"}
    run = Run(put(files), """chmod 755 both bin; echo 2 >both; chmod 600 mode; echo 2 >open; chmod 666 open; printf '\\0\\2' >bin; echo 2 >plain; chmod 777 d
echo 1 >new; chmod 777 new; echo 1 >usual; echo 1 >tool; chmod 755 tool; mkdir e usual.d; chmod 700 e; ln -s new l; rm was-x; mkdir was-x; chmod 711 was-x""")
    text = run.ask("show").stdout.decode()
    for line in ("M  both  2 bytes (+0)  mode 644 -> 755", "m  mode  mode 644 -> 600", "M  open  2 bytes (+0)  mode 644 -> 666", "M  bin  2 bytes (+0)  mode 644 -> 755",
                 "M  plain  2 bytes (+0)", "m  d/  mode 755 -> 777", "A  new  2 bytes  mode 777", "A  usual  2 bytes", "A  tool  2 bytes  mode 755", "A  e/  mode 700", "A  usual.d/",
                 "A  l  link", "T  was-x/  file -> folder  mode 711"):
        assert "\n" + line + "\n" in text, (line, text)
    patch = run.ask("diff").stdout.decode()
    same([line for line in patch.splitlines() if line.startswith("Permissions")],
         ["Permissions of b/bin are 755, were 644", "Permissions of b/d are 777, were 755", "Permissions of b/e are 700", "Permissions of b/mode are 600, were 644",
          "Permissions of b/new are 777", "Permissions of b/open are 666, were 644", "Permissions of b/was-x are 711"])
    assert "old mode 100644\nnew mode 100755\n--- a/both" in patch and "new file mode 100755\n--- /dev/null\n+++ b/tool" in patch, patch
    if shutil.which("git"):
        plain = FOLDER + "/permissions"
        os.mkdir(plain)
        put(files)(plain)
        subprocess.run(["git", "apply", "--exclude=bin", "-"], cwd=plain, input=patch.encode(), check=True, env=dict(ENV, GIT_CEILING_DIRECTORIES=FOLDER))
        same(os.stat(plain + "/tool").st_mode & 0o777, 0o755)


@test
def patches_without_held_changes():
    run = Run(put({"a": "1\n", "sub/.envrc": "1\n"}), "echo 2 >a; echo 2 >sub/.envrc; echo 1 >.envrc; mkdir .vscode; echo 1 >.vscode/tasks.json; ln -s /etc z; mkfifo f")
    done = run.ask("diff")
    same([line for line in done.stdout.decode().split("\n") if line.startswith("diff ")], ["diff --git a/a b/a"])
    same(done.stderr, b"5 held: left out of the patch; name each, or the folder that holds it, to have it there too\n")
    for words, want in (([".vscode"], ["b/.vscode/tasks.json"]), (["sub"], []), (["sub/.envrc", ".", "z"], ["b/a", "b/sub/.envrc", "b/z"])):
        same([line.split()[-1] for line in run.ask("diff", *words).stdout.decode().split("\n") if line.startswith("diff ")], want)
    answer = run.json("diff")
    same([r["path"] for r in answer["changes"]], ["a"])
    same(sorted(r["path"] for r in answer["held"]), [".envrc", ".vscode", ".vscode/tasks.json", "sub/.envrc", "z"])
    assert answer["sum"]["held"] == 5 and answer["changes"][0]["patch"] and not any("patch" in r for r in answer["held"])
    same(sorted(r["path"] for r in run.json("diff", ".", "z")["changes"]), ["a", "z"])
    same(run.json("apply", ".")["sum"]["held"], 5)  # a dot is no name of the link z
    if not shutil.which("git"):
        return skip("a patch beside a repository", "git is missing")
    run = Run(repository, GIT + "echo 2 >a; git add .; git commit -qm two")
    done = run.ask("diff")
    assert b".git/" not in done.stdout and b"in repositories: left out" in done.stderr, done
    subprocess.run(["git", "-c", "safe.directory=*", "apply", "-"], cwd=run.workspace, input=done.stdout, check=True)
    same(run.read("a"), b"2\n")
    assert b"b/.git/logs/HEAD" in run.ask("diff", ".git").stdout and b"b/.git/logs/HEAD" in run.ask("diff", ".git/logs").stdout


GIT = """export HOME=$PWD/.. GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b\n"""


def git(run, *words):
    done = subprocess.run(["git", "-c", "safe.directory=*", *words], cwd=run.workspace, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=dict(ENV, GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL="/dev/null", GIT_AUTHOR_NAME="h", GIT_AUTHOR_EMAIL="h@b", GIT_COMMITTER_NAME="h",
                                   GIT_COMMITTER_EMAIL="h@b"))
    same(done.returncode, 0, done.stdout)
    return done.stdout.decode()


def repository(top):
    subprocess.run(["sh", "-ec", GIT + "git init -q -b main . && echo 1 >a && git add . && git commit -qm one"], cwd=top, check=True)


@test
def repositories():
    if not shutil.which("git"):
        return skip("repositories", "git is missing")
    commit = GIT + "echo 2 >a; echo n >b; git add .; git commit -qm two; git branch side; "
    run = Run(repository, commit + "echo '[core]' >>.git/config; echo 'x' >.git/hooks/post-checkout; chmod 755 .git/hooks/post-checkout")
    rows = run.rows()
    same(sorted(p for p, r in rows.items() if r["held"]), [".git/config", ".git/hooks/post-checkout"])
    assert rows[".git/index"]["repository"] == ".git" and rows[".git/refs/heads/main"]["repository"] == ".git" and rows["a"]["repository"] is None
    assert b"applied as a whole" in run.ask("apply", ".git/index", rc=2).stderr
    open(run.path(".git/index.lock"), "w").close()
    assert b"at work" in run.ask("apply", rc=1).stderr
    os.unlink(run.path(".git/index.lock"))
    run.ask("apply", ".git")
    same(git(run, "log", "--format=%s").split(), ["two", "one"])
    same(run.read("a"), b"1\n")
    run.ask("apply")
    same(git(run, "status", "--porcelain"), "")
    git(run, "fsck", "--strict")
    same(sorted(run.kinds()), [".git/config", ".git/hooks/post-checkout"])
    assert not os.path.exists(run.path(".git/index.lock")) and not os.path.exists(run.path(".git/hooks/post-checkout"))
    # The host's git has gone on meanwhile: all of the repository is in conflict, and nothing else is.
    run = Run(repository, commit)
    git(run, "commit", "-q", "--allow-empty", "-m", "host")
    found = {p: bool(r["conflict"]) for p, r in run.rows().items()}
    assert all(found[p] == p.startswith(".git/") for p in found) and found[".git/refs/heads/main"], found
    run.ask("apply", rc=1)
    run.ask("apply", "a", "b")
    same(git(run, "log", "--format=%s").split(), ["host", "one"])
    # A new one is held if git would run programs by it, as a whole.
    new = GIT + "git init -q -b main %s; cd %s; echo 1 >f; git add f; git commit -qm new; "
    run = Run(put({"x": "1"}), new % ("good", "good") + "cd ..;" + new % ("bad", "bad") + "git config core.fsmonitor ./evil")
    rows = run.rows()
    assert not any(r["held"] for p, r in rows.items() if p.startswith("good/")), [p for p, r in rows.items() if r["held"]]
    assert all(r["held"] for p, r in rows.items() if p.startswith("bad/.git")), [p for p, r in rows.items() if not r["held"]]
    run.ask("apply")
    run.workspace += "/good"
    same(git(run, "log", "--format=%s").split(), ["new"])
    run.workspace = run.workspace[:-5]
    assert not os.path.exists(run.path("bad/.git")) and os.path.exists(run.path("bad/f"))
    run.ask("apply", "bad/.git")
    assert os.path.exists(run.path("bad/.git/HEAD"))


@test
def locks_that_git_has_left():
    """A git that is killed in the jail leaves its lock files: they stay behind, and all else is applied."""
    if not shutil.which("git"):
        return skip("locks_that_git_has_left", "git is missing")
    names = ["index.lock", "HEAD.lock", "packed-refs.lock", "config.lock", "shallow.lock", "refs/heads/main.lock", "refs/tags/v1.lock",
             "logs/HEAD.lock", "objects/maintenance.lock"]
    leave = "for l in %s; do echo >.git/$l; done; mkdir .git/modules; echo >.git/modules/index.lock; " % " ".join(names)
    names = sorted(".git/" + name for name in names + ["modules/index.lock"])
    commit = GIT + "echo 2 >a; git add .; git commit -qm two; git branch lock; "
    run = Run(repository, commit + leave + "echo 3 >yarn.lock; echo 4 >index.lock")
    rows = run.rows()
    same(sorted(p for p, r in rows.items() if r["refused"]), names)
    assert "lock file" in rows[".git/index.lock"]["refused"] and rows[".git/index.lock"]["repository"] is None
    same(run.json("apply")["sum"]["refused"], len(names))
    same((git(run, "log", "--format=%s").split(), run.read("yarn.lock"), run.read("index.lock")), (["two", "one"], b"3\n", b"4\n"))
    same((git(run, "status", "--porcelain").split(), git(run, "rev-parse", "lock", "main").split()[0]),
         (["??", "index.lock", "??", "yarn.lock"], git(run, "rev-parse", "HEAD").strip()))
    git(run, "fsck", "--strict")
    same(sorted(run.kinds()), names)
    # By its name neither, and none in a repository that is new, bare or not.
    run.ask("apply", ".git/index.lock")
    assert not os.path.exists(run.path(".git/index.lock"))
    run = Run(put({"x": "1"}), GIT + "git init -q new; git init -q --bare bare; echo >new/.git/index.lock; echo >bare/HEAD.lock")
    same(sorted(p for p, r in run.rows().items() if p.endswith(".lock") and not r["refused"] and not r["held"]), [])
    assert not run.rows()["new/.git/HEAD"]["held"]
    run.ask("apply")
    assert os.path.exists(run.path("new/.git/HEAD")) and not os.path.exists(run.path("new/.git/index.lock"))
    # In one that the host has and that is not called .git.
    run = Run(lambda top: subprocess.run(["git", "init", "-q", "--bare", top + "/bare"], check=True),
              "echo ref: refs/heads/other >bare/HEAD; echo >bare/index.lock")
    run.ask("apply")
    same((run.read("bare/HEAD"), os.path.exists(run.path("bare/index.lock"))), (b"ref: refs/heads/other\n", False))


@test
def repositories_of_other_names():
    """As git finds them: by HEAD, objects and refs, or by HEAD and commondir."""
    def make(top):
        put({"old/HEAD": "ref: refs/heads/main\n", "old/objects/x": "1\n", "old/refs/x": "1\n", "old/config": "[core]\n\tbare = true\n", "old/src/config": "1\n",
             "old/packed-refs": "1\n", "half/HEAD": "ref: refs/heads/main\n", "half/objects/x": "1\n", "rest/objects/x": "1\n", "rest/refs/x": "1\n",
             "rest/config": "1\n", "tree/HEAD": "ref: x\n", "tree/commondir": "../old\n", "tree/gitdir": "x\n"})(top)
    run = Run(make, """
echo 2 >old/config; mkdir old/hooks; echo 2 >old/hooks/update; echo 2 >old/packed-refs; echo 2 >old/src/config; mkdir old/src/hooks; echo 2 >old/src/hooks/x
mkdir half/refs; echo 2 >half/refs/x; echo 2 >half/main.c; echo 'ref: x' >rest/HEAD; echo 2 >rest/config; echo 2 >rest/main.c; echo 2 >tree/commondir
mkdir -p new/deep/objects new/deep/refs new/deep/src; echo 2 >new/deep/HEAD; echo 2 >new/deep/config; echo 2 >new/deep/src/main.c
mkdir -p new/link; ln -s ../deep/HEAD new/link/HEAD; echo ../../old >new/link/commondir; mkdir -p old/src/in/objects; echo 2 >old/src/in/head; echo 2 >old/src/in/Config""")
    rows = run.rows()
    same(sorted(p for p, r in rows.items() if r["held"]), sorted([
        "old/config", "old/hooks", "old/hooks/update", "half/refs", "half/refs/x", "rest/HEAD", "rest/config", "tree/commondir", "new/deep/objects", "new/deep/refs",
        "new/deep/HEAD", "new/deep/config", "new/link/HEAD", "new/link/commondir", "old/src/in/objects", "old/src/in/head", "old/src/in/Config"]))
    same(sorted((p, r["repository"]) for p, r in rows.items() if r["repository"]), [("old/packed-refs", "old")])
    assert b"applied as a whole" in run.ask("apply", "old/packed-refs", rc=2).stderr
    answer = run.json("apply", "new", "rest", "half", "old", ".")
    same(sorted(p for p in rows if not rows[p]["held"]), sorted(r["path"] for r in answer["applied"]))
    same(sorted(run.kinds()), sorted(p for p in rows if rows[p]["held"]))
    run.ask("apply", "rest/HEAD", "old/hooks")
    same((run.read("rest/HEAD"), run.read("old/hooks/update")), (b"ref: x\n", b"2\n"))
    # The workspace itself.
    run = Run(put({"HEAD": "ref: x\n", "objects/x": "1", "src/config": "1"}), "mkdir refs; echo 2 >refs/x; echo 2 >config; echo 2 >src/config; echo 2 >hooks")
    same(sorted(p for p, r in run.rows().items() if r["held"]), ["config", "hooks", "refs", "refs/x"])
    same([r["path"] for r in run.json("apply", ".")["applied"]], ["src/config"])
    # The host's repository has gone on.
    run = Run(make, "echo 2 >old/packed-refs; echo 2 >old/src/config; echo 2 >old/refs/x")
    run.write("old/HEAD", "ref: refs/heads/host\n")
    same({p: bool(r["conflict"]) for p, r in run.rows().items()}, {"old/packed-refs": True, "old/refs/x": True, "old/src/config": False})


@test
def objects_of_other_names():
    """`git pull` keeps an object that is there: one whose content has another name would be in the place of what the other side sends."""
    if not shutil.which("git"):
        return skip("objects_of_other_names", "git is missing")
    commit = GIT + "echo 2 >a; echo n >b; git add .; git commit -qm two; "
    plant = """python3 -c 'import hashlib, os, zlib
name = hashlib.sha1(b"blob 7\\0better\\n").hexdigest()
os.makedirs(".git/objects/" + name[:2], exist_ok=True)
open(".git/objects/%s/%s" % (name[:2], name[2:]), "wb").write(zlib.compress(b"blob 5\\0evil\\n"))'; """
    name = hashlib.sha1(b"blob 7\0better\n").hexdigest()
    planted = ".git/objects/%s/%s" % (name[:2], name[2:])
    run = Run(repository, commit + plant)
    rows = run.rows()
    same([p for p, r in rows.items() if r["refused"]], [planted])
    assert "another object than its name says" in rows[planted]["refused"], rows[planted]
    assert all(r["held"] for p, r in rows.items() if r["repository"]) and "another one than its name says" in rows[".git/index"]["held"], rows[".git/index"]
    run.ask("apply")
    same((git(run, "log", "--format=%s").split(), run.read("a"), run.read("b")), (["one"], b"2\n", b"n\n"))
    run.ask("apply", ".git", "--force")
    same((git(run, "log", "--format=%s").split(), git(run, "status", "--porcelain"), os.path.exists(run.path(planted))), (["two", "one"], "", False))
    git(run, "fsck", "--strict")
    # In a repository that is new all is the jail's, and in the workspace itself each change is judged for itself.
    run = Run(put({"x": "1"}), GIT + "mkdir new; cd new; git init -q .; " + plant)
    same([p for p, r in run.rows().items() if r["refused"]], [])
    run = Run(lambda top: subprocess.run(["git", "init", "-q", "--bare", top], check=True), plant.replace(".git/", ""))
    same([p for p, r in run.rows().items() if r["refused"]], [planted[5:]])
    # The objects of a submodule that the host has, at any depth, and a folder that is `objects` where case does not count.
    for folder in "modules/m", "modules/objects", "modules/refs/deep", "worktrees/x/modules/m":
        def with_module(top):
            repository(top)
            subprocess.run(["git", "init", "-q", "--bare", "%s/.git/%s" % (top, folder)], check=True)
        run = Run(with_module, commit + plant.replace(".git/", ".git/%s/" % folder))
        inner = planted.replace(".git/", ".git/%s/" % folder)
        rows = run.rows()
        assert inner in rows and "another object than its name says" in (rows[inner]["refused"] or ""), (inner, rows.get(inner))
        run.ask("apply", ".git", "--force")
        same((git(run, "log", "--format=%s").split(), os.path.exists(run.path(inner))), (["two", "one"], False))
    run = Run(repository, commit + plant.replace("objects", "Objects"))
    same([p for p, r in run.rows().items() if r["refused"]], [planted.replace("objects", "Objects")])
    run = Run(repository, commit + "git init -q --bare .git/modules/n; " + plant.replace(".git/", ".git/modules/n/"))
    same([p for p, r in run.rows().items() if r["refused"]], [])
    # Git LFS copies what is there, too.
    good, other = (".git/lfs/objects/12/34/" + hashlib.sha256(text).hexdigest() for text in (b"good\n", b"other\n"))
    run = Run(repository, commit + "mkdir -p .git/lfs/objects/12/34; echo good >%s; echo evil0 >%s; echo x >.git/lfs/objects/12/34/x" % (good, other))
    same([p for p, r in run.rows().items() if r["refused"]], [other])
    run.ask("apply")
    same((run.read(good), os.path.exists(run.path(other)), git(run, "log", "--format=%s").split()), (b"good\n", False, ["two", "one"]))
    # A pack, and lists that git believes.
    for pack in "git repack -adq", "git commit-graph write --reachable":
        run = Run(repository, commit + pack)
        rows = run.rows()
        assert "in place of those" in rows[".git/index"]["held"], rows[".git/index"]
        run.ask("apply")
        same(git(run, "log", "--format=%s").split(), ["one"])
        run.ask("apply", ".git")
        same(git(run, "log", "--format=%s").split(), ["two", "one"])
        git(run, "fsck", "--strict")


@test
def spellings_of_names():
    """As vfat, NTFS, HFS+ and casefolding see them."""
    git = [".GIT", ".git.", ".git ", ".git. .", "GIT~1", "git~3", ".g\u200cit", ".gi\u00adt", ".git::$INDEX_ALLOCATION", ".git\\x", "\u2060.git"]
    others = [".ENVRC", ".envrc.", ".envrc:x", "ENVRC~1", "x/.v\u200bscode/tasks.json", "x/.V\u017fcode/tasks.json", "secret. /key", "CONFIG~1.WOR", ".\ufeffenvrc", ".pre-commit-con\ufb01g.yaml"]
    plain = ["gitx", ".gitx", "git~", "git~1x", "a.~1~", "x.y~", "verylong~1", "\u00e9", "a: b", ".\u00e9nvrc", "..."]
    run = Run(put({"a": "1"}), "".join("mkdir '%s'; echo 1 >'%s/HEAD'; " % (n, n) for n in git) +
              "".join("mkdir -p \"$(dirname '%s')\"; echo 1 >'%s'; " % (n, n) for n in others + plain), protected=["secret"])
    rows = run.rows()
    for name in git:
        assert rows[name]["held"] and rows[name + "/HEAD"]["held"] and rows[name + "/HEAD"]["held_at"] == name, (name, rows[name])
    for name in others:
        assert rows[name]["held"], name
    same([n for n in plain if rows[n]["held"]], [])
    run.ask("apply")
    same(sorted(n for n in os.listdir(run.workspace) if os.path.isfile(run.path(n))), sorted(["a"] + plain))
    same(os.listdir(run.path("x")) if os.path.exists(run.path("x")) else [], [])


@test
def paths_of_an_index():
    """Git writes the files of an index without a look at their paths: so one with a path in .git is held, and with it a new repository."""
    def index(path):
        return "DIRC\0\0\0\2\0\0\0\1" + "\0" * 61 + chr(len(path)) + path + "\0" * (8 - (62 + len(path)) % 8) + "\0" * 20
    run = Run(put({".git/HEAD": "x", ".git/index": index("a"), ".git/refs/x": "1", "b/.git/HEAD": "x", "b/.git/index": "old"}), """
cp .git/index saved; mkdir -p new/.git good/.git
printf 'DIRC\\0\\0\\0\\2\\0\\0\\0\\1%061d\\014.git/hooks/x\\0\\0\\0\\0\\0\\0%020d' 0 0 | tr '0' '\\0' >.git/index
cp saved good/.git/index; cp saved b/.git/index; cp .git/index new/.git/index; rm saved; echo 2 >.git/refs/x""")
    rows = run.rows()
    same(sorted(p for p, r in rows.items() if r["held"]), [".git/index", "new/.git", "new/.git/index"])
    run.ask("apply")
    same(run.read(".git/index"), index("a").encode())
    same(run.read(".git/refs/x"), b"2\n")
    same(run.read("b/.git/index"), index("a").encode())


@test
def places_that_git_names():
    """By core.hooksPath, included files and commands, in the configurations of the caller and of repositories; and by links of the host."""
    outside = FOLDER + "/named"
    os.makedirs(outside + "/home/.config/git")
    ENV["HOME"] = outside + "/home"
    def make(top):
        put({"tools/hooks/pre-commit": "1\n", "x": "1", "linked/hook": "1\n", "conf/vscode/tasks.json": "1\n", ".vscode": "link:conf/vscode", "meta/x": "1",
             ".github": "link:meta", "sub/.git/HEAD": "x", "sub/.git/config": "[core]\n hooksPath = .././../top-hooks\n", "tools/clean.py": "1\n", "tools/other.py": "1\n",
             "bare/HEAD": "x", "bare/refs/x": "1", "bare/objects/x": "1", "bare/config": "[include]\n path = ../tools/included\n", "mods/x/HEAD": "x",
             "mods/x/config": "[core]\n hooksPath = \"over there\"\n", "worktree/.git": "gitdir: ../mods/x\n", "worktree/f": "1"})(top)
        put({".git/HEAD": "x", ".git/config": "[core]\n hooksPath = ~/hooks\n[filter \"a\"]\n clean = python3 'tools/clean.py' --x=y\n[includeIf \"gitdir:x\"]\n path = more\n",
             ".git/hooks/commit-msg": "link:../../linked/hook", ".git/more": "[gpg]\n program = %s/tools/gpg\n" % top, "tools/gpg": "1\n"})(top)
        os.symlink(top + "/tools/hooks", outside + "/home/hooks")
        with open(outside + "/home/.config/git/config", "w") as f:
            f.write("[core]\n hooksPath = .common\n[include]\n path = %s/tools/mine\n" % top)
    run = Run(make, """
for f in tools/hooks/pre-commit tools/hooks/new x linked/hook conf/vscode/tasks.json conf/x tools/clean.py tools/other.py tools/included tools/mine tools/gpg worktree/f; do echo 2 >$f; done
mkdir -p top-hooks sub/.common deep/er/.COMMON meta/hooks 'worktree/over there' top; for d in top-hooks sub/.common deep/er/.COMMON meta/hooks 'worktree/over there' top; do echo 2 >"$d/f"; done
ln -s x .common; ln -s ../x top/.github; ln -s ../x deep/.common""")
    held = ["tools/hooks/pre-commit", "tools/hooks/new", "linked/hook", "conf/vscode/tasks.json", "tools/clean.py", "tools/included", "tools/mine", "tools/gpg",
            "top-hooks", "top-hooks/f", "sub/.common", "sub/.common/f", "deep/er/.COMMON", "deep/er/.COMMON/f", "meta/hooks", "meta/hooks/f", "worktree/over there",
            "worktree/over there/f", ".common", "top/.github", "deep/.common"]
    rows = run.rows()
    same(sorted(p for p, r in rows.items() if r["held"]), sorted(held))
    same(rows["tools/hooks/new"]["held_at"], "tools/hooks")
    run.ask("apply")
    run.json("apply", ".", "tools", "sub")
    same(sorted(run.kinds()), sorted(held))
    run.ask("apply", "tools/hooks")
    same(run.read("tools/hooks/new"), b"2\n")
    # Files that git reads and trusts, and names as a shell takes them apart.
    config = r"""[gpg "ssh"]
 allowedSignersFile = tools/signers
 program = tools/my signer
[core]
 attributesFile = tools/attributes
 sshCommand = ssh -F./tools/ssh-config -i ~/key
 editor = \"tools/an editor\" --wait
[http "https://x/"]
 sslCAInfo = tools/ca.pem
 sslCAPath = tools/ca
[fetch "fsck"]
 skipList = tools/skip
[filter "b"]
 clean = $HOME/clean.sh && ${TOP:-x}/tools/by-variable
 smudge = $(git rev-parse --show-toplevel)/tools/by-command
 process = tools/back\\ slash
"""
    trusted = ["tools/" + name for name in ("signers", "my signer", "attributes", "ssh-config", "an editor", "ca.pem", "ca/1", "skip", "clean.sh", "by-variable", "by-command", "back slash")]
    def trust(top):
        put({name: "1" for name in [*trusted, "tools/other"] if name != "tools/skip"})(top)
        put({".git/HEAD": "x", ".git/config": config})(top)
        os.symlink(top + "/tools/clean.sh", outside + "/home/clean.sh")
    run = Run(trust, "; ".join("echo 2 >'%s'" % name for name in [*trusted, "tools/other"]))
    same(sorted(p for p, r in run.rows().items() if r["held"]), sorted(trusted))
    # Hooks in the top folder of the repository: each file can be one. A repository above the workspace counts, too.
    with open(outside + "/home/.config/git/config", "w") as f:
        f.write("[core]\n hooksPath = .\n")
    run = Run(put({"a": "1"}), "echo 2 >a; mkdir d; echo 1 >d/f")
    assert all(r["held"] for r in run.rows().values())
    # The home of another user is not looked for: it may be anywhere.
    for text in "[core]\n hooksPath = ~root/x\n", "[include]\n path = ~root/x\n":
        with open(outside + "/home/.config/git/config", "w") as f:
            f.write(text)
        assert all(r["held"] for r in run.rows().values())
    with open(outside + "/home/.config/git/config", "w") as f:
        f.write("[core]\n hooksPath =\n")
    same([p for p, r in run.rows().items() if r["held"]], [])
    git = os.path.dirname(run.workspace) + "/.git"
    put({"HEAD": "x", "config": "[core]\n hooksPath = %s/d\n" % os.path.basename(run.workspace)})(git)
    same([p for p, r in run.rows().items() if r["held"]], ["d", "d/f"])
    shutil.rmtree(git)
    ENV["HOME"] = os.environ.get("HOME", "/")


@test
def commits_in_a_submodule():
    def make(top):
        repository = "git -c init.defaultBranch=main init -q %s; cd %s; echo 1 >f; git add f; " + GIT + "git commit -qm one; "
        subprocess.run(["sh", "-ec", repository % ("lib", "lib")], cwd=top, check=True)
        subprocess.run(["sh", "-ec", "git -c init.defaultBranch=main init -q; git -c protocol.file.allow=always submodule --quiet add ./lib sub; echo lib >.git/info/exclude; "
                        + GIT + "git commit -qm one"], cwd=top, check=True)
    commit = GIT + "cd sub; echo 2 >>f; git commit -qam two; git branch side; cd ..; git add sub; git commit -qm two"
    run = Run(make, commit)
    rows = run.rows()
    same({r["repository"] for p, r in rows.items() if p.startswith(".git/")}, {".git"})
    assert ".git/modules/sub/refs/heads/side" in rows and not any(r["held"] for r in rows.values())
    run.ask("apply", ".git/modules/sub", rc=2)
    run.ask("apply")
    same((git(run, "log", "--format=%s").split(), git(run, "-C", "sub", "log", "--format=%s", "side").split()), (["two", "one"], ["two", "one"]))
    same((git(run, "status", "--short"), git(run, "-C", "sub", "fsck", "--strict")), ("", ""))
    # What the host's git has moved in the submodule since keeps all of the repository.
    run = Run(make, commit)
    git(run, "-C", "sub", "-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "--allow-empty", "-m", "host")
    run.ask("apply", rc=1)
    same((git(run, "log", "--format=%s").split(), git(run, "-C", "sub", "log", "--format=%s").split()), (["one"], ["host", "one"]))


@test
def links_to_held_places():
    def make(top):
        put({".git/HEAD": "x", ".git/hooks/x": "1", "in": "link:.git", "away": "link:/etc", "bare/HEAD": "x", "bare/refs/x": "1", "d/f": "1", "fine": "link:d/f"})(top)
    bad = {"a": ".git/hooks", "d/b": "../.git", "c": "in/hooks/new", "e": "away/x", "f": "%s/.git/config", "g": ".envrc", "h": "d/.VSCode/new", "i": "bare/hooks/x", "j": "bare",
           "fine": "in/hooks/x", ".github": "d", ".yarn": "d", "deploy": "d", "d/secret": "../x", "k": "GIT~1/config", "l": ".g\u200cit/config", "x/deploy": "../d", "t": "here/bare/hooks",
           "u": "here/here/bare", "v": "here/in", "w": "%s/here/in/x", "y": "deep/../x", "z": "z"}
    good = {"m": "d", "n": "d/f", "d/o": "f", "p": "%s/d/f", "q": "nowhere", ".gitx": "d", "r": ".github", "d/s": "./t", "here": ".", "aa": "here/d/f"}
    run = Run(make, "mkdir x; " + "".join('ln -sfn "%s" "%s"; ' % (target.replace("%s", "$(dirname $PWD)/WORK"), name) for name, target in {**bad, **good}.items()),
              protected=["deploy/keys", "secret/"])
    for name, target in {**bad, **good}.items():  # absolute targets name the host's workspace
        if "%s" in target:
            run.run("ln -sfn '%s' %s" % (target % run.workspace, name))
    rows = run.rows()
    same(sorted(p for p, r in rows.items() if r["held"]), sorted(bad))
    run.ask("apply")
    same(sorted(run.kinds()), sorted(bad))
    same(os.readlink(run.path("fine")), "d/f")


@test
def protected_places_by_other_ways():
    """By twins in case, below folders that were renamed, by links in place of folders above them."""
    files = {"deploy/keys/k": "1\n", "deploy/x": "1\n", "other/x": "1\n", "cfg/y": "1\n"}
    run = Run(put(files), "mkdir Deploy; mkdir Deploy/KEYS; echo 2 >Deploy/KEYS/k; mkdir new; mv deploy new/deploy; rm -r other; ln -s new other; mkdir -p a/deploy; ln -s ../x a/deploy/keys",
              protected=["deploy/keys"])
    rows = run.rows()
    same(sorted(p for p, r in rows.items() if r["held"]),
         ["Deploy/KEYS", "Deploy/KEYS/k", "a/deploy/keys", "deploy/keys", "deploy/keys/k", "new/deploy/keys", "new/deploy/keys/k"])
    run.ask("apply")
    same((run.read("deploy/keys/k"), os.path.exists(run.path("new/deploy/keys")), run.read("new/deploy/x"), os.path.lexists(run.path("deploy/x"))),
         (b"1\n", False, b"1\n", False))


@test
def git_folders_that_change_their_type():
    if not shutil.which("git"):
        return skip("folders .git of another type", "git is missing")
    run = Run(put({"sub/.git": "gitdir: ../x\n", "own/.git/HEAD": "ref: x\n"}), "cd sub; rm .git; git init -q .; cd ../own; rm -r .git; echo gitdir: ../y >.git")
    rows = run.rows()
    assert all(r["held"] for p, r in rows.items() if p.startswith("sub/.git")) and rows["own/.git"]["held"], rows
    # A new repository in which git finds programs in a submodule's data, in a name that another file system takes for `config`, or in a hook that is not yet executable.
    for bad in ("mkdir -p .git/modules/x; echo x >.git/modules/x/config", "mv .git/config .git/Config", "echo x >.git/hooks/pre-commit", "ln -s ../../x .git/refs/x",
                "mkdir .git/rebase-merge; echo x >.git/rebase-merge/git-rebase-todo", "echo x >.git/objects/info/ALTERN~1"):
        run = Run(put({"a": "1"}), "git init -q .; " + bad)
        same([p for p, r in run.rows().items() if not r["held"]], [], bad)
        run.ask("discard")
    run = Run(put({"a": "1"}), "git init -q .")
    same([p for p, r in run.rows().items() if r["held"]], [])


@test
def other_folders_and_records():
    run = Run(put({"a": "1"}), "echo 2 >a")
    os.rename(run.workspace, run.workspace + "-away")
    os.mkdir(run.workspace)
    assert b"another folder is in the place" in run.ask("apply", rc=2).stderr
    os.rmdir(run.workspace)
    os.symlink(run.workspace + "-away", run.workspace)
    run.ask("apply", rc=125)
    os.unlink(run.workspace)
    os.rename(run.workspace + "-away", run.workspace)
    good = dict(run.record)
    for bad in ({"version": 2}, {"mode": "other"}, {"workspace": "relative"}, {"workspace": "/a/../b"}, {"started_ns": 0}, {"protected": [1]}):
        run.record = dict(good, **bad)
        run.write_record()
        assert b"the record of the run cannot be used" in run.ask("show", rc=2).stderr
    for text in ("", "{", '{"version":1', "[" * 300, '"' + "x" * (2 << 20) + '"'):
        with open(run.state + "/record.json", "w") as f:
            f.write(text)
        run.ask("show", rc=2 if len(text) < 1 << 20 else 125)
    os.unlink(run.state + "/record.json")
    os.mkfifo(run.state + "/record.json")
    run.ask("show", rc=125)
    os.unlink(run.state + "/record.json")
    run.record = good
    run.write_record()
    os.chmod(run.state, 0o777)
    run.ask("apply", rc=125)
    os.chmod(run.state, 0o700)
    run.ask("apply")
    for word in ("..", "", "a/b", ".hidden", "none"):
        run.id = word
        run.ask("show", rc=2)


@test
def failures_are_taken_back():
    if ROOT:
        return  # no mode denies root anything
    def make(top):
        put({"a": "1\n", "d/x": "1\n", "b": "1\n"})(top)
        os.chmod(top + "/d", 0o555)  # closed to this user, and not to root of the namespace
    run = Run(make, "echo 2 >a; echo 2 >d/x; rm b; mkdir e; echo 1 >e/f")
    before = tree(run.workspace)
    answer = run.ask("apply", rc=125).stderr.decode()
    assert "d/x" in answer and "as it was before" in answer, answer
    same(tree(run.workspace), before)
    same([p for p, r in run.rows().items() if r["conflict"]], [])  # the times of change are our own
    os.chmod(run.path("d"), 0o755)
    run.ask("apply", "a", "b", "d/x", "e")
    same((run.read("a"), run.read("d/x"), run.read("e/f"), os.path.exists(run.path("b"))), (b"2\n", b"2\n", b"1\n", False))


def changes(cwd, *words, rc=0):
    done = subprocess.run([AJ, "changes", *words], env=ENV, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    same(done.returncode, rc, "changes %s: %s" % (" ".join(words), done.stderr))
    return done


def another(run, id, **members):
    """A second run with the same changes of the same workspace."""
    shutil.copytree(run.state, CHANGES + "/" + id, symlinks=True, ignore=lambda folder, names: ["work"] if folder == run.state else [])
    with open("%s/%s/record.json" % (CHANGES, id), "w") as f:
        json.dump(dict(run.record, id=id, **members), f)


@test
def without_an_id():
    """The newest run on the folder, or on a folder around it up to the top of its repository; words that are no ID are paths."""
    other = Run(put({"a": "1\n"}), "echo 3 >a", name="other")
    run = Run(put({"a": "1\n", "b": "1\n", "sub/d/c": "1\n"}), "echo 2 >a; echo 2 >b; echo 2 >sub/d/c; echo 2 >sub/new", name="newest")
    another(run, "older-1", started_ns=run.record["started_ns"] - 10**9)
    top, sub = run.workspace, run.path("sub/d")
    shown = json.loads(changes(top, "--json").stdout)
    same((shown["id"], len(shown["changes"])), (run.id, 4))
    same(changes(top).stdout, changes(top, "show").stdout)
    assert b"+2" in changes(top, "diff", "b").stdout
    # A folder below is one of the workspace if both are in one repository; the nearest run is no better than the newest.
    error = changes(sub, "show", rc=2).stderr
    assert b"no run has left changes of the folder" in error and b"changes list" in error, error
    os.mkdir(run.path(".git"))
    with open(run.path(".git/HEAD"), "w") as f:
        f.write("ref: refs/heads/main\n")
    os.makedirs(run.path(".git/objects"))
    same(json.loads(changes(sub, "show", "--json").stdout)["id"], run.id)
    shutil.rmtree(run.path(".git"))
    # Another folder, and none that exists.
    same(json.loads(changes(other.workspace, "show", "--json").stdout)["id"], other.id)
    changes(FOLDER, "show", rc=2)
    changes(FOLDER, rc=2)
    # An ID, its beginning, paths: of the host alone, of the run alone, and after `--`.
    same(json.loads(changes(top, "show", "older", "a", "--json").stdout)["id"], "older-1")
    for words in (("sub",), ("sub/new",), ("--", "sub"), ("./sub/d", "sub/new")):
        shown = json.loads(changes(top, "show", "--json", *words).stdout)
        assert shown["id"] == run.id and len(shown["changes"]) == 2 - (words == ("sub/new",)), (words, shown)
    error = changes(top, "discard", "oldr", rc=2).stderr
    assert b"neither the ID of a run nor a path" in error and run.id.encode() in error, error
    assert b"there are no changes of a run `nosuch`" in changes(FOLDER, "show", "nosuch", rc=2).stderr
    changes(top, "apply", "--abort", "a", rc=2)
    assert {other.id, run.id, "older-1"} <= set(os.listdir(CHANGES))
    # What changes something names its run.
    done = changes(top, "apply", "a")
    assert run.id.encode() in done.stderr and run.read("a") == b"2\n" and run.read("b") == b"1\n", done
    assert run.id.encode() in changes(top, "discard", "sub").stderr
    same(sorted(run.kinds()), ["b"])
    done = changes(top, "discard")
    assert run.id.encode() in done.stderr + done.stdout and not os.path.exists(run.state), done
    same(json.loads(changes(top, "--json").stdout)["id"], "older-1")
    same(json.loads(changes(top, "discard", "--json").stdout), {"id": "older-1", "discarded": 1, "kept": 0})
    changes(top, "discard", rc=2)
    other.ask("discard")


@test
def discard_all():
    for name in os.listdir(CHANGES):
        subprocess.run(["chmod", "-R", "u+rwx", CHANGES + "/" + name], check=True)
    first, second = Run(put({"a": "1"}), "echo 2 >a"), Run(put({"a": "1"}), "mkdir -p x/y; chmod 0 x/y; chmod 0 x")
    with locked(first):
        answer = json.loads(subprocess.run([AJ, "changes", "discard", "--all", "--json"], env=ENV, stdout=subprocess.PIPE, check=True).stdout)
        same(answer["kept"], 1)
    same(os.listdir(CHANGES), [first.id])
    subprocess.run([AJ, "changes", "discard", "--all"], env=ENV, stdout=subprocess.PIPE, check=True)
    same(os.listdir(CHANGES), [])
    assert b"no run has changes" in subprocess.run([AJ, "changes", "list"], env=ENV, stdout=subprocess.PIPE, check=True).stdout


if can_overlay():
    main()
else:
    skip("changes", "this user cannot mount an overlay here")
    print("0 passed, 0 failed, 1 skipped")
