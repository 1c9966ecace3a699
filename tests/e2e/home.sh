#!/bin/sh
# A command where its caller stands: the workspace at its own path, variables by name, a home, toolchains.
# It looks at what the jail shows and at what stays on the host; the unit tests know each path that is refused.
. "$(dirname "$0")/../lib.sh"

H=$T/home
mkdir -p "$H/project/sub" "$T/p"
export HOME="$H"
unset ANTHROPIC_API_KEY OPENAI_API_KEY
[ "$(id -u)" != 0 ] || chown -R 65534:65534 "$H/project"
cd "$H/project/sub" || exit 1

# --- the workspace ---
text "a coding policy shows the folder where one stands, at its own path" 0 "^$H/project/sub\$" run --policy coding-agent -- pwd
text "and from below a workspace one starts there" 0 "^$H/project/sub\$" run --policy coding-agent --workspace .. -- sh -c 'pwd && touch made'
check "the file is where the command stood" test -e made
text "by its general name, too" 0 "^$H/project/sub\$" run --policy coding-agent --workspace .. -- sh -c 'cd /workspace/sub && pwd -P'
text "nothing beside it is shown" 0 '^project$' run --policy coding-agent --workspace .. -- ls -A "$H"
text "--workspace-at /workspace" 0 '^/workspace$' run --policy coding-agent --workspace-at /workspace -- pwd
text "under any policy with a workspace" 0 "^$H/project\$" run --policy offline-build --workspace .. --workspace-at same --chdir "$H/project" -- pwd
text "its places are held there" 1 'Read-only file system' run --policy coding-agent -- sh -c 'touch .vscode/x 2>&1'
text "its parents cannot be changed, but below /tmp" 0 '' run --policy coding-agent -- sh -c "! mkdir /made 2>/dev/null && ! mv '$H' '$H.2' 2>/dev/null"
text "explain knows the path" 0 "^allowed +path $H/project/sub/x .write" policy explain coding-agent --workspace "$H/project/sub" --write --path "$H/project/sub/x"

# --- git, from wherever one stands in a repository ---
if command -v git >/dev/null; then
	printf '[user]\nname = h\nemail = h@h\n[safe]\ndirectory = *\n[protocol "file"]\nallow = always\n' >"$T/gitconfig"
	hgit() { GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=$T/gitconfig git -c init.defaultBranch=main "$@"; }
	R=$H/repo
	hgit init -q "$H/lib" && hgit -C "$H/lib" commit -q --allow-empty -m one
	hgit init -q "$R" && hgit -C "$R" submodule --quiet add "$H/lib" mods/lib && mkdir -p "$R/deep/er" && hgit -C "$R" commit -qm two
	hgit init -q --separate-git-dir "$H/apart.git" "$H/apart" && mkdir "$H/apart/sub" && hgit -C "$H/apart" commit -q --allow-empty -m three
	hgit -C "$R" worktree add -q "$H/linked" && mkdir "$H/linked/sub"
	mkdir -p "$H/plain/sub/.git"
	hgit init -q "$R/nested" && mkdir "$R/nested/part" && echo "gitdir: $R/.git" >"$R/nested/part/.git"
	[ "$(id -u)" != 0 ] || chown -R 65534:65534 "$R" "$H/apart" "$H/apart.git" "$H/linked"
	stands() { # NAME FOLDER RC REGEX ARGS...
		local name=$1 folder=$2 rc=$3 regex=$4
		shift 4
		cd "$folder" || exit 1
		text "git: $name" "$rc" "$regex" run "$@" -- sh -c 'export HOME=/tmp; git config --global safe.directory "*"; pwd; git rev-parse --show-toplevel && git log --format=%s -1'
	}
	stands "from a subfolder" "$R/deep/er" 0 "^$R/deep/er\$" --policy coding-agent
	says "the whole repository is there" "^$R\$"
	says "and a line names it" "agentjail: the workspace is .$R., the root of this git repository; use --workspace . for this folder alone"
	stands "from a submodule" "$R/mods/lib" 0 "^$R/mods/lib\$" --policy coding-agent
	says "whose own repository is in the outer one" '^one$'
	says "which is the workspace" "the workspace is .$R., the root"
	stands "from the root" "$R" 0 '^two$' --policy coding-agent
	silent "without a line" 'agentjail: the workspace'
	stands "a folder alone, as one asks for it" "$R/deep" 128 "the workspace is a part of the git repository .$R., which the jail does not show, so git does not work; --workspace with that path shows it" --policy coding-agent --workspace .
	stands "another policy" "$R" 128 "a part of the git repository .$R., which the jail does not show" --policy offline-build --workspace deep
	stands "a submodule under another policy" "$R" 128 "a part of the git repository .$R., which the jail does not show" --policy offline-build --workspace mods/lib
	stands "a repository elsewhere" "$H/apart/sub" 128 "the repository of the workspace is in .$H/apart.git., which the jail does not show, so git does not work; --bind with that path" --policy coding-agent
	stands "and what the line says" "$H/apart/sub" 0 '^three$' --policy coding-agent --bind "$H/apart.git"
	silent "is enough" 'which is not in the jail'
	stands "a linked worktree" "$H/linked/sub" 128 "the workspace is .$H/linked., the root" --policy coding-agent
	says "has its own line" 'whose main repository .*/repo/.git. is not in the jail'
	stands "a folder .git that is no repository" "$H/plain/sub" 128 "^$H/plain/sub\$" --policy coding-agent
	stands "a file .git that an earlier jail has made in its workspace" "$R/nested/part" 128 "^$R/nested/part\$" --policy coding-agent
	silent "leads to no other workspace" 'agentjail: the workspace'
	hgit init -q "$H"
	stands "a home that is a repository" "$H/plain/sub" 128 "^$H/plain/sub\$" --policy coding-agent
	silent "is no workspace, and not named" 'agentjail: the workspace'
	rm -rf "$H/.git"
	if [ "$(id -u)" = 0 ]; then
		chown 4242 "$R/.git"
		stands "a repository of another user" "$R/deep/er" 128 "^$R/deep/er\$" --policy coding-agent
		silent "is not taken" "the workspace is"
	fi
	rm -rf "$R" "$H/lib" "$H/apart" "$H/apart.git" "$H/linked" "$H/plain"
