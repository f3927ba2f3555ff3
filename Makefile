# Heddle. Everything is built into $(BUILD), build/ unless told otherwise.
#
#   make            the programs, in build/bin/
#   make demo       record and replay a small program
#   make check      quick tests, under 3 minutes
#   make test       all tests, under 45 minutes on 2 cores
#   make bench      what recording costs, and a report; goes on where it was stopped. BENCH=quick: short loops, to see that it works
#   make test-other-arch   some of them on the other architecture, emulated: under 60 minutes
#   make fuzz       the fuzz targets of tests/fuzz, in build/fuzz/
#   make soak       the full counts; can be stopped and started again; SCALE=0.05 takes that part of them
#   make install    PREFIX=/usr/local, DESTDIR=
#   make format     lay out all C sources
#
# Sources are found by their folder; there is no list of files or tests to keep.
# `make CC=clang BUILD=build-clang` builds with clang, `make cross` builds what
# lives inside recorded programs for the other architecture, `make
# SANITIZE=address,undefined BUILD=build-sanitized` the tool with gcc's sanitizers.

ARCH   := $(shell uname -m)
CC     := gcc
OBJCOPY := objcopy
BUILD  := build
PREFIX := /usr/local

# Commands are shown in short; `make V=1` shows them whole.
Q    := $(if $(V),,@)
says  = $(if $(V),@:,@echo "  $(1)")

