#!/bin/bash
# Run tests on the other machine: x86-64 on aarch64 and the other way round, in an emulated computer of two processors.
#
#   tools/other-arch/run.sh [--only PATTERN] [--replays N] [--machine x86_64|aarch64] [--cpu MODEL]
#
# Without --only it is what `make test-other-arch` runs: all of tests/syscalls and of the programs in C, every primitive
# of tests/threads, and racy programs of tests/bugs under --order=region, with more than 1,000 replays.
#
# What it needs comes from Debian (tools/setup other): qemu, a cross compiler, and the packages of a small system for the
# other machine, which are unpacked and never installed here. All is kept in $BUILD/other-arch (BUILD=build unless set), so
# that a second run only builds and boots. The system lives in memory (an initramfs); its first program runs tests/run.py
# there. Programs are compiled out here, those of tests/bugs by this machine's heddle-cc for the other one. Emulation is
# some 20 times slower than the machine itself and has its own order of memory: it shows that things work, not how fast,
# and says nothing about fences.
#
# --cpu is qemu's name of a processor: `max` unless told; on x86-64, `qemu64` has no xsave.
# Exit status: that of tests/run.py; 122 if the machine does not come so far. The last line is always N passed, N failed.
set -eu
cd "$(dirname "$0")/../.."

names() { # of the programs in a folder, as an alternative
	find "tests/$1" -maxdepth 1 -name '*.c*' -printf '%f\n' | sed 's/\.c.*//' | sort | paste -sd '|'
}

here=$(uname -m)
machine=$([ "$here" = x86_64 ] && echo aarch64 || echo x86_64)
# Of tests/bugs those that end soonest, with few threads, and few recordings of each (--check): others take many minutes
# there.
bugs="array_loops|atomic16|check_then_act|double_checked|fault_by_oneself|fault_escape|fault_in_libc|fault_retried|first_call|flag_spin"
bugs="$bugs|handled_in_libc|kernel_buffers|loop_claims|lost_update|many_readers|mixed_sizes|order_violation|own_futexes|protections"
bugs="$bugs|publication|reuse|stack_pointers|strings|struct_copy|thread_ids|timer_ticks|torn_read|unmapped|use_after_free|waiting_calls"
bugs="^bugs/($bugs)\[region [24]\]"
parts=("--replays 1 --only '^(syscalls|programs|threads)/($(names syscalls)|$(names programs)|$(names threads))(\[no-patch\])?$|^unit/atomic_test\[plain\]'"
	"--check --replays $((1000 / $(python3 tests/run.py --list --only "$bugs" --build="${BUILD:-build}" | wc -l) + 1)) --only '$bugs'")
replays= cpu=max
while [ $# -gt 0 ]; do
	case $1 in
	--only) parts=("--replays 2 --only '$2'") ;;
	--replays) replays=$2 ;;
	--machine) machine=$2 ;;
	--cpu) cpu=$2 ;;
	*) sed -n '2,19s/^# \?//p' "$0"; exit 121 ;;
	esac
	shift 2
done

case $machine in
x86_64) debian=amd64 emulator="qemu-system-x86_64 -machine q35" console=ttyS0 ;;
aarch64) debian=arm64 emulator="qemu-system-aarch64 -machine virt" console=ttyAMA0 ;;
*) echo "no machine '$machine' (x86_64, aarch64)" >&2; exit 121 ;;
esac
triplet=$machine-linux-gnu
build=$(realpath -m "${BUILD:-build}")
top=$build/other-arch/$machine
mkdir -p "$top"

say() { echo "other-arch: $*" >&2; }

# ---- packages --------------------------------------------------------------------------------------------------------

# An apt of our own, for the other machine: it knows no installed package, so it finds all that are needed.
wanted="bash busybox-static bzip2 coreutils dash diffutils file findutils gdb gdbserver git grep gzip iproute2 libatomic1 libbz2-dev libc-bin
	libdw-dev libelf-dev libjansson-dev liblzma-dev libstdc++6 libxxhash-dev libzstd-dev mawk mount perl procps python3 sed
	sqlite3 tar util-linux xz-utils zlib1g-dev"
apt=$top/apt
mkdir -p "$apt/lists/partial" "$apt/archives/partial"
: >"$apt/status"
cat >"$apt/apt.conf" <<END
APT::Architecture "$debian";
APT::Architectures { "$debian"; };
APT::Install-Recommends "false";
APT::Sandbox::User "";
Acquire::Languages "none";
Dir::State "$apt";
Dir::State::status "$apt/status";
Dir::Cache "$apt";
Debug::NoLocking "true";
END