fi

cd "$H" || exit 1
text "a home is no workspace" 2 'cannot be a workspace: the folder is the caller.s home folder' run --policy coding-agent -- true
says "and the fix is named" "fix: start in a project's folder"
cd / || exit 1
text "the root is none either" 2 'cannot be a workspace' run --policy coding-agent -- true
cd "$H/project" || exit 1
printf 'extends = "command"\n[filesystem]\nworkspace = "read-write"\nworkspace_at = "same"\nmasks = ["secret", "/workspace/hidden"]\nprotect = []\n' >"$T/p/masks.toml"
mkdir hidden && echo SECRET >hidden/key && echo SECRET >secret && chmod -R a+rX .
text "masks follow the workspace" 0 '^masked$' run --policy-file "$T/p/masks.toml" --workspace . -- sh -c 'cat secret hidden/* 2>/dev/null; echo masked'
silent "and hide what they name" SECRET
rm -rf hidden secret

# --- variables ---
export ANTHROPIC_API_KEY=key-of-the-caller COLORTERM=truecolor OTHER=other
text "a policy's variables are passed on" 0 '^key-of-the-caller truecolor none$' run --policy claude --home empty -- sh -c 'echo "$ANTHROPIC_API_KEY $COLORTERM ${OTHER-none}"'
text "an option wins" 0 '^mine$' run --policy claude --home empty --env ANTHROPIC_API_KEY=mine -- sh -c 'echo "$ANTHROPIC_API_KEY"'
text "another policy passes none" 0 '^none$' run --policy offline-build --workspace . -- sh -c 'echo "${ANTHROPIC_API_KEY-none}"'
aj run --policy claude --dry-run -- true
silent "a printed plan has no value of theirs" key-of-the-caller

