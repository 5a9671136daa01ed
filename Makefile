# tremolo -- one Makefile for every module.
#
#   make               build/tremolo, tremolo-audit, libtremolo.a and libtremolo.so; installs nothing
#   make deps          installs from Debian what a build needs; run, test and the like do it too
#   make run           the main job, end to end, on embedded defaults
#   make serve         the same, and the server stays
#   make run-cluster   a study on a NATS cluster that loses a part of each kind
#   make quick         all unit tests and one end-to-end run, in under a minute
#   make test          all tests on this machine        make bench   speed, as ratios (BENCH=fit: one of them)
#   make fuzz          every decoder, a minute each     make test-sanitize  ASan, UBSan, MSan
#   make test-cluster  users, operation, MQTT and faults of a NATS cluster
#   make test-ports    same bytes on every target       make size    flash, RAM and stack
#   make check-layers  the order of the modules         make lint    format, tidy, cppcheck, man
#   make schemas       docs/*.schema.json, from the tables that write the documents
#   make install       honours DESTDIR, PREFIX and LIBDIR
#   make dist          a source archive, the same bytes each time, and what is linked as SPDX
#   make distcheck     builds and tests from that archive    make deb     Debian packages
#   make npm-package   the device for browsers and Node     make device-package  for microcontrollers
#   make test-packages packages before the tools they are for
#   WEB=no             without the pages: no clang, lld, esbuild, d3     NATS=no   without a cluster
#
# A module is a folder of src/ with its sources, in folders of its own if it is large, and with
# its public headers in include/. USES_<module> are the modules it depends on; it is compiled with
# exactly their include/ on its path, and check-layers proves the same of the linked symbols. `cli` and
# `audit` are programs, the library is all other modules; `audit` also uses the command's own parts.

PREFIX  ?= /usr/local
LIBDIR  ?= $(PREFIX)/lib
DESTDIR ?=
BUILD   ?= build
CC      ?= gcc
CFLAGS  ?= -O2 -g
# The one place that names the version is the file VERSION.
VERSION := $(file <VERSION)
SONAME  := libtremolo.so.0

MODULES := device privacy study regression estimate host lab web service server cli audit
USES_device     :=
USES_privacy    :=
USES_study      := device privacy
USES_regression := privacy
USES_estimate   := device privacy study regression
USES_host       := device privacy study
USES_lab        := device privacy study regression estimate host
USES_web        :=
USES_service    := device privacy study
USES_server     := device privacy study regression estimate web service
USES_cli        := device privacy study regression estimate host lab web service server
USES_audit      := device privacy study regression estimate host lab cli

# Inside of the server each folder uses those before it; server.c uses all.
FOLDER_ORDER := server=store,live,intake,http,cluster

# Well-kept parts from Debian, each named by the module that needs it.
PKGS_regression := openblas lapacke
PKGS_study      := jansson libsodium
PKGS_estimate   := jansson
PKGS_host       := jansson libcurl
PKGS_service    := libmicrohttpd gnutls zlib libsodium jansson
PKGS_server     := libmicrohttpd sqlite3 libsodium jansson
PKGS_cli        := jansson libsodium
PKGS_audit      := jansson
# The clustered store is there when Debian's libnats is; NATS=no leaves it out.
NATS ?= $(if $(shell { pkg-config --exists libnats; } 2>/dev/null && echo yes),yes,no)
PKGS_server     += $(if $(filter yes,$(NATS)),libnats)
DEFINES_server  := $(if $(filter yes,$(NATS)),-DTREMOLO_HAS_NATS)

# The pages need a compiler for WebAssembly and a bundler; WEB=no leaves them out.
WEB ?= yes

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wcast-qual -Wstrict-prototypes \
            -Wmissing-prototypes -Wvla -Wundef $(if $(STRICT),-Werror)
