#!/bin/sh
# The architecture as a test: the order of the groups of src/, what a folder may include, which files make a sensitive system call or use a
# library; no include cycle, no struct tag and no external function defined twice, no line over 130 columns. It compiles nothing, and shows
# on planted violations that it can fail.
set -eu
cd "$(dirname "$0")/.."

rules=$(cat <<'RULES'
# group: the groups of src/ in order: a file includes those of its own group and of groups that stand before it
group base
group policy
group sandbox
group network
group workspace
group jail
group session
group service
group lib
group cli
group guest
group gen

# only: a folder that may include less than its group may: itself and these folders
only base
only base/json          base
only base/loop          base
only base/toml          base
only base/tree          base
# Files and options become a policy without a look at the machine; a plan gets facts of the machine and asks it nothing.
only policy             base base/toml
only policy/load        base base/toml policy
only policy/host        base base/toml policy policy/load
only policy/seccomp     base policy
# The code that builds the walls takes them from the plan alone.
only sandbox            base policy/seccomp policy/plan sandbox/cgroup sandbox/mounts sandbox/netns
only sandbox/cgroup     base policy/plan
only sandbox/mounts     base policy/plan
only sandbox/netns      base policy/plan
# Parsers of foreign bytes open no socket; helper processes parse none of the bytes that they forward.
only network/inspect    base
only network/helper     base base/loop
# Declarations and calls as data: no tool runs there, and no jail is known.
only session/jsonschema base
only session/tools      base base/json session/jsonschema
only service/protocol   base base/json policy/plan
only service/sockets    base base/loop
# The library is what is below the service.
only lib                base base/json policy policy/host policy/plan sandbox/mediate jail jail/result session session/tools
# The guest is linked into the jail's Python: it may include little of this project; `door` rows are the exceptions.
only guest              base
# alone: a program of its own, which includes no header of this project
alone cli/agentjail-scope.c

# python: package of the Python layer (src/guest/layer/), the packages whose modules it may import: rows above its own alone
python check
python files
python rail      check files
python values    rail
python runtime   check rail values

# door: one file may include one header of a group that its own may not see
door guest/guest.c      policy/seccomp/compile.h  installs the ready filter
door guest/zygote.h     sandbox/birth_protocol.h    the orders that it takes
door guest/zygote.c     sandbox/launch.h   the channels of the jails that it bears
door guest/zygote.c     sandbox/init.h     signals, as the launcher's own child has them
door guest/zygote.c     sandbox/mounts/mount.h     a jail's own mounts
door guest/zygote.c     sandbox/steps.h    the one table of steps
door guest/zygote.c     sandbox/jail_steps.h    the steps that every jail walks
door guest/zygote.c     policy/plan/pack.h        the plan, as it was sent
door guest/birth.h       policy/plan/plan.h        the namespaces, and what init reports on
door guest/birth.c       sandbox/init.h     init's life, once it is born
door guest/birth.c       sandbox/caps.h       the capabilities that no jail has
door guest/birth.c       sandbox/handshake.h  what init says when it fails

# plain: system headers that any file may include; every other one needs an owner
plain arpa/inet.h ctype.h elf.h errno.h fcntl.h float.h fnmatch.h inttypes.h jansson.h langinfo.h limits.h linux/capability.h
plain linux/fs.h linux/futex.h linux/magic.h linux/nsfs.h linux/openat2.h linux/sockios.h locale.h math.h netinet/in.h
plain netinet/ip.h netinet/ip6.h netinet/tcp.h poll.h sched.h search.h signal.h stdarg.h stdatomic.h stdbool.h stddef.h stdint.h
plain stdio.h stdlib.h string.h strings.h sys/epoll.h sys/eventfd.h sys/file.h sys/ioctl.h sys/mman.h sys/queue.h
plain sys/random.h sys/resource.h sys/sendfile.h sys/signalfd.h sys/socket.h sys/stat.h sys/statvfs.h sys/syscall.h
plain sys/sysmacros.h sys/time.h sys/types.h sys/uio.h sys/un.h sys/utsname.h sys/vfs.h sys/wait.h sys/xattr.h termios.h time.h
plain unistd.h wchar.h

# The powers of the program. power: the one file that may use the kernel's calls, numbers and headers that follow; other files use its
# functions. A folder (`/*`) stands there only with the reason; `-` is nobody. caller: a header of ours, or a function, whose users a security
# review has to know, and these files. The numbers may be compared everywhere: `nr == SYS_clone` makes no call.

# processes: base/clone.h says which function is for whom. Four files exec a program: the jail's, a host command, the MCP server, the host's
# git. What precedes the call differs in each, so each file uses another function of the exec family, which no other file may call
power base/clone.c           clone() fork() _Fork() SYS_clone SYS_clone3 SYS_fork SYS_vfork linux/sched.h
power base/spawn.c           posix_spawn() spawn.h
power sandbox/launch.c       sys/single_threaded.h
power sandbox/child.c        execvp()
power network/helper/host_command.c execl()
power cli/cmd_mcp.c          execv()
power workspace/git/host_git.c execve()
power -                      vfork() posix_spawnp() execvpe() execlp() execle() fexecve() execveat() system() popen() SYS_execve SYS_execveat
caller base/clone.h          sandbox/launch.c sandbox/child.c sandbox/holder.c sandbox/network.c sandbox/mounts/idmap.c sandbox/mediate/connector.c sandbox/mediate/connector_process.c network/helper/helper.c network/helper/host_command.c jail/fork/copier.c guest/birth.c guest/branch.c workspace/git/host_git.c
caller base/spawn.h          cli/env/host_run.c cli/scope.c cli/changes/commits.c cli/terminal/pager.c workspace/changes/patch.c
caller network/helper/host_command.h network/egress/credentials.c network/ask/by_command.c
caller AJ_BRANCH_FLAGS       base/branch_flags.h guest/branch.c policy/seccomp/notify.c

# namespaces: who makes one after its birth, and who joins that of a jail
power base/namespaces.c      setns() unshare() SYS_setns SYS_unshare
caller base/namespaces.h     sandbox/holder.c sandbox/network.c sandbox/mounts/idmap.c sandbox/mediate/connector_process.c network/publish/publisher_process.c jail/fork/copier.c

# mounts: a folder, as the kernel's mount API is a dozen calls with one descriptor between them, and each file there is one kind of mount
power sandbox/mounts/*       mount() move_mount() open_tree() mount_setattr() fsopen() fsconfig() fsmount() sys/mount.h
power sandbox/mounts/mount.c umount2() SYS_pivot_root
power -                      umount() chroot() pivot_root() fspick() SYS_mount SYS_umount2 SYS_move_mount SYS_open_tree SYS_mount_setattr SYS_fsopen SYS_fsconfig SYS_fsmount SYS_fspick SYS_chroot

# identity: ids and capabilities are given up, and never taken. Only caps.c uses libcap, which no process that shares memory can
power base/ids.c             setresuid() setresgid() SYS_setgroups
power base/capset.c          SYS_capset SYS_capget
power base/prctl.c           prctl() SYS_prctl sys/prctl.h
power sandbox/caps.c         sys/capability.h
power sandbox/caps.h         linux/securebits.h
power sandbox/attributes.c   sys/personality.h linux/keyctl.h SYS_keyctl SYS_ioprio_set
power workspace/staging/copy.c sys/fsuid.h
power policy/host/home.c     pwd.h
power -                      grp.h setgroups() initgroups() setuid() setgid() seteuid() setegid() setreuid() setregid() SYS_setfsuid SYS_setfsgid SYS_setresuid SYS_setresgid SYS_setuid SYS_setgid SYS_personality
caller base/ids.h            sandbox/launch.c sandbox/jail_steps.c sandbox/mediate/connector_process.c network/egress/relay_process.c network/publish/publisher_process.c jail/fork/copier.c workspace/staging/copy.c workspace/git/host_git.c
caller base/capset.h         policy/host/host.c sandbox/mediate/endpoint.c workspace/staging/copy.c guest/birth.c guest/branch.c

# seccomp and Landlock: filters, the listener, and the calls that it lets pass. The version of Landlock is asked for by the call that makes a
# ruleset, and policy/host, which has to know it, stands below sandbox: so this number is in two files, and those that restrict are in one
power policy/seccomp/install.c SYS_seccomp
power policy/seccomp/compile.c seccomp.h
power policy/seccomp/compile.h linux/filter.h
power policy/seccomp/notify.c SECCOMP_USER_NOTIF_FLAG_CONTINUE
power sandbox/landlock.c     SYS_landlock_restrict_self SYS_landlock_add_rule
power -                      linux/landlock.h
caller linux/seccomp.h       policy/seccomp/install.c policy/seccomp/combine.c policy/seccomp/append.c policy/seccomp/compile.c policy/seccomp/notify.c
caller SYS_landlock_create_ruleset sandbox/landlock.c policy/host/host.c
caller aj_notify_pass()      policy/seccomp/notify.c policy/seccomp/notify.h jail/fork/fork.c
caller let_pass()            jail/fork/fork.c
caller aj_notify_pass_lock() policy/seccomp/notify.c policy/seccomp/notify.h sandbox/mediate/locks.c
caller aj_notify_pass_tracer_clone() policy/seccomp/notify.c policy/seccomp/notify.h sandbox/mediate/locks.c
caller aj_notify_done()      policy/seccomp/notify.c policy/seccomp/notify.h sandbox/mediate/connector_process.c sandbox/mediate/locks.c

# netlink: a folder, as libnl makes the messages and each file there is one subject: addresses and routes, the interface, redirections. The
# relay's question for a route has a socket of its own, without libnl, which it would carry into a process that the network talks to
power sandbox/netns/*        netlink/ linux/netfilter.h linux/netfilter/nf_tables.h linux/netfilter/nfnetlink.h linux/if_addr.h net/if.h nl_connect() NETLINK_NETFILTER
power network/resolve/own_address.c AF_NETLINK
caller linux/rtnetlink.h     sandbox/netns/egress_net.c network/resolve/own_address.c
caller NETLINK_ROUTE         sandbox/netns/loopback.c sandbox/netns/egress_net.c network/resolve/own_address.c

# other processes: their memory, descriptors and signals
power base/pidfd.c           SYS_pidfd_open SYS_pidfd_getfd SYS_pidfd_send_signal
power policy/seccomp/notify.c SYS_process_vm_readv
power -                      ptrace() process_vm_readv() process_vm_writev() SYS_ptrace SYS_process_vm_writev SYS_kcmp SYS_process_madvise
caller aj_notify_read()      policy/seccomp/notify.c policy/seccomp/notify.h sandbox/mediate/endpoint.c sandbox/mediate/lockable.c
caller aj_pidfd_copy_fd()    base/pidfd.c base/pidfd.h policy/seccomp/notify.c sandbox/mediate/endpoint.c sandbox/mediate/socket_holders.c sandbox/mediate/locks.c jail/pool/newborn.c
caller aj_pidfd_signal()     base/pidfd.c base/pidfd.h sandbox/launch.c jail/jail.c jail/jail_terminal.c jail/fork/fork.c jail/interrupt.c sandbox/mediate/connector.c sandbox/below.c network/helper/helper.c

# paths that a jail may have made are opened by these
power base/beneath.c         SYS_openat2
caller dirent.h              base/listing.h jail/fork/copy_tree.c

# loading code
caller dlfcn.h               guest/guest.c guest/python.c
caller dlsym()               guest/guest.c guest/python.c
power guest/closures.c       link.h
power -                      dlopen() dlmopen()

# libraries. owner: a header (a trailing / means the whole folder) and the files that may include it
owner histedit.h             cli/shell/prompt.c
owner netdb.h                sandbox/netns/loopback.c network/resolve/resolver.c
owner sha2.h                 base/sha256.c
owner toml++/                base/toml/toml.cc
owner systemd/               cli/agentjail-scope.c
owner ares.h                 network/resolve/resolver.c

# word: what only these files may say in code (comments and strings do not count); without a file: nobody.
# Library code never prints: only the folders of the program itself and the build-time tools decide what a person sees.
word printf()               cli/terminal/* cli/* cli/policy/* cli/shell/* gen/* cli/changes/* cli/env/*
word puts()                 cli/terminal/* cli/* cli/policy/* cli/shell/* gen/* cli/changes/* cli/env/*
word putchar()              cli/terminal/* cli/* cli/policy/* cli/shell/* gen/* cli/changes/* cli/env/*
word perror()
word stdout                 cli/terminal/* cli/* cli/options/load_policy.c cli/policy/* cli/shell/* gen/* cli/changes/* cli/env/*
word stderr                 cli/terminal/* cli/* cli/options/load_policy.c cli/policy/* cli/shell/* gen/* cli/changes/* cli/env/*
# Unbounded or silently wrong; base/text has what takes their place. sprintf: one fixed format into a measured buffer.
word gets()
word strcat()
word vsprintf()
word sprintf()              jail/result/output_buffer.c
word atoi()
word atol()
word strtol()
RULES
)

# Awk of both checks: the row of a Python package (it may use itself and those that it names, all of rows above), and a violation.
shared='
	function read_row(may,    i) {
		known[$2] = 1
		for (i = 2; i <= NF; i++) {
			if (!($i in known)) { print "tests/check-layers.sh: " $2 " names " $i ", which has no row above"; failed = 1 }
			may[$2, $i] = 1
		}
	}
	function above(path) { sub(/\/[^\/]*$/, "", path); return path }
	function bad(text) { print file ":" FNR ": " text; failed = 1 }'

# Checks the tree given; prints one line a violation and fails if there is one.
check() {
	printf '%s\n' "$rules" | awk -v root="$1/" "$shared"'
	NR == FNR {
		if ($1 == "group") group[$2] = ++groups
		else if ($1 == "only") { narrow[$2] = 1; for (i = 3; i <= NF; i++) only[$2, $i] = 1 }
		else if ($1 == "alone") alone[$2] = 1
		else if ($1 == "door") door[$2, $3] = 1
		else if ($1 == "plain") for (i = 2; i <= NF; i++) plain[$i] = 1
		else if ($1 == "owner" || $1 == "word") for (i = 3; i <= NF; i++) permit($2, $i)
		else if ($1 == "caller") for (i = 3; i <= NF; i++) { permit($2, $i); unused[$2, $i] = 1 }
		else if ($1 == "power") for (i = 3; i <= NF; i++) {
			if ($i in user) bad_rule("`" $i "` has two owners, " user[$i] " and " $2)
			if ($i ~ /[a-z]\/[a-z_0-9]+\.[ch]$/ && $i !~ /^(sys|linux|net|netlink)\//) bad_rule("a power has one file, so this is no power: " $0)
			user[$i] = $2
			permit($i, $2)
		}
		if ($1 == "word" && NF == 2) permit($2, "-")
		next
	}
	function bad_rule(text) { print "tests/check-layers.sh: " text; failed = 1 }
	# Only this file may use `what`: a header or a folder of headers, or a word.
	function permit(what, by,    bare) {
		allow[what, by] = 1
		if (what ~ /\.h$|\/$/) limited[what] = 1
		else if (!(what in words)) {
			words[what] = 1; bare = what; sub(/\(\)$/, "", bare)
			any_word = any_word (any_word == "" ? "" : "|") bare
		}
	}
	function may_use(what) {
		delete unused[what, file]
		return (what, file) in allow || (what, folder "/*") in allow
	}
	# May a file of this folder include one of that folder?
	function allowed(there,    its) {
		if (there == folder) return 1
		if (folder in narrow) return (folder, there) in only
		its = there; sub(/\/.*/, "", its)
		return (its in group) && group[its] <= group[own]
	}
	# Without strings, characters and comments; `inside` remembers a comment that goes on.
	function code(line,    out, c, at) {
		out = ""
		while (line != "") {
			if (inside) {
				at = index(line, "*/")
				if (!at) return out
				line = substr(line, at + 2); inside = 0
				continue
			}
			if (!match(line, /"([^"\\]|\\.)*"|\047([^\047\\]|\\.)*\047|\/\*|\/\//)) return out line
			c = substr(line, RSTART, 2)
			out = out substr(line, 1, RSTART - 1) " "
			line = substr(line, RSTART + RLENGTH)
			if (c == "//") return out
			if (c == "/*") inside = 1
		}
		return out
	}
	FNR == 1 {
		file = substr(FILENAME, length(root) + 1)
		folder = above(file); inside = 0; files++
		own = folder; sub(/\/.*/, "", own)
		if (!(own in group)) bad("a group that no rule knows")
	}
	/^[ \t]*#[ \t]*include/ {
		if (match($0, /"[^"]+"/)) {
			name = substr($0, RSTART + 1, RLENGTH - 2)
			if (name !~ /^[a-z]+(\/[a-z]+)?\/[a-z_0-9]+\.h$/) { bad("include by folder and name, not `" name "`"); next }
			if ((file in alone) || (!allowed(above(name)) && !((file, name) in door)))
				bad(folder "/ must not include " name)
			else if ((name in limited) && name != substr(file, 1, length(file) - 1) "h" && !may_use(name))
				bad("`" name "` is not for this file")
			next
		}
		if (!match($0, /<[^>]+>/)) { bad("an include that cannot be read"); next }
		name = substr($0, RSTART + 1, RLENGTH - 2)
		split(name, part, "/")
		key = (name in limited) ? name : part[1] "/"
		if (key in limited) { if (!may_use(key)) bad("must not include <" name ">") }
		else if (!(name in plain)) bad("<" name "> has no owner: name one in tests/check-layers.sh")
		next
	}
	{
		line = code($0)
		if (line ~ /^[ \t]*$/) next
		gsub(/nr == SYS_[a-z0-9_]+/, "nr", line)
		if (line !~ any_word) next
		for (w in words) {
			bare = w; call = sub(/\(\)$/, "", bare)
			if (!index(line, bare)) continue
			if (line !~ ("(^|[^A-Za-z0-9_])" bare (call ? "[ \t]*\\(" : "([^A-Za-z0-9_]|$)"))) continue
			if (line ~ ("[.>]" bare (call ? "\\(" : ""))) continue
			if (!may_use(w)) bad("`" w "` is not for this file")
		}
	}
	END {
		for (what in unused) {
			split(what, pair, SUBSEP)
			bad_rule(pair[2] " does not use `" pair[1] "`, which a row says")
		}
		if (files < 20) { print "only " files + 0 " files seen: is this the tree?"; failed = 1 }
		exit failed
	}' - "$1"/*/*.[ch] "$1"/*/*/*.[ch] "$1"/*/*/*.cc
}

