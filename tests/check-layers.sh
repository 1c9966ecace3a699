#!/bin/sh
# The architecture as a test: which folder of src/ may include which, and which single file may use a library or a
# kernel interface. It compiles nothing, and proves on planted violations that it can fail.
set -eu
cd "$(dirname "$0")/.."

rules=$(cat <<'RULES'
# layer: room, what it may include: rooms of rows above its own alone, so that there is no circle
layer base
# One event loop: the supervisor's, the service's and the relay's.
layer loop       base
# Trees that a jail has made, on the host: this room knows what no tree can do to its reader.
layer tree       base
layer json       base
layer toml       base
layer policy     base toml
layer policyload base toml policy
# Bytes of the network, judged: this room opens no socket and allocates nothing.
layer inspect    base
# The caller's terminal, and what may be written to it: this room knows no jail but as a terminal's other side.
layer pty        base loop policy
layer seccomp    base policy
# The machine as it is found: plan/ gets these facts, and asks the machine nothing itself.
layer host       base policy
layer plan       base policy seccomp host
layer cgroup     base plan
layer mounts     base plan
# A jail's network namespace from the inside: addresses, routes, redirections. This room talks to the kernel alone.
layer netns      base plan
layer sandbox    base seccomp plan cgroup mounts netns
layer mediate    base seccomp plan cgroup mounts sandbox
# Names and what they resolve to: this room knows no list of names, and takes nothing from a jail.
layer resolve    base loop inspect
# Processes beside the supervisor that move bytes between sockets: this room parses none of these bytes.
layer helper     base loop
# The relay of a jail's network: a process of its own, which reads what the jail and the network send.
layer egress     base loop policy inspect seccomp sandbox resolve helper
# A person is asked about hosts: this room talks to the caller, a command of the caller's or a terminal, and not to the jail.
layer ask        base loop json policy plan egress
# Ports of the host that lead into a jail: one more process of its own, which moves bytes as the relay does.
layer publish    base loop policy seccomp plan sandbox helper
layer result     base json plan cgroup mediate pty
# The supervisor's half of the conversation with a snippet's runner: this room knows a jail as a socket alone.
layer channel    base json policy seccomp plan sandbox result
# Files that cross between a jail's scratch space and the host: this room reads hostile trees and writes none.
layer files      base json policy plan
layer git        base json plan mounts
# What the supervisor wrote of runs whose changes are kept apart: this room reads no tree of a run.
layer changestate base tree json host
# Which changes wait for their name: this room reads no file's content.
layer held       base tree policy git changestate
# Trees that a jail has made, beside the host's: this room writes to no workspace; the next one does.
layer changes    base tree git changestate held
layer apply      base tree changestate changes
# The private view of a workspace that a jail changes: this room makes it, and mounts nothing.
layer view       base tree json plan mounts changestate changes
layer workspace  base json toml policy policyload host plan mounts git
# The command's home and tools: this room reads the caller's home and writes below the state folder.
layer home       base tree json policy host plan
layer jail       base loop policy policyload host plan cgroup sandbox helper egress ask publish mediate result channel files view workspace pty
layer fork       base tree plan mounts sandbox mediate jail
layer pool       base loop host plan cgroup sandbox channel jail fork
layer audit      base policyload plan result
layer jsonschema base
# Declarations and calls as data: this room runs no tool and knows no jail.
layer tools      base json jsonschema
layer session    base loop json toml policyload host plan result channel files workspace jail pool audit tools
layer lib        base json policy host plan mediate result tools session
# The sockets that a service listens on, and what is sent by them.
layer sockets    base loop
layer metrics    base loop result sockets
# Requests, faults and output as data: this room knows no session and no socket.
layer protocol   base json
layer serve      base loop json policyload result session sockets metrics protocol
# The process before the shards of a service: it reads nothing that a client sends.
layer front      base loop host cgroup helper sockets metrics serve
layer terminal   base toml pty plan result
# The options of the commands that make jails, and the policy that they name: this room makes no jail.
layer options    base policy policyload host plan jail serve terminal
layer cli        base json policy policyload host plan files workspace home jail audit serve front terminal options
layer policycmd  base policy policyload seccomp host plan result workspace home jail terminal options cli
layer changescmd base tree json terminal changestate held changes apply cli
layer shell      base host lib terminal options cli
# The guest is linked into the jail's Python: it gets as little of us as can be; the doors below are for it.
layer guest      base
# A program of its own, which nothing of ours goes into.
layer scope
# Build-time tools read the tables that they print.
layer gen        base json toml policyload seccomp host plan sandbox result jsonschema metrics protocol serve options cli policycmd

# python: room of the Python layer (src/bootstrap/), the rooms whose modules it may import: rows above its own alone
python check
python files
python rail      check files
python values    rail
python runtime   check rail values

# door: one file may include one header of a layer that its folder may not see
door guest/guest.c      seccomp/compile.h  installs the ready filter
door guest/zygote.h     sandbox/birth_protocol.h    the orders that it takes
door guest/zygote.c     sandbox/launch.h   the channels of the jails that it bears
door guest/zygote.c     sandbox/init.h     signals, as the launcher's own child has them
door guest/zygote.c     mounts/mount.h     a jail's own mounts
door guest/zygote.c     sandbox/steps.h    the one table of steps
door guest/zygote.c     sandbox/jail_steps.h    the steps that every jail walks
door guest/zygote.c     plan/pack.h        the plan, as it was sent
door guest/birth.h       plan/plan.h        the namespaces, and what init reports on
door guest/birth.c       sandbox/init.h     init's life, once it is born
door guest/birth.c       sandbox/caps.h       the capabilities that no jail has
door guest/birth.c       sandbox/handshake.h  what init says when it fails

# plain: system headers that any file may include; every other one needs an owner
plain ctype.h errno.h fcntl.h inttypes.h limits.h poll.h signal.h stdarg.h stdbool.h stddef.h stdint.h stdio.h
plain stdlib.h string.h time.h unistd.h wchar.h strings.h sys/queue.h sys/resource.h sys/stat.h sys/types.h sys/wait.h

# owner: header (a trailing / means the whole folder), the files that may include it
owner seccomp.h         seccomp/compile.c
owner histedit.h        shell/prompt.c
owner locale.h          shell/prompt.c
owner langinfo.h        shell/prompt.c
owner sys/capability.h  sandbox/caps.c
owner zlib.h            git/object.c
owner linux/securebits.h sandbox/caps.h
owner netlink/          netns/loopback.c netns/egress_net.c netns/redirect.c netns/nft.h netns/nft.c
owner linux/netfilter.h netns/redirect.c netns/nft.c
owner linux/netfilter/nf_tables.h netns/redirect.c netns/nft.c
owner linux/netfilter/nfnetlink.h netns/nft.c
owner linux/rtnetlink.h netns/egress_net.c resolve/own_address.c
owner linux/if_addr.h   netns/egress_net.c
owner arpa/inet.h       netns/egress_net.c netns/redirect.c netns/nft.c
owner sys/socket.h      netns/egress_net.c jail/relay.c
owner jansson.h         result/network.h changestate/record.h changescmd/changescmd.h view/view.h view/record.c
owner net/if.h          netns/loopback.c
owner netdb.h           netns/loopback.c
owner sys/eventfd.h     lib/handle.c
owner elf.h             sandbox/interpreter.c
owner sys/mount.h       mounts/mount.c mounts/mask.c mounts/overlay.c mounts/sources.c mounts/idmap.c
owner sys/statvfs.h     mounts/mask.c mounts/overlay.c jail/usage.c
owner sys/vfs.h         sandbox/init.c base/beneath.c
owner linux/magic.h     base/beneath.c
owner sys/epoll.h       loop/loop.c lib/handle.c front/front.c front/children.c serve/shard.c serve/server.c serve/client.c metrics/http.c sockets/accept.c pty/relay.c jail/events.c jail/once.c fork/group.c pool/zygote.c
owner sys/sysmacros.h   mounts/mount.c mediate/lockable.c view/trim.c
owner linux/openat2.h   toml/source.c fork/copy_tree.c base/beneath.c mounts/named_sockets.c mounts/sources.c
owner sys/fsuid.h       view/copy.c
owner sys/xattr.h       view/layers.c
# readdir(3) ends with NULL for an error too: base/listing.c tells the two apart.
owner dirent.h          base/listing.h fork/copy_tree.c
owner linux/fs.h        tree/content.c
owner linux/sched.h     sandbox/launch.c guest/birth.c fork/copier.c mediate/connector.c mediate/connector_process.c
owner linux/seccomp.h   seccomp/install.c seccomp/combine.c seccomp/append.c seccomp/compile.c seccomp/notify.c
owner linux/futex.h     guest/birth.c
owner sys/ioctl.h       seccomp/notify.c mediate/endpoint.c mediate/socket_holders.c pty/caller.h sandbox/terminal.c sandbox/init.c tree/content.c
owner linux/filter.h    seccomp/compile.h
owner stdatomic.h        metrics/board.c
owner sys/mman.h        helper/unsent.c metrics/board.c serve/shard.c seccomp/compile.c guest/huge.c guest/birth.c guest/prefault.c terminal/terminal.c
owner sys/sendfile.h    terminal/terminal.c
owner sys/prctl.h       sandbox/attributes.c sandbox/network.c sandbox/caps.c sandbox/child.c sandbox/jail_steps.c guest/birth.c guest/zygote.c guest/prefault.c fork/copier.c mediate/connector_process.c
owner sys/single_threaded.h sandbox/launch.c
owner sys/socket.h      mounts/idmap.c inspect/address.c sandbox/launch.c sandbox/handshake.c channel/channel.c audit/datagram.c sandbox/init.c base/message.c pool/zygote.c pool/zygote_messages.c guest/birth.c sockets/send.c serve/client.c metrics/http.c sockets/listen.c sockets/connection.c sockets/sd_notify.c fork/copier.c mediate/connector.c mediate/endpoint.h mediate/given.c mediate/socket_holders.c mediate/connector_process.c jail/messages.c fork/members.c
owner sys/un.h          audit/datagram.c sockets/listen.c sockets/sd_notify.c mediate/connector_process.c mediate/endpoint.c mediate/socket_holders.c
owner arpa/inet.h       sockets/listen.c inspect/http_head.c policy/hosts.c
owner fnmatch.h         home/toolchains.c home/tokens.c home/network_settings.c
owner sys/file.h        mediate/locks.c audit/chain.c sockets/listen.c workspace/placeholder.c
owner sys/signalfd.h    jail/once.c serve/process.c
owner grp.h             sandbox/launch.c
owner sys/syscall.h     base/groups.c view/copy.c sandbox/attributes.c sandbox/launch.c sandbox/child.c mounts/mount.c sandbox/landlock.c seccomp/install.c host/host.c guest/huge.c toml/source.c base/syscall.h guest/branch.c fork/copier.c fork/copy_tree.c seccomp/notify.c base/beneath.c mediate/connector.c mediate/endpoint.c mounts/named_sockets.c mediate/mediate.c mediate/socket_holders.c mediate/lockable.c mediate/locks.c mounts/sources.c mediate/connector_process.c mediate/lock_look.c base/pidfd.c
owner sys/personality.h sandbox/attributes.c
owner linux/keyctl.h    sandbox/attributes.c
owner sched.h           host/host.c sandbox/attributes.c sandbox/network.c plan/build.c plan/enforced.c plan/dump.c guest/birth.c guest/zygote.c fork/copier.c mediate/connector_process.c mounts/idmap.c
owner sys/uio.h         mediate/endpoint.c mediate/lockable.c
owner sys/time.h        mediate/connector_process.c
owner linux/sockios.h   mediate/socket_holders.c
owner sys/utsname.h     host/host.c cli/cmd_doctor.c
owner sys/random.h      audit/trail.c jail/host_ids.c pool/zygote.c channel/channel.c apply/journal.c ask/by_terminal.c changescmd/ask.c
owner search.h            cli/cmd_rootfs.c view/copy.c
owner termios.h         pty/caller.h changescmd/ask.c
owner sha2.h            base/sha256.c
owner sha1.h            base/sha1.c
owner toml++/           toml/toml.cc
owner pwd.h             host/home.c
owner jansson.h         files/collect.h files/look.h lib/inner.h session/manager.h jsonschema/schema.h jsonschema/value.h jsonschema/plain.h tools/tools.h result/result.h json/json.h audit/chain.h audit/composer.h audit/lines.h audit/datagram.h audit/audit.h workspace/protect.h git/repo.h cli/cmd_exec.c cli/mcp.c shell/shell.c terminal/findings.h cli/cmd_doctor.c policycmd/policy.h protocol/query.h
owner linux/capability.h view/copy.c host/host.c guest/birth.c guest/branch.c mediate/endpoint.c
owner sys/xattr.h       changes/upper_layer.c
# readdir(3) ends with NULL for an error too: base/listing.c tells the two apart.
owner dirent.h          base/listing.h fork/copy_tree.c
owner math.h            jsonschema/value.c
owner float.h           jsonschema/value.c
owner systemd/          scope/agentjail-scope.c
owner spawn.h           cli/scope.c changes/patch.c
owner dlfcn.h           guest/guest.c guest/python.c

# word: what only these files may say in code (comments and strings do not count)
word SYS_clone3                    sandbox/launch.c guest/birth.c fork/copier.c mediate/connector.c mediate/connector_process.c
word SYS_seccomp                   seccomp/install.c
word SYS_pivot_root                mounts/mount.c
word SYS_pidfd_getfd               seccomp/notify.c mediate/endpoint.c
word SYS_openat2                   toml/source.c fork/copy_tree.c base/beneath.c mounts/named_sockets.c mounts/sources.c
word SYS_landlock_restrict_self    sandbox/landlock.c
word SYS_pidfd_send_signal         base/pidfd.c
word aj_pidfd_signal()             base/pidfd.c base/pidfd.h sandbox/launch.c jail/run.c jail/terminal.c fork/fork.c fork/copier.c jail/interrupt.c mediate/connector.c
word mount()                       mounts/mount.c mounts/mask.c
word umount2()                     mounts/mount.c
word move_mount()                  mounts/mount.c mounts/mask.c mounts/overlay.c
word open_tree()                   mounts/mask.c mounts/overlay.c mounts/sources.c mounts/idmap.c
word mount_setattr()               mounts/mount.c mounts/mask.c mounts/handles.c mounts/idmap.c
word fork()                        sandbox/launch.c
word _Fork()                       sandbox/child.c mounts/idmap.c
word setgroups()
word vfork()
word clone()                       sandbox/network.c guest/birth.c
# A reported call is let through by this flag of the kernel, in one place.
word SECCOMP_USER_NOTIF_FLAG_CONTINUE seccomp/notify.c
word unshare()         guest/zygote.c mounts/idmap.c
word setns()           sandbox/network.c fork/copier.c mediate/connector_process.c
# A reported call is let through only as a step of a branch: by this flag of the kernel, and from one function.
word aj_notify_pass()  seccomp/notify.c seccomp/notify.h fork/fork.c
word let_pass()        fork/fork.c
# Or as a lock on a file, which one file judges.
word aj_notify_pass_lock() seccomp/notify.c seccomp/notify.h mediate/locks.c
word aj_notify_pass_tracer_clone() seccomp/notify.c seccomp/notify.h mediate/locks.c
# A reported connect is made for its caller by one process, a lock by the supervisor: only there a call may be said to have gone well.
word aj_notify_done()  seccomp/notify.c seccomp/notify.h mediate/connector_process.c mediate/locks.c
word SYS_pidfd_getfd   mediate/socket_holders.c
word SYS_process_vm_readv mediate/endpoint.c mediate/lockable.c
# The one way to make a process that a snippet has: nobody else names its flags.
word AJ_BRANCH_FLAGS   base/branch.h guest/branch.c seccomp/notify.c
word execv()                        cli/cmd_mcp.c
word execve()
word execvp()                      sandbox/child.c
word execvpe()
word execl()
word execlp()
word posix_spawn()                 cli/scope.c changes/patch.c
word posix_spawnp()
word system()
word popen()
word setresuid()                   sandbox/jail_steps.c fork/copier.c mediate/connector_process.c
word setresgid()                   sandbox/jail_steps.c fork/copier.c mediate/connector_process.c
word prctl()                       sandbox/attributes.c sandbox/child.c sandbox/jail_steps.c sandbox/caps.c guest/birth.c guest/zygote.c guest/prefault.c fork/copier.c mediate/connector_process.c
word dlopen()
word dlsym()                       guest/guest.c guest/python.c
# Library code never prints: only the rooms of the program itself and the build-time tools decide what a person sees.
word printf()                      terminal/* cli/* policycmd/* shell/* gen/* changescmd/*
word puts()                        terminal/* cli/* policycmd/* shell/* gen/* scope/* changescmd/*
word putchar()                     terminal/* cli/* policycmd/* shell/* gen/* changescmd/*
word perror()
word stdout                        terminal/* cli/* options/load_policy.c policycmd/* shell/* gen/* changescmd/*
word stderr                        terminal/* cli/* options/load_policy.c policycmd/* shell/* gen/* scope/* changescmd/*
# Unbounded or silently wrong; base/text has what takes their place. sprintf: one fixed format into a measured buffer.
word gets()
word strcat()
word vsprintf()
word sprintf()                     result/output_buffer.c
word atoi()
word atol()
word strtol()

# Zygotes and their births, beside what is named above.
owner sys/mount.h       mounts/handles.c
owner linux/sched.h     sandbox/holder.c
owner linux/nsfs.h      sandbox/below.c
owner sys/ioctl.h       sandbox/below.c
owner sys/prctl.h       sandbox/holder.c
owner sys/socket.h      sandbox/channels.c sandbox/below.c pool/newborn.c
owner sys/syscall.h     base/groups.c view/copy.c sandbox/holder.c pool/newborn.c
owner sched.h           sandbox/holder.c
word SYS_clone3                    sandbox/holder.c
word aj_pidfd_signal()             sandbox/below.c
word SYS_pidfd_getfd               pool/newborn.c
word open_tree()                   mounts/handles.c
word unshare()                     sandbox/holder.c
word prctl()                       sandbox/holder.c

# The relay, beside what is named above.
owner sys/socket.h      egress/egress.c base/sockaddr.h helper/flow.c helper/side.c resolve/names.c resolve/own_address.c helper/helper.c egress/relay.c egress/reports.c
owner sys/epoll.h       egress/relay.c egress/reports.c resolve/resolver.c egress/upstream.c helper/side.c egress/listener.c egress/dns_server.c egress/proxy.c egress/turned_away.c
owner arpa/inet.h       base/sockaddr.h resolve/resolver.c
owner netinet/          base/sockaddr.h resolve/resolver.c resolve/own_address.c egress/connection.c egress/listener.c helper/flow.c egress/upstream.c
owner netdb.h           resolve/resolver.c
owner ares.h            resolve/resolver.c
owner sys/time.h        resolve/resolver.c
owner sys/prctl.h       helper/helper.c egress/credentials.c
owner sys/syscall.h     base/groups.c view/copy.c egress/process.c
word fork()             helper/helper.c egress/credentials.c
word execl()            egress/credentials.c
word aj_pidfd_signal()  helper/helper.c
word setresuid()        egress/process.c
word setresgid()        egress/process.c
word prctl()            helper/helper.c egress/credentials.c

# Questions, beside what is named above.
owner jansson.h         ask/line.c
owner sys/epoll.h       ask/by_command.c ask/by_descriptor.c ask/by_terminal.c
owner termios.h         ask/by_terminal.c
owner sys/socket.h      ask/by_descriptor.c
owner sys/prctl.h       ask/by_command.c
owner sys/file.h        ask/save.c
word fork()             ask/by_command.c
word execl()            ask/by_command.c
word prctl()            ask/by_command.c

# The publisher, beside what is named above.
owner arpa/inet.h       policy/publish.c
owner sched.h           publish/process.c
owner sys/epoll.h       publish/passage.c
owner sys/socket.h      publish/publish.c publish/passage.c
owner sys/syscall.h     base/groups.c view/copy.c publish/process.c
word setns()            publish/process.c
word setresuid()        publish/process.c
word setresgid()        publish/process.c
RULES
)

# Awk of both checks: the row of a room (it may use itself and those that it names, all of rows above), and a violation.
shared='
	function read_room(may,    i) {
		known[$2] = 1
		for (i = 2; i <= NF; i++) {
			if (!($i in known)) { print "tests/check-layers.sh: " $2 " names " $i ", which has no row above"; failed = 1 }
			may[$2, $i] = 1
		}
	}
	function bad(text) { print file ":" FNR ": " text; failed = 1 }'

# Checks the tree given; prints one line a violation and fails if there is one.
check() {
	printf '%s\n' "$rules" | awk -v root="$1/" "$shared"'
	NR == FNR {
		if ($1 == "layer") read_room(layer)
		else if ($1 == "door") door[$2, $3] = 1
		else if ($1 == "plain") for (i = 2; i <= NF; i++) plain[$i] = 1
		else if ($1 == "owner") { owned[$2] = 1; for (i = 3; i <= NF; i++) owner[$2, $i] = 1 }
		else if ($1 == "word") { words[$2] = 1; for (i = 3; i <= NF; i++) word[$2, $i] = 1 }
		next
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
		split(file, part, "/"); folder = part[1]; inside = 0; files++
		if (!(folder in known)) bad("a folder that no rule knows")
	}
	/^[ \t]*#[ \t]*include/ {
		if (match($0, /"[^"]+"/)) {
			name = substr($0, RSTART + 1, RLENGTH - 2)
			if (name !~ /^[a-z]+\/[a-z_0-9]+\.h$/) { bad("include by folder and name, not `" name "`"); next }
			split(name, part, "/")
			if (!((folder, part[1]) in layer) && !((file, name) in door))
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

# The Python layer: each mention of a module, in an import or in a string, is of the own room or of one that the rules name.
# An import is written in full from `agentjail` on: another spelling would hide the room.
check_python() {
	printf '%s\n' "$rules" | awk -v root="$1/" "$shared"'
	NR == FNR {
		if ($1 == "python") read_room(may)
		next
	}
	FNR == 1 {
		file = substr(FILENAME, length(root) + 1)
		split(file, part, "/"); room = part[2]; files++
		if (!(room in known)) bad("a room that no rule knows")
	}
	{ line = $0; gsub(/agentjail --|`agentjail /, "", line) }
	line ~ /^[ \t]*(from[ \t]+\.|import[ \t]+agentjail)/ || (line ~ /^[ \t]*from[ \t]+agentjail[ \t]/ && line !~ /import OWN as __builtins__ /) {
		bad("import from a room, by its full name")
	}
	{
		while (match(line, /agentjail\.[a-z_]+/)) {
			name = substr(line, RSTART + 10, RLENGTH - 10)
			if (!((room, name) in may)) bad("bootstrap/" room "/ must not import agentjail." name)
			line = substr(line, RSTART + RLENGTH)
		}
	}
	END {
		if (files < 10) { print "only " files + 0 " Python files seen: is this the tree?"; failed = 1 }
		exit failed
	}' - "$1"/bootstrap/*/*.py
}