# --- settings for networks ---
mkdir -p "$H/.config/pip" "$H/.cargo"
printf -- '-----BEGIN PRIVATE KEY-----\n%s\n-----END PRIVATE KEY-----\n-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n' "$SECRET" >"$T/ca.pem"
printf '%s\n' "registry = https://npm.corp.test/ ; $SECRET" '@a:registry=https://u:'"$SECRET"'@npm.corp.test/' "//npm.corp.test/:_authToken=$SECRET" "cafile=$T/ca.pem" >"$H/.npmrc"
printf '%s\n' '[global]' 'index-url = https://pypi.corp.test/simple' 'extra-index-url =' '  https://more.corp.test/simple' "  https://u:$SECRET@b.test/" >"$H/.config/pip/pip.conf"
printf '%s\n' '[source.crates-io]' 'replace-with = "corp"' '[source.corp]' 'registry = "sparse+https://cargo.corp.test/"' "[registries.corp]# $SECRET" 'token = """' "$SECRET" '"""' >"$H/.cargo/config.toml"
export SSL_CERT_FILE="$T/ca.pem" NODE_EXTRA_CA_CERTS="$H/.ssh/id_rsa" PIP_INDEX_URL="https://u:$SECRET@pypi.corp.test/" GOPROXY=https://go.corp.test,direct UV_INDEX_URL="https://pypi.corp.test/?key=$SECRET"
look='cat "$SSL_CERT_FILE" "$NPM_CONFIG_GLOBALCONFIG" "$PIP_CONFIG_FILE" /.cargo/config.toml; echo "${NPM_CONFIG_CAFILE##*/} $GOPROXY ${NODE_EXTRA_CA_CERTS-none} ${PIP_INDEX_URL-none}"'
text "certificates and registries are passed, without what is secret" 0 '' run --policy coding-agent -- sh -c "$look"
is "the certificates, and the lines that are named" "-----BEGIN CERTIFICATE-----|QUJD|-----END CERTIFICATE-----|registry = https://npm.corp.test/ |[global]|index-url = https://pypi.corp.test/simple|extra-index-url =|  https://more.corp.test/simple|[source.crates-io]|replace-with = \"corp\"|[source.corp]|registry = \"sparse+https://cargo.corp.test/\"|[registries.corp]|SSL_CERT_FILE.pem https://go.corp.test,direct none none|" \
	"$(tr '\n' '|' <"$T/out")"
