#!/bin/sh
# The architecture as a test: which folder of src/ may include which, and which single file may use a library or a
# kernel interface. It compiles nothing, and proves on planted violations that it can fail.
set -eu
cd "$(dirname "$0")/.."

rules=$(cat <<'RULES'
# layer: folder, what it may include: folders of rows above its own alone, so that there is no circle
layer base
# One event loop: the supervisor's, the service's and the relay's.
layer base/loop           base
# Trees that a jail has made, on the host: this folder knows what no tree can do to its reader.
layer base/tree           base
layer base/json           base
layer base/toml           base
layer policy              base base/toml
layer policy/load         base base/toml policy
# Bytes of the network, judged: this folder opens no socket and allocates nothing.
layer network/inspect     base
# The caller's terminal, and what may be written to it: this folder knows no jail but as a terminal's other side.
layer jail/pty            base base/loop policy
layer policy/seccomp      base policy
# The machine as it is found: policy/plan/ gets these facts, and asks the machine nothing itself.
layer policy/host         base policy
layer policy/plan         base policy policy/seccomp policy/host
layer sandbox/cgroup      base policy/plan
layer sandbox/mounts      base policy/plan
# A jail's network namespace from the inside: addresses, routes, redirections. This room talks to the kernel alone.
layer sandbox/netns       base policy/plan
layer sandbox             base policy/seccomp policy/plan sandbox/cgroup sandbox/mounts sandbox/netns
layer sandbox/mediate     base policy/seccomp policy/plan sandbox/cgroup sandbox/mounts sandbox
# Names and what they resolve to: this folder knows no list of names, and takes nothing from a jail.
layer network/resolve     base base/loop network/inspect
# Processes beside the supervisor that move bytes between sockets: this folder parses none of these bytes.
layer network/helper      base base/loop
# The relay of a jail's network: a process of its own, which reads what the jail and the network send.
layer network/egress      base base/loop policy network/inspect policy/seccomp sandbox network/resolve network/helper
# A person is asked about hosts: this folder talks to the caller, a command of the caller's or a terminal, and not to the jail.
layer network/ask         base base/loop base/json policy policy/plan network/egress
# Ports of the host that lead into a jail: one more process of its own, which moves bytes as the relay does.
layer network/publish     base base/loop policy policy/seccomp policy/plan sandbox network/helper
layer jail/result         base base/json policy/plan sandbox/cgroup sandbox/mediate jail/pty
# The supervisor's half of the conversation with a snippet's runner: this folder knows a jail as a socket alone.
layer jail/channel        base base/json policy policy/seccomp policy/plan sandbox jail/result
# Files that cross between a jail's scratch space and the host: this folder reads hostile trees and writes none.
layer jail/files          base base/json policy policy/plan
layer workspace/git       base base/json policy/plan sandbox/mounts
# What a run changed in its own copy of a workspace, and how it gets into the workspace.
layer workspace/changes   base base/tree base/json policy/host policy workspace/git
# The private view of a workspace that a jail changes: this folder makes it, and mounts nothing.
layer workspace/staging   base base/tree base/json policy/plan sandbox/mounts workspace/changes
layer workspace           base base/json base/toml policy policy/load policy/host policy/plan sandbox/mounts workspace/git
# The command's home and tools: this folder reads the caller's home and writes below the state folder.
layer workspace/home      base base/tree base/json policy policy/host policy/plan
layer jail                base base/loop policy policy/load policy/host policy/plan sandbox/cgroup sandbox network/helper network/egress network/ask network/publish sandbox/mediate jail/result jail/channel jail/files workspace/staging workspace jail/pty
layer jail/fork           base base/tree policy/plan sandbox/mounts sandbox sandbox/mediate jail
layer jail/pool           base base/loop policy/host policy/plan sandbox/cgroup sandbox jail/channel jail jail/fork
layer jail/audit          base policy/load policy/plan jail/result
layer session/jsonschema  base
# Declarations and calls as data: this folder runs no tool and knows no jail.
layer session/tools       base base/json session/jsonschema
layer session             base base/loop base/json base/toml policy/load policy/host policy/plan jail/result jail/channel jail/files workspace jail jail/pool jail/audit session/tools
layer lib                 base base/json policy policy/host policy/plan sandbox/mediate jail/result session/tools session
# The sockets that a service listens on, and what is sent by them.
layer service/sockets     base base/loop
layer service/metrics     base base/loop jail/result service/sockets
# Requests, faults and output as data: this folder knows no session and no socket.
layer service/protocol    base base/json policy/plan
layer service             base base/loop base/json policy/load jail/result session service/sockets service/metrics service/protocol
# The process before the shards of a service: it reads nothing that a client sends.
layer service/front       base base/loop policy/host sandbox/cgroup network/helper service/sockets service/metrics service
layer cli/terminal        base base/toml jail/pty policy/plan jail/result
# The options of the commands that make jails, and the policy that they name: this folder makes no jail.
layer cli/options         base policy policy/load policy/host policy/plan jail service cli/terminal
layer cli                 base base/json policy policy/load policy/host policy/plan jail/files workspace workspace/home jail jail/audit service service/front cli/terminal cli/options
layer cli/policy          base policy policy/load policy/seccomp policy/host policy/plan jail/result workspace workspace/home jail cli/terminal cli/options cli
layer cli/changes         base base/tree base/json cli/terminal workspace/changes cli
layer cli/shell           base policy/host lib cli/terminal cli/options cli
# The guest is linked into the jail's Python: it gets as little of us as can be; the doors below are for it.
layer guest               base
# alone: a program of its own, which nothing of ours goes into
alone cli/agentjail-scope.c
# Build-time tools read the tables that they print.
layer gen                 base base/json base/toml policy/load policy/seccomp policy/host policy/plan sandbox jail/result session/jsonschema service/metrics service/protocol service cli/options cli cli/policy

# python: package of the Python layer (src/guest/layer/), the packages whose modules it may import: rows above its own alone
python check
python files
python rail      check files
python values    rail
python runtime   check rail values

# door: one file may include one header of a layer that its folder may not see
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
plain ctype.h errno.h fcntl.h inttypes.h limits.h poll.h signal.h stdarg.h stdbool.h stddef.h stdint.h stdio.h
plain stdlib.h string.h time.h unistd.h wchar.h strings.h sys/queue.h sys/resource.h sys/stat.h sys/types.h sys/wait.h

# owner: header (a trailing / means the whole folder), the files that may include it
owner seccomp.h         policy/seccomp/compile.c
owner histedit.h        cli/shell/prompt.c
owner locale.h          cli/shell/prompt.c
owner langinfo.h        cli/shell/prompt.c
owner sys/capability.h  sandbox/caps.c
owner zlib.h            workspace/git/object.c
owner linux/securebits.h sandbox/caps.h
owner netlink/          sandbox/netns/loopback.c sandbox/netns/egress_net.c sandbox/netns/redirect.c sandbox/netns/nft.h sandbox/netns/nft.c
owner linux/netfilter.h sandbox/netns/redirect.c sandbox/netns/nft.c
owner linux/netfilter/nf_tables.h sandbox/netns/redirect.c sandbox/netns/nft.c
owner linux/netfilter/nfnetlink.h sandbox/netns/nft.c
owner linux/rtnetlink.h sandbox/netns/egress_net.c network/resolve/own_address.c
owner linux/if_addr.h   sandbox/netns/egress_net.c
owner arpa/inet.h       sandbox/netns/egress_net.c sandbox/netns/redirect.c sandbox/netns/nft.c
owner sys/socket.h      sandbox/netns/egress_net.c jail/relay.c
owner jansson.h         jail/result/network.h workspace/changes/run_record.h cli/changes/changescmd.h workspace/staging/staging.h workspace/staging/staging_record.c
owner net/if.h          sandbox/netns/loopback.c
owner netdb.h           sandbox/netns/loopback.c
owner sys/eventfd.h     lib/handle.c
owner elf.h             sandbox/interpreter.c
owner sys/mount.h       sandbox/mounts/mount.c sandbox/mounts/mask.c sandbox/mounts/overlay.c sandbox/mounts/sources.c sandbox/mounts/idmap.c
owner sys/statvfs.h     sandbox/mounts/mask.c sandbox/mounts/overlay.c jail/usage.c
owner sys/vfs.h         sandbox/init.c base/beneath.c
owner linux/magic.h     base/beneath.c
owner sys/epoll.h       base/loop/loop.c lib/handle.c service/front/front.c service/front/children.c service/shard.c service/server.c service/client.c service/metrics/http.c service/sockets/accept.c jail/pty/relay.c jail/events.c jail/once.c jail/fork/group.c jail/pool/zygote.c
owner sys/sysmacros.h   sandbox/mounts/mount.c sandbox/mediate/lockable.c workspace/staging/trim.c
owner linux/openat2.h   base/toml/source.c jail/fork/copy_tree.c base/beneath.c sandbox/mounts/named_sockets.c sandbox/mounts/sources.c
owner sys/fsuid.h       workspace/staging/copy.c
owner sys/xattr.h       workspace/staging/layers.c
# readdir(3) ends with NULL for an error too: base/listing.c tells the two apart.
owner dirent.h          base/listing.h jail/fork/copy_tree.c
owner linux/fs.h        base/tree/content.c
owner linux/sched.h     sandbox/launch.c guest/birth.c jail/fork/copier.c sandbox/mediate/connector.c sandbox/mediate/connector_process.c
owner linux/seccomp.h   policy/seccomp/install.c policy/seccomp/combine.c policy/seccomp/append.c policy/seccomp/compile.c policy/seccomp/notify.c
owner linux/futex.h     guest/birth.c
owner sys/ioctl.h       policy/seccomp/notify.c sandbox/mediate/endpoint.c sandbox/mediate/socket_holders.c jail/pty/caller.h sandbox/terminal.c sandbox/init.c base/tree/content.c
owner linux/filter.h    policy/seccomp/compile.h
owner stdatomic.h        service/metrics/board.c
owner sys/mman.h        network/helper/unsent.c service/metrics/board.c service/shard.c policy/seccomp/compile.c guest/huge.c guest/birth.c guest/prefault.c cli/terminal/terminal.c
owner sys/sendfile.h    cli/terminal/terminal.c
owner sys/prctl.h       sandbox/attributes.c sandbox/network.c sandbox/caps.c sandbox/child.c sandbox/jail_steps.c guest/birth.c guest/zygote.c guest/prefault.c jail/fork/copier.c sandbox/mediate/connector_process.c
owner sys/single_threaded.h sandbox/launch.c
owner sys/socket.h      sandbox/mounts/idmap.c network/inspect/address.c sandbox/launch.c sandbox/handshake.c jail/channel/channel.c jail/audit/datagram.c sandbox/init.c base/message.c jail/pool/zygote.c jail/pool/zygote_messages.c guest/birth.c service/sockets/send.c service/client.c service/metrics/http.c service/sockets/listen.c service/sockets/connection.c service/sockets/sd_notify.c jail/fork/copier.c sandbox/mediate/connector.c sandbox/mediate/endpoint.h sandbox/mediate/inherited_sockets.c sandbox/mediate/socket_holders.c sandbox/mediate/connector_process.c jail/messages.c jail/fork/members.c
owner sys/un.h          jail/audit/datagram.c service/sockets/listen.c service/sockets/sd_notify.c sandbox/mediate/connector_process.c sandbox/mediate/endpoint.c sandbox/mediate/socket_holders.c
owner arpa/inet.h       service/sockets/listen.c network/inspect/http_head.c policy/hosts.c
owner fnmatch.h         workspace/home/toolchains.c workspace/home/tokens.c workspace/home/network_settings.c
owner sys/file.h        sandbox/mediate/locks.c jail/audit/chain.c service/sockets/listen.c workspace/placeholder.c
owner sys/signalfd.h    jail/once.c service/process.c
owner grp.h             sandbox/launch.c
owner sys/syscall.h     base/groups.c workspace/staging/copy.c sandbox/attributes.c sandbox/launch.c sandbox/child.c sandbox/mounts/mount.c sandbox/landlock.c policy/seccomp/install.c policy/host/host.c guest/huge.c base/toml/source.c base/syscall.h guest/branch.c jail/fork/copier.c jail/fork/copy_tree.c policy/seccomp/notify.c base/beneath.c sandbox/mediate/connector.c sandbox/mediate/endpoint.c sandbox/mounts/named_sockets.c sandbox/mediate/mediate.c sandbox/mediate/socket_holders.c sandbox/mediate/lockable.c sandbox/mediate/locks.c sandbox/mounts/sources.c sandbox/mediate/connector_process.c base/pidfd.c
owner sys/personality.h sandbox/attributes.c
owner linux/keyctl.h    sandbox/attributes.c
owner sched.h           policy/host/host.c sandbox/attributes.c sandbox/network.c policy/plan/build.c policy/plan/enforced.c policy/plan/dump.c guest/birth.c guest/zygote.c jail/fork/copier.c sandbox/mediate/connector_process.c sandbox/mounts/idmap.c
owner sys/uio.h         sandbox/mediate/endpoint.c sandbox/mediate/lockable.c
owner sys/time.h        sandbox/mediate/connector_process.c
owner linux/sockios.h   sandbox/mediate/socket_holders.c
owner sys/utsname.h     policy/host/host.c cli/cmd_doctor.c
owner sys/random.h      jail/audit/trail.c jail/host_ids.c jail/pool/zygote.c jail/channel/channel.c workspace/changes/apply_journal.c network/ask/by_terminal.c cli/changes/ask.c
owner search.h            cli/cmd_rootfs.c workspace/staging/copy.c
owner termios.h         jail/pty/caller.h cli/changes/ask.c
owner sha2.h            base/sha256.c
owner sha1.h            base/sha1.c
owner toml++/           base/toml/toml.cc
owner pwd.h             policy/host/home.c
owner jansson.h         jail/files/collect.h jail/files/look.h lib/inner.h session/manager.h session/jsonschema/schema.h session/jsonschema/value.h session/jsonschema/plain.h session/tools/tools.h jail/result/result.h base/json/json.h jail/audit/chain.h jail/audit/composer.h jail/audit/lines.h jail/audit/datagram.h jail/audit/audit.h workspace/protect.h workspace/git/repo.h cli/cmd_exec.c cli/mcp.c cli/shell/shell.c cli/terminal/findings.h cli/cmd_doctor.c cli/policy/policy.h service/protocol/query.h
owner linux/capability.h workspace/staging/copy.c policy/host/host.c guest/birth.c guest/branch.c sandbox/mediate/endpoint.c
owner sys/xattr.h       workspace/changes/upper_layer.c
# readdir(3) ends with NULL for an error too: base/listing.c tells the two apart.
owner dirent.h          base/listing.h jail/fork/copy_tree.c
owner math.h            session/jsonschema/value.c
owner float.h           session/jsonschema/value.c
owner systemd/          cli/agentjail-scope.c
owner spawn.h           cli/scope.c workspace/changes/patch.c
owner dlfcn.h           guest/guest.c guest/python.c

# word: what only these files may say in code (comments and strings do not count)
word SYS_clone3                    sandbox/launch.c guest/birth.c jail/fork/copier.c sandbox/mediate/connector.c sandbox/mediate/connector_process.c
word SYS_seccomp                   policy/seccomp/install.c
word SYS_pivot_root                sandbox/mounts/mount.c
word SYS_pidfd_getfd               policy/seccomp/notify.c sandbox/mediate/endpoint.c
word SYS_openat2                   base/toml/source.c jail/fork/copy_tree.c base/beneath.c sandbox/mounts/named_sockets.c sandbox/mounts/sources.c
word SYS_landlock_restrict_self    sandbox/landlock.c
word SYS_pidfd_send_signal         base/pidfd.c
word aj_pidfd_signal()             base/pidfd.c base/pidfd.h sandbox/launch.c jail/run.c jail/terminal.c jail/fork/fork.c jail/fork/copier.c jail/interrupt.c sandbox/mediate/connector.c
word mount()                       sandbox/mounts/mount.c sandbox/mounts/mask.c
word umount2()                     sandbox/mounts/mount.c
word move_mount()                  sandbox/mounts/mount.c sandbox/mounts/mask.c sandbox/mounts/overlay.c
word open_tree()                   sandbox/mounts/mask.c sandbox/mounts/overlay.c sandbox/mounts/sources.c sandbox/mounts/idmap.c
word mount_setattr()               sandbox/mounts/mount.c sandbox/mounts/mask.c sandbox/mounts/handles.c sandbox/mounts/idmap.c
word fork()                        sandbox/launch.c
word _Fork()                       sandbox/child.c sandbox/mounts/idmap.c
word setgroups()
word vfork()
word clone()                       sandbox/network.c guest/birth.c
# A reported call is let through by this flag of the kernel, in one place.
word SECCOMP_USER_NOTIF_FLAG_CONTINUE policy/seccomp/notify.c
word unshare()         guest/zygote.c sandbox/mounts/idmap.c
word setns()           sandbox/network.c jail/fork/copier.c sandbox/mediate/connector_process.c
# A reported call is let through only as a step of a branch: by this flag of the kernel, and from one function.
word aj_notify_pass()  policy/seccomp/notify.c policy/seccomp/notify.h jail/fork/fork.c
word let_pass()        jail/fork/fork.c
# Or as a lock on a file, which one file judges.
word aj_notify_pass_lock() policy/seccomp/notify.c policy/seccomp/notify.h sandbox/mediate/locks.c
word aj_notify_pass_tracer_clone() policy/seccomp/notify.c policy/seccomp/notify.h sandbox/mediate/locks.c
# A reported connect is made for its caller by one process, a lock by the supervisor: only there a call may be said to have gone well.
word aj_notify_done()  policy/seccomp/notify.c policy/seccomp/notify.h sandbox/mediate/connector_process.c sandbox/mediate/locks.c
word SYS_pidfd_getfd   sandbox/mediate/socket_holders.c
word SYS_process_vm_readv sandbox/mediate/endpoint.c sandbox/mediate/lockable.c
# The one way to make a process that a snippet has: nobody else names its flags.
word AJ_BRANCH_FLAGS   base/branch.h guest/branch.c policy/seccomp/notify.c
word execv()                        cli/cmd_mcp.c
word execve()
word execvp()                      sandbox/child.c
word execvpe()
word execl()
word execlp()
word posix_spawn()                 cli/scope.c workspace/changes/patch.c
word posix_spawnp()
word system()
word popen()
word setresuid()                   sandbox/jail_steps.c jail/fork/copier.c sandbox/mediate/connector_process.c
word setresgid()                   sandbox/jail_steps.c jail/fork/copier.c sandbox/mediate/connector_process.c
word prctl()                       sandbox/attributes.c sandbox/child.c sandbox/jail_steps.c sandbox/caps.c guest/birth.c guest/zygote.c guest/prefault.c jail/fork/copier.c sandbox/mediate/connector_process.c
word dlopen()
word dlsym()                       guest/guest.c guest/python.c
# Library code never prints: only the folders of the program itself and the build-time tools decide what a person sees.
word printf()                      cli/terminal/* cli/* cli/policy/* cli/shell/* gen/* cli/changes/*
word puts()                        cli/terminal/* cli/* cli/policy/* cli/shell/* gen/* cli/changes/*
word putchar()                     cli/terminal/* cli/* cli/policy/* cli/shell/* gen/* cli/changes/*
word perror()
word stdout                        cli/terminal/* cli/* cli/options/load_policy.c cli/policy/* cli/shell/* gen/* cli/changes/*
word stderr                        cli/terminal/* cli/* cli/options/load_policy.c cli/policy/* cli/shell/* gen/* cli/changes/*
# Unbounded or silently wrong; base/text has what takes their place. sprintf: one fixed format into a measured buffer.
word gets()
word strcat()
word vsprintf()
word sprintf()                     jail/result/output_buffer.c
word atoi()
word atol()
word strtol()

# Zygotes and their births, beside what is named above.
owner sys/mount.h       sandbox/mounts/handles.c
owner linux/sched.h     sandbox/holder.c
owner linux/nsfs.h      sandbox/below.c
owner sys/ioctl.h       sandbox/below.c
owner sys/prctl.h       sandbox/holder.c
owner sys/socket.h      sandbox/channels.c sandbox/below.c jail/pool/newborn.c
owner sys/syscall.h     sandbox/holder.c jail/pool/newborn.c
owner sched.h           sandbox/holder.c
word SYS_clone3                    sandbox/holder.c
word aj_pidfd_signal()             sandbox/below.c
word SYS_pidfd_getfd               jail/pool/newborn.c
word open_tree()                   sandbox/mounts/handles.c
word unshare()                     sandbox/holder.c
word prctl()                       sandbox/holder.c

# The relay, beside what is named above.
owner sys/socket.h      network/egress/egress.c base/sockaddr.h network/helper/flow.c network/helper/socket_end.c network/resolve/names.c network/resolve/own_address.c network/helper/helper.c network/egress/relay_loop.c network/egress/reports.c
owner sys/epoll.h       network/egress/relay_loop.c network/egress/reports.c network/resolve/resolver.c network/egress/upstream.c network/helper/socket_end.c network/egress/listener.c network/egress/dns_server.c network/egress/proxy_connect.c network/egress/refused_connection.c
owner arpa/inet.h       base/sockaddr.h network/resolve/resolver.c
owner netinet/          base/sockaddr.h network/resolve/resolver.c network/resolve/own_address.c network/egress/connection.c network/egress/listener.c network/helper/flow.c network/egress/upstream.c
owner netdb.h           network/resolve/resolver.c
owner ares.h            network/resolve/resolver.c
owner sys/time.h        network/resolve/resolver.c
owner sys/prctl.h       network/helper/helper.c network/egress/credentials.c
owner sys/syscall.h     network/egress/process.c
word fork()             network/helper/helper.c network/egress/credentials.c
word execl()            network/egress/credentials.c
word aj_pidfd_signal()  network/helper/helper.c
word setresuid()        network/egress/process.c
word setresgid()        network/egress/process.c
word prctl()            network/helper/helper.c network/egress/credentials.c

# Questions, beside what is named above.
owner jansson.h         network/ask/line.c
owner sys/epoll.h       network/ask/by_command.c network/ask/by_descriptor.c network/ask/by_terminal.c
owner termios.h         network/ask/by_terminal.c
owner sys/socket.h      network/ask/by_descriptor.c
owner sys/prctl.h       network/ask/by_command.c
owner sys/file.h        network/ask/save.c
word fork()             network/ask/by_command.c
word execl()            network/ask/by_command.c
word prctl()            network/ask/by_command.c

# The publisher, beside what is named above.
owner arpa/inet.h       policy/publish.c
owner sched.h           network/publish/process.c
owner sys/epoll.h       network/publish/forwarder.c
owner sys/socket.h      network/publish/publish.c network/publish/forwarder.c
owner sys/syscall.h     network/publish/process.c
word setns()            network/publish/process.c
word setresuid()        network/publish/process.c
word setresgid()        network/publish/process.c
RULES
)

# Awk of both checks: the row of a folder (it may use itself and those that it names, all of rows above), and a violation.
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
		if ($1 == "layer") read_row(layer)
		else if ($1 == "alone") alone[$2] = 1
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
		folder = above(file); inside = 0; files++
		if (!(folder in known)) bad("a folder that no rule knows")
	}
	/^[ \t]*#[ \t]*include/ {
		if (match($0, /"[^"]+"/)) {
			name = substr($0, RSTART + 1, RLENGTH - 2)
			if (name !~ /^[a-z]+(\/[a-z]+)?\/[a-z_0-9]+\.h$/) { bad("include by folder and name, not `" name "`"); next }
			if ((file in alone) || (!((folder, above(name)) in layer) && !((file, name) in door)))
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

# Each line of `planted` must make the check fail, naming that file and line; without them the check must pass.
self_test() {
	copy=$(mktemp -d)
	trap 'rm -rf -- "$copy" "$copy".*' EXIT
	trap 'exit 130' HUP INT TERM
	cp -R src/. "$copy"
	planted='base/fd.c|#include "policy/plan/plan.h"
jail/run.c|static int planted(void) { return setgroups(0, 0); }
policy/load/load.c|#include "policy/host/host.h"
policy/load/load.c|#include <sys/socket.h>
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
jail/run.c|#include "cli/terminal/show.h"
jail/run.c|#include <sha2.h>
sandbox/child.c|#include "session/tools/tools.h"
session/tools/call.c|#include "jail/result/result.h"
session/tools/tools.c|#include "policy/policy.h"
session/jsonschema/check.c|#include <jansson.h>
jail/audit/audit.c|#include <sys/socket.h>
jail/once.c|#include <sys/capability.h>
jail/once.c|#include "policy.h"
jail/once.c|#include "../cli/show.h"
jail/result/output_buffer.c|  #  include  <openssl/ssl.h>
cli/jail.c|#include "sandbox/launch.h"
cli/cmd_run.c|#include <linux/landlock.h>
guest/guest.c|#include "sandbox/launch.h"
guest/guest.c|#include "policy/plan/plan.h"
guest/zygote.c|#include "sandbox/cgroup/create.h"
gen/filters.c|#include "jail/once.h"
cli/agentjail-scope.c|#include "base/fd.h"
cli/jail.c|#include <systemd/sd-bus.h>
cli/jail.c|static int planted(void) { return posix_spawn(0, 0, 0, 0, 0, 0); }
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
base/new/file.c|int planted;'
	planted_python='guest/layer/check/checker.py|    from agentjail.rail.format_guards import read_guarded
guest/layer/rail/guards.py|    from agentjail.values.texts import quote
guest/layer/rail/guards.py|import agentjail.runtime.main
guest/layer/rail/guards.py|from agentjail import runtime
guest/layer/rail/guards.py|from ..runtime import session
guest/layer/rail/patches.py|    __import__("agentjail.runtime.main")
guest/layer/values/json_writer.py|from agentjail.runtime.session import x
guest/layer/runtime/main.py|from agentjail.elsewhere import x
guest/layer/new/file.py|PLANTED = 1'
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
	printf '%s\n' '# from here on' 'from agentjail.rail import guards' 'HINT = "agentjail --allow-import x"' >> "$copy/guest/layer/runtime/main.py"
	check "$copy" && check_python "$copy" || { echo 'check-layers: complains where nothing is wrong'; exit 1; }
}

if ! check src || ! check_python src; then
	echo 'check-layers: FAILED'
	exit 1
fi
self_test
echo "check-layers: ok, and $(printf '%s\n' "$planted" "$planted_python" | wc -l) planted violations are seen"
