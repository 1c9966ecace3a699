#!/bin/sh
# The architecture as a test: which folder of src/ may include which, and which single file may use a library or a
# kernel interface. It compiles nothing, knows no exception that is not written down here, and first proves on
# planted violations that it can fail.
set -eu
cd "$(dirname "$0")/.."

rules=$(cat <<'RULES'
# layer: folder, what it may include
layer base
layer policy    base
layer plan      policy base
layer sandbox   plan base
layer run       sandbox tools plan policy base
layer house     pool tools run sandbox plan policy base
layer pool      run sandbox plan policy base
layer serve     house tools run plan policy base
layer lib       house tools run plan policy base
layer cli       lib serve house run tools plan policy base
# Declarations and calls as data: it runs no tool and knows no jail.
layer tools     base
# The guest is linked into the jail's Python: it gets as little of us as can be.
layer guest     base
# A program of its own, which nothing of ours goes into.
layer scope
# Build-time tools read the tables that they print.
layer gen       cli serve sandbox tools plan policy base

# door: one file may include one header of a layer that its folder may not see
door sandbox/seccomp.h  policy/policy.h    the names of profiles and networks, not the policy
door guest/guest.c      sandbox/seccomp.h  installs the ready filter
door guest/zygote.h     sandbox/birth.h    the orders that it takes
door guest/zygote.c     sandbox/launch.h   the channels of the jails that it bears
door guest/zygote.c     sandbox/init.h     signals, as the launcher's own child has them
door guest/zygote.c     sandbox/mount.h    a jail's own mounts
door guest/zygote.c     sandbox/steps.h    the one table of steps
door guest/zygote.c     sandbox/walls.h    the steps that every jail walks
door guest/zygote.c     plan/pack.h        the plan, as it was sent
door guest/nest.h       plan/plan.h        the namespaces, and what init reports on
door guest/nest.c       sandbox/birth.h    what its inits are called
door guest/nest.c       sandbox/init.h     init's life, once it is born
door guest/nest.c       sandbox/handshake.h  what init says when it fails

# plain: system headers that any file may include; every other one needs an owner
plain ctype.h dirent.h errno.h fcntl.h inttypes.h limits.h poll.h signal.h stdarg.h stdbool.h stddef.h stdint.h stdio.h
plain stdlib.h string.h time.h unistd.h wchar.h sys/resource.h sys/stat.h sys/types.h sys/wait.h

# owner: header (a trailing / means the whole folder), the files that may include it
owner seccomp.h         sandbox/seccomp.c
owner histedit.h        cli/prompt.c
owner locale.h          cli/prompt.c
owner langinfo.h        cli/prompt.c
owner sys/capability.h  sandbox/caps.c
owner netlink/          sandbox/netns.c
owner net/if.h          sandbox/netns.c
owner netdb.h           sandbox/netns.c
owner sys/eventfd.h     lib/handle.c
owner sys/mount.h       sandbox/mount.c sandbox/mask.c sandbox/overlay.c
owner sys/statvfs.h     sandbox/mask.c sandbox/overlay.c run/meter.c
owner sys/vfs.h         sandbox/init.c run/beneath.c
owner linux/magic.h     run/beneath.c
owner sys/epoll.h       base/loop.c pool/worker.c pool/births.c lib/handle.c serve/server.c serve/client.c serve/http.c serve/accept.c pool/kin.c
owner sys/sysmacros.h   sandbox/mount.c sandbox/lockable.c
owner linux/openat2.h   sandbox/mount.c policy/source.c sandbox/copy.c run/beneath.c sandbox/named.c
owner linux/sched.h     sandbox/launch.c guest/nest.c sandbox/branch.c sandbox/connector.c
owner linux/seccomp.h   sandbox/filter.c sandbox/filters.c sandbox/notice.c
owner linux/futex.h     guest/nest.c
owner sys/ioctl.h       sandbox/notice.c sandbox/endpoint.c sandbox/holders.c sandbox/winsize.h
owner linux/filter.h    sandbox/seccomp.h
owner sys/mman.h        sandbox/seccomp.c guest/guest.c guest/nest.c guest/touch.c
owner sys/prctl.h       sandbox/attributes.c sandbox/caps.c sandbox/child.c sandbox/walls.c guest/nest.c guest/zygote.c guest/touch.c sandbox/branch.c sandbox/connector.c
owner sys/single_threaded.h sandbox/launch.c
owner sys/socket.h      sandbox/launch.c sandbox/handshake.c sandbox/child.c run/live.c run/channel.c run/datagram.c sandbox/init.c sandbox/birth.c run/zygote.c guest/nest.c serve/out.c serve/client.c serve/http.c serve/listen.c serve/notify.c run/family.c sandbox/branch.c sandbox/connector.c sandbox/endpoint.h sandbox/named.c sandbox/holders.c
owner sys/un.h          run/datagram.c serve/listen.c serve/notify.c sandbox/connector.c sandbox/endpoint.c sandbox/holders.c
owner arpa/inet.h       serve/listen.c
owner sys/file.h        run/locks.c run/chain.c serve/listen.c run/placeholder.c
owner sys/signalfd.h    run/once.c serve/server.c
owner grp.h             sandbox/launch.c
owner sys/syscall.h     sandbox/attributes.c sandbox/launch.c sandbox/child.c sandbox/mount.c sandbox/landlock.c sandbox/filter.c run/live.c plan/host.c guest/guest.c policy/source.c base/raw.h guest/nest.c guest/branch.c run/branching.c run/family.c sandbox/branch.c sandbox/copy.c sandbox/notice.c run/tell.c run/attest.c run/beneath.c sandbox/connector.c sandbox/endpoint.c sandbox/named.c run/mediate.c sandbox/holders.c sandbox/winsize.c sandbox/lockable.c run/locks.c
owner sys/personality.h sandbox/attributes.c
owner linux/keyctl.h    sandbox/attributes.c
owner sched.h           sandbox/attributes.c plan/build.c plan/dump.c guest/nest.c guest/zygote.c sandbox/branch.c sandbox/connector.c
owner sys/uio.h         sandbox/endpoint.c sandbox/winsize.c sandbox/lockable.c
owner sys/time.h        sandbox/connector.c
owner linux/sockios.h   sandbox/holders.c
owner sys/utsname.h     plan/host.c cli/cmd_doctor.c
owner sys/random.h      cli/jail.c run/ids.c run/zygote.c run/channel.c house/session.c
owner termios.h         cli/lent.h
owner sha2.h            base/hash.c
owner toml++/           policy/toml.cc
owner pwd.h             run/places.c
owner jansson.h         lib/inner.h house/house.h tools/schema.h tools/value.h tools/plain.h tools/tools.h run/result.h base/json.h run/chain.h run/datagram.h run/audit.h run/protect.h run/gitrepo.h cli/cmd_exec.c cli/shell.c cli/findings.h cli/cmd_doctor.c cli/policy.h serve/proto.h serve/metrics.h
owner linux/capability.h plan/host.c guest/nest.c guest/branch.c sandbox/endpoint.c
owner math.h            tools/value.c
owner float.h           tools/value.c
owner systemd/          scope/agentjail-scope.c
owner spawn.h           cli/scope.c
owner dlfcn.h           guest/guest.c guest/python.c

# word: what only these files may say in code (comments and strings do not count)
word SYS_clone3                    sandbox/launch.c guest/nest.c sandbox/branch.c sandbox/connector.c
word SYS_seccomp                   sandbox/filter.c
word SYS_pivot_root                sandbox/mount.c
word SYS_pidfd_getfd               sandbox/notice.c sandbox/endpoint.c
word SYS_openat2                   sandbox/mount.c policy/source.c sandbox/copy.c run/beneath.c sandbox/named.c
word SYS_landlock_restrict_self    sandbox/landlock.c
word SYS_pidfd_send_signal         sandbox/launch.c run/live.c run/branching.c sandbox/branch.c run/tell.c sandbox/connector.c
word mount()                       sandbox/mount.c sandbox/mask.c
word umount2()                     sandbox/mount.c
word move_mount()                  sandbox/mount.c sandbox/mask.c sandbox/overlay.c
word open_tree()                   sandbox/mount.c sandbox/mask.c sandbox/overlay.c
word mount_setattr()               sandbox/mount.c sandbox/mask.c sandbox/handles.c
word fork()                        sandbox/launch.c
word _Fork()                       sandbox/child.c
word setgroups()
word vfork()
word clone()                       guest/nest.c
# A reported call is let through by this flag of the kernel, in one place.
word SECCOMP_USER_NOTIF_FLAG_CONTINUE sandbox/notice.c
word unshare()         guest/zygote.c
word setns()           sandbox/branch.c sandbox/connector.c
# A reported call is let through only as a step of a branch: by this flag of the kernel, and from one function.
word aj_notice_pass()  sandbox/notice.c sandbox/notice.h run/branching.c
word let_pass()        run/branching.c
# Or as a lock on a file, which one file judges.
word aj_notice_pass_lock() sandbox/notice.c sandbox/notice.h run/locks.c
# A reported connect is made for its caller by one process, a lock by the supervisor: only there a call may be said to have gone well.
word aj_notice_done()  sandbox/notice.c sandbox/notice.h sandbox/connector.c run/locks.c
word SYS_pidfd_getfd   sandbox/holders.c
word SYS_process_vm_readv sandbox/endpoint.c sandbox/winsize.c sandbox/lockable.c
# The one way to make a process that a snippet has: nobody else names its flags.
word AJ_BRANCH_FLAGS   base/branch.h guest/branch.c sandbox/notice.c
word execv()
word execve()
word execvp()                      sandbox/child.c
word execvpe()
word execl()
word execlp()
word posix_spawn()                 cli/scope.c
word posix_spawnp()
word system()
word popen()
word setresuid()                   sandbox/walls.c sandbox/branch.c sandbox/connector.c
word setresgid()                   sandbox/walls.c sandbox/branch.c sandbox/connector.c
word prctl()                       sandbox/attributes.c sandbox/child.c sandbox/walls.c sandbox/caps.c guest/nest.c guest/zygote.c guest/touch.c sandbox/branch.c sandbox/connector.c
word dlopen()
word dlsym()                       guest/guest.c guest/python.c
# Library code never prints: only cli/ and the build-time tools decide what a person sees.
word printf()                      cli/* gen/*
word puts()                        cli/* gen/* scope/*
word putchar()                     cli/* gen/*
word perror()
word stdout                        cli/* gen/*
word stderr                        cli/* gen/* scope/*
# Unbounded or silently wrong; base/text has what takes their place. sprintf: one fixed format into a measured buffer.
word gets()
word strcat()
word vsprintf()
word sprintf()                     run/capture.c
word atoi()
word atol()
word strtol()

# Zygotes and their births, beside what is named above.
owner sys/mount.h       sandbox/handles.c
owner linux/sched.h     sandbox/holder.c
owner linux/nsfs.h      sandbox/below.c
owner sys/ioctl.h       sandbox/below.c
owner sys/prctl.h       sandbox/holder.c
owner sys/socket.h      sandbox/channels.c sandbox/holder.c run/newborn.c
owner sys/syscall.h     sandbox/holder.c sandbox/below.c run/newborn.c
owner sched.h           sandbox/holder.c
word SYS_clone3                    sandbox/holder.c
word SYS_pidfd_send_signal         sandbox/below.c
word SYS_pidfd_getfd               run/newborn.c
word open_tree()                   sandbox/handles.c
word unshare()                     sandbox/holder.c
word prctl()                       sandbox/holder.c
RULES
)

# Checks the tree given; prints one line a violation and fails if there is one.
check() {
	printf '%s\n' "$rules" | awk -v root="$1/" '
	NR == FNR {
		if ($1 == "layer") { known[$2] = 1; for (i = 3; i <= NF; i++) layer[$2, $i] = 1 }
		else if ($1 == "door") door[$2, $3] = 1
		else if ($1 == "plain") for (i = 2; i <= NF; i++) plain[$i] = 1
		else if ($1 == "owner") { owned[$2] = 1; for (i = 3; i <= NF; i++) owner[$2, $i] = 1 }
		else if ($1 == "word") { words[$2] = 1; for (i = 3; i <= NF; i++) word[$2, $i] = 1 }
		next
	}
	function bad(text) { print file ":" FNR ": " text; failed = 1 }
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
		split(file, part, "/"); folder = part[1]; inside = 0; files++
		if (!(folder in known)) bad("a folder that no rule knows")
	}
	/^[ \t]*#[ \t]*include/ {
		if (match($0, /"[^"]+"/)) {
			name = substr($0, RSTART + 1, RLENGTH - 2)
			if (name !~ /^[a-z]+\/[a-z_0-9]+\.h$/) { bad("include by folder and name, not `" name "`"); next }
			split(name, part, "/")
			if (part[1] != folder && !((folder, part[1]) in layer) && !((file, name) in door))
				bad(folder "/ must not include " name)
			next
		}
		if (!match($0, /<[^>]+>/)) { bad("an include that cannot be read"); next }
		name = substr($0, RSTART + 1, RLENGTH - 2)
		split(name, part, "/")
		key = (name in owned) ? name : part[1] "/"
		if (key in owned) { if (!((key, file) in owner)) bad("must not include <" name ">") }
		else if (!(name in plain)) bad("<" name "> has no owner: name one in tests/check-layers.sh")
		next
	}
	{
		line = code($0)
		if (line ~ /^[ \t]*$/) next
		for (w in words) {
			bare = w; call = sub(/\(\)$/, "", bare)
			if (!index(line, bare)) continue
			if (line !~ ("(^|[^A-Za-z0-9_])" bare (call ? "[ \t]*\\(" : "([^A-Za-z0-9_]|$)"))) continue
			if (line ~ ("[.>]" bare (call ? "\\(" : ""))) continue
			if (!((w, file) in word) && !((w, folder "/*") in word)) bad("`" w "` is not for this file")
		}
	}
	END {
		if (files < 20) { print "only " files + 0 " files seen: is this the tree?"; failed = 1 }
		exit failed
	}' - "$1"/*/*.[ch] "$1"/*/*.cc
}

# Each line of `planted` must make the check fail, naming that file and line; without them the check must pass.
self_test() {
	copy=$(mktemp -d)
	trap 'rm -rf -- "$copy" "$copy".*' EXIT
	trap 'exit 130' HUP INT TERM
	cp -R src/. "$copy"
	planted='base/fd.c|#include "plan/plan.h"
run/live.c|static int planted(void) { return setgroups(0, 0); }
policy/load.c|#include "plan/host.h"
policy/load.c|#include <sys/socket.h>
policy/load.c|#include <toml++/toml.h>
policy/toml.cc|#include <iostream>
policy/toml.cc|static int planted(void) { return system("true"); }
plan/build.c|#include "sandbox/launch.h"
plan/dump.c|#include "run/result.h"
sandbox/child.c|#include "policy/policy.h"
sandbox/child.c|#include "run/once.h"
sandbox/child.c|#include <sys/mount.h>
sandbox/child.c|#include <netlink/socket.h>
sandbox/launch.c|#include <seccomp.h>
run/live.c|#include "cli/show.h"
run/live.c|#include <sha2.h>
sandbox/child.c|#include "tools/tools.h"
tools/call.c|#include "run/result.h"
tools/tools.c|#include "policy/policy.h"
tools/check.c|#include <jansson.h>
run/audit.c|#include <sys/socket.h>
run/once.c|#include <sys/capability.h>
run/once.c|#include "policy.h"
run/once.c|#include "../cli/show.h"
run/capture.c|  #  include  <openssl/ssl.h>
cli/jail.c|#include "sandbox/launch.h"
cli/cmd_run.c|#include <linux/landlock.h>
guest/guest.c|#include "sandbox/launch.h"
guest/guest.c|#include "plan/plan.h"
guest/zygote.c|#include "sandbox/cgroup.h"
gen/filters.c|#include "run/once.h"
scope/agentjail-scope.c|#include "base/fd.h"
cli/jail.c|#include <systemd/sd-bus.h>
cli/jail.c|static int planted(void) { return posix_spawn(0, 0, 0, 0, 0, 0); }
cli/show.c|static int planted(void) { return fork(); }
run/once.c|static int planted(void) { return mount("a", "b", "c", 0, 0); }
plan/build.c|static void planted(void) { printf("x"); }
run/wire.c|static void planted(void) { fprintf(stderr, "x"); }
run/wire.c|/* comment */ static int planted(void) { return system ("true"); }
cli/paths.c|static int planted(void) { return execve("a", 0, 0); }
run/violations.c|static int planted(void) { return aj_notice_pass(0, 0, 0); }
sandbox/launch.c|static int planted(void) { return SECCOMP_USER_NOTIF_FLAG_CONTINUE; }
base/fd.c|static long planted(void) { return syscall(SYS_clone3, 0, 0); }
new/file.c|int planted;'
	harmless='base/fd.c|/* fork() and system() in a comment */
base/fd.c|static const char planted[] = "mount(x) printf(y) stderr";
base/fd.c|/* a comment over
base/fd.c| * two lines with fork( */
base/fd.c|static int planted(struct planted_row *r) { return r->fork(1) + my_mount(2); }
base/fd.c|#include <stdio.h>'
	# All at once: each is a line of its own, and a check of the whole tree takes its time.
	printf '%s\n' "$planted" | while IFS='|' read -r file line; do
		mkdir -p "$copy/$(dirname "$file")"
		printf '%s\n' "$line" >> "$copy/$file"
		printf '%s:%s:\n' "$file" "$(wc -l < "$copy/$file")"
	done > "$copy.places"
	if check "$copy" > "$copy.found"; then echo 'check-layers: passes over planted violations'; exit 1; fi
	cut -d: -f1,2 "$copy.found" | sed 's/$/:/' | sort -u > "$copy.blamed"
	missed=$(sort -u "$copy.places" | comm -3 - "$copy.blamed")
	if [ -n "$missed" ]; then echo "check-layers: planted and not seen, or seen and not planted:" "$missed"; exit 1; fi
	rm -r "${copy:?}"/* && cp -R src/. "$copy"
	printf '%s\n' "$harmless" | while IFS='|' read -r file line; do printf '%s\n' "$line" >> "$copy/$file"; done
	check "$copy" || { echo 'check-layers: complains where nothing is wrong'; exit 1; }
}

if ! check src; then
	echo 'check-layers: FAILED'
	exit 1
fi
self_test
echo "check-layers: ok, and $(printf '%s\n' "$planted" | wc -l) planted violations are seen"
