#!/bin/sh
# The profile of `agentjail doctor --apparmor`, loaded into a kernel that mediates user namespaces (Linux 6.7), and jails of an ordinary user
# under it. It runs in the machine of tests/vm alone, since a profile is for all processes of a kernel: elsewhere it is skipped.
. "$(dirname "$0")/../lib.sh"

kernel=/sys/kernel/security/apparmor mounted=
[ -x /apparmor/apparmor_parser ] || { skip "AppArmor" "its parser is only in the machine of tests/vm/apparmor.sh"; finish; }
mountpoint -q /sys/kernel/security || { mounted=1 && mount -t securityfs securityfs /sys/kernel/security; }
grep -q userns_create $kernel/features/namespaces/mask 2>/dev/null || {
	[ -z "$mounted" ] || umount /sys/kernel/security
	skip "AppArmor" "this kernel has none that mediates user namespaces"
	finish
}

load() { # what comes in is a profile
	cat >"$T/profile"
	/apparmor/lib/ld-linux-x86-64.so.2 --library-path /apparmor/lib /apparmor/apparmor_parser --config-file /dev/null --base /apparmor -rTW "$T/profile"
}
own() { # FLAGS RULES: a profile of an administrator's own
	printf 'abi <abi/4.0>,\nprofile agentjail %s flags=(%s) {\n%s\n}\n' "$AJ" "$1" "$2" | load
}
# A user whose login is confined by a profile without user namespaces, which passes to each program's own profile: so is everybody on Ubuntu.
cp /bin/sh /usr/bin/login-shell
user() { # COMMAND, as text
	timeout "$LIMIT" setpriv --reuid 1000 --regid 1000 --clear-groups --inh-caps=-all env HOME=/home/user login-shell -c "$1" 2>&1
}
holds() { # NAME WORD OUTPUT
	case $3 in *"$2"*) ok "$1" ;; *) fail "$1" "no \`$2\` in \`$3\`" ;; esac
}

printf 'abi <abi/4.0>,\nprofile login /usr/bin/login-shell {\n  allow all,\n  allow pix /**,\n  deny userns,\n}\n' | load
holds "the login is confined" "login (enforce)" "$(user 'cat /proc/self/attr/current')"
holds "AppArmor refuses user namespaces there" "Permission denied" "$(user 'unshare -Ur true')"
got=$(user "$AJ exec -c 2+2")
holds "without a profile: the step" "clone: " "$got"
holds "without a profile: the cause" "the AppArmor profile \`login\`" "$got"
holds "without a profile: the fix" "agentjail doctor --apparmor" "$got"
holds "without a profile: doctor" "FAIL  snippet jail" "$(user "$AJ doctor")"

check "the profile is loaded" eval '"$AJ" doctor --apparmor | load'
holds "the kernel has it" "agentjail (unconfined)" "$(cat $kernel/profiles)"
is "with it: a snippet" 4 "$(user "$AJ exec -c 2+2")"
is "with it: a command, under that profile" "agentjail (unconfined)" "$(user "$AJ run -- cat /proc/self/attr/current")"
holds "with it: no jail makes user namespaces" "unshare failed: Operation not permitted" "$(user "$AJ run -- unshare -Ur true")"
case $(user "$AJ doctor") in *FAIL*) fail "with it: doctor" "$(user "$AJ doctor")" ;; *) ok "with it: doctor" ;; esac

# Profiles that confine: the paths of new mounts are below no root until the jail has its own.
for flags in enforce complain; do
	own $flags,attach_disconnected "allow all,"
	is "$flags: a snippet" 4 "$(user "$AJ exec -c 2+2")"
	is "$flags: a command" 1000 "$(user "$AJ run -- id -u")"
done
own enforce,attach_disconnected "allow all, deny userns,"
holds "a profile that denies userns: the cause" "the AppArmor profile \`agentjail\`" "$(user "$AJ exec -c 2+2")"
own enforce "allow all,"
holds "a profile without attach_disconnected: no jail" "mounts: " "$(user "$AJ exec -c 2+2")"

[ -z "$mounted" ] || umount /sys/kernel/security
finish
