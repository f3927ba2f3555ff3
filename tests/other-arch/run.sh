#!/bin/bash
# Run the tests on the other machine: x86-64 on aarch64 and the other way round, in an emulated computer.
#
#   tests/other-arch/run.sh [--only PATTERN] [--replays N] [--machine x86_64|aarch64] [--cpu MODEL]
#
# What it needs comes from Debian: qemu, a cross compiler, and the packages of a small system for the other machine,
# which are unpacked and never installed here. Everything is kept in $BUILD/other-arch (BUILD=build unless set), so
# that a second run only builds and boots. The system lives in memory (an initramfs); its first program runs
# tests/run.py there. Programs are compiled out here, so `gcc` is left out. Emulation is some 20 times slower than
# the machine itself, with one processor: it shows that things work, not how fast, and no races between processors.
#
# --cpu is qemu's name of a processor: `max` unless told; on x86-64, `qemu64` has no xsave.
# Exit status: that of tests/run.py; 122 if the machine does not come so far.
set -eu
cd "$(dirname "$0")/../.."

here=$(uname -m)
machine=$([ "$here" = x86_64 ] && echo aarch64 || echo x86_64)
only='^(programs|syscalls|threads)/(?!gcc$)' replays=2 cpu=max
while [ $# -gt 0 ]; do
	case $1 in
	--only) only=$2 ;;
	--replays) replays=$2 ;;
	--machine) machine=$2 ;;
	--cpu) cpu=$2 ;;
	*) sed -n '2,15s/^# \?//p' "$0"; exit 121 ;;
	esac
	shift 2
done

case $machine in
x86_64)
	debian=amd64 compiler=x86-64-linux-gnu emulator="qemu-system-x86_64 -machine q35" package=qemu-system-x86
	console=ttyS0 ;;
aarch64)
	debian=arm64 compiler=aarch64-linux-gnu emulator="qemu-system-aarch64 -machine virt" package=qemu-system-arm
	console=ttyAMA0 ;;
*) echo "no machine '$machine' (x86_64, aarch64)" >&2; exit 121 ;;
esac
triplet=$machine-linux-gnu
top=$(realpath -m "${BUILD:-build}")/other-arch/$machine
mkdir -p "$top"

say() { echo "other-arch: $*" >&2; }

# ---- packages --------------------------------------------------------------------------------------------------------

missing=
command -v "${emulator%% *}" >/dev/null || missing+=" $package"
if [ "$machine" != "$here" ]; then
	command -v $triplet-g++ >/dev/null || missing+=" g++-$compiler"
fi
command -v cpio >/dev/null || missing+=" cpio"
if [ -n "$missing" ]; then
	[ "$(id -u)" = 0 ] || { say "install first: sudo apt-get install$missing"; exit 122; }
	say "installing$missing"
	DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install $missing >&2
fi

