# Thin: each target names the presets it runs, CMake does the work.
#
#   make            release build in build/: library, build/asx, examples, tests
#   make test       what every change must pass (gcc, asan, clang)
#   make test-all   also the explorer under asan, lto, ucontext, audit, tsan, valgrind, other
#                   processors, coverage, digests, seeds
#   make demo       a tour      make bench      figures      make coverage   lines run
#   make mutants    seeded faults must be noticed: SAMPLE=n of them drawn by SEED=, MODULES=,
#                   ONLY=, SURVIVORS_MAX=; FIXTURES=1: has every conformance fixture failed once?
#   make models     the protocols in Promela, every interleaving
#   make fuzz       bad input from libFuzzer, FUZZ_SECONDS= of each sort; findings in build/fuzz
#   make lint       clang-tidy and cppcheck                  make install    prefix=, DESTDIR=
#   make format-check           make clean
#
# test, test-all, demo, bench, coverage, mutants, models, fuzz and lint first see to the Debian packages
# they need (tools/setup): as root the missing ones are installed, else named.

MAKEFLAGS += --no-print-directory
JOBS ?= $(shell nproc)
prefix ?= /usr/local
COVERAGE_KERNEL_MIN ?= 100
COVERAGE_REST_MIN ?= 90
FUZZ_SECONDS ?= 60
CROSS = aarch64 riscv64 s390x

# $(call build,preset,more cmake arguments): configures and builds one preset.
build = cmake --preset $(1) $(2) >build/$(1).log || { cat build/$(1).log; exit 1; }; \
        cmake --build --preset $(1) -j $(JOBS)
# $(call check,preset,labels left out,more ctest arguments): runs its tests. Those of one worker that
# are repeated on several (label `workers`) depend on the order in which the system runs threads,
# and those that say how soon something happens on the real clock (label `clock`) can be late on a
# busy machine; the latter run last, one at a time. One of either that fails gets a second try, and
# both are shown. No other does.
check = ctest --preset $(1) -j $(JOBS) -LE '^($(2)|workers|clock)$$' $(3) && \
        ctest --preset $(1) -j $(JOBS) -L '^workers$$' -LE '^($(2)|clock)$$' --no-tests=ignore \
            --repeat until-pass:2 $(3) && \
        ctest --preset $(1) -j 1 -L '^clock$$' -LE '^($(2))$$' --no-tests=ignore \
            --repeat until-pass:2 $(3)

.PHONY: all
all: build/build.ninja
	cmake --build --preset release -j $(JOBS)

build/build.ninja:
	@mkdir -p build
	cmake --preset release

build:
	@mkdir -p build

# --- tests ----------------------------------------------------------------------------------

.PHONY: test test-all test-release test-asan test-asan-pure test-clang test-lto test-ucontext
.PHONY: test-audit test-tsan
.PHONY: test-valgrind test-cross test-digests test-seeds $(CROSS:%=test-%)
test:
	tools/setup build test
	$(MAKE) test-release
	$(MAKE) test-asan
	$(MAKE) test-clang

test-all:
	tools/setup build test test-all
	$(MAKE) test
	$(MAKE) test-asan-pure
	$(MAKE) test-lto
	$(MAKE) test-ucontext
	$(MAKE) test-audit
	$(MAKE) test-tsan
	$(MAKE) test-valgrind
	$(MAKE) test-cross
	$(MAKE) coverage
	$(MAKE) test-digests
	$(MAKE) test-seeds

# The examples and a program of a hundred tasks, ten thousand seeds, faults on; programs whose
# classes are counted twice.
test-seeds: | build
	@$(call build,release,-DASX_WERROR=ON)
	ctest --preset release -C all -R '^lab-(seeds|classes|objects|regions|dense|work)-all$$'

test-release: | build
	@$(call build,release,-DASX_WERROR=ON)
	@$(call check,release,none)

test-asan: | build
	@$(call build,asan,-DASX_WERROR=ON)
	@$(call check,asan,build|resident|pure)

# Explorations, on one thread: a third of the time.
test-asan-pure: | build
	@$(call build,asan,-DASX_WERROR=ON)
	ctest --preset asan -j $(JOBS) -L '^pure$$'

# What computes the same with any compiler has run by then.
test-clang: | build
	@$(call build,clang,-DASX_WERROR=ON)
	@$(call check,clang,build|slow|pure)

# What runs on stacks that move between threads, and who looks at them: linking takes long.
test-lto: | build
	@$(call build,lto,-DASX_WERROR=ON)
	@$(call check,lto,build|slow|pure)

# Only what switches is different.
test-ucontext: | build
	@$(call build,ucontext,-DASX_WERROR=ON)
	@$(call check,ucontext,build|slow|pure,-L 'fiber|sched|sync|flow|locals')

