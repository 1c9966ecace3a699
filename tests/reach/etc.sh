#!/bin/sh
# What a command sees of the host's /etc: all that links of /usr lead to, and nothing that is secret.
# Root plants secrets in an overlay over /etc, in mounts of the test's own; the host's /etc is not changed.
. "$(dirname "$0")/../lib.sh"

# Links of /usr that lead through /etc, to what all may read. Those that the table covers lead somewhere; others are named.
set -f
rows=$(sed -n '/^| below \/etc | why |/,/^$/p' "$(dirname "$0")/../../docs/reference/policies.md" | grep -o '`[^`]*`' | tr -d '`')
[ -n "$rows" ] || fail "etc-shown: control: the table has rows"
covered() {
	local row
	for row in $rows; do
		# shellcheck disable=SC2254 # a row is a pattern
		case ${1#/etc/} in $row | $row/*) return 0 ;; esac
		case $row in "${1#/etc/}"/*) return 0 ;; esac
	done
	return 1
}
find /usr -lname '*etc/*' ! -xtype l >"$T/links" 2>/dev/null
while IFS= read -r link; do
	to=$(readlink -f "$link")
	case $to in
	/etc/environment | /etc/gitconfig | /etc/machine-id | /etc/maven/settings.xml | /etc/npmrc | /etc/pip.conf) ;;
	/etc/*)
		[ "$(($(stat -c '0%a' "$to") & 4))" = 0 ] && continue
		if covered "$to"; then echo "$link"; else echo "$link" >>"$T/uncovered"; fi
		;;
	/usr/*) case $(readlink "$link") in /etc/alternatives/*) echo "$link" ;; esac ;;
	esac
done <"$T/links" >"$T/wanted"
set +f
[ ! -s "$T/uncovered" ] || skip "etc-shown: links that the table does not cover" "$(tr '\n' ' ' <"$T/uncovered")"
aj run --bind "$T/wanted:/opt/wanted" -- sh -c 'while IFS= read -r link; do [ -e "$link" ] || echo "$link"; done </opt/wanted'
is "etc-shown: links of /usr into /etc lead somewhere" "0 " "$rc $(head -c 500 "$T/out")"
check "etc-shown: control: there are such links" test -s "$T/wanted"
text "etc-shown: nothing can be written" 1 '' run -- sh -c 'echo x >>/etc/services || touch /etc/x /etc/ssl/x /etc/ssl/certs/x'
aj run -- sh -c 'for f in shadow gshadow machine-id sudoers ssh ssl/private passwd- fstab environment maven/settings.xml; do [ ! -e /etc/$f ] || echo $f; done'
is "etc-secrets: not there" "0 " "$rc $(cat "$T/out")"

# --- planted ---
if [ -z "$apart" ] || [ "$(id -u)" != 0 ]; then
	skip "etc-secrets: planted ones" "only root has mounts of its own"
	finish
fi
plant=$T/etc
mkdir -p "$plant/ssl/private" "$plant/ssh" "$plant/maven" "$plant/service.d" "$plant/java-99-openjdk" "$plant/php/9.9/cli" "$plant/php/9.9/fpm"
for f in secret.conf shadow environment machine-id ssl/private/key.pem ssl/key.pem ssh/ssh_host_rsa_key maven/settings.xml service.d/token .hidden php/9.9/fpm/pool; do
	echo "PLANTED $f" >"$plant/$f"
done
chmod -R a+rX "$plant"
echo SHOWN | tee "$plant/java-99-openjdk/shown" >"$plant/php/9.9/cli/php.ini"
ln -s /usr/share/zoneinfo/Asia/Tokyo "$plant/localtime"
mkdir "$plant/service.d/java" && echo LED >"$plant/service.d/java/led" && ln -s service.d "$plant/pki"
mount -t overlay -o "lowerdir=$plant:/etc" overlay /etc || fail "an overlay over /etc"
is "etc-secrets: control: outside they are found" 11 "$(grep -rls PLANTED /etc | wc -l)"

# As root and as another user, whose jail has that user's rights.
as_user() {
	timeout 60 setpriv --reuid 65533 --regid 65533 --clear-groups env HOME=/nonexistent XDG_STATE_HOME=/nonexistent "$AJ" "$@" >"$T/out" 2>"$T/err"
	rc=$?
}
SEEN='grep -rs PLANTED /etc /usr/lib/ssl /usr/share/maven; ls -a /etc | grep -e secret -e hidden -e service.d -e shadow -e ssh; cat /etc/java-99-openjdk/shown /etc/php/9.9/cli/php.ini; date +%Z; readlink /etc/localtime; ls /etc/pki; cat /etc/pki/java/led'
for who in aj as_user; do
	$who run -- sh -c "$SEEN"
	is "etc-secrets: $who: none is visible; etc-shown: what a pattern names, the zone, and a row behind a link" "0 SHOWN SHOWN JST /usr/share/zoneinfo/Asia/Tokyo java LED" "$rc $(tr '\n' ' ' <"$T/out" | sed 's/ $//')"
	$who run --network host -- sh -c 'grep -rs PLANTED /etc'
	is "etc-secrets: $who: nor with the host's network" "1 " "$rc $(cat "$T/out")"
done
aj run -- ls /etc/ssl
silent "etc-secrets: a folder named by its parts has no other entries" 'private|key.pem'
# A mount in /etc, as containers have them, is shown and hides nothing else.
mount --bind "$plant/java-99-openjdk" /etc/fonts 2>/dev/null && {
	for who in aj as_user; do
		$who run -- sh -c 'cat /etc/fonts/shown; grep -rs PLANTED /etc; cat /etc/services >/dev/null'
		is "etc-shown: $who: a mount in /etc" "0 SHOWN" "$rc $(cat "$T/out")"
	done
	umount /etc/fonts
}
umount /etc
finish