unpack() { # the other machine's packages: a root, headers and libraries for the compiler out here, a kernel
	say "fetching Debian packages for $debian"
	export APT_CONFIG=$apt/apt.conf
	apt-get -qq update >&2
	apt-get -qq -y --download-only install $wanted >&2
	rm -rf "$top"/{root,develop,kernel}
	mkdir -p "$top"/root/usr/{bin,sbin,lib,lib64} "$top"/root/{dev,etc,proc,root,run,sys,tmp} "$top"/{develop,kernel}
	for d in bin sbin lib lib64; do ln -s usr/$d "$top/root/$d"; done
	for file in "$apt"/archives/*.deb; do
		dpkg-deb --fsys-tarfile "$file" | tar -x --keep-directory-symlink -C "$top/root"
	done
	# what the maintainers' scripts would have made
	ln -sf mawk "$top/root/usr/bin/awk"
	[ -e "$top/root/usr/bin/sh" ] || ln -s dash "$top/root/usr/bin/sh"
	echo 'root:x:0:0:root:/root:/bin/bash' >"$top/root/etc/passwd"
	echo 'nobody:x:65534:65534:nobody:/:/usr/sbin/nologin' >>"$top/root/etc/passwd"
	printf 'root:x:0:\nnogroup:x:65534:\n' >"$top/root/etc/group"
	echo '127.0.0.1 localhost' >"$top/root/etc/hosts"
	for name in libbz2 libdw libelf libjansson liblzma libxxhash libzstd zlib; do
		for file in "$apt"/archives/$name*.deb; do dpkg-deb -x "$file" "$top/develop"; done
	done
	rm -rf "$top"/root/usr/share/{doc,man,locale,info} "$top"/root/usr/include "$top"/root/usr/lib/*/*.a
	kernel=$(apt-cache depends linux-image-cloud-$debian | sed -n 's/.*Depends: \(linux-image-.*\)/\1/p' | head -1)
	(cd "$top/kernel" && apt-get -qq download "$kernel" >&2 && dpkg-deb -x ./*.deb .)
	# not compressed: to unpack it in there takes longer than to read it out here
	(cd "$top/root" && find . | cpio --quiet -o -H newc) >"$top/root.cpio"
	echo "$wanted" >"$top/unpacked"
}
[ "$(cat "$top/unpacked" 2>/dev/null)" = "$wanted" ] || (unpack)

# ---- Heddle and the programs of the tests -------------------------------------------------------------------------------

say "building for $machine"
libraries=$top/develop/usr/lib/$triplet
made=$top/build
make -s ARCH=$machine BUILD="$made" "$made"/bin/heddle "$made"/lib/heddle/{loader,libheddle.so,loader.sym,fast.bc,replaced.bc} \
	"$made"/lib/heddle/gdb/heddle/{__init__,commands,replay,travel}.py \
	OBJCOPY=$triplet-objcopy CC="$triplet-gcc -isystem $top/develop/usr/include -L$libraries -Wl,-rpath-link=$top/root/usr/lib/$triplet" >&2

# A heddle-cc that runs here and compiles for there: our pass, and what is linked into programs made for the other machine.
mkdir -p "$top"/cc/{bin,lib/heddle}
cp -P "$build"/bin/heddle-c* "$top/cc/bin/"
cp -r "$build"/lib/heddle/{heddle-pass.so,include} "$made"/lib/heddle/*.bc "$top/cc/lib/heddle/"

rm -rf "$top/extra"
mkdir -p "$top"/extra/heddle/build "$top"/extra/usr/local/bin
cp -a "$made"/{bin,lib} "$top/extra/heddle/build/"
cp -a tests "$top/extra/heddle/"
python3 tools/other-arch/compile.py "$top/cc/bin" $triplet "$top/extra/heddle/compiled" >&2

# Inside, compilers that hand out what was compiled here.
for name in usr/local/bin/{gcc,g++} heddle/build/bin/heddle-{cc,c++}; do
	cp tools/other-arch/compiled.sh "$top/extra/$name"
done

for part in "${parts[@]}"; do
	echo "python3 tests/run.py --build=build $part ${replays:+--replays $replays} -j 2 </dev/null 2>&1"
done >"$top/extra/heddle/run"
cat >"$top/extra/init" <<END
#!/bin/bash
export PATH=/usr/local/bin:/usr/bin:/usr/sbin HOME=/root HEDDLE_TEST_PATIENCE=10
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm /dev/mqueue
mount -t devpts pts /dev/pts
for d in /dev/shm /tmp /run; do mount -t tmpfs tmpfs \$d; done
mount -t mqueue mqueue /dev/mqueue
ln -sf /proc/self/fd /dev/fd
busybox ifconfig lo 127.0.0.1 up
cd /heddle
. ./run | cat
busybox poweroff -f
END
chmod +x "$top/extra/init"
(cd "$top/extra" && find . | cpio --quiet -o -H newc | cat "$top/root.cpio" -) >"$top/initrd"

# ---- the machine ----------------------------------------------------------------------------------------------------------

# It ends with this script, however that ends. Time limits of the tests are wide in there: one limit for all is here.
say "booting; the output is also in $top/console.log"
setpriv --pdeathsig TERM timeout 7200 nice -n 19 \
	$emulator -cpu "$cpu" -accel tcg -smp 2 -m 6144 -nic none -display none -monitor none -serial stdio -no-reboot \
	-kernel "$(ls "$top"/kernel/boot/vmlinuz-*)" -initrd "$top/initrd" -append "console=$console quiet panic=-1" </dev/null |
	sed -u 's,\r,,g' | tee "$top/console.log"

# One count of all parts; a part that did not come to its end is a failure.
awk -v parts=${#parts[@]} -v machine=$machine '
	/^[0-9]+ passed, [0-9]+ failed/ { ended++; passed += $1; failed += $3; skipped += $5 }
	END {
		if (ended < parts) { print "other-arch: the machine stopped before the tests were through"; failed++ }
		printf "%d passed, %d failed%s\n", passed, failed, skipped ? ", " skipped " skipped" : ""
		exit ended < parts ? 122 : failed ? 1 : 0
	}' "$top/console.log"