SANITIZER := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer -DTREMOLO_SANITIZED)
# On this machine the generator computes four blocks at once. The device
# brings its own byte loops; the compiler must not turn them back
# into calls of memcpy or memset.
STD_device  = -std=c99 -ffreestanding -fno-builtin -DTREMOLO_LANES=4 \
              $(shell $(CC) -fno-tree-loop-distribute-patterns -E - </dev/null >/dev/null 2>&1 \
                && echo -fno-tree-loop-distribute-patterns)
# The same objects make the static and the shared library.
PIC     := -fPIC -fno-semantic-interposition
QUIET   := $(if $(V),,@)
say      = $(if $(V),,@printf '  %-4s %s\n' $(1) $(2))
STD_host   := -std=c11 -D_GNU_SOURCE -ffp-contract=off

sources = $(sort $(wildcard $(1)/*.c $(1)/*/*.c))
# A module's own headers, which the others never see.
private = $(sort $(1) $(patsubst %/,%,$(dir $(wildcard $(1)/*/*.[ch]))))
objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(call sources,$(1)))
module_objects = $(call objects,src/$(1))
LIBRARY_MODULES := $(filter-out cli audit,$(MODULES))
LIBRARY_OBJECTS := $(foreach module,$(LIBRARY_MODULES),$(call module_objects,$(module)))
LIBRARY_OBJECTS += $(if $(filter web,$(MODULES)),$(BUILD)/obj/src/web/table.o)
PUBLIC_HEADERS := $(sort $(wildcard src/include/tremolo_*.h $(foreach module,$(LIBRARY_MODULES),src/$(module)/include/tremolo_*.h)))
CLI_OBJECTS := $(if $(filter cli,$(MODULES)),$(call module_objects,cli))
AUDIT_OBJECTS := $(if $(filter audit,$(MODULES)),$(call module_objects,audit))
packages := $(sort $(foreach module,$(MODULES),$(PKGS_$(module))))
PACKAGE_LIBS = $(if $(packages),$(shell pkg-config --libs $(packages)))
# libcsv has no pkg-config file.
LIBS = $(PACKAGE_LIBS) -lcsv -lpthread -lm
# What tests and measurements see: every header, public and private.
ALL_INCLUDES := -Isrc/include $(foreach module,$(MODULES),$(addprefix -I,$(call private,src/$(module))))

.PHONY: all deps run serve test test-ports bench size check-layers lint format install clean help \
        amalgamation
all: $(BUILD)/tremolo $(BUILD)/tremolo-audit $(BUILD)/$(SONAME)

# ---------------------------------------------------------------- packages
# A stamp per group: .found-GROUP looks and says what is missing, .setup-GROUP
# installs it. Building only ever looks; what a person runs or tests installs first,
# and then calls make again, because which parts are there is decided when make reads this file.
BUILD_GROUPS := build $(if $(filter yes,$(WEB)),web)
FOUND := $(addprefix $(BUILD)/.found-,$(BUILD_GROUPS))
DEPS  := $(addprefix $(BUILD)/.setup-,$(BUILD_GROUPS))
deps:
	@tools/setup $(BUILD_GROUPS)
$(BUILD)/.found-%: tools/setup
	@tools/setup --look $*
	@mkdir -p $(@D) && touch $@
$(BUILD)/.setup-%: tools/setup
	@tools/setup $*
	@mkdir -p $(@D) && touch $@

# ---------------------------------------------------------------- building
# Objects are made again when their flags or the version change.
FLAGS := $(PIC) $(CFLAGS) $(SANITIZER) $(VERSION)
ifneq ($(FLAGS),$(file <$(BUILD)/.flags))
$(shell mkdir -p $(BUILD))
$(file >$(BUILD)/.flags,$(FLAGS))
endif
define module_rules
$(BUILD)/obj/src/$(1)/%.o: src/$(1)/%.c $(BUILD)/.flags | $(FOUND)
	@mkdir -p $$(@D)
	$$(call say,CC,$$<)
	$$(QUIET)$$(CC) $(if $(filter device,$(1)),$$(STD_device),$$(STD_host)) $$(WARNINGS) $$(PIC) $$(CFLAGS) $$(SANITIZER) \
	  -DTREMOLO_VERSION='"$(VERSION)"' -Isrc/include $(addprefix -I,$(call private,src/$(1))) \
	  $(foreach used,$(USES_$(1)),$(if $(filter cli,$(used)),$(addprefix -I,$(call private,src/cli)),-Isrc/$(used)/include)) \
	  $$(if $(PKGS_$(1)),$$(shell pkg-config --cflags $(PKGS_$(1)))) $(DEFINES_$(1)) -MMD -MP -c -o $$@ $$<
endef
$(foreach module,$(MODULES),$(eval $(call module_rules,$(module))))
# The objects that depend on libnats are made again when that comes or goes.
$(filter $(BUILD)/obj/src/server/cluster/bus_nats%,$(call module_objects,server)): $(BUILD)/.nats-$(NATS)
$(BUILD)/.nats-$(NATS):
	@mkdir -p $(@D) && rm -f $(BUILD)/.nats-* && touch $@

# The device as the npm package tremolo-device, which the participant's page is made of: the core
# by plain clang and wasm-ld.
DEVICE_PACKAGE := $(BUILD)/npm-package/tremolo-device
WEB_PACKAGES := $(if $(filter yes,$(WEB)),$(DEVICE_PACKAGE)/package.json)
$(DEVICE_PACKAGE)/package.json: tools/npm-package tools/amalgamate VERSION LICENSE $(wildcard src/device/*.[ch] \
    src/device/include/*.h src/include/*.h ports/wasm/*) | $(FOUND)
	$(call say,WASM,$(@D))
	$(QUIET)tools/npm-package $(@D) $(VERSION)

.PHONY: npm-package
npm-package: $(DEPS) $(BUILD)/.setup-test
	@$(MAKE) --no-print-directory $(DEVICE_PACKAGE)/package.json
	@tools/npm-package --pack $(DEVICE_PACKAGE)
	@echo "$$(stat -c %s $(DEVICE_PACKAGE).core/tremolo.wasm) bytes of WebAssembly," \
	  "$$(stat -c %s $(DEVICE_PACKAGE)-$(VERSION).tgz) bytes packed: $(DEVICE_PACKAGE)-$(VERSION).tgz"

# The pages, bundled, compressed and turned into a table of bytes.
$(BUILD)/web/table.c: tools/build-web $(wildcard src/web/*.html src/web/*.js src/web/*/*.js src/web/*.css src/web/*/*.css src/web/*.svg) \
    $(WEB_PACKAGES) $(BUILD)/.web-$(WEB) VERSION | $(FOUND)
	$(call say,WEB,$@)
	$(QUIET)WEB=$(WEB) tools/build-web $(@D) $(VERSION) $(dir $(DEVICE_PACKAGE))
$(BUILD)/.web-$(WEB):
	@mkdir -p $(@D) && rm -f $(BUILD)/.web-* && touch $@
$(BUILD)/obj/src/web/table.o: $(BUILD)/web/table.c src/web/include/web_files.h $(BUILD)/.flags
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(QUIET)$(CC) $(STD_host) $(WARNINGS) $(PIC) $(CFLAGS) $(SANITIZER) -Isrc/web/include -c -o $@ $<

$(BUILD)/libtremolo.a: $(LIBRARY_OBJECTS)
	@rm -f $@
	$(call say,AR,$@)
	$(QUIET)$(AR) rcs $@ $^

# Only what the installed headers declare can be seen from outside.
$(BUILD)/libtremolo.map: tools/public-symbols $(PUBLIC_HEADERS)
	@mkdir -p $(@D)
	@tools/public-symbols $(PUBLIC_HEADERS) >$@
$(BUILD)/$(SONAME): $(LIBRARY_OBJECTS) $(BUILD)/libtremolo.map
	$(call say,LINK,$@)
	$(QUIET)$(CC) -shared $(CFLAGS) $(SANITIZER) -Wl,-soname,$(SONAME) -Wl,-z,defs \
	  -Wl,--version-script=$(BUILD)/libtremolo.map -o $@ $(LIBRARY_OBJECTS) $(LDFLAGS) $(LIBS)

$(BUILD)/tremolo: $(CLI_OBJECTS) $(BUILD)/libtremolo.a
$(BUILD)/tremolo-audit: $(filter %/main.o,$(AUDIT_OBJECTS)) $(BUILD)/libcommand.a $(BUILD)/libtremolo.a
$(BUILD)/tremolo $(BUILD)/tremolo-audit:
	$(call say,LINK,$@)
	$(QUIET)$(CC) $(CFLAGS) $(SANITIZER) -o $@ $^ $(LDFLAGS) $(LIBS)

# Programs outside the modules: tests, benchmarks and examples see every
# public header and link the library as a user would; tests and benchmarks
# also reach the command's own parts and the audit's.
$(BUILD)/libcommand.a: $(filter-out %/main.o,$(CLI_OBJECTS) $(AUDIT_OBJECTS))
	@mkdir -p $(@D) && rm -f $@
	$(call say,AR,$@)
	$(QUIET)$(AR) rcs $@ $^
PARTS_tests := $(BUILD)/libcommand.a
PARTS_bench := $(BUILD)/libcommand.a
PROGRAM_FLAGS = $(STD_host) $(WARNINGS) $(CFLAGS) $(SANITIZER) $(ALL_INCLUDES) $(DEFINES_server) -DTREMOLO_LANES=4 -Itests/common -MMD -MP
$(BUILD)/bin/%: %.c $(BUILD)/libtremolo.a $(BUILD)/libcommand.a
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(QUIET)$(CC) $(PROGRAM_FLAGS) $(EXTRA) -o $@ $< $(filter %.o,$^) \
	  $(PARTS_$(word 1,$(subst /, ,$*))) $(BUILD)/libtremolo.a $(LDFLAGS) $(LINKER_$(word 1,$(subst /, ,$*))) \
	  $(LIBS_$(word 1,$(subst /, ,$*))) $(LIBS)
# lld, which the pages need anyway, links a test in a quarter of the time. What is installed
# is left to the compiler's own linker.
LINKER_tests := $(if $(shell command -v ld.lld 2>/dev/null),-fuse-ld=lld)
LIBS_tests := -lcmocka -lsodium -lmpfr -lgmp
# Programs around a cluster need a library more, and only they do.
$(BUILD)/bin/tests/cluster/%: LIBS_tests := -lnats
$(BUILD)/bin/examples/mqtt_device: LIBS_examples := -lmosquitto
# The programs of unit and fault tests are large and run for moments: CI optimises them less than
# the code that they test.
$(BUILD)/bin/tests/unit/% $(BUILD)/bin/tests/fault/%: EXTRA := $(TEST_CFLAGS)
$(BUILD)/bin/tests/fuzz/fuzz_%: EXTRA := $(if $(findstring fuzzer,$(SANITIZE)),-fsanitize=fuzzer,-DFUZZ_STANDALONE)

# The schemas of docs/ from the tables that write the documents.
.PHONY: schemas
schemas: $(BUILD)/bin/tools/schemas
	$(QUIET)$< docs
# A program of several files has its parts in a folder of its name.
FOLDER_PROGRAMS := tests/e2e/swarm
$(BUILD)/obj/tests/%.o: tests/%.c | $(FOUND)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(QUIET)$(CC) $(PROGRAM_FLAGS) -c -o $@ $<
$(foreach program,$(FOLDER_PROGRAMS),$(eval $(BUILD)/bin/$(program): $(call objects,$(program))))

# What tests and measurements need is built on every processor, unless -j says on how many.
AT_ONCE = --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

-include $(shell find $(BUILD)/obj $(BUILD)/bin -name '*.d' 2>/dev/null)

# The device core as two files, for other builds.
amalgamation:
	@tools/amalgamate $(BUILD)/amalgamation
	@echo "$(BUILD)/amalgamation/tremolo_device.c and .h"

# The same in a folder for PlatformIO, ESP-IDF, Zephyr, Arduino and CMake.
.PHONY: device-package
device-package:
	@tools/device-package $(BUILD)/device-package/tremolo-device
	@echo "$(BUILD)/device-package/tremolo-device and $(BUILD)/device-package/tremolo-device-$(VERSION).tar.gz"

# ---------------------------------------------------------------- running
run: $(DEPS)
	@$(MAKE) $(AT_ONCE) $(BUILD)/tremolo
	@$(BUILD)/tremolo demo
serve: $(DEPS)
	@$(MAKE) $(AT_ONCE) $(BUILD)/tremolo
	@$(BUILD)/tremolo demo --stay --listen 8787

# Three NATS nodes, two gateways and two folders on loopback. Packages first:
# whether the build has NATS is decided when make reads this file.
.PHONY: run-cluster test-cluster cluster-programs
CLUSTER_PROGRAMS := $(BUILD)/tremolo $(BUILD)/bin/tests/e2e/swarm $(BUILD)/bin/tests/cluster/probe \
                    $(BUILD)/bin/examples/mqtt_device $(BUILD)/bin/tests/fault/test_server_backends
CLUSTER_TESTS ?= $(BUILD)/bin/tests/fault/test_server_backends tests/e2e/move.sh \
                 $(addprefix tests/cluster/,users.sh operate.sh ballot.sh mqtt.sh faults.sh)
cluster-programs: $(CLUSTER_PROGRAMS)
run-cluster: $(DEPS) $(BUILD)/.setup-cluster
	@$(MAKE) $(AT_ONCE) $(CLUSTER_PROGRAMS)
	@BUILD=$(BUILD) sh tests/cluster/run.sh
test-cluster: $(DEPS) $(BUILD)/.setup-test $(BUILD)/.setup-cluster
	@$(MAKE) $(AT_ONCE) $(CLUSTER_PROGRAMS)
	@BUILD=$(BUILD) tools/run-tests $(CLUSTER_TESTS)

# ---------------------------------------------------------------- testing
# Each program and script prints TAP; tools/run-tests counts the lines. Several
# run at once, those that wait most first, except those with a timing of their own:
# these run alone. PARTS says which of the two run.
PARTS ?= together alone
TEST_PROGRAMS := $(patsubst %.c,$(BUILD)/bin/%,$(sort $(wildcard tests/unit/*/*.c tests/stat/*.c tests/fault/*.c)))
TEST_SCRIPTS  := $(sort $(wildcard tests/e2e/*.sh)) $(sort $(wildcard tests/cli/*.sh))
TIMED_TESTS   := $(addprefix %/,test_host_transport test_server_backends test_server_writer history.sh intruders.sh kill.sh \
                   limits.sh move.sh proxy.sh tls.sh watch.sh)
together_and_alone = $(if $(filter together,$(PARTS)),--together $(filter-out $(TIMED_TESTS),$(1))) \
                     $(if $(filter alone,$(PARTS)),--alone $(filter $(TIMED_TESTS),$(1)))
E2E_PROGRAMS  := $(patsubst %.c,$(BUILD)/bin/%,$(sort $(wildcard tests/e2e/*.c)) examples/take_part.c)
UNIT_PROGRAMS := $(filter $(BUILD)/bin/tests/unit/%,$(TEST_PROGRAMS))
.PHONY: quick
quick: $(DEPS) $(BUILD)/.setup-test
	@$(MAKE) $(AT_ONCE) all $(UNIT_PROGRAMS)
	@BUILD=$(BUILD) tools/run-tests $(call together_and_alone,$(UNIT_PROGRAMS) tests/e2e/tutorial.sh)
test: $(DEPS) $(BUILD)/.setup-test
	@$(MAKE) $(AT_ONCE) test-programs
	@FUZZ_SECONDS=$(TEST_FUZZ_SECONDS) $(MAKE) --no-print-directory run-tests MORE_TESTS="$(if $(filter 0,$(TEST_FUZZ_SECONDS)),,tools/run-fuzz)"
.PHONY: test-programs run-tests
test-programs: $(TEST_PROGRAMS) $(E2E_PROGRAMS) $(BUILD)/bin/tools/schemas all
	@:
run-tests: test-programs
	@BUILD=$(BUILD) CC="$(CC)" tools/run-tests $(call together_and_alone,$(TEST_SCRIPTS) $(TEST_PROGRAMS)) --alone $(MORE_TESTS)

# What needs tools from elsewhere, or minutes: each script says what it leaves out and why.
.PHONY: test-packages
PACKAGE_TESTS ?= $(sort $(wildcard tests/packages/*.sh))
test-packages: $(DEPS) $(BUILD)/.setup-test $(BUILD)/.setup-packages
	@$(MAKE) $(AT_ONCE) $(BUILD)/tremolo
	@BUILD=$(BUILD) tools/run-tests $(PACKAGE_TESTS)

# Every decoder against arbitrary bytes, under ASan and UBSan: a minute each,
# and a few seconds each as part of the tests; TEST_FUZZ_SECONDS=0 leaves them out there.
FUZZ_SECONDS ?= 60
TEST_FUZZ_SECONDS ?= 15
.PHONY: fuzz test-sanitize test-asan test-msan
fuzz: $(DEPS) $(BUILD)/.setup-test
	@BUILD=$(BUILD) FUZZ_SECONDS=$(FUZZ_SECONDS) MAKE="$(MAKE)" tools/run-fuzz

# Unit and fault tests under ASan and UBSan with gcc (except those that bring
# their own malloc, as the sanitizers do), and those of the device, which need no
# other module, under MSan, which only clang has.
test-sanitize: test-asan test-asan-python test-msan test-tsan
# Enough to name every line of a trace; variables' places would take a fifth of the compiler's time.
TRACED := -O1 -g1
# The test programs are not optimised here: the compiler would take three times as long under ASan and
# UBSan. It then cannot judge the length of printed numbers; the plain build does.
TRACED_TESTS := -O0 -Wno-format-truncation
# The server under load with every data race reported. What the server depends on, and the command that
# starts it, are compiled again; host, lab and the other commands do not run in it and are those
# of the plain build.
.PHONY: test-tsan
TSAN_MODULES := server $(USES_server)
tsan_objects = $(patsubst $(BUILD)/obj/%,$(BUILD)/tsan/obj/%,$(1))
TSAN_LIBRARY = $(foreach object,$(LIBRARY_OBJECTS),$(if $(filter $(addprefix $(BUILD)/obj/src/,$(addsuffix /%,$(TSAN_MODULES))),\
                 $(filter-out %/web/table.o,$(object))),$(call tsan_objects,$(object)),$(object)))
TSAN_COMMAND = $(foreach object,$(CLI_OBJECTS),$(if $(filter %/main.o %/serve.o,$(object)),$(call tsan_objects,$(object)),$(object)))
test-tsan: $(DEPS) $(BUILD)/.setup-test $(BUILD)/tremolo $(BUILD)/bin/tests/e2e/swarm
	@$(MAKE) $(AT_ONCE) BUILD=$(BUILD)/tsan CC=gcc CFLAGS="$(TRACED)" SANITIZE=thread \
	  LIBRARY_OBJECTS="$(TSAN_LIBRARY)" CLI_OBJECTS="$(TSAN_COMMAND)" $(BUILD)/tsan/tremolo
	@BUILD=$(BUILD)/tsan PLAIN=$(BUILD) tools/run-tests tests/sanitize/server_threads.sh
test-asan: $(DEPS) $(BUILD)/.setup-test
	@$(MAKE) $(AT_ONCE) BUILD=$(BUILD)/asan CC=gcc CFLAGS="$(TRACED)" TEST_CFLAGS="$(TRACED_TESTS)" SANITIZE=address,undefined \
	  run-programs PROGRAMS="$(filter-out tests/fault/test_%_memory.c,$(sort $(wildcard tests/unit/*/*.c tests/fault/*.c)))"
# Hostile values from Python; the package is the one that tests/e2e/python.sh installed.
.PHONY: test-asan-python
test-asan-python: $(DEPS) $(BUILD)/.setup-test
	@$(MAKE) $(AT_ONCE) BUILD=$(BUILD)/asan CC=gcc CFLAGS="$(TRACED)" SANITIZE=address,undefined $(BUILD)/asan/$(SONAME)
	@BUILD=$(BUILD)/asan PLAIN=$(BUILD) tools/run-tests tests/sanitize/python.sh
test-msan: $(DEPS) $(BUILD)/.setup-test
	@$(MAKE) $(AT_ONCE) BUILD=$(BUILD)/msan CC=clang CFLAGS="$(TRACED)" TEST_CFLAGS= SANITIZE=memory MODULES=device \
	  run-programs PROGRAMS="$(sort $(wildcard tests/unit/device/*.c tests/fault/test_device_*.c))"
.PHONY: run-programs
run-programs: $(patsubst %.c,$(BUILD)/bin/%,$(PROGRAMS))
	@BUILD=$(BUILD) tools/run-tests $(call together_and_alone,$^)

# ---------------------------------------------------------------- measuring
# Every program bench/bench_NAME.c and every script bench/NAME.sh, in turn, or those that BENCH names.
BENCH_PROGRAMS := $(patsubst %.c,$(BUILD)/bin/%,$(sort $(wildcard bench/bench_$(or $(BENCH),*).c)))
BENCH_SCRIPTS := $(sort $(wildcard bench/$(or $(BENCH),*).sh))
bench: $(DEPS) $(BUILD)/.setup-bench $(BUILD)/.setup-cluster
	$(if $(BENCH_PROGRAMS)$(BENCH_SCRIPTS),,$(error there is no benchmark called $(BENCH)))
	@$(MAKE) $(AT_ONCE) $(BENCH_PROGRAMS) $(BUILD)/tremolo
	@for program in $(BENCH_PROGRAMS); do echo "== $${program##*/}"; $$program || exit 1; done
	@for script in $(BENCH_SCRIPTS); do \
	  echo "== $${script##*/}"; BUILD=$(BUILD) sh $$script || exit 1; done

# ---------------------------------------------------------------- ports
# The vectors as a header, for the ports and for lint.
$(BUILD)/vectors/vectors_generated.h: $(wildcard tests/vectors/*.py)
	@mkdir -p $(@D)
	@PYTHONDONTWRITEBYTECODE=1 python3 tests/vectors/generate.py header $@
# Every port is built from the two files that embedders take.
test-ports: $(BUILD)/.setup-ports $(BUILD)/vectors/vectors_generated.h
	@BUILD=$(BUILD) tools/test-ports
size: $(BUILD)/.setup-ports
	@BUILD=$(BUILD) tools/size

# ---------------------------------------------------------------- checks
check-layers: $(LIBRARY_OBJECTS) $(CLI_OBJECTS) $(AUDIT_OBJECTS)
	@BUILD=$(BUILD) tools/check-layers $(foreach module,$(MODULES),$(module):$(subst $() ,$(),$(foreach used,$(USES_$(module)),$(used),))) $(FOLDER_ORDER)

LINTED := $(sort $(wildcard $(addsuffix /*.[ch],src/* src/*/* examples bench tests/* tests/*/* ports ports/*)) \
            $(wildcard examples/phone/tremolo_phone.[ch]))
lint: $(DEPS) $(BUILD)/.setup-test $(BUILD)/.setup-cluster $(BUILD)/.setup-lint $(BUILD)/tremolo \
    $(BUILD)/vectors/vectors_generated.h
	@tools/lint $(LINTED)
format: $(BUILD)/.setup-lint
	@clang-format -i $(LINTED)

# ---------------------------------------------------------------- installing
TO := $(DESTDIR)$(PREFIX)
INSTALLED_LIBS := $(DESTDIR)$(LIBDIR)
configure = sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' \
  -e 's|@FROM_LIBDIR@|$(shell realpath -m --relative-to=$(LIBDIR) $(PREFIX))|' -e 's|@VERSION@|$(VERSION)|' -e 's|@LIBS@|$(LIBS)|' $(1) >$(2)
install: all
	install -d $(TO)/bin $(TO)/libexec/tremolo $(INSTALLED_LIBS)/pkgconfig $(INSTALLED_LIBS)/cmake/tremolo $(TO)/include/tremolo $(TO)/share/tremolo \
	  $(TO)/share/man/man1 $(TO)/share/man/man3
	install -m 755 $(BUILD)/tremolo $(TO)/bin/
	install -m 755 $(BUILD)/tremolo-audit $(TO)/libexec/tremolo/
	install -m 755 tools/fetch-data $(TO)/share/tremolo/
	install -m 644 $(BUILD)/libtremolo.a $(INSTALLED_LIBS)/
	install -m 644 $(BUILD)/$(SONAME) $(INSTALLED_LIBS)/libtremolo.so.$(VERSION)
	ln -sf libtremolo.so.$(VERSION) $(INSTALLED_LIBS)/$(SONAME)
	ln -sf $(SONAME) $(INSTALLED_LIBS)/libtremolo.so
	install -m 644 $(PUBLIC_HEADERS) $(TO)/include/tremolo/
	install -m 644 docs/man/*.1 $(TO)/share/man/man1/
	install -m 644 docs/man/*.3 $(TO)/share/man/man3/
	$(call configure,packaging/tremolo.pc.in,$(INSTALLED_LIBS)/pkgconfig/tremolo.pc)
	$(call configure,packaging/tremoloConfig.cmake.in,$(INSTALLED_LIBS)/cmake/tremolo/tremoloConfig.cmake)
	$(call configure,packaging/tremoloConfigVersion.cmake.in,$(INSTALLED_LIBS)/cmake/tremolo/tremoloConfigVersion.cmake)
	install -d $(TO)/share/bash-completion/completions $(TO)/share/zsh/site-functions $(TO)/share/fish/vendor_completions.d
	$(BUILD)/tremolo completion bash >$(TO)/share/bash-completion/completions/tremolo
	$(BUILD)/tremolo completion zsh >$(TO)/share/zsh/site-functions/_tremolo
	$(BUILD)/tremolo completion fish >$(TO)/share/fish/vendor_completions.d/tremolo.fish

# ---------------------------------------------------------------- releasing
DIST := $(BUILD)/dist/tremolo-$(VERSION)
.PHONY: dist distcheck deb
dist: $(BUILD)/tremolo
	@tools/dist $(DIST).tar.gz
	@tools/sbom $(BUILD)/tremolo >$(DIST).spdx.json
	@echo "$(DIST).tar.gz and $(DIST).spdx.json"

# From the archive alone: the same archive again, a build, and DISTCHECK (all tests unless given).
DISTCHECK ?= test
distcheck: dist
	@rm -rf $(BUILD)/distcheck && mkdir -p $(BUILD)/distcheck
	@tar -xzf $(DIST).tar.gz -C $(BUILD)/distcheck
	@cd $(BUILD)/distcheck/tremolo-$(VERSION) && tools/dist build/again.tar.gz && cmp build/again.tar.gz $(abspath $(DIST)).tar.gz
	@$(MAKE) -C $(BUILD)/distcheck/tremolo-$(VERSION) --no-print-directory BUILD=build all
	@$(MAKE) -C $(BUILD)/distcheck/tremolo-$(VERSION) --no-print-directory BUILD=build $(DISTCHECK)
	@echo "distcheck: $(DIST).tar.gz builds and passes '$(DISTCHECK)'"

deb: $(BUILD)/.setup-packages
	@tools/deb $(BUILD)/deb

clean:
	rm -rf $(BUILD)