# An apt of our own, for the other machine: it knows no installed package, so it finds all that are needed.
wanted="bash busybox-static coreutils dash diffutils findutils git grep libc-bin libdw-dev libelf-dev libjansson-dev libstdc++6
	libxxhash-dev libzstd-dev mawk mount perl procps python3 sed sqlite3 tar util-linux xz-utils"
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
export APT_CONFIG=$apt/apt.conf
if [ "$(cat "$top/unpacked" 2>/dev/null)" != "$wanted" ]; then
	say "fetching Debian packages for $debian"
	apt-get -qq update >&2
	apt-get -qq -y --download-only install $wanted >&2
	rm -rf "$top/root" "$top/kernel"
	mkdir -p "$top"/root/usr/{bin,sbin,lib,lib64} "$top"/root/{dev,etc,proc,root,run,sys,tmp} "$top/kernel"
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
	# for the compiler out here: headers and libraries that its own do not have
	rm -rf "$top/develop"
	mkdir "$top/develop"
	for name in dw elf jansson xxhash zstd; do
		for file in "$apt"/archives/lib$name*.deb; do dpkg-deb -x "$file" "$top/develop"; done
	done
	rm -rf "$top"/root/usr/share/{doc,man,locale,info} "$top"/root/usr/include "$top"/root/usr/lib/*/*.a
	kernel=$(apt-cache depends linux-image-cloud-$debian | sed -n 's/.*Depends: \(linux-image-.*\)/\1/p' | head -1)
	(cd "$top/kernel" && apt-get -qq download "$kernel" >&2 && dpkg-deb -x ./*.deb .)
	(cd "$top/root" && find . | cpio --quiet -o -H newc | gzip -1) >"$top/root.gz"
	echo "$wanted" >"$top/unpacked"
fi
unset APT_CONFIG

# ---- Heddle and the programs of the tests -------------------------------------------------------------------------------

say "building for $machine"
libraries=$top/develop/usr/lib/$triplet
targets="$top/build/bin/heddle $top/build/lib/heddle/loader"
if grep -q '^$(PRELOAD):' Makefile; then targets+=" $top/build/lib/heddle/libheddle.so"; fi
make -s ARCH=$machine BUILD="$top/build" $targets \
	CC="$triplet-gcc -isystem $top/develop/usr/include -L$libraries -Wl,-rpath-link=$top/root/usr/lib/$triplet" >&2

rm -rf "$top/extra"
mkdir -p "$top/extra/heddle/build" "$top/extra/heddle/compiled" "$top/extra/usr/local/bin"
cp -a "$top"/build/{bin,lib} "$top/extra/heddle/build/"
cp -a tests "$top/extra/heddle/"
PREFIX=$triplet- TO=$top/extra/heddle/compiled python3 - <<'END' >&2
import glob, os, shlex, subprocess, sys
sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from run import run_line
for source in sorted(glob.glob('tests/*/*.c') + glob.glob('tests/*/*.cpp')):
    if '/unit/' in source:
        continue
    keys = run_line(source)
    program = os.path.join(os.environ['TO'], os.path.splitext(source)[0])
    os.makedirs(os.path.dirname(program), exist_ok=True)
    compiler = os.environ['PREFIX'] + ('g++' if source.endswith('.cpp') else 'gcc')
    flags = shlex.split(keys.get('flags', '')) + (['-static'] if 'static' in keys else [])
    if subprocess.run([compiler, '-O2', '-g', '-w', '-o', program, source, '-pthread', *flags]).returncode:
        print(f'other-arch: {source} does not compile')
END

# Inside, a compiler that hands out what was compiled here.
cat >"$top/extra/usr/local/bin/gcc" <<'END'
#!/bin/bash
while [ $# -gt 0 ]; do
	case $1 in
	-o) out=$2; shift ;;
	*.c | *.cpp) source=$1 ;;
	esac
	shift
done
source=${source#/heddle/}
exec cp "/heddle/compiled/${source%.*}" "$out"
END
cp "$top/extra/usr/local/bin/gcc" "$top/extra/usr/local/bin/g++"
chmod +x "$top"/extra/usr/local/bin/*

cat >"$top/extra/init" <<END
#!/bin/bash
export PATH=/usr/local/bin:/usr/bin:/usr/sbin HOME=/root
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
python3 tests/run.py --build=build --only '$only' --replays $replays -j 1 </dev/null 2>&1 | cat
echo "other-arch: ended with \${PIPESTATUS[0]}"
busybox poweroff -f
END
chmod +x "$top/extra/init"
(cd "$top/extra" && find . | cpio --quiet -o -H newc | gzip -1 | cat "$top/root.gz" -) >"$top/initrd"

# ---- the machine ----------------------------------------------------------------------------------------------------------

say "booting; the output is also in $top/console.log"
$emulator -cpu "$cpu" -accel tcg -smp 1 -m 2048 -nic none -display none -monitor none -serial stdio -no-reboot \
	-kernel "$(ls "$top"/kernel/boot/vmlinuz-*)" -initrd "$top/initrd" -append "console=$console quiet panic=-1" </dev/null |
	tr -d '\r' | tee "$top/console.log"
status=$(sed -n 's/^other-arch: ended with \([0-9]*\)$/\1/p' "$top/console.log")
exit "${status:-122}"
