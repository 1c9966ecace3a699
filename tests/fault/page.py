"""Makes docs/internals/faults.md of the table that tests/fault/run.sh wrote. It leaves out nothing but numbers that differ from run to run."""
import collections
import re
import sys

HEAD = """# When a system call fails

This page is for contributors who change the launcher, and for reviewers who ask what happens when one of its system
calls fails.

Every system call of the launcher, from its start to its end, fails once with each plausible errno: in the supervisor,
in init, in the guest until its program begins, and in a snippet's runner until the supervisor sends the code.
`make faults` injects these faults with tests/fault/inject.c (ptrace, x86-64 only) and writes this page; `make check`
injects a sample. A run must end in one of these ways:

| outcome | what it means |
|---|---|
| **refused** | nothing began; the error names the step, exit code 125 (2, 126 or 127 if the error is in what the caller passed: an option, a path or the command) |
| libc | libc's own start failed before `main`; nothing began |
| same | no consequence: the guest has exactly the walls of an undisturbed run, as the kernel reports them and as the guest's own probes find them |
| told | a wall or limit that depends on the host is missing, and the result says so |
| bound | no overlay could be made: the folder or file is a read-only bind mount, which `enforced` names |
| own | a folder that an overlay shows beside a file has an overlay of its own |
| held | a protected place is covered by itself, read-only, where an empty folder of ours would have covered the place |
| skipped | a file of /output has no copy, and the result says so; nothing else is different |
| lost | the same, and the result does not say so |
| unconnected | a connect of the jail fails; nothing else is different |
| unreached | the call was not made in this run |
| walls | the inside differs in a point that is no wall; the reason names the point |
| ended | the guest's program had begun; the run ends without `ok` |
| mute | no write succeeds any more, so the exit code of 125 is the whole report |
| audit | the run's end is not in the audit trail; exit code 125, and the result says why |

No run may hang or leave a process, mount or file behind. Every outcome other than **refused** needs a row, with its
reason, in a table in tests/fault/faults.py. Persistent faults (`+`: this call and every later call of the same name)
are injected too; such a run must end as well, and never as `ok` with other walls. Calls that cannot fail (getpid,
umask, ...) are left out.

- [In the supervisor](#in-the-supervisor)
- [In init, the PID 1 of the jail](#in-init-the-pid-1-of-the-jail)
- [In the guest, until its program begins](#in-the-guest-until-its-program-begins)
- [In a snippet's runner, until it is handed the code](#in-a-snippets-runner-until-it-is-handed-the-code)

"""


def main():
    rows = [line.rstrip("\n").split("\t") for line in open(sys.argv[1])]
    one = [r for r in rows if not r[5].endswith("+")]
    more = [r for r in rows if r[5].endswith("+")]
    sys.stdout.write(HEAD)
    kinds = collections.Counter(r[6] for r in rows)
    print("The run behind this page: %d faults, %d of them persistent; %s." % (len(rows), len(more), ", ".join("%d %s" % (n, k) for k, n in kinds.most_common())))
    for role, what in (("supervisor", "In the supervisor"), ("init", "In init, the PID 1 of the jail"), ("guest", "In the guest, until its program begins"),
                       ("runner", "In a snippet's runner, until it is handed the code")):
        print("\n## %s\n\n| call | failed as | outcome | steps named, or why it is right |\n|---|---|---|---|" % what)
        table = collections.defaultdict(lambda: [set(), collections.Counter(), set()])
        for _, a_role, call, _, _, errno, kind, text, why in one:
            if a_role != role or kind == "unreached":
                continue
            cell = table[call, "" if kind == "refused" else kind, why]
            cell[0].add(errno)
            cell[1][kind] += 1
            if kind == "refused":
                cell[2].add(re.sub(r"[^a-z_ ].*", "", text))
        for (call, kind, why), (errnos, count, steps) in sorted(table.items()):
            name = kind or "**refused**"
            print("| `%s` | %s | %s | %s |" % (call, " ".join(sorted(errnos)), name, ", ".join("`%s`" % s for s in sorted(steps)) or why))


main()