HEDDLE := $(BUILD)/bin/heddle
HEDDLE_CC := $(addprefix $(BUILD)/bin/heddle-,cc c++ ar ranlib nm)
PASS   := $(BUILD)/lib/heddle/heddle-pass.so
FAST   := $(BUILD)/lib/heddle/fast.bc $(BUILD)/lib/heddle/replaced.bc
CXX_HEADER := $(BUILD)/lib/heddle/include/bits/c++config.h
LOADER := $(BUILD)/lib/heddle/loader
PRELOAD := $(BUILD)/lib/heddle/libheddle.so
DEBUG  := $(patsubst debug/%,$(BUILD)/lib/heddle/gdb/%,$(wildcard debug/heddle/*.py))
SYMBOLS := $(BUILD)/lib/heddle/loader.sym

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef \
	-Wno-missing-field-initializers -Werror
BASE := -std=gnu17 -O2 -g -I. -MMD -MP $(WARN)

# -Wno-tsan: a fence between two looks at a ring, whose other side is another process, which TSan does not see anyway
TOOL_CHECKS := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all $(if $(filter thread,$(SANITIZE)),-Wno-tsan))

# The tool, an ordinary program. The table of system calls is compiled into both.
TOOL_SRC   := $(wildcard commands/*.c trace/*.c runtime/order/*.c runtime/syscalls/table.c runtime/syscalls/shape*.c)
TOOL_FLAGS := $(BASE) -DHEDDLE_TOOL -pthread $(TOOL_CHECKS)
# Its libraries are linked in: to load ten of them takes longer than to record a short program.
TOOL_LIBS  := -Wl,-Bstatic -ldw -lelf -lzstd -lxxhash -ljansson -llzma -lbz2 -lz -Wl,-Bdynamic

# Loader and runtime: one image without libc, at a fixed address. It must not
# touch vector registers, which hold the program's values.
LOADER_SRC   := $(wildcard loader/*.c loader/arch/$(ARCH)/*.c loader/arch/$(ARCH)/*.S runtime/*.c runtime/base/*.c \
		runtime/atomics/*.c runtime/memory/*.c runtime/hooks/*.c runtime/order/*.c runtime/races/*.c runtime/sync/*.c runtime/syscalls/*.c runtime/syscalls/special/*.c)
LOADER_FLAGS := $(BASE) -DHEDDLE_RUNTIME -ffreestanding -fno-stack-protector -fno-asynchronous-unwind-tables \
		-fno-strict-aliasing -mgeneral-regs-only
LOADER_LINK  := -nostdlib -static -Wl,-T,loader/loader.lds -Wl,--build-id=none -Wl,-z,noexecstack \
		-Wl,--no-warn-rwx-segments
ifeq ($(ARCH),x86_64)
LOADER_FLAGS += -fPIE -fcf-protection=none -mno-red-zone
# The linker would turn loads of addresses into constants of 32 bits, which do not reach.
LOADER_LINK  += -Wl,--no-relax
OTHER        := aarch64
else
LOADER_FLAGS += -fno-pic -mno-outline-atomics
OTHER        := x86_64
endif
# Or the loops of memcpy and memset would become calls of themselves.
ifeq ($(findstring clang,$(CC)),)
LOADER_FLAGS += -fno-tree-loop-distribute-patterns
else
LOADER_FLAGS += -fno-builtin
endif

# libheddle.so: an ordinary library that the loader puts before libc. It clears the registers that calls do not preserve when it
# returns: a variadic function writes some to the program's stack, a debugger that goes back knows a place by them, and what we leave
# in them differs at record and replay.
PRELOAD_SRC   := $(wildcard interpose/*.c interpose/libc/*.c) interpose/libc/$(ARCH).S
PRELOAD_MADE  := $(BUILD)/made/stubs.S $(BUILD)/made/interpose/libc/functions.h
PRELOAD_LINK  := -shared -Wl,-z,now -Wl,-z,noexecstack -Wl,-soname,libheddle.so
PRELOAD_FLAGS := $(BASE) -I$(BUILD)/made -fPIC -fvisibility=hidden -ftls-model=initial-exec -fexceptions -fno-omit-frame-pointer -fasynchronous-unwind-tables
CLEARS := -fzero-call-used-regs=all-gpr
ifeq ($(shell $(CC) $(CLEARS) -E -x c /dev/null >/dev/null 2>&1 && echo yes),yes)
PRELOAD_FLAGS += $(CLEARS)
else
$(info $(CC) does not know $(CLEARS) (gcc from 11, clang from 15 on): memory at exit may differ at replay)
endif

# heddle-cc: a program that becomes clang, a pass that lld or clang loads, and the part of the hooks that is compiled
# into programs. The C++ is the least that registers a pass.
LLVM         := 19
PASS_SRC     := $(filter-out compiler/driver.c compiler/fast.c $(wildcard compiler/replaced*.c),$(wildcard compiler/*.c compiler/races/*.c)) $(wildcard compiler/*.cpp)
PASS_INCLUDE  = -isystem $(shell llvm-config-$(LLVM) --includedir)
PASS_MADE    := $(addprefix $(BUILD)/made/compiler/libc_,table.h names.h)
PASS_FLAGS    = $(BASE) -I$(BUILD)/made -fPIC -fvisibility=hidden $(PASS_INCLUDE)
PASS_CXXFLAGS = -std=c++17 -O2 -g -I. -MMD -MP -Wall -Wextra -Werror -fPIC -fvisibility=hidden -fno-exceptions -fno-rtti \
		$(PASS_INCLUDE)
FAST_FLAGS   := -std=gnu17 -O2 -I. -MMD -MP -Wall -Wextra -Werror -fPIC -fno-strict-aliasing -fno-stack-protector -fno-builtin \
		-emit-llvm

PASS_OBJ   := $(PASS_SRC:%=$(BUILD)/obj/pass/%.o)
REPLACED_OBJ := $(patsubst %,$(BUILD)/obj/pass/%.bc,$(wildcard compiler/replaced*.c))
TOOL_OBJ   := $(TOOL_SRC:%=$(BUILD)/obj/tool/%.o)
LOADER_OBJ := $(LOADER_SRC:%=$(BUILD)/obj/loader/%.o)
PRELOAD_OBJ := $(PRELOAD_SRC:%=$(BUILD)/obj/preload/%.o) $(BUILD)/obj/preload/stubs.S.o
C_FILES    := $(shell find bench commands compiler examples interpose loader runtime tests trace -name '*.[ch]' -o -name '*.cpp')
# Heddle's readers, fed by libFuzzer: tests/fuzz/. `make fuzz FUZZ_CC=afl-clang-fast` builds
# them for AFL++ into fuzz-afl/: it has a driver for the same targets.
FUZZ_CC    := clang-$(LLVM)
FUZZ_KIND  := $(notdir $(FUZZ_CC))
FUZZ_FLAGS := $(filter-out -O2,$(TOOL_FLAGS)) -O1 -Itests/fuzz/targets -fsanitize=address,undefined -fno-sanitize-recover=all \
		-Wno-unknown-warning-option -Wno-unused-function
FUZZ_OBJ    = $(TOOL_SRC:%=$(BUILD)/obj/fuzz-$(FUZZ_KIND)/%.o) $(BUILD)/obj/fuzz-$(FUZZ_KIND)/tests/fuzz/targets/fuzz.c.o
FUZZ_DIR    = $(BUILD)/fuzz$(if $(findstring afl,$(FUZZ_KIND)),-afl)
FUZZ        = $(patsubst tests/fuzz/targets/%.c,$(FUZZ_DIR)/%,$(filter-out %/fuzz.c,$(wildcard tests/fuzz/targets/*.c)))
# Schemes under stress without the rest of Heddle: tests/orders/, bench/orders.py.
STRESS     := $(BUILD)/tests/order-stress
STRESS_SRC := $(filter-out $(wildcard runtime/order/model*.c),$(wildcard runtime/order/*.c)) $(wildcard commands/light_*.c) \
		$(wildcard tests/orders/parts/*.c)
STRESS_OBJ := $(STRESS_SRC:%=$(BUILD)/obj/stress/%.o)
STRESS_LIBS := -lzstd -latomic
STRESS_FLAGS := $(if $(filter x86_64,$(ARCH)),-mcx16) # or clang warns of atomics of 16 bytes
MAN        := $(patsubst doc/%.md,$(BUILD)/share/man/man1/%,$(wildcard doc/*.1.md))

.PHONY: all demo check test bench soak install clean format cross man setup-build setup-test setup-bench setup-soak setup-dev setup-other
all: $(HEDDLE) $(LOADER) $(PRELOAD) $(DEBUG) $(SYMBOLS) $(HEDDLE_CC) $(PASS) $(FAST) $(CXX_HEADER) $(STRESS) man

# Packages that are missing are installed; nothing happens when all are there.
setup-build setup-test setup-bench setup-soak setup-dev setup-other: setup-%:
	@tools/setup $*

$(HEDDLE): $(TOOL_OBJ)
	@mkdir -p $(@D)
	$(call says,LINK  $@)
	$(Q)$(CC) -pthread $(TOOL_CHECKS) -o $@ $^ $(TOOL_LIBS)

$(LOADER): $(LOADER_OBJ) loader/loader.lds
	@mkdir -p $(@D)
	$(call says,LINK  $@)
	$(Q)$(CC) $(LOADER_LINK) -o $@ $(LOADER_OBJ)
	$(Q)ln -f $@ $@-mapped

# For debuggers: the loader's functions under names that no program has, without lines, so that steps go over them.
$(SYMBOLS): $(LOADER)
	$(call says,MAKE  $@)
	$(Q)$(OBJCOPY) --strip-debug --prefix-symbols=heddle_ $< $@
$(BUILD)/lib/heddle/gdb/%: debug/%
	@mkdir -p $(@D)
	$(Q)cp $< $@
$(CXX_HEADER): compiler/include/bits/c++config.h
	@mkdir -p $(@D)
	$(Q)cp $< $@

$(PRELOAD): $(PRELOAD_OBJ)
	@mkdir -p $(@D)
	$(call says,LINK  $@)
	$(Q)$(CC) $(PRELOAD_LINK) -o $@ $^

$(BUILD)/bin/heddle-cc: $(BUILD)/obj/tool/compiler/driver.c.o
	@mkdir -p $(@D)
	$(call says,LINK  $@)
	$(Q)$(CC) $(TOOL_CHECKS) -o $@ $^
$(filter-out %-cc,$(HEDDLE_CC)): $(BUILD)/bin/heddle-cc
	$(Q)ln -sf heddle-cc $@

$(PASS): $(PASS_OBJ)
	@mkdir -p $(@D)
	$(call says,LINK  $@)
	$(Q)g++ -shared -o $@ $^ -lz3

$(BUILD)/lib/heddle/fast.bc: $(BUILD)/obj/pass/compiler/fast.c.bc
	@mkdir -p $(@D)
	$(Q)cp $< $@
$(BUILD)/lib/heddle/replaced.bc: $(REPLACED_OBJ)
	@mkdir -p $(@D)
	$(call says,LINK  $@)
	$(Q)llvm-link-$(LLVM) -o $@ $^
$(REPLACED_OBJ): FAST_FLAGS += -fexceptions
$(BUILD)/obj/pass/compiler/%.c.bc: compiler/%.c Makefile | setup-build
	@mkdir -p $(@D)
	$(call says,CLANG $<)
	$(Q)clang-$(LLVM) --target=$(ARCH)-linux-gnu $(FAST_FLAGS) -MF $(@:.bc=.d) -MT $@ -c -o $@ $<

$(STRESS): $(STRESS_OBJ)
	@mkdir -p $(@D)
	$(call says,LINK  $@)
	$(Q)$(CC) -pthread -o $@ $^ $(STRESS_LIBS)
$(BUILD)/obj/stress/%.c.o: %.c Makefile | setup-build
	@mkdir -p $(@D)
	$(call says,CC    $<)
	$(Q)$(CC) $(BASE) $(STRESS_FLAGS) -pthread -c -o $@ $<
# The same with FILE instead of the scheme of that name: faults are planted so, in tests/orders/faults.py.
.PHONY: stress-with
stress-with: $(STRESS_OBJ)
	$(Q)$(CC) $(filter-out -MMD -MP $(WARN),$(BASE)) $(if $(WEAK),-DWEAK_SCHEME -include tests/orders/parts/weak.h) \
		-Iruntime/order -pthread -o $(OUT) $(FILE) \
		$(filter-out %/$(notdir $(FILE)).o,$(STRESS_OBJ)) $(STRESS_LIBS)

# A loader with FILE instead of PLACE, for tests/generated/faults.py.
.PHONY: loader-with
loader-with: $(LOADER_OBJ)
	$(Q)$(CC) $(filter-out -MMD -MP $(WARN),$(LOADER_FLAGS)) -I$(dir $(PLACE)) -c -o $(OUT).o $(FILE)
	$(Q)$(CC) $(LOADER_LINK) -o $(OUT) $(OUT).o $(filter-out $(BUILD)/obj/loader/$(PLACE).o,$(LOADER_OBJ))

# The same with libheddle.so.
.PHONY: preload-with
preload-with: $(PRELOAD_OBJ)
	$(Q)$(CC) $(filter-out -MMD -MP $(WARN),$(PRELOAD_FLAGS)) -I$(dir $(PLACE)) -c -o $(OUT).o $(FILE)
	$(Q)$(CC) $(PRELOAD_LINK) -o $(OUT) $(OUT).o $(filter-out $(BUILD)/obj/preload/$(PLACE).o,$(PRELOAD_OBJ))

# The stubs of libc's functions that lock inside come from the list of all of them.
$(BUILD)/made/stubs.S: interpose/libc/generate.py interpose/libc/functions.list
	@mkdir -p $(@D) $(BUILD)/made/interpose/libc
	$(call says,MAKE  $@)
	$(Q)python3 $< $(ARCH) $(PRELOAD_MADE)
$(BUILD)/made/interpose/libc/functions.h: $(BUILD)/made/stubs.S
$(BUILD)/obj/preload/stubs.S.o: $(BUILD)/made/stubs.S
	@mkdir -p $(@D)
	$(Q)$(CC) -I. -I$(BUILD)/made -c -o $@ $<

$(BUILD)/obj/preload/%.o: % $(BUILD)/made/interpose/libc/functions.h Makefile | setup-build
	@mkdir -p $(@D)
	$(call says,CC    $<)
	$(Q)$(CC) $(PRELOAD_FLAGS) $(if $(filter %/sections.c %/port.c,$<),-mgeneral-regs-only) -c -o $@ $<

$(BUILD)/obj/tool/%.c.o: %.c Makefile | setup-build
	@mkdir -p $(@D)
	$(call says,CC    $<)
	$(Q)$(CC) $(TOOL_FLAGS) -c -o $@ $<

# The page that `heddle report` fills is part of it.
$(BUILD)/obj/tool/commands/report.c.o: $(wildcard debug/report.*)

# What functions of libc and libstdc++ access through pointers; the first list is the same.
$(firstword $(PASS_MADE)): compiler/libc_table.py interpose/libc/functions.list compiler/libstdcxx.list
	@mkdir -p $(@D)
	$(call says,MAKE  $@)
	$(Q)python3 $^ $(PASS_MADE)
$(lastword $(PASS_MADE)): $(firstword $(PASS_MADE))

$(BUILD)/obj/pass/%.c.o: %.c $(PASS_MADE) Makefile | setup-build
	@mkdir -p $(@D)
	$(call says,CC    $<)
	$(Q)$(CC) $(PASS_FLAGS) -c -o $@ $<

$(BUILD)/obj/pass/%.cpp.o: %.cpp Makefile | setup-build
	@mkdir -p $(@D)
	$(call says,CXX   $<)
	$(Q)g++ $(PASS_CXXFLAGS) -c -o $@ $<

$(BUILD)/obj/loader/%.o: % Makefile | setup-build
	@mkdir -p $(@D)
	$(call says,CC    $<)
	$(Q)$(CC) $(if $(filter %.S,$<),$(filter-out -mgeneral-regs-only,$(LOADER_FLAGS)),$(LOADER_FLAGS)) -c -o $@ $<

man: $(MAN)
$(BUILD)/share/man/man1/%: doc/%.md | setup-build
	@mkdir -p $(@D)
	$(call says,MAN   $@)
	$(Q)lowdown -s -Tman -o $@ $<

# What runs inside the recorded program, and the trace, for the other machine.
cross: setup-test
	@+$(MAKE) --no-print-directory cross-objects ARCH=$(OTHER) CC=$(OTHER)-linux-gnu-gcc BUILD=$(BUILD)/cross-$(OTHER)
.PHONY: cross-objects
cross-objects: $(LOADER) $(PRELOAD) $(filter $(BUILD)/obj/tool/trace/%,$(TOOL_OBJ))

demo: all
	@examples/demo $(abspath $(BUILD))

check: all setup-test
	@python3 tests/run.py --check --build=$(BUILD)

test: all setup-test
	@python3 tests/run.py --build=$(BUILD)

# A part of the same on the other machine, emulated: under an hour. ONLY=PATTERN takes other cases.
.PHONY: test-other-arch
test-other-arch: all setup-other
	@BUILD=$(BUILD) tools/other-arch/run.sh $(if $(ONLY),--only '$(ONLY)')

soak: all setup-soak
	@python3 tests/run.py --soak --scale=$(or $(SCALE),1) --build=$(BUILD)

.PHONY: fuzz
.PRECIOUS: $(BUILD)/obj/fuzz-$(FUZZ_KIND)/%.c.o
fuzz: $(FUZZ)

# heddle's own main(), and the messages that end it, have other names there
$(BUILD)/obj/fuzz-$(FUZZ_KIND)/commands/main.c.o: FUZZ_FLAGS += -Dmain=heddle_main -Wno-missing-prototypes
$(BUILD)/obj/fuzz-$(FUZZ_KIND)/commands/messages.c.o: FUZZ_FLAGS += $(foreach name,die usage warn note,-D$(name)=heddle_$(name))
$(BUILD)/obj/fuzz-$(FUZZ_KIND)/loader/elf.c.o: FUZZ_FLAGS += -ffreestanding
$(BUILD)/obj/fuzz-$(FUZZ_KIND)/%.c.o: %.c
	@mkdir -p $(@D)
	$(call says,FUZZ  $<)
	$(Q)$(FUZZ_CC) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -c -o $@ $<
# a target that includes the file it tests stands for it
$(FUZZ_DIR)/meta: FUZZ_WITHOUT := %/commands/meta.c.o
$(FUZZ_DIR)/%: $(BUILD)/obj/fuzz-$(FUZZ_KIND)/tests/fuzz/targets/%.c.o $(FUZZ_OBJ)
	@mkdir -p $(@D)
	$(call says,LINK  $@)
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer,address,undefined -pthread -o $@ $(filter-out $(FUZZ_WITHOUT),$^) $(TOOL_LIBS)
$(FUZZ_DIR)/elf: $(addprefix $(BUILD)/obj/fuzz-$(FUZZ_KIND)/,tests/fuzz/targets/elf.c.o loader/elf.c.o)
	@mkdir -p $(@D)
	$(call says,LINK  $@)
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer,address,undefined -o $@ $^

bench: all setup-bench
	@python3 bench/all.py --build=$(BUILD) $(if $(filter quick,$(BENCH)),--quick)

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/heddle/gdb/heddle $(DESTDIR)$(PREFIX)/lib/heddle/include/bits $(DESTDIR)$(PREFIX)/share/man/man1
	install $(HEDDLE) $(DESTDIR)$(PREFIX)/bin
	cp -P $(HEDDLE_CC) $(DESTDIR)$(PREFIX)/bin
	install $(LOADER) $(PRELOAD) $(PASS) $(FAST) $(SYMBOLS) $(DESTDIR)$(PREFIX)/lib/heddle
	install -m 644 $(DEBUG) $(DESTDIR)$(PREFIX)/lib/heddle/gdb/heddle
	install -m 644 $(CXX_HEADER) $(DESTDIR)$(PREFIX)/lib/heddle/include/bits
	ln -f $(DESTDIR)$(PREFIX)/lib/heddle/loader $(DESTDIR)$(PREFIX)/lib/heddle/loader-mapped
	install -m 644 $(MAN) $(DESTDIR)$(PREFIX)/share/man/man1

format: setup-dev
	@clang-format -i $(C_FILES)

clean:
	rm -rf $(BUILD)

-include $(TOOL_OBJ:.o=.d) $(LOADER_OBJ:.o=.d) $(PRELOAD_OBJ:.o=.d) $(PASS_OBJ:.o=.d) $(STRESS_OBJ:.o=.d) $(REPLACED_OBJ:.bc=.d) $(BUILD)/obj/pass/compiler/fast.c.d $(wildcard $(BUILD)/obj/fuzz-*/*.d $(BUILD)/obj/fuzz-*/*/*.d $(BUILD)/obj/fuzz-*/*/*/*.d $(BUILD)/obj/fuzz-*/*/*/*/*.d)