is "with a line for each" "SSL_CERT_FILE is passed: the jail has a copy of the certificates in \`$T/ca.pem\`
NODE_EXTRA_CA_CERTS is not passed: \`$H/.ssh/id_rsa\`: no certificate in PEM form
PIP_INDEX_URL is not passed: it contains a password or a token; use --env PIP_INDEX_URL to pass it anyway
UV_INDEX_URL is not passed: it contains a password or a token; use --env UV_INDEX_URL to pass it anyway
GOPROXY is passed; the policy's list lacks its host: add --allow-host go.corp.test:443
\`cafile\` of ~/.npmrc is passed: the jail has a copy of the certificates in \`$T/ca.pem\`
of ~/.npmrc, 1 line with a password or a token is not passed
the registries of ~/.npmrc are passed; the policy's list lacks its host: add --allow-host npm.corp.test:443
of ~/.config/pip/pip.conf, 1 line with a password or a token is not passed
the registries of ~/.config/pip/pip.conf are passed; the policy's list lacks its host: add --allow-host pypi.corp.test:443 --allow-host more.corp.test:443
the registries of ~/.cargo/config.toml are passed; the policy's list lacks its host: add --allow-host cargo.corp.test:443" "$(sed -n 's/^agentjail: network: //p' "$T/err")"
text "an option wins" 0 '^mine .*direct none https://mine.test/$' run --policy coding-agent --env NPM_CONFIG_CAFILE=mine --env PIP_INDEX_URL=https://mine.test/ -- sh -c "$look"
printf '[network]\npass_settings = false\n' | cat - >"$T/p/plain.toml" && sed -i '1i extends = "coding-agent"' "$T/p/plain.toml"
text "not by a policy that says so" 0 '^none none$' run --policy-file "$T/p/plain.toml" -- sh -c 'test ! -e /etc/agentjail && echo "${SSL_CERT_FILE-none} ${GOPROXY-none}"'
text "nor without a network" 0 '^none none$' run -- sh -c 'test ! -e /etc/agentjail && echo "${SSL_CERT_FILE-none} ${GOPROXY-none}"'
unset SSL_CERT_FILE NODE_EXTRA_CA_CERTS PIP_INDEX_URL UV_INDEX_URL GOPROXY
rm -r "$H/.npmrc" "$H/.config/pip" "$H/.cargo"

# --- a home that is kept ---
homes() { find "$XDG_STATE_HOME/agentjail/homes" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l; }
is "without one none is made" 0 "$(homes)"
aj run --policy claude --dry-run -- true
is "nor by a dry run" 0 "$(homes)"
printf '[user]\n\tname = Ann\n\temail = ann@example.org\n' >"$H/.gitconfig"
mkdir -p "$H/.config/git" "$H/.ssh" "$H/elsewhere" && echo '*.o' >"$H/.config/git/ignore" && echo SECRET >"$H/.ssh/id" && echo SECRET >"$H/.config/git/credentials"
text "its path is the caller's own" 0 "^$H\$" run --policy claude -- sh -c 'echo kept >~/.agent; getent passwd agent | cut -d: -f6'
is "it is made once" 1 "$(homes)"
text "what is in it lasts" 0 '^kept$' run --policy claude -- cat "$H/.agent"
check "outside of the caller's own" test ! -e "$H/.agent"
text "another workspace has another" 1 'No such file' run --policy claude --workspace sub -- cat "$H/.agent"
text "and so has another policy" 1 'No such file' run --policy codex -- cat "$H/.agent"
text "--home empty" 0 '^/tmp$' run --policy claude --home empty -- sh -c 'echo $HOME; test ! -e ~/.agent'
text "--home kept" 0 "^$H\$" run --policy coding-agent --home kept -- sh -c 'echo $HOME'
for home in kept empty; do
	text "$home: git knows its user" 0 '^Ann ann@example.org$' run --policy claude --home $home -- sh -c 'echo "$(git config user.name) $(git config user.email)"'
	text "$home: and what it ignores" 0 '^\*.o$' run --policy claude --home $home -- sh -c 'cat ~/.config/git/ignore'
	text "$home: no secret of the home is there" 0 '^end$' run --policy claude --home $home -- sh -c "cat ~/.ssh/id ~/.config/git/credentials '$H/.ssh/id' 2>/dev/null; echo end"
	silent "$home: nor said" SECRET
done
text "the jail's copy is its own" 0 '^other$' run --policy claude -- sh -c 'git config --global user.name other && git config user.name'
check "the caller's file stays" grep -q 'name = Ann' "$H/.gitconfig"
text "and is copied anew at the next start" 0 '^Ann$' run --policy claude -- git config user.name
mv "$H/.gitconfig" "$H/elsewhere/gitconfig" && ln -s elsewhere/gitconfig "$H/.gitconfig"
text "a symlink is not followed" 1 'home: `~/.gitconfig` is behind a symlink, and is not copied' run --policy claude --home empty -- git config user.name
rm "$H/.gitconfig"
text "a toolchain's and the workspace's parents stay" 0 '^held$' run --policy claude -- sh -c "mv '$H/project' '$H/p' 2>/dev/null || echo held"
text "a link that an agent left is not followed" 0 '' run --policy claude -- sh -c 'rm -rf ~/.config && ln -s /tmp ~/.config'
text "but named, with the way out" 125 'homes remove' run --policy claude -- true
text "the list says whose they are" 0 "^claude-[0-9a-f]{12} .* $H/project\$" homes list
aj homes list --json
check "also as JSON" "$PY" -c 'import json, sys; homes = json.load(open(sys.argv[1])); assert {h["policy"] for h in homes} == {"claude", "codex", "coding-agent"} and not any(h["in_use"] for h in homes), homes' "$T/out"
name=$("$PY" -c 'import json, sys; print([h["name"] for h in json.load(open(sys.argv[1])) if h["policy"] == "codex"][0])' "$T/out")
text "what an agent leaves is removed" 0 '' run --policy codex -- sh -c 'd=~; for i in $(seq 300); do d=$d/long-name-of-a-folder; mkdir -p $d && cd $d && d=.; done; mkdir ~/shut && touch ~/shut/x && chmod 0 ~/shut; ln -s / ~/root; mkfifo ~/pipe; touch ~/.removed-0'
text "by its name" 0 '' homes remove "$name"
text "and then it is gone" 2 'no home of the name' homes remove "$name"
check "the caller's own home is as it was" test -d "$H/.ssh" -a -d "$H/elsewhere"
text "a name is no path" 2 'no home of the name' homes remove ../homes
timeout 60 "$AJ" run --policy claude --workspace sub -- sh -c 'echo started; sleep 60' >"$T/started" 2>&1 &
running=$!
await grep -q started "$T/started"
aj homes list
name=$(sed -n 's/ .*in use.*//p' "$T/out")
text "one in use is not removed" 125 'a run has the home' homes remove "$name"
text "and a second run shares it" 0 '^shared$' run --policy claude --workspace sub -- sh -c 'echo shared'
kill $running && wait $running 2>/dev/null
text "all of them" 0 '' homes remove --all
is "are gone" 0 "$(homes)"
text "one for all workspaces" 0 '' run --policy claude --home-scope policy -- sh -c 'echo signed in >~/.token'
text "is there in another one" 0 '^signed in$' run --policy claude --home-scope policy --workspace sub -- sh -c 'cat ~/.token'
text "a workspace of its own has none of it" 1 'No such file' run --policy claude -- sh -c 'cat ~/.token'
text "nor has another policy" 1 'No such file' run --policy codex --home-scope policy -- sh -c 'cat ~/.token'
text "the list says that it is for all" 0 '^claude-[0-9a-f]{12} .* [*]$' homes list
printf 'extends = "claude"\n[filesystem]\nhome_scope = "policy"\n' >"$T/p/shared.toml"
text "a policy says so as well" 0 '^kept$' run --policy-file "$T/p/shared.toml" -- sh -c 'echo kept >~/.token; cat ~/.token'
text "for its own workspaces" 0 '^kept$' run --policy-file "$T/p/shared.toml" --workspace sub -- sh -c 'cat ~/.token'
for policy in python-dev node-dev rust-dev go-dev; do
	text "$policy: what it has downloaded stays" 0 '' run --policy $policy --network none -- sh -c 'mkdir -p ~/.cache/x && echo here >~/.cache/x/y'
	text "$policy: for the next run" 0 '^here$' run --policy $policy --network none -- sh -c 'cat ~/.cache/x/y'
done
aj homes remove --all
chmod 777 "$XDG_STATE_HOME/agentjail/homes"
text "a folder that others may write is refused" 125 'others may write' run --policy claude -- true
chmod 700 "$XDG_STATE_HOME/agentjail/homes"
text "a bind of all homes is refused" 2 'agentjail.s configuration' run --bind "$XDG_STATE_HOME:/x:rw" -- true

# --- toolchains ---
mkdir -p "$H/.cargo/bin" "$H/.cargo/registry" "$H/.rustup/toolchains" "$H/.nvm/versions/node/v1/bin" "$H/.nvm/versions/node/v1/etc" "$H/bin"
for program in .cargo/bin/tool-of-cargo .nvm/versions/node/v1/bin/tool-of-node bin/tool-of-mine; do
	printf '#!/bin/sh\necho "%s runs"\n' "${program##*/}" >"$H/$program" && chmod 755 "$H/$program"
done
echo SECRET >"$H/.cargo/credentials.toml"
echo SECRET >"$H/.nvm/versions/node/v1/etc/npmrc"
chmod -R a+rX "$H/.cargo" "$H/.rustup" "$H/.nvm"
PATH="$H/project/.venv/bin:$H/.nvm/versions/node/v1/bin:$H/bin:/usr/bin:$H/.cargo/bin:/bin:/opt/../etc:relative"
export PATH
text "PATH's known folders, in its order" 0 "^$H/project/.venv/bin:$H/.nvm/versions/node/v1/bin:/usr/bin:$H/.cargo/bin:/bin:/usr/local/sbin" run --policy coding-agent -- sh -c 'echo $PATH'
for home in kept empty; do
	text "$home: they run" 0 '^tool-of-cargo runs$' run --policy coding-agent --home $home -- sh -c 'tool-of-node && tool-of-cargo'
	text "$home: nothing else of the home is there" 0 '^end$' run --policy coding-agent --home $home -- sh -c "ls -d '$H/.ssh' '$H/bin' '$H/.cargo/registry' 2>/dev/null; cat '$H'/.cargo/credentials.toml '$H'/.nvm/versions/node/v1/etc/npmrc 2>/dev/null; echo end"
	silent "$home: no token is shown" SECRET
	text "$home: they are read-only" 0 '^end$' run --policy coding-agent --home $home -- sh -c "touch '$H/.cargo/bin/x' 2>/dev/null && echo written; rm -f '$H/.cargo/bin/tool-of-cargo' 2>/dev/null && echo removed; echo end"
	silent "$home: really" 'written|removed'
done
text "the variable of one is set" 0 "^$H/.rustup\$" run --policy coding-agent -- sh -c 'echo $RUSTUP_HOME'
text "--toolchain none" 127 'toolchain auto shows it' run --policy coding-agent --toolchain none -- tool-of-cargo
text "--toolchain rust" 0 '^tool-of-cargo runs$' run --toolchain rust -- tool-of-cargo
text "no other is shown by it" 127 '' run --toolchain rust -- tool-of-node
text "a toolchain that is not there" 2 'the toolchain `brew` is not there' run --toolchain brew -- true
text "one that the system has" 0 '^runs$' run --toolchain python -- sh -c 'python3 -c "print(\"runs\")"'
if [ -x /usr/local/go/bin/go ]; then
	text "Go where its installer puts it" 0 '^go version' run --toolchain go -- go version
fi
text "what is in no table needs a bind" 127 "bind '$H/bin'" run --policy coding-agent -- tool-of-mine
advised() { # NAME REGEX OPTIONS -- PROGRAM: what the error advises is run, and works
	local name=$1 regex=$2 advice
	shift 2
	aj run "$@"
	advice=$(sed -n 's/^  fix: .*does not show: //p' "$T/err")
	case $advice in
	--bind*) eval "text '$name: what is advised works' 0 '$regex' run $advice" ;;
	*) fail "$name" "no such advice: $(shown)" ;;
	esac
}
mkdir -p "$H/.local/bin" "$H/apps/tool/bin" "$H/apps/tool/lib" "$H/apps/shell/bin" "$H/plain"
cp "$(realpath /bin/sh)" "$H/apps/shell/bin/mysh" && ln -s "$H/apps/shell/bin/mysh" "$H/apps/tool/bin/mysh"
printf '#!%s\n. "$(dirname "$0")/../lib/part"\n' "$H/apps/tool/bin/mysh" >"$H/apps/tool/bin/linked"
echo 'echo "linked runs"' >"$H/apps/tool/lib/part"
printf '#!/bin/sh\necho "plain runs"\n' >"$H/plain/plain"
chmod -R a+rX "$H/.local" "$H/apps" "$H/plain" && chmod 755 "$H/apps/tool/bin/linked" "$H/plain/plain"
ln -s "$H/apps/tool/bin/linked" "$H/plain/plain" "$H/.local/bin/"
PATH="$H/.local/bin:$PATH"
advised "a link in ~/.local/bin" '^linked runs$' --policy coding-agent -- linked
advised "a link to a file beside others" '^plain runs$' -- plain
advised "a program of mine" '^tool-of-mine runs$' -- tool-of-mine
mv "$H/.cargo" "$H/elsewhere/cargo" && ln -s elsewhere/cargo "$H/.cargo"
text "the caller's own links lead there" 0 '^tool-of-cargo runs$' run --policy coding-agent -- tool-of-cargo
rm "$H/.cargo" && ln -s . "$H/.cargo" && mv "$H/elsewhere/cargo/bin" "$H/elsewhere/bin"
CARGO_HOME=$H/.nvm/../.. RUSTUP_HOME=$H text "no variable shows a home" 0 '^end$' run --policy coding-agent -- sh -c "ls -d '$H/.ssh' 2>/dev/null; echo end"

# --- what may hold a token, in the layout of each manager ---
unset PYENV_ROOT CARGO_HOME RUSTUP_HOME ASDF_DATA_DIR GOROOT GOPATH GOBIN NVM_DIR PNPM_HOME RBENV_ROOT
rm -rf "$H/.cargo" "$H/.rustup" "$H/.nvm"
planted=0
plant() { # FOLDER FILE...: a token in each
	local file folder=$1
	shift
	for file; do
		mkdir -p "$H/$folder/${file%/*}" && echo SECRET >"$H/$folder/$file" && planted=$((planted + 1))
	done
}
npm='lib/node_modules/npm/npmrc etc/npmrc'
plant .cargo ./credentials.toml ./config.toml registry/index
plant .rustup toolchains/stable/etc/gitconfig
plant .nvm/versions/node/v1 $npm
plant .npm-global $npm
plant .volta tools/image/node/20.1.0/etc/npmrc tools/image/node/20.1.0/lib/node_modules/npm/npmrc tools/image/npm/10.1.0/npmrc tools/image/packages/@scope/name/etc/npmrc
plant .local/share/pnpm nodejs/20.1.0/etc/npmrc global/5/.npmrc
plant .pyenv versions/3.12/pip.conf versions/3.12/envs/own/pip.conf versions/3.12/lib/python3.12/distutils/distutils.cfg versions/miniconda3/.condarc .git/config plugins/virtualenv/.git/config
plant miniconda3 ./.condarc condarc.d/channels.yml envs/own/pip.conf envs/own/.condarc conda-meta/state pkgs/urls.txt pkgs/cache/1.json
plant .local/share/uv credentials/pypi.toml python/cpython-3.12/pip.conf tools/black/uv-receipt.toml tools/black/pip.conf
plant .local lib/node_modules/npm/npmrc share/pipx/venvs/black/pip.conf share/pipx/venvs/black/pipx_metadata.json share/claude/token
plant .asdf installs/nodejs/20/etc/npmrc installs/nodejs/20/lib/node_modules/npm/npmrc installs/python/3.12/pip.conf installs/python/miniconda3/envs/own/.condarc installs/rust/1.75/credentials.toml plugins/java/.git/config .git/config
plant .local/share/mise installs/node/20/etc/npmrc installs/python/3.12/pip.conf installs/pipx-black/24.1/black/pip.conf
plant .rbenv versions/3.3/.env versions/3.3/etc/gemrc versions/3.3/.gem/credentials
plant .sdkman/candidates gradle/8.5/gradle.properties
plant .config uv/uv.toml pip/pip.conf git/credentials
plant . .docker/config.json ./.npmrc ./.netrc ./.pypirc
ln -s elsewhere/linked "$H/.asdf/installs/nodejs/20/.netrc" # of what is shown, by another name
plant .asdf installs/nodejs/20/elsewhere/linked
mkdir "$H/apart" && echo SECRET >"$H/apart/npmrc" && mkdir -p "$H/.asdf/installs/nodejs/18" && ln -s ../../../../apart "$H/.asdf/installs/nodejs/18/etc" # of what is not
mkdir -p "$H/.volta/bin" "$H/.cargo/bin" "$H/.npm-global/bin" "$H/.pyenv/shims" "$H/miniconda3/bin" "$H/.local/bin" "$H/.asdf/shims" "$H/.local/share/mise/shims" "$H/.rbenv/shims" "$H/.sdkman/candidates/gradle/current/bin"
echo shown >"$H/.asdf/installs/nodejs/20/etc/profile"
echo shown >"$H/.pyenv/versions/3.12/lib/python3.12/os.py"
mkdir "$H/.pyenv/versions/3.12/.env" && echo shown >"$H/.pyenv/versions/3.12/.env/pyvenv.cfg"
find "$H" -name .ssh -prune -o ! -type l -exec chmod a+rX {} + # a mode that is set again is a change to the kernel
PATH="$H/.volta/bin:$H/.cargo/bin:$H/.npm-global/bin:$H/.nvm/versions/node/v1/bin:$H/.local/share/pnpm:$H/.pyenv/shims:$H/miniconda3/bin:$H/.local/bin:$H/.asdf/shims:$H/.local/share/mise/shims:$H/.rbenv/shims:$H/.sdkman/candidates/gradle/current/bin:/usr/bin:/bin"
check "the tokens are there outside" test "$(grep -rlx SECRET "$H" | wc -l)" -gt $planted -a $planted -gt 40
text "no manager's token is shown" 0 '^end$' run --policy coding-agent -- sh -c "grep -rx SECRET '$H'; echo end"
silent "really" SECRET
text "nor by its name" 0 '^end$' run --policy coding-agent -- sh -c "cat '$H/.asdf/installs/nodejs/20/.netrc' '$H/.asdf/installs/nodejs/18/etc/npmrc' 2>/dev/null; echo end"
silent "really, too" SECRET
text "what is beside them is" 0 '^3$' run --policy coding-agent -- sh -c "grep -rlx shown '$H' | wc -l"
text "in a workspace everything is shown" 0 '^SECRET$' run --policy coding-agent --workspace "$H/.asdf/plugins/java" -- cat .git/config
chmod 700 "$H/.asdf/installs"
text "a folder that is closed to others is no error" 0 '^end$' run --policy coding-agent -- sh -c "chmod 755 '$H/.asdf/installs' 2>/dev/null; grep -rx SECRET '$H' 2>/dev/null; echo end"
silent "and not opened" SECRET
chmod 311 "$H/.pyenv/versions"
text "nor is one that can only be searched" 0 '^end$' run --policy coding-agent -- sh -c "cat '$H/.pyenv/versions/3.12/pip.conf' 2>/dev/null; echo end"
silent "by a name that the jail guesses" SECRET
chmod 755 "$H/.pyenv/versions"

# --- signing ---
mkdir -p "$H/.ssh" "$H/.gnupg"
chmod 700 "$H/.ssh" "$H/.gnupg"
echo PUBLIC | tee "$H/.ssh/id.pub" >"$H/.gnupg/pubring.kbx"
echo SECRET | tee "$H/.ssh/id" >"$H/.gnupg/secring.gpg"
unset SSH_AUTH_SOCK
[ -e "/run/user/$(id -u)/gnupg/S.gpg-agent.extra" ] ||
	text "--sign without an agent" 2 '^agentjail: options: --sign: no agent is running: ' run --sign -- true
# Stand-ins for both agents: each says which one it is.
"$PY" -c '
import os, socket, sys, threading
def serve(path):
    s = socket.socket(socket.AF_UNIX)
    s.bind(path)
    os.chmod(path, 0o777)
    s.listen()
    print(path, flush=True)
    while True:
        c = s.accept()[0]
        c.sendall(os.path.basename(path).encode())
        c.close()
for path in sys.argv[1:]:
    threading.Thread(target=serve, args=(path,)).start()
' "$T/ssh.sock" "$H/.gnupg/S.gpg-agent.extra" >"$T/listening" &
agents=$!
await sh -c "[ \$(wc -l <'$T/listening') = 2 ]" || fail "the stand-ins listen"
cat >"$H/project/ask" <<'END'
import os, socket
def ask(path):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        return s.recv(99).decode()
redirect = open(os.path.expanduser("~/.gnupg/S.gpg-agent")).read().split("=")[1].strip()
print(ask(os.environ["SSH_AUTH_SOCK"]), ask(redirect) if "gnupg" in redirect else redirect)
END
chmod 711 "$H/.gnupg"
SSH_AUTH_SOCK=$T/ssh.sock
export SSH_AUTH_SOCK
if [ ! -e "/run/user/$(id -u)/gnupg/S.gpg-agent.extra" ]; then
	text "--sign reaches both agents" 0 '^ssh.sock S.gpg-agent.extra$' run --policy coding-agent --sign -- python3 ask
	text "and copies public keys alone" 0 '^2$' run --policy coding-agent --sign -- sh -c 'cat ~/.ssh/* ~/.gnupg/* | grep -c PUBLIC'
	text "no secret ones" 0 '^none$' run --policy coding-agent --sign -- sh -c 'cat ~/.ssh/id ~/.gnupg/secring.gpg 2>/dev/null || echo none'
else
	skip "--sign" "an agent of this user is running"
fi
text "without --sign neither is there" 1 'KeyError|FileNotFoundError' run --policy coding-agent -- python3 ask
printf 'extends = "coding-agent"\nlock = ["filesystem.sockets"]\n' >"$T/locked.toml"
text "a policy that locks its sockets refuses it" 2 'AJ005.*filesystem.sockets' run --policy-file "$T/locked.toml" --sign -- true
kill "$agents"

finish