# Each line of `planted` must make the check fail, naming that file and line; without them the check must pass.
self_test() {
	copy=$(mktemp -d)
	trap 'rm -rf -- "$copy" "$copy".*' EXIT
	trap 'exit 130' HUP INT TERM
	cp -R src/. "$copy"
	planted='base/fd.c|#include "plan/plan.h"
jail/run.c|static int planted(void) { return setgroups(0, 0); }
policyload/load.c|#include "host/host.h"
policyload/load.c|#include <sys/socket.h>
policyload/load.c|#include <toml++/toml.h>
toml/toml.cc|#include <iostream>
toml/toml.cc|static int planted(void) { return system("true"); }
plan/build.c|#include "sandbox/launch.h"
plan/dump.c|#include "result/result.h"
sandbox/child.c|#include "policy/policy.h"
sandbox/child.c|#include "jail/once.h"
sandbox/child.c|#include <sys/mount.h>
sandbox/child.c|#include <netlink/socket.h>
sandbox/launch.c|#include <seccomp.h>
jail/run.c|#include "terminal/show.h"
jail/run.c|#include <sha2.h>
sandbox/child.c|#include "tools/tools.h"
tools/call.c|#include "result/result.h"
tools/tools.c|#include "policy/policy.h"
jsonschema/check.c|#include <jansson.h>
audit/audit.c|#include <sys/socket.h>
jail/once.c|#include <sys/capability.h>
jail/once.c|#include "policy.h"
jail/once.c|#include "../cli/show.h"
result/output_buffer.c|  #  include  <openssl/ssl.h>
cli/jail.c|#include "sandbox/launch.h"
cli/cmd_run.c|#include <linux/landlock.h>
guest/guest.c|#include "sandbox/launch.h"
guest/guest.c|#include "plan/plan.h"
guest/zygote.c|#include "cgroup/create.h"
gen/filters.c|#include "jail/once.h"
scope/agentjail-scope.c|#include "base/fd.h"
cli/jail.c|#include <systemd/sd-bus.h>
cli/jail.c|static int planted(void) { return posix_spawn(0, 0, 0, 0, 0, 0); }
terminal/show.c|static int planted(void) { return fork(); }
jail/once.c|static int planted(void) { return mount("a", "b", "c", 0, 0); }
plan/build.c|static void planted(void) { printf("x"); }
channel/encode.c|static void planted(void) { fprintf(stderr, "x"); }
channel/encode.c|/* comment */ static int planted(void) { return system ("true"); }
cli/paths.c|static int planted(void) { return execve("a", 0, 0); }
mediate/violations.c|static int planted(void) { return aj_notify_pass(0, 0, 0); }
sandbox/launch.c|static int planted(void) { return SECCOMP_USER_NOTIF_FLAG_CONTINUE; }
base/fd.c|static long planted(void) { return syscall(SYS_clone3, 0, 0); }
new/file.c|int planted;'
	planted_python='bootstrap/check/checker.py|    from agentjail.rail.format_guards import read_guarded
bootstrap/rail/guards.py|    from agentjail.values.texts import quote
bootstrap/rail/guards.py|import agentjail.runtime.main
bootstrap/rail/guards.py|from agentjail import runtime
bootstrap/rail/guards.py|from ..runtime import session
bootstrap/rail/patches.py|    __import__("agentjail.runtime.main")
bootstrap/values/json_writer.py|from agentjail.runtime.session import x
bootstrap/runtime/main.py|from agentjail.elsewhere import x
bootstrap/new/file.py|PLANTED = 1'
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
	printf '%s\n' "$harmless" | while IFS='|' read -r file line; do printf '%s\n' "$line" >> "$copy/$file"; done
	printf '%s\n' '# from here on' 'from agentjail.rail import guards' 'HINT = "agentjail --allow-import x"' >> "$copy/bootstrap/runtime/main.py"
	check "$copy" && check_python "$copy" || { echo 'check-layers: complains where nothing is wrong'; exit 1; }
}

if ! check src || ! check_python src; then
	echo 'check-layers: FAILED'
	exit 1
fi
self_test
echo "check-layers: ok, and $(printf '%s\n' "$planted" "$planted_python" | wc -l) planted violations are seen"
