"""Changes of runs over overlays: shown, as a patch, applied and discarded; changes.sh runs it and counts."""
import base64, json, os, shutil, signal, stat, subprocess, sys, time

from client import AJ, EXAMPLES, FOLDER, ROOT, main, same, skip, test
from overlays import CHANGES, ENV, Run, can_overlay, locked, put, settle, tree

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
    assert "M  mod  4 bytes (+0)" in text and "T  folder-to-file  folder -> file" in text and "m  mode  mode 644 -> 755 (executable)" in text, text
    same(run.json("apply")["sum"], {"conflicts": 0, "held": 0, "refused": 0, "for_merge": 0, "arrived": 0, "applied": len(KINDS), "merged": 0, "files": 18})
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
    assert "%s  " % run.id in text and "  2 files  " in text, text
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
         sorted([".envrc", ".vscode", ".vscode/tasks.json", "sub/.vscode", "sub/.vscode/tasks.json", "bare", "out", "sub/up", "src/trick",
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
    same(done.returncode, 0, done.stdout.decode())
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
    for line in ("M  both  2 bytes (+0)  mode 644 -> 755 (executable)", "m  mode  mode 644 -> 600", "M  open  2 bytes (+0)  mode 644 -> 666", "M  bin  2 bytes (+0)  mode 644 -> 755 (executable)",
                 "M  plain  2 bytes (+0)", "m  d/  mode 755 -> 777", "A  new  2 bytes  mode 777 (executable)", "A  usual  2 bytes", "A  tool  2 bytes  mode 755 (executable)", "A  e/  mode 700", "A  usual.d/",
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
    assert b".git/" not in done.stdout and b"1 git folder changed: no patch contains its files" in done.stderr, done
    subprocess.run(["git", "-c", "safe.directory=*", "apply", "-"], cwd=run.workspace, input=done.stdout, check=True)
    same(run.read("a"), b"2\n")


GIT = """export HOME=$PWD/.. GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b\n"""


def git(run, *words, stdin=None):
    done = subprocess.run(["git", "-c", "safe.directory=*", *words], cwd=run.workspace, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=dict(ENV, GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL="/dev/null", GIT_AUTHOR_NAME="h", GIT_AUTHOR_EMAIL="h@b", GIT_COMMITTER_NAME="h",
                                   GIT_COMMITTER_EMAIL="h@b"))
    same(done.returncode, 0, done.stdout.decode(errors="replace"))
    return done.stdout.decode()


def repository(top):
    subprocess.run(["sh", "-ec", GIT + "git init -q -b main . && echo 1 >a && git add . && git commit -qm one"], cwd=top, check=True)


@test
def git_folders():
    """What is in them is never applied by file; each is one change, whatever its name and type."""
    old = {".git/HEAD": "ref: x\n", ".git/config": "1\n", ".git/refs/x": "1\n", ".git/objects/1": "1\n", "sub/.git": "gitdir: ../.git/modules/sub\n",
           "gone/.git/HEAD": "x", "gone/f": "1\n", "bare/HEAD": "x", "bare/objects/1": "1", "bare/refs/x": "1", "bare/src/main.c": "1\n", "same/.git/HEAD": "x",
           "half/refs/x": "1", "turned/.git/HEAD": "x", "back/.git": "gitdir: x\n"}
    script = """
echo 2 >.git/config; echo 2 >.git/hooks; echo 2 >.git/refs/x; echo gitdir: / >sub/.git; rm -r gone; echo 2 >bare/HEAD; echo 2 >bare/config; echo 2 >bare/src/main.c
mkdir -p new/deep/.git/hooks; echo x >new/deep/.git/config; echo 1 >new/deep/f; mkdir -p made.git/objects made.git/refs; echo x >made.git/HEAD; echo 1 >made.git/README
echo x >half/HEAD; mkdir half/objects; rm -r turned/.git; echo gitdir: / >turned/.git; rm back/.git; mkdir back/.git; echo 1 >back/.git/HEAD; ln -s / link; mkdir d; ln -s ../.git d/.git
mkdir .GIT 'x' x/.g‌it; echo 1 >.GIT/config; echo 1 >'x/.g‌it/config'; touch same/.git/HEAD; mkdir tree; echo x >tree/HEAD; echo ../bare >tree/commondir
"""
    want = {".git": ("modified", None), "sub/.git": ("modified", "refused"), "gone/.git": ("deleted", "refused"), "bare": ("modified", None), "new/deep/.git": ("added", "held"),
            "made.git": ("added", "held"), "half": ("added", "held"), "turned/.git": ("type", "refused"), "back/.git": ("type", "refused"), "d/.git": ("added", "refused"),
            ".GIT": ("added", "refused"), "x/.g‌it": ("added", "refused"), "tree": ("added", "held")}
    for mode in "overlay", "copy":
        run = Run(put(old), script, mode=mode)
        found = {r["path"]: (r["kind"], "refused" if r["refused"] else "held" if r["held"] else None) for r in run.json("show")["changes"] if r["repository"]}
        same(found, want, mode)
        for inside in ".git/config", "bare/HEAD", "new/deep/.git/hooks":
            assert b"is in a git folder" in run.ask("apply", inside, rc=2).stderr
        before = {path: entry for path, entry in tree(run.workspace).items() if path.split(b"/")[-2:][0] == b".git" or path.startswith((b".git", b"bare/HEAD"))}
        run.ask("apply")
        now = tree(run.workspace)
        same({path: now.get(path) for path in before}, before)
        same(sorted(path for path in now if path.endswith((b"config", b"hooks", b"commondir"))), [b".git/config"])
        same((run.read("bare/src/main.c"), run.read("new/deep/f"), run.read("made.git/README"), sorted(os.listdir(run.path("gone")))), (b"2\n", b"1\n", b"1\n", [".git"]))
        same({path for path, row in run.rows().items() if not row["repository"]}, {"gone", "link"})
        run.ask("discard", *[path for path in want if path not in ("sub/.git", "gone/.git", "turned/.git")])
        same(sorted(path for path, row in run.rows().items() if row["repository"]), ["gone/.git", "sub/.git", "turned/.git"])


@test
def a_later_run_goes_on_in_a_repository():
    """The layer keeps the git folder until its history has been taken over, and hides nothing of the host's after that."""
    run = Run(put({".git/HEAD": "x", ".git/refs/x": "1\n", ".git/refs/y": "1\n", "a": "1\n"}), "echo 2 >.git/refs/x; rm .git/refs/y; echo 2 >a")
    run.ask("apply", "a")
    run.run("test $(cat .git/refs/x) = 2 && ! test -e .git/refs/y")
    same(run.kinds(), {".git": "modified"})
    run.ask("discard", ".git")
    same(run.kinds(), {})
    run.run("echo 3 >.git/refs/x")
    same(run.kinds(), {".git": "modified"})


COMMIT = GIT + "echo 2 >a; echo n >b; git add .; git commit -qm two; git branch side; "
MODES = ("overlay", "copy")


def head(run, *words):
    return git(run, "log", "--format=%s", *words).split()


@test
def what_git_notes_is_no_change():
    """`git status` refreshes the index, and a fetch or gc may leave notes; what is staged is a change, as a branch named like such a note is."""
    note = "touch -d @1000000000 a; git status --short; git update-index --refresh; echo x >.git/FETCH_HEAD; echo x >.git/gc.log; "
    for mode in MODES:
        for script, found in [(note, {}), (note + "git add --chmod=+x a", {".git": "modified"}), ("git branch FETCH_HEAD", {".git": "modified"}),
                              ("git update-index --assume-unchanged a", {".git": "modified"}), ("git update-index --force-write-index --index-version 4", {})]:
            run = Run(repository, GIT + script, mode=mode)
            same(run.kinds(), found, script)
            if "index" in script:
                with open("%s/%s/.git/index" % (run.state, "copy" if mode == "copy" else "upper"), "rb") as f:
                    assert f.read() != run.read(".git/index"), script


@test
def a_branch_moves_forward():
    """The files by us, the branch and the index by git; what the host's git did meanwhile on its own is no conflict."""
    for mode in MODES:
        run = Run(repository, COMMIT + "echo u >untracked; echo 3 >>b", mode=mode)
        git(run, "status")
        git(run, "branch", "other")
        git(run, "gc", "-q")
        run.write("mine", "host\n")
        git(run, "add", "mine")
        answer = run.json("apply")
        row = answer["repositories"][0]
        same((row["path"], row["verdict"], row["moved"], row["branch"], row["why"]), (".git", "forward", True, "refs/heads/main", None))
        same((head(run), git(run, "branch", "--show-current").strip(), git(run, "status", "--porcelain")), (["two", "one"], "main", " M b\nA  mine\n?? untracked\n"))
        same((run.read("a"), run.read("b"), run.read("mine")), (b"2\n", b"n\n3\n", b"host\n"))
        same(head(run, "refs/agentjail/%s/side" % run.id), ["two", "one"])
        assert b"agentjail changes apply" in git(run, "reflog").encode()
        git(run, "fsck", "--strict")
        same(run.kinds(), {})
        # A detached HEAD moves as well, an empty repository gets its first commit, and staged changes of the same files stop it.
        run = Run(lambda top: (repository(top), subprocess.run(["git", "checkout", "-q", "--detach"], cwd=top, check=True)), COMMIT, mode=mode)
        run.ask("apply")
        same((head(run), git(run, "status", "--porcelain"), head(run, "main")), (["two", "one"], "", ["one"]))
        run = Run(lambda top: subprocess.run(["git", "init", "-q", "-b", "main", top], check=True), GIT + "echo 1 >f; git add f; git commit -qm first", mode=mode)
        run.ask("apply")
        same((head(run), git(run, "status", "--porcelain")), (["first"], ""))
        run = Run(repository, COMMIT, mode=mode)
        git(run, "update-index", "--cacheinfo", "100644," + git(run, "hash-object", "-w", "--stdin", stdin=b"staged\n").strip() + ",a")
        before = tree(run.workspace)
        assert b"git cannot move the index of `.git`" in run.ask("apply", rc=1).stderr
        same({p: e for p, e in tree(run.workspace).items() if b".git" not in p}, {p: e for p, e in before.items() if b".git" not in p})
        same(head(run), ["one"])


LARGE = COMMIT + "echo u >untracked; head -c 20000000 /dev/zero >large; "


def stopped_while_staging(script, *paths, mode="overlay"):
    """A run, and an apply of it that has planned and changed nothing yet."""
    for _ in range(20):
        run = Run(repository, script, mode=mode)
        apply = subprocess.Popen([AJ, "changes", "apply", run.id, *paths], env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while not os.path.exists(run.state + "/journal.staging") and apply.poll() is None:
            pass
        apply.send_signal(signal.SIGSTOP)
        if apply.poll() is None:
            os.waitpid(apply.pid, os.WUNTRACED)
            if os.path.exists(run.state + "/journal.staging"):
                return run, apply
        apply.kill()
        apply.communicate()
    raise AssertionError("each apply was quicker")


@test
def git_of_the_host_at_work():
    """A lock that git of the host holds: nothing is applied. A branch that it moves meanwhile is left where it is."""
    run = Run(repository, LARGE)
    before = tree(run.workspace)
    for lock in ".git/refs/heads/main.lock", ".git/index.lock":
        open(run.path(lock), "w").close()
        done = run.ask("apply", rc=1 if "index" in lock else 125)
        assert b"lock" in done.stderr, done
        os.unlink(run.path(lock))
        same(({p: e for p, e in tree(run.workspace).items() if b".git" not in p}, head(run)), ({p: e for p, e in before.items() if b".git" not in p}, ["one"]))
    run, apply = stopped_while_staging(LARGE)
    other = git(run, "commit-tree", "-p", "HEAD", "-m", "host", "HEAD^{tree}").strip()
    open(run.path(".git/index.lock"), "w").close()  # so the index waits for two seconds
    before = run.read(".git/refs/heads/main")
    apply.send_signal(signal.SIGCONT)
    while run.read(".git/refs/heads/main") == before and apply.poll() is None:
        pass
    git(run, "update-ref", "refs/heads/main", other)
    said = apply.communicate()[1]
    os.unlink(run.path(".git/index.lock"))
    same((head(run), run.read("a"), os.path.exists(run.path("untracked")), os.listdir(run.state).count("journal.moving")), (["host", "one"], b"1\n", False, 0))
    assert b"left in place, since the host has changed it meanwhile: refs/heads/main" in said, said


@test
def killed_while_git_moves():
    """The next apply makes new repositories and settles those that moved, too."""
    new = "git init -q lib; cd lib; echo 1 >f; git add f; git commit -qm first; cd ..; git clone -q --bare lib bare.git"
    for mode in MODES:
        run, apply = stopped_while_staging(LARGE + new, "a", "b", "large", "lib", "lib/.git", "bare.git", ".git", mode=mode)
        open(run.path(".git/index.lock"), "w").close()
        apply.send_signal(signal.SIGCONT)
        while not os.path.exists(run.state + "/journal.moving") and apply.poll() is None:
            pass
        apply.kill()
        apply.communicate()
        os.unlink(run.path(".git/index.lock"))
        done = run.json("apply")
        same((done["resumed"], {r["path"]: r["verdict"] for r in done["repositories"]}), (True, {".git": "same", "bare.git": "made", "lib/.git": "made"}))
        same((run.kinds(), head(run), git(run, "-C", "lib", "log", "--format=%s").split()), ({"untracked": "added"}, ["two", "one"], ["first"]))


@test
def repositories_that_are_new():
    make = GIT + "git init -q -b trunk lib; cd lib; echo 1 >f; git add f; git commit -qm first; git tag v1; git config core.fsmonitor evil; echo evil >.git/hooks/post-checkout; echo 2 >g"
    for mode in MODES:
        run = Run(put({"a": "1\n"}), make, mode=mode)
        same([r["path"] for r in run.json("apply")["held"]], ["lib/.git"])
        same((run.read("lib/f"), os.path.exists(run.path("lib/.git"))), (b"1\n", False))
        same([(r["path"], r["verdict"]) for r in run.json("apply", "lib/.git")["repositories"]], [("lib/.git", "made")])
        run.workspace += "/lib"
        same((head(run), git(run, "tag").split(), git(run, "branch", "--show-current").strip(), git(run, "status", "--porcelain")),
             (["first"], ["v1"], "trunk", "?? g\n"))
        assert b"evil" not in run.read(".git/config") and not os.path.exists(run.path(".git/hooks/post-checkout"))
        same(run.kinds(), {})
        run = Run(put({"a": "1\n"}), GIT + "git init -q --bare -b main b.git; git clone -q b.git /tmp/$$; cd /tmp/$$; git commit -q --allow-empty -m one; git push -q; rm -r /tmp/$$", mode=mode)
        same(([r["path"] for r in run.json("apply")["held"]], os.listdir(run.workspace)), (["b.git"], ["a"]))
        same([(r["path"], r["verdict"]) for r in run.json("apply", "b.git")["repositories"]], [("b.git", "made")])
        same((git(run, "-C", "b.git", "log", "--format=%s", "main").split(), run.kinds()), (["one"], {}))


@test
def submodules():
    def make(top):
        new = "git -c init.defaultBranch=main init -q %s; cd %s; echo 1 >f; git add f; " + GIT + "git commit -qm one; "
        subprocess.run(["sh", "-ec", new % ("lib", "lib")], cwd=top, check=True)
        subprocess.run(["sh", "-ec", "git -c init.defaultBranch=main init -q; git -c protocol.file.allow=always submodule --quiet add ./lib sub; echo lib >.git/info/exclude; "
                        + GIT + "git commit -qm one"], cwd=top, check=True)
    for mode in MODES:
        run = Run(make, GIT + "cd sub; echo 2 >>f; git commit -qam two; git branch side; cd ..; git add sub; git commit -qm two", mode=mode)
        same({r["path"]: r["moved"] for r in run.json("apply")["repositories"]}, {".git": True, ".git/modules/sub": True})
        same((head(run), git(run, "-C", "sub", "log", "--format=%s").split(), git(run, "status", "--short"), run.read("sub/f"), run.kinds()),
             (["two", "one"], ["two", "one"], "", b"1\n2\n", {}))
        git(run, "-C", "sub", "fsck", "--strict")


@test
def commits_with_held_places():
    """The branch stays: with it, `git restore .` would bring what needs an approval."""
    for mode in MODES:
        run = Run(repository, COMMIT + "echo 1 >.envrc; mkdir sub; ln -s /etc sub/l; git add .; git commit -qm three; echo u >untracked", mode=mode)
        answer = run.json("apply")
        row = answer["repositories"][0]
        same((row["verdict"], row["moved"], row["why"], row["command"]),
             ("apart", False, "the run's commits change held places (.envrc, sub/l)", "git merge --ff-only agentjail/%s/main" % run.id))
        same((sorted(r["path"] for r in answer["held"]), [r["path"] for r in answer["applied"]], head(run), run.read("a")),
             ([".envrc", "sub/l"], ["untracked"], ["one"], b"1\n"))
        run.ask("apply", ".", ".envrc")
        same(head(run), ["one"])
        run.ask("apply", ".", ".envrc", "sub/l")
        same((head(run), git(run, "status", "--porcelain"), run.kinds()), (["three", "two", "one"], "?? untracked\n", {}))
        run = Run(repository, COMMIT + "echo 1 >.envrc; git add .; git commit -qm three", mode=mode)
        git(run, "commit", "-q", "--allow-empty", "-m", "host")
        assert b"commits, and the run's commits change held places (.envrc); to take the run's:\n  git merge agentjail/" in run.ask("apply").stdout


@test
def branches_that_went_apart():
    for mode in MODES:
        run = Run(repository, COMMIT + "mkdir d; echo 1 >d/f; git add d; git commit -qm three; echo u >untracked; mkdir -p d/e; echo u >d/e/u; echo 3 >>a", mode=mode)
        git(run, "commit", "-q", "--allow-empty", "-m", "host")
        answer = run.json("apply")
        row = answer["repositories"][0]
        same((row["verdict"], row["moved"], row["command"]), ("apart", False, "git merge agentjail/%s/main" % run.id))
        same(sorted(r["path"] for r in answer["for_merge"]), ["a", "b", "d/f"])
        same(sorted(r["path"] for r in answer["applied"]), ["d", "d/e", "d/e/u", "untracked"])
        same((head(run), run.read("a"), run.read("untracked"), os.path.exists(run.path("b"))), (["host", "one"], b"1\n", b"u\n", False))
        git(run, "merge", "-q", "--no-edit", "agentjail/%s/main" % run.id)
        same((run.read("a"), run.read("b"), run.read("d/f")), (b"2\n", b"n\n", b"1\n"))
        # What was not committed comes after the merge: as a conflict, since the merge has written the file.
        assert b"1 change is in conflict" in run.ask("apply", rc=1).stderr
        run.ask("apply", "--force")
        same((run.read("a"), run.kinds()), (b"2\n3\n", {}))
        # A file that both commits changed: the merge is the user's, and the run's version is not a change any more.
        run = Run(repository, GIT + "printf '1\\n2\\n3\\n4\\n' >a; git commit -qam two; rm -f x", mode=mode)
        git(run, "commit", "-q", "--allow-empty", "-m", "host")
        run.ask("apply")
        git(run, "merge", "-q", "--no-edit", "agentjail/%s/main" % run.id)
        run.write("a", "1\n2\n3\n5\n")
        same([r["path"] for r in run.json("apply")["arrived"]], ["a"])
        same((run.read("a"), run.kinds()), (b"1\n2\n3\n5\n", {}))


@test
def files_that_both_changed():
    lines = "".join("%d\n" % i for i in range(20))
    def make(top):
        put({"a": lines, "b": lines, "s/c": lines, "bin": "\0" + lines, "new": lines})(top)
        subprocess.run(["sh", "-ec", GIT + "git init -q -b main . && git add a b s bin && git commit -qm one"], cwd=top, check=True)
        time.sleep(1.1)  # the log of HEAD has whole seconds
    edit = "for f in a s/c bin new; do sed -i 's/^3$/run/' $f; done; sed -i 's/^5$/run/' b; "
    for mode in MODES:
        for commit in "", GIT + "git commit -qam two":
            run = Run(make, edit + commit, mode=mode)
            for name, line in ("a", "15"), ("s/c", "15"), ("bin", "15"), ("b", "5"), ("new", "15"):
                run.write(name, run.read(name).decode().replace("\n%s\n" % line, "\nhost\n"))
            git(run, "commit", "-qm", "host", "a")
            if commit:  # what the commits touch is left for git's merge
                git(run, "reset", "-q", "HEAD~")
            answer = run.ask("apply", "--merge", rc=1).stderr.decode()
            assert "new  the host has changed it since the run began, and it cannot be merged: no commit has" in answer, answer
            assert "bin  the host has changed it since the run began, and it cannot be merged: only text" in answer, answer
            assert "3 changes" not in answer and "2 changes are in conflict" in answer, answer
            answer = run.json("apply", "--merge", "a", "b", "s", *([".git"] if commit else []))
            same({r["path"]: r["note"] for r in answer["merged"]}, {"a": "without a conflict", "b": "1 conflict, each between markers", "s/c": "without a conflict"})
            same([line for line in run.read("a").decode().split() if line in ("run", "host", "3", "15")], ["run", "host"])
            same(run.read("s/c"), run.read("a"))
            text = run.read("b").decode()
            assert "<<<<<<< host\nhost\n=======\nrun\n>>>>>>> %s\n" % run.id in text, text
            same(sorted(run.kinds()), ["bin", "new"])
            same([name for name in os.listdir(run.state) if name.startswith("merged")], [])


@test
def a_branch_of_another_name():
    for mode in MODES:
        run = Run(repository, COMMIT + "echo u >untracked", mode=mode)
        for bad in "side one", "-x", "a..b":
            assert b"is not a valid name" in run.ask("apply", "--branch", bad, rc=2).stderr
        git(run, "branch", "taken")
        assert b"has a branch `taken` already" in run.ask("apply", "--branch", "taken", rc=2).stderr
        run.ask("apply", "--branch", "theirs")
        same((head(run), head(run, "theirs"), run.read("a"), run.read("untracked")), (["one"], ["two", "one"], b"1\n", b"u\n"))
        git(run, "merge", "-q", "theirs")
        run.ask("apply")
        same((run.read("a"), run.kinds(), git(run, "status", "--porcelain")), (b"2\n", {}, "?? untracked\n"))
        run = Run(put({"a": "1\n"}), "echo 2 >a", mode=mode)
        assert b"no repository" in run.ask("apply", "--branch", "x", rc=2).stderr


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
        assert rows[name]["repository"] and rows[name]["refused"] and name + "/HEAD" not in rows, (name, rows[name])
    for name in others:
        assert rows[name]["held"], name
    same([n for n in plain if rows[n]["held"]], [])
    run.ask("apply")
    same(sorted(n for n in os.listdir(run.workspace) if os.path.isfile(run.path(n))), sorted(["a"] + plain))
    same(os.listdir(run.path("x")) if os.path.exists(run.path("x")) else [], [])


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
def what_git_ignores():
    """By the rules of the host alone, folded by folder; what a person must see is not folded, and each file is counted."""
    if not shutil.which("git"):
        return skip("ignored files", "git is missing")
    def make(top):
        put({".gitignore": "node_modules/\n/build\n*.o\n.env\n!keep.o\n", "a": "1\n", "build/tracked": "1\n", "lib/x": "1\n", "node_modules/old/y": "1\n", ".env": "1\n",
             "link": "link:lib"})(top)
        subprocess.run("git init -q; git add -f .gitignore a build/tracked lib; %s git commit -qm x" % GIT, shell=True, cwd=top, check=True)
    run = Run(make, """
for i in 1 2 3 4 5; do mkdir -p node_modules/p$i/lib; echo $i >node_modules/p$i/lib/x.js; echo {} >node_modules/p$i/package.json; done
echo 2 >node_modules/old/y; echo 2 >build/tracked; echo 2 >build/new; echo 2 >build/new2; mkdir src; for f in a b c keep; do echo 1 >src/$f.o; done
echo 2 >.env; echo 2 >a; rm -r lib; rm link; mkdir link; echo 1 >link/z; mkdir -p node_modules/.vscode; echo x >node_modules/.vscode/tasks.json
mkdir one.d; echo 1 >one.d/only.o; echo '*' >>.gitignore""")
    shown = run.ask("show").stdout.decode()
    for line in ("i  node_modules/  11 files that git ignores: 10 added, 1 modified, 27 bytes", "i  build/  2 files that git ignores by /build: 2 added, 4 bytes",
                 "i  src/  3 files that git ignores by *.o: 3 added, 6 bytes", "A  src/keep.o  2 bytes", "M  build/tracked  2 bytes (+0)", "M  .env  2 bytes (+0)  (git ignores it)",
                 "A  node_modules/.vscode/tasks.json  2 bytes  (git ignores it)", "A  one.d/only.o  2 bytes  (git ignores it)", "A  link/z  2 bytes", "M  a  2 bytes (+0)"):
        assert "\n" + line + "\n" in shown, (line, shown)
    files = [r for r in run.rows().values() if r["is"] and r["is"]["type"] == "file" or r["was"] and r["was"]["type"] == "file"]
    assert "\n%d files: " % len(files) in shown and "p1" not in shown, shown
    same(sum(r["ignored"] for r in files), 19)
    same(changes(run.path("lib"), "show", run.id).stdout.decode(), shown)
    every = run.ask("show", "--all").stdout.decode()
    same((every.count("node_modules/p"), "\ni " in every, "\n%d files: " % len(files) in every), (20, False, True))
    assert "node_modules/p1/package.json" in run.ask("show", "node_modules").stdout.decode()
    # Conflicts are seen; without a repository nothing is folded.
    run.write("node_modules/old/y", "host\n")
    assert "M  node_modules/old/y  2 bytes (-3)  CONFLICT" in run.ask("show").stdout.decode()
    shutil.rmtree(run.path(".git"))
    assert "node_modules/p1/package.json" in run.ask("show").stdout.decode()
    run.ask("discard")


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
