#!/bin/sh
# Packs what is tested, and the tests, into one archive that is unpacked over the Debian tree: launcher, probe, Python tree, scripts.
# It builds nothing, takes no program from this system, and writes nothing but the archive.
#
# Usage: tests/vm/image.sh CACHE OUT     AGENTJAIL=build/agentjail, whose folder holds the probe too; AGENTJAIL_ROOTFS=DIR
set -eu
umask 022
cache=$1 out=$2
tests=$(cd "$(dirname "$0")/.." && pwd)
: "${AGENTJAIL:=$tests/../build/agentjail}"
rootfs=${AGENTJAIL_ROOTFS:-$(dirname "$AGENTJAIL")/rootfs/default}

for need in "$AGENTJAIL" "$(dirname "$AGENTJAIL")/probe" "$rootfs/manifest" "$cache/system/busybox"; do
	[ -e "$need" ] || { echo "tests/vm/image.sh: $need is missing; make all build/probe, tests/vm/fetch.sh" >&2; exit 1; }
done
if LC_ALL=C readelf -l "$AGENTJAIL" | grep -q 'INTERP'; then
	echo "tests/vm/image.sh: $AGENTJAIL needs shared libraries of this system; the test machine has none of them" >&2
	exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM
tree=$work/tree
mkdir -p "$tree/agentjail/build/rootfs" "$tree/usr/local/bin" "$tree/etc/pam.d" "$tree/etc/systemd/system" "$tree/etc/systemd/journald.conf.d" \
	"$tree/var/lib/systemd/linger" "$tree/newroot" "$tree/proc" "$tree/sys" "$tree/dev" "$tree/run" "$tree/home/user" "$tree/mnt"
mkdir -m 700 "$tree/root"
mkdir -m 1777 "$tree/tmp" "$tree/var/tmp"

cp "$AGENTJAIL" "$(dirname "$AGENTJAIL")/probe" "$tree/agentjail/build/"
for program in inject warm raw.so relayed; do
	[ ! -e "$(dirname "$AGENTJAIL")/$program" ] || cp "$(dirname "$AGENTJAIL")/$program" "$tree/agentjail/build/"
done
for helper in "$(dirname "$AGENTJAIL")"/agentjail-*; do # these may need libraries: the tree's own
	[ ! -f "$helper" ] || cp "$helper" "$tree/agentjail/build/"
done
cp -R "$rootfs" "$tree/agentjail/build/rootfs/default"
cp -R "$tests" "$tree/agentjail/tests"
for folder in docs policies; do cp -R "$tests/../$folder" "$tree/agentjail/$folder"; done
chmod -R a+rX,go-w "$tree/agentjail"

# The one thing that the tests ask a compiler, answered by this system's: the numbers of the system calls.
{
	printf '#!/bin/sh\ncat >/dev/null\n[ "$*" = "-E -dM -" ] || exit 1\ncat <<"DEFINES"\n'
	printf '#include <sys/syscall.h>\n' | ${CC:-cc} -E -dM - | grep '^#define __NR_'
	echo DEFINES
} >"$tree/usr/local/bin/cc"
chmod 755 "$tree/usr/local/bin/cc"

# --- accounts, and PAM without passwords: logind is asked for a session, nothing is checked ---
cat >"$tree/etc/passwd" <<'END'
root:x:0:0:root:/root:/bin/sh
messagebus:x:100:100::/nonexistent:/usr/sbin/nologin
user:x:1000:1000::/home/user:/bin/sh
nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin
END
sed 's/^\([^:]*\):x:\([0-9]*\):.*/\1:x:\2:/; s/^nobody:/nogroup:/' "$tree/etc/passwd" >"$tree/etc/group"
printf 'tty:x:5:\nsystemd-journal:x:101:\nadm:x:4:\nutmp:x:43:\n' >>"$tree/etc/group"
sed 's/^\([^:]*\):.*/\1:!:19000::::::/' "$tree/etc/passwd" >"$tree/etc/shadow"
chmod 600 "$tree/etc/shadow"
printf 'passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n' >"$tree/etc/nsswitch.conf"
echo '127.0.0.1 localhost vm' >"$tree/etc/hosts"
echo vm >"$tree/etc/hostname"
echo 5d7f0c3b1b0e4d0f9a3c2b1a00000001 >"$tree/etc/machine-id"
: >"$tree/etc/fstab"
: >"$tree/etc/resolv.conf"
for service in other common-auth common-account common-session common-session-noninteractive; do
	for kind in auth account session password; do echo "$kind required pam_permit.so"; done >"$tree/etc/pam.d/$service"
done
for service in systemd-user agentjail-test; do
	{ cat "$tree/etc/pam.d/other"; echo 'session required pam_systemd.so'; } >"$tree/etc/pam.d/$service"
done

# --- systemd: a login session that runs guest.sh, and nothing that a test does not need ---
cat >"$tree/etc/systemd/system/agentjail-test.service" <<'END'
[Unit]
Requires=dbus.service user@1000.service
After=dbus.service user@1000.service systemd-user-sessions.service
Wants=systemd-user-sessions.service
[Service]
Type=oneshot
User=user
PAMName=agentjail-test
PassEnvironment=AJ_TOKEN AJ_AS
Environment=XDG_SESSION_TYPE=tty XDG_SESSION_CLASS=user
ExecStartPre=+/agentjail/tests/vm/guest.sh prepare
ExecStart=/agentjail/tests/vm/guest.sh session
ExecStopPost=+/agentjail/tests/vm/guest.sh report
StandardOutput=file:/dev/ttyS1
StandardError=inherit
TimeoutSec=infinity
END
printf '[Unit]\nRequires=basic.target agentjail-test.service\nAfter=basic.target\n' >"$tree/etc/systemd/system/agentjail-test.target"
printf '[Journal]\nStorage=volatile\n' >"$tree/etc/systemd/journald.conf.d/volatile.conf"
: >"$tree/var/lib/systemd/linger/user"
for unit in systemd-udevd.service systemd-udev-trigger.service systemd-udevd-kernel.socket systemd-udevd-control.socket systemd-hwdb-update.service \
	systemd-journal-flush.service systemd-journal-catalog-update.service systemd-update-done.service systemd-update-utmp.service systemd-pstore.service \
	systemd-machine-id-commit.service systemd-random-seed.service systemd-binfmt.service proc-sys-fs-binfmt_misc.automount systemd-firstboot.service \
	dev-hugepages.mount dev-mqueue.mount sys-kernel-debug.mount sys-kernel-tracing.mount sys-kernel-config.mount sys-fs-fuse-connections.mount \
	systemd-modules-load.service systemd-boot-system-token.service systemd-sysusers.service systemd-networkd.service systemd-resolved.service \
	systemd-timesyncd.service kmod-static-nodes.service modprobe@.service systemd-ask-password-wall.path systemd-ask-password-console.path; do
	ln -s /dev/null "$tree/etc/systemd/system/$unit"
done

mkdir -p "$(dirname "$out")"
(cd "$tree" && find . -mindepth 1 | LC_ALL=C sort | "$cache/system/busybox" cpio -o -H newc -R 0:0 2>/dev/null) >"$out.tmp"
mv "$out.tmp" "$out"
