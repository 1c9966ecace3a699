#!/bin/sh
# The inside of the test machine: first process, or what systemd starts; prepares cgroups, runs /script as the user who was asked for.
# It is for that machine only: it refuses to do anything where it is neither the first process nor in a machine of run.sh's.
#
# From the kernel's command line, as variables: AJ_AS=user|root|session, AJ_NSDELEGATE=yes|no, AJ_TOKEN=WORD.
# The output goes to the second serial port, with the exit status as its last line: `AJ_TOKEN STATUS`.
set -u
PATH=/usr/local/bin:/usr/bin:/usr/sbin
export PATH
OUT=/dev/ttyS1
USER_ID=1000

case ${AJ_TOKEN:-} in aj-*) ;; *) echo "guest.sh: this is no machine of tests/vm/run.sh" >&2; exit 1 ;; esac

# pivot_root() does not work on the file system that the kernel unpacks its archives to: a bind mount of it does.
leave_first_root() {
	mount --bind / /newroot
	mount -t proc -o nosuid,nodev,noexec proc /newroot/proc
	mount -t sysfs -o nosuid,nodev,noexec sysfs /newroot/sys
	mount -t devtmpfs -o nosuid,mode=755 dev /newroot/dev
	cd /newroot || exit 1
	mount --move . /
	if [ "$AJ_AS" = session ]; then
		exec chroot . /usr/lib/systemd/systemd </dev/console >/dev/console 2>&1
	fi
	exec chroot . "$0" machine </dev/console >/dev/console 2>&1
}

modules() {
	for module in /modules/*.ko; do insmod "$module"; done
}

# Without systemd: the mounts that it would have made, with its options.
mounts() {
	mkdir -p /dev/pts /dev/shm
	mount -t devpts -o nosuid,noexec,gid=5,mode=620,ptmxmode=666 devpts /dev/pts
	mount -t tmpfs -o nosuid,nodev,mode=1777 tmpfs /dev/shm
	mount -t tmpfs -o nosuid,nodev,mode=1777 tmpfs /tmp
	mount -t tmpfs -o nosuid,nodev,mode=755 tmpfs /run
	nsdelegate=nsdelegate,
	[ "$AJ_NSDELEGATE" = yes ] || nsdelegate=''
	mount -t cgroup2 -o nosuid,nodev,noexec,${nsdelegate}memory_recursiveprot cgroup2 /sys/fs/cgroup
	ln -s /proc/self/fd /dev/fd
	ln -s /proc/self/fd/0 /dev/stdin
	ln -s /proc/self/fd/1 /dev/stdout
	ln -s /proc/self/fd/2 /dev/stderr
	mount --make-rshared /
	ip link set lo up
	echo vm >/proc/sys/kernel/hostname
}

switch_on() { # FOLDER: every controller that there is, for its children
	for controller in memory pids cpu io; do echo "+$controller" >"$1/cgroup.subtree_control" 2>/dev/null; done
}
delegate() { # FOLDER: to the user, as systemd does it, with its mark
	chown $USER_ID:$USER_ID "$1"
	while read -r file; do
		[ ! -e "$1/$file" ] || chown $USER_ID:$USER_ID "$1/$file"
	done </sys/kernel/cgroup/delegate
	setfattr -n user.delegate -v 1 "$1"
}
# /tests: ours to divide, holds no process.  /tests/shell: where the script starts, delegated as well.
cgroups() {
	cgroup=/sys/fs/cgroup
	mkdir $cgroup/init $cgroup/tests
	echo 1 >$cgroup/init/cgroup.procs
	switch_on $cgroup
	[ "$AJ_AS" != user ] || delegate $cgroup/tests
	switch_on $cgroup/tests
	mkdir $cgroup/tests/shell
	if [ "$AJ_AS" = user ]; then delegate $cgroup/tests/shell; else setfattr -n trusted.delegate -v 1 $cgroup/tests/shell; fi
}

uptime() {
	read -r up _ </proc/uptime
	echo "vm: $1 at $up s" >/dev/console
}
report() { # STATUS
	uptime "end"
	sync
	printf '\n%s %s\n' "$AJ_TOKEN" "$1" >$OUT
	sleep 0.2
	reboot -f
}

# The kernel hands what it does not know of its command line to its first process, as arguments too.
stage=${1:-}
[ $$ != 1 ] || [ "$stage" = machine ] || stage=boot
case $stage in
boot)
	leave_first_root
	;;
machine)
	mounts
	modules
	cgroups
	uptime "start"
	export AGENTJAIL_TEST_CGROUP=/sys/fs/cgroup/tests AGENTJAIL_MUST_WORK=1 LANG=C.UTF-8
	# The words of the script, one a line.
	set --
	while IFS= read -r word; do set -- "$@" "$word"; done </arguments
	case $AJ_AS in
	user) set -- setpriv --reuid $USER_ID --regid $USER_ID --clear-groups --inh-caps=-all env HOME=/home/user USER=user LOGNAME=user sh /script "$@" ;;
	*) set -- env HOME=/root USER=root LOGNAME=root sh /script "$@" ;;
	esac
	chown $USER_ID:$USER_ID /home/user
	cd /agentjail || exit 1
	sh -c 'echo 0 >/sys/fs/cgroup/tests/shell/cgroup.procs && exec "$@"' sh "$@" </dev/null >$OUT 2>&1
	report $?
	;;
prepare)
	modules
	chown $USER_ID:$USER_ID /home/user
	uptime "start"
	;;
session)
	export AGENTJAIL_MUST_WORK=1 LANG=C.UTF-8 HOME=/home/user
	set --
	while IFS= read -r word; do set -- "$@" "$word"; done </arguments
	cd /agentjail || exit 1
	exec sh /script "$@"
	;;
report)
	report "${EXIT_STATUS:-125}"
	;;
esac