test-audit: | build
	@$(call build,audit,-DASX_WERROR=ON)
	@$(call check,audit,build)

# Everything that has a thread or a fiber, with one worker and with four. A `pure` test has one
# thread and no fiber that another could meet. No second try for several workers: a race is one. The
# reports are gathered, so that one of a test that was late and got a second try counts too. (What
# TSan says of a crash that is meant is no such report.)
test-tsan: export TSAN_OPTIONS = log_path=$(CURDIR)/build/tsan-report
test-tsan: | build
	@$(call build,tsan,-DASX_WERROR=ON)
	@rm -f build/tsan-report.*
	@failed=0; \
	ctest --preset tsan -j $(JOBS) -LE '^(build|docs|pure|resident|clock)$$' || failed=1; \
	ctest --preset tsan -j 1 -L '^clock$$' -LE '^(build|docs|pure|resident)$$' \
	    --repeat until-pass:2 || failed=1; \
	if grep -q 'WARNING: ThreadSanitizer' build/tsan-report.* 2>/dev/null; then \
	    cat build/tsan-report.*; failed=1; fi; \
	exit $$failed

# What runs on stacks of its own, and what keeps bytes; the rest is the sanitizers' business. Left
# out: faults that are meant, children of forks, an example whose output is its timing, what is
# resident, that is Valgrind's, too, and what says how soon something happens.
test-valgrind: | build
	@$(call build,valgrind,-DASX_WERROR=ON)
	ctest --preset valgrind -j $(JOBS) -LE '^(build|slow|pure|resident|clock)$$' \
	    -L 'fiber|trace|sched|sync|flow|lab|example' -E 'sched-fault|sched-bad_luck|example-pool'

test-cross: $(CROSS:%=test-%)

# Under an emulator: what depends on the processor, its order of bytes, its switch, its atomics and
# its unwind tables. Left out: what computes the same anywhere and took half of the time (`pure`),
# and failures of the C library that a test plants by standing before it (torture), which a static
# program cannot. Tests on several workers run with four only: two and eight take other turns, but
# no other instruction.
$(CROSS:%=test-%): test-%: | build
	@$(call build,$*,-DASX_WERROR=ON)
	@$(call check,$*,build|slow|pure|torture|resident)

# The same scenario and seed give the same digest on every machine and compiler.
test-digests:
	tools/setup build test test-all
	@JOBS=$(JOBS) tools/digests

# --- the rest -------------------------------------------------------------------------------

.PHONY: demo bench coverage mutants models fuzz lint install format-check clean
demo:
	tools/setup build demo
	@$(MAKE) all
	@if [ -x tools/demo ]; then tools/demo; else tools/run-examples build/examples; fi

bench:
	@tools/setup build bench $(if $(JSON),>&2)
	@$(MAKE) all $(if $(JSON),>&2)
	@if [ -x bench/run ]; then bench/run; \
	else echo "bench: there is no bench/run" >&2; exit 1; fi

coverage: | build
	tools/setup build coverage
	@$(call build,coverage)
	@find build/coverage -name '*.gcda' -delete
	@$(call check,coverage,build)
	@tools/coverage build/coverage $(COVERAGE_KERNEL_MIN) $(COVERAGE_REST_MIN)

mutants: | build
	tools/setup build mutants
	@tools/mutants --jobs $(JOBS) $(if $(MODULES),--modules "$(MODULES)") \
	    $(if $(SAMPLE),--limit $(SAMPLE)) $(if $(SEED),--seed $(SEED)) \
	    $(if $(ONLY),--only "$(ONLY)") $(if $(FIXTURES),--fixtures) \
	    $(if $(SURVIVORS_MAX),--survivors-max $(SURVIVORS_MAX))

models:
	tools/setup build models
	@models/run

# It begins with the seeds and the scenarios. What it finds becomes a seed when it is repaired.
fuzz: | build
	tools/setup build test
	@$(call build,fuzz)
	@for name in scenario schedule trace http1; do \
	    mkdir -p build/fuzz/found/$$name && \
	    build/fuzz/tests/fuzz-$$name -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 -timeout=20 \
	        -verbosity=0 -artifact_prefix=build/fuzz/$$name- build/fuzz/found/$$name \
	        tests/fuzz/seeds/$$name $$([ $$name != scenario ] || echo tests/conformance) || exit 1; \
	done

lint: | build
	tools/setup build lint
	@tools/lint

install: all
	DESTDIR="$(DESTDIR)" cmake --install build --prefix "$(prefix)"

format-check:
	tools/check-tidy
	tools/check-layers
	tools/check-tags

clean:
	rm -rf build