# The Python layer: each mention of a module, in an import or in a string, is of the own room or of one that the rules name.
# An import is written in full from `agentjail` on: another spelling would hide the room.
check_python() {
	printf '%s\n' "$rules" | awk -v root="$1/" "$shared"'
	NR == FNR {
		if ($1 == "python") read_row(may)
		next
	}
	FNR == 1 {
		file = substr(FILENAME, length(root) + 1)
		split(file, part, "/"); room = part[3]; files++
		if (!(room in known)) bad("a room that no rule knows")
	}
	{ line = $0; gsub(/agentjail --|`agentjail /, "", line) }
	line ~ /^[ \t]*(from[ \t]+\.|import[ \t]+agentjail)/ || (line ~ /^[ \t]*from[ \t]+agentjail[ \t]/ && line !~ /import OWN as __builtins__ /) {
		bad("import from a room, by its full name")
	}
	{
		while (match(line, /agentjail\.[a-z_]+/)) {
			name = substr(line, RSTART + 10, RLENGTH - 10)
			if (!((room, name) in may)) bad("guest/layer/" room "/ must not import agentjail." name)
			line = substr(line, RSTART + RLENGTH)
		}
	}
	END {
		if (files < 10) { print "only " files + 0 " Python files seen: is this the tree?"; failed = 1 }
		exit failed
	}' - "$1"/guest/layer/*/*.py
}

# No include cycle: NAME.c and NAME.h are one, and a header of several files belongs to none. No struct, union or enum tag and no external
# function is defined twice, so that a search leads to one place.
check_names() {
	python3 -c '
import os, re, sys
root, failed = sys.argv[1], False
files = sorted(os.path.relpath(os.path.join(at, name), root) for at, _, names in os.walk(root) for name in names if name.endswith((".c", ".h")))
text = {file: open(os.path.join(root, file), encoding="utf-8").read() for file in files}
unit = lambda file: file.rsplit(".", 1)[0]
uses = {unit(file): set() for file in files}
for file in files:
    uses[unit(file)] |= {unit(name) for name in re.findall(r"^\s*#\s*include\s+\"([^\"]+)\"", text[file], re.M)} - {unit(file)}
reach = {}
for start in uses:
    seen, todo = set(), [start]
    while todo:
        for name in uses.get(todo.pop(), ()):
            if name not in seen:
                seen.add(name)
                todo.append(name)
    reach[start] = seen
def bad(file, line, why):
    global failed
    failed = True
    print("%s:%d: %s" % (file, line, why))
circles = {tuple(b for b in sorted(uses) if b + ".c" in text and (b == a or (b in reach[a] and a in reach[b]))) for a in uses if a in reach[a] and a + ".c" in text}
for circle in sorted(circles):
    if len(circle) > 1:
        bad(circle[-1] + ".c", 1, "include cycle: " + " ".join(circle))
place = {}
for file in files:
    code = re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: "\n" * m.group().count("\n"), text[file], flags=re.S)
    for m in re.finditer(r"^(?:typedef )?(?:struct|union|enum) ([a-z_0-9]+)\s*\{|^(?!static|typedef|return|else|extern)[a-z][\w \t]*?[ \t*](\w+)\([^;{}]*\)\s*\{", code, re.M):
        name = ("tag " + m.group(1)) if m.group(1) else ("function " + m.group(2))
        if name == "function main":
            continue
        first = place.setdefault(name, file)
        if first != file:
            bad(file, code.count("\n", 0, m.start()) + 1, "%s is in %s, too" % (name, first))
sys.exit(failed)' "$1"
}

# No line over 130 columns (a tab is 8), unless it ends in one string literal: a search should find a message whole.
check_columns() {
	python3 -c '
import os, re, sys
root, failed = sys.argv[1], False
files = sorted(os.path.relpath(os.path.join(at, name), root) for at, _, names in os.walk(root) for name in names if name.endswith((".c", ".h", ".cc")))
for file in files:
    for number, line in enumerate(open(os.path.join(root, file), encoding="utf-8"), 1):
        text = line.rstrip("\n").expandtabs(8)
        if len(text) <= 130:
            continue
        last = [m for m in re.finditer(r"\"(?:[^\"\\]|\\.)*\"", text)][-1:]
        if not last or last[0].start() >= 130 or re.search(r"[^],;:(){} \\]", text[last[0].end():]):
            failed = True
            print("%s:%d: %d columns, 130 are allowed" % (file, number, len(text)))
sys.exit(failed)' "$1"
}

# Each line of `planted` must make the check fail, naming that file and line; without them the check must pass.
self_test() {
	copy=$(mktemp -d)
	trap 'rm -rf -- "$copy" "$copy".*' EXIT
	trap 'exit 130' HUP INT TERM
	cp -R src/. "$copy"
	planted='base/fd.c|#include "policy/plan/plan.h"
jail/jail.c|static int planted(void) { return setgroups(0, 0); }
policy/load/load.c|#include "policy/host/host.h"
policy/load/load.c|#include <toml++/toml.h>
base/toml/toml.cc|#include <iostream>
base/toml/toml.cc|static int planted(void) { return system("true"); }
policy/plan/build.c|#include "sandbox/launch.h"
policy/plan/dump.c|#include "jail/result/result.h"
sandbox/child.c|#include "policy/policy.h"
sandbox/child.c|#include "jail/once.h"
sandbox/child.c|#include <sys/mount.h>
sandbox/child.c|#include <netlink/socket.h>
sandbox/launch.c|#include <seccomp.h>
jail/jail.c|#include "cli/terminal/show.h"
jail/jail.c|#include <sha2.h>
sandbox/child.c|#include "session/tools/tools.h"
session/tools/call.c|#include "jail/result/result.h"
session/tools/tools.c|#include "policy/policy.h"
jail/once.c|#include <sys/capability.h>
jail/once.c|#include "policy.h"
jail/once.c|#include "../cli/show.h"
jail/result/output_buffer.c|  #  include  <openssl/ssl.h>
cli/cmd_run.c|#include <linux/landlock.h>
guest/guest.c|#include "sandbox/launch.h"
guest/guest.c|#include "policy/plan/plan.h"
guest/zygote.c|#include "sandbox/cgroup/create.h"
cli/agentjail-scope.c|#include "base/fd.h"
cli/run_jail.c|#include <systemd/sd-bus.h>
cli/run_jail.c|static int planted(void) { return posix_spawn(0, 0, 0, 0, 0, 0); }
cli/terminal/show.c|static int planted(void) { return fork(); }
jail/once.c|static int planted(void) { return mount("a", "b", "c", 0, 0); }
policy/plan/build.c|static void planted(void) { printf("x"); }
jail/channel/encode.c|static void planted(void) { fprintf(stderr, "x"); }
jail/channel/encode.c|/* comment */ static int planted(void) { return system ("true"); }
cli/paths.c|static int planted(void) { return execve("a", 0, 0); }
sandbox/mediate/violations.c|static int planted(void) { return aj_notify_pass(0, 0, 0); }
sandbox/launch.c|static int planted(void) { return SECCOMP_USER_NOTIF_FLAG_CONTINUE; }
base/fd.c|static long planted(void) { return syscall(SYS_clone3, 0, 0); }
new/file.c|int planted;
workspace/growth.c|#include "jail/once.h"
network/egress/rules.c|#include "workspace/location.h"
jail/usage.c|static int planted(void) { return setns(0, 0); }
cli/run_jail.c|static long planted(void) { return syscall(SYS_pidfd_getfd, 0, 0, 0); }
service/client.c|static int planted(void) { return open_tree(0, "x", 0); }
jail/usage.c|#include <netlink/socket.h>
sandbox/launch.c|static long planted(void) { return syscall(SYS_clone3, 0, 0); }
sandbox/network.c|static int planted(void) { return setns(0, 0); }
sandbox/holder.c|static long planted(void) { return aj_syscall_raw(SYS_unshare, 0, 0, 0, 0, 0, 0); }
sandbox/child.c|static int planted(void) { return prctl(0); }
sandbox/jail_steps.c|static int planted(void) { return setresuid(0, 0, 0); }
network/egress/credentials.c|static void planted(void) { execl("a", "b", 0); }
network/egress/credentials.c|#include "base/clone.h"
session/session.c|#include "base/namespaces.h"
service/client.c|#include "network/helper/host_command.h"
jail/once.c|#include "base/ids.h"
guest/zygote.c|#include "base/capset.h"
guest/branch.c|static long planted(void) { return syscall(SYS_capset, 0, 0); }
workspace/growth.c|static long planted(void) { return syscall(SYS_openat2, 0, 0, 0, 0); }
sandbox/mediate/locks.c|static long planted(void) { return syscall(SYS_process_vm_readv, 0, 0, 0, 0, 0, 0); }
sandbox/launch.c|static int planted(void) { return mount_setattr(0, "x", 0, 0, 0); }
sandbox/mediate/locks.c|static int planted(void) { return nr == SYS_clone ? syscall(SYS_clone, 0) : 0; }
cli/scope.c|#include <spawn.h>
network/egress/relay_process.c|static int planted(void) { return socket(AF_NETLINK, 0, 0); }'
	planted_rules='power base/fd.c clone()|`clone()` has two owners, base/clone.c and base/fd.c
power base/fd.c base/clone.c planted()|a power has one file, so this is no power: power base/fd.c base/clone.c planted()
caller base/clone.h base/fd.c|base/fd.c does not use `base/clone.h`, which a row says'
	planted_python='guest/layer/check/checker.py|    from agentjail.rail.format_guards import read_guarded
guest/layer/rail/builtin_guards.py|    from agentjail.values.texts import quote
guest/layer/rail/builtin_guards.py|import agentjail.runtime.main
guest/layer/rail/builtin_guards.py|from agentjail import runtime
guest/layer/rail/builtin_guards.py|from ..runtime import session
guest/layer/rail/patches.py|    __import__("agentjail.runtime.main")
guest/layer/values/json_writer.py|from agentjail.runtime.session import x
guest/layer/runtime/main.py|from agentjail.elsewhere import x
guest/layer/new/file.py|PLANTED = 1'
	harmless='base/fd.c|/* fork() and system() in a comment */
base/fd.c|static const char planted[] = "mount(x) printf(y) stderr";
base/fd.c|/* a comment over
base/fd.c| * two lines with fork( */
base/fd.c|static int planted(struct planted_row *r) { return r->fork(1) + my_mount(2); }
base/fd.c|static int planted(long nr) { return nr == SYS_clone3; }
base/fd.c|#include <stdio.h>'
	# All at once: each is a line of its own, and a check of the whole tree takes its time.
	printf '%s\n' "$planted" | while IFS='|' read -r file line; do
		mkdir -p "$copy/$(dirname "$file")"
		printf '%s\n' "$line" >> "$copy/$file"
		printf '%s:%s:\n' "$file" "$(wc -l < "$copy/$file")"
	done > "$copy.places"
	printf '%s\n' "$planted_python" | while IFS='|' read -r file line; do
		mkdir -p "$copy/$(dirname "$file")"
		printf '%s\n' "$line" >> "$copy/$file"
		printf '%s:%s:\n' "$file" "$(wc -l < "$copy/$file")"
	done >> "$copy.places"
	if check_python "$copy" > "$copy.found" || check "$copy" >> "$copy.found"; then echo 'check-layers: passes over planted violations'; exit 1; fi
	cut -d: -f1,2 "$copy.found" | sed 's/$/:/' | sort -u > "$copy.blamed"
	missed=$(sort -u "$copy.places" | comm -3 - "$copy.blamed")
	if [ -n "$missed" ]; then echo "check-layers: planted and not seen, or seen and not planted:" "$missed"; exit 1; fi
	rm -r "${copy:?}"/* && cp -R src/. "$copy"
	all=$rules
	rules=$(printf '%s\n' "$all" "$planted_rules" | sed 's/|.*//')
	if check "$copy" > "$copy.found"; then echo 'check-layers: passes over planted rules'; exit 1; fi
	rules=$all
	missed=$(printf '%s\n' "$planted_rules" | sed 's/.*|/tests\/check-layers.sh: /' | diff - "$copy.found") ||
		{ echo 'check-layers: planted rules and not seen, or seen and not planted:' "$missed"; exit 1; }
	planted_names='base/text.h|#include "base/json/json.h"|include cycle: base/json/json base/text
workspace/growth.c|struct aj_error { int planted; };|tag aj_error is in base/error.h, too
network/egress/rules.c|int aj_fail(struct aj_error *planted) { return 0; }|function aj_fail is in base/error.c, too'
	printf '%s\n' "$planted_names" | while IFS='|' read -r file line why; do printf '%s\n' "$line" >> "$copy/$file"; done
	if check_names "$copy" > "$copy.found"; then echo 'check-layers: passes over planted names and cycles'; exit 1; fi
	printf '%s\n' "$planted_names" | while IFS='|' read -r file line why; do
		grep -qF "$why" "$copy.found" || { echo "check-layers: planted and not seen: $why"; exit 1; }
	done || exit 1
	[ "$(wc -l < "$copy.found")" -eq 3 ] || { echo 'check-layers: seen and not planted:'; cat "$copy.found"; exit 1; }
	rm -r "${copy:?}"/* && cp -R src/. "$copy"
	planted_columns='base/text.c|static int COLUMNS = 0;
base/text.h|/* COLUMNS */
guest/huge.c|	puts("x"), COLUMNS();
guest/huge.c|	puts("COLUMNS"), planted();'
	columns=$(printf '%0125d' 0 | tr 0 c)
	printf '%s\n' "$planted_columns" | sed "s/COLUMNS/$columns/" | while IFS='|' read -r file line; do
		printf '%s\n' "$line" >> "$copy/$file"
		printf '%s:%s:\n' "$file" "$(wc -l < "$copy/$file")"
	done | sort > "$copy.places"
	if check_columns "$copy" > "$copy.found"; then echo 'check-layers: passes over planted long lines'; exit 1; fi
	missed=$(cut -d: -f1,2 "$copy.found" | sed 's/$/:/' | sort | comm -3 "$copy.places" -)
	if [ -n "$missed" ]; then echo "check-layers: long lines planted and not seen, or seen and not planted:" "$missed"; exit 1; fi
	rm -r "${copy:?}"/* && cp -R src/. "$copy"
	printf '%s\n' "$harmless" | while IFS='|' read -r file line; do printf '%s\n' "$line" >> "$copy/$file"; done
	printf '%s\n' '# from here on' 'from agentjail.rail import builtin_guards as guards' 'HINT = "agentjail --allow-import x"' >> "$copy/guest/layer/runtime/main.py"
	printf '\tplanted("%s");\n' "$columns" >> "$copy/base/fd.c"
	check "$copy" && check_python "$copy" && check_names "$copy" && check_columns "$copy" || { echo 'check-layers: complains where nothing is wrong'; exit 1; }
}

if ! check src || ! check_python src || ! check_names src || ! check_columns src; then
	echo 'check-layers: FAILED'
	exit 1
fi
self_test
echo "check-layers: ok, and $(printf '%s\n' "$planted" "$planted_python" "$planted_rules" "$planted_names" "$planted_columns" | wc -l) planted violations are seen"
