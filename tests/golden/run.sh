#!/bin/sh
# Golden plans: what `--dry-run` prints for a few command lines must be what tests/golden/*.plan says, line by line.
# It starts no jail and builds nothing; `--update` rewrites the plans, and the diff is then for a person to review.
set -eu
cd "$(dirname "$0")/../.."
agentjail=${AGENTJAIL:-build/agentjail}
golden=tests/golden
update=${1:-}

scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
trap 'exit 130' HUP INT TERM

# A Python tree that satisfies the search for one: plans do not depend on what is in it.
mkdir -p "$scratch/rootfs/tree/usr/bin"
: > "$scratch/rootfs/tree/usr/bin/python3"
chmod 755 "$scratch/rootfs/tree/usr/bin/python3"
mkdir -p "$scratch/ws" "$scratch/home/.cargo/bin"
printf '[user]\n' > "$scratch/home/.gitconfig"

# The parts of a plan that differ from host to host, and nothing else:
#   identity      the caller's ids, or 65534 for root
#   rootfs        is in a scratch folder here
#   /bin, /lib... symlinks, folders or absent, "as on the host"; test_plan.c has the three cases
#   /etc          what this host has of the table of src/policy/host/etc.c; test_plan.c and tests/reach/etc.sh have the rows
#   landlock      the ABI of this kernel; from 6 on it keeps a jail with the host's network from the host's abstract sockets
#   cgroup        with a delegated cgroup v2 its rows stand in for two rlimits, and two lines of `enforced` name it;
#                 test_plan.c has both cases
normalise() {
	sed -E \
		-e 's/^(identity: uid 1000 gid 1000 inside), [0-9]+ [0-9]+ on the host$/\1, HOST_UID HOST_GID on the host/' \
		-e 's/^(  identity: )host id [0-9]+, shared.*$/\1AS_ON_HOST/' \
		-e "s|<- $scratch/rootfs/tree/usr |<- ROOTFS/tree/usr |" \
		-e "s|$scratch/ws|WORKSPACE|g" \
		-e "s|$scratch/home|HOME|g; s|/claude-[0-9a-f]{12}/|/claude-HASH/|" \
		-e '/^  (symlink|bind) +\/(bin|sbin|lib|lib64|lib32) .*# as on the host$/d' \
		-e '/resolv.conf/!{/^  (symlink|bind) +\/etc\/.* <- .*  # .*$/d;}' \
		-e 's/^(  landlock: )(ABI [0-9]+|none: this kernel has no Landlock)$/\1AS_ON_HOST/' \
		-e "s/^(  network: none: the policy gives the host's network)(, its abstract sockets included)?\$/\1/" \
		-e 's/^cgroup: .*$/cgroup: AS_ON_HOST/' \
		-e '/^  (memory\.max|memory\.swap\.max|memory\.oom\.group|pids\.max) = .*$/d' \
		-e '/^  RLIMIT_(AS|DATA) [0-9]+  # no memory cgroup: .*$/d' \
		-e 's/^(  memory: )(cgroup v2 memory\.max|rlimit RLIMIT_(AS|DATA)[^()]* \(no memory cgroup\))$/\1AS_ON_HOST/' \
		-e 's/^(  pids: )(cgroup v2 pids\.max|rlimit RLIMIT_NPROC \(no pids cgroup\))$/\1AS_ON_HOST/'
}

passed=0 failed=0 skipped=0
plan() {
	name=$1
	shift
	if ! env -i HOME="$scratch/home" PATH="$scratch/home/.cargo/bin:/usr/bin:/bin" "$agentjail" "$@" > "$scratch/raw" 2> "$scratch/err" < /dev/null; then
		echo "FAIL $name: agentjail $*"
		sed 's/^/     /' "$scratch/err"
		failed=$((failed + 1))
		return
	fi
	{ echo "# agentjail $*" | sed "s|$scratch/rootfs|ROOTFS|; s|$scratch/ws|WORKSPACE|; s|$scratch/site.toml|SITE|"; normalise < "$scratch/raw"; } > "$scratch/plan"
	if [ "$update" = --update ]; then
		cmp -s "$scratch/plan" "$golden/$name.plan" || echo "new  $name"
		cp "$scratch/plan" "$golden/$name.plan"
	fi
	if diff -u "$golden/$name.plan" "$scratch/plan" > "$scratch/diff" 2>&1; then
		passed=$((passed + 1))
	else
		echo "FAIL $name; if the change is meant: tests/golden/run.sh --update"
		sed 's/^/     /' "$scratch/diff"
		failed=$((failed + 1))
	fi
}

case $update in
'' | --update) ;;
*)
	echo 'usage: tests/golden/run.sh [--update]' >&2
	exit 2
	;;
esac

rootfs=$scratch/rootfs
plan exec-default exec --dry-run --rootfs "$rootfs" -c 'print(2 + 2)'
plan exec-options exec --dry-run --rootfs "$rootfs" --json --allow-import 'numpy.*' --builtins full --layer off --timeout 2500ms \
	--memory 256M --pids 8 --env A=1 --env A=2 --env PATH=/tmp --input n=1 --file /srv/data.csv --file /srv/b:/tmp/b --id golden \
	-c 'import math, numpy.linalg; from re import match; mathematics = json2 = 1'
plan run-default run --dry-run -- true
plan run-loopback run --dry-run --network loopback --timeout 10s --memory 1G --pids 64 --proc none --json -- sh -c 'echo x'
plan run-host-binds run --dry-run --network host --bind /srv/src --bind /srv/out:/work:rw --bind /srv/lib:/opt/lib:ro --chdir /work \
	--env TOKEN=x -- make all

# One plan for each preset: a change of a policy arrives with its plan.
for preset in snippet minimal smolagents data-analysis text utility science; do
	plan "policy-$preset" exec --dry-run --policy $preset --rootfs "$rootfs" -c 'print(2 + 2)'
done
# It locks every key, --rootfs and its variable included: the site says where the tree is.
ln -s rootfs "$scratch/default"
printf 'rootfs.path = "%s"\n' "$scratch" > "$scratch/site.toml"
plan policy-locked exec --dry-run --config "$scratch/site.toml" --policy locked -c 'print(2 + 2)'
plan policy-command run --dry-run --policy command -- true
plan policy-browser run --dry-run --policy browser -- chromium
plan policy-offline-build run --dry-run --policy offline-build --workspace "$scratch/ws" -- make
plan policy-mcp-server run --dry-run --mcp -- mcp-server
# The policies for one agent or language change its network and variables alone, as tests/e2e/policy_cmd.sh checks.
plan policy-coding-agent run --dry-run --policy coding-agent --workspace "$scratch/ws" -- sh -c 'make test'
plan run-publish run --dry-run --publish 8000 --publish "[::1]:8080:80" --proc none -- server
plan run-overlay run --dry-run --policy offline-build --workspace "$scratch/ws" --workspace-mode overlay -- make
plan run-copy run --dry-run --policy offline-build --workspace "$scratch/ws" --workspace-mode copy -- make
plan policy-claude run --dry-run --policy claude --workspace "$scratch/ws" -- claude
plan run-allow-host run --dry-run --allow-host pypi.org:443 --allow-host "*.pythonhosted.org:443" --proc none -- pip install x

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
