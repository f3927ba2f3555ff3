"""Debian's own programs with threads: compressors and git. Servers are in servers.py."""
import os
import random
import shutil

SIZE = 3 << 20
WORDS = [bytes(random.Random(n).choices(b'abcdefghijklmnopqrstuvwxyz', k=2 + n % 9)) for n in range(3000)]

# grep without colour: whether stdout is a terminal is asked for by whichever thread comes first, which git says itself is
# a race (want_color() in color.c); an unmodified program's is not recorded.
GIT = r'''
set -e
export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.org
git init -q -b main one
cd one
git config pack.threads 2; git config index.threads 2; git config grep.threads 2; git config core.preloadIndex true
cp ../files/* .
git add .
git commit -q -m 'first'
for f in file1*; do date +%N >> $f; done
git commit -q -a -m 'second'
git -c index.threads=2 status --short
git repack -q -a -d -f --threads=2
git grep --color=never -c ab -- 'file1*' | tail -n 5
git index-pack --threads=2 --stdin < .git/objects/pack/*.pack
git fsck
git log --format=%H
'''


def text(size, seed):
    rng = random.Random(seed)
    lines = []
    while size > 0:
        lines.append(b' '.join(rng.choices(WORDS, k=12)) + b'\n')
        size -= len(lines[-1])
    return b''.join(lines)


def make_input(folder):
    with open(os.path.join(folder, 'input'), 'wb') as file:
        file.write(text(SIZE, 1))


def make_files(folder):
    """Enough of them that git takes several threads to look at its index."""
    os.mkdir(os.path.join(folder, 'files'))
    for n in range(1200):
        with open(os.path.join(folder, 'files', f'file{n}'), 'wb') as file:
            file.write(text(SIZE // 1200, n))


def compressor(t, program, *options):
    """Compressed on stdout, and compressed back again: the same bytes, the same memory."""
    if not shutil.which(program):
        t.skip(f'{program} is not installed (tools/setup test)')
    t.reproduce([program, *options, '-c', 'input'], make=make_input, timeout=120)


def case_pbzip2(t):
    compressor(t, 'pbzip2', '-p2', '-k', '-b1')


def case_pigz(t):
    compressor(t, 'pigz', '-p2', '-k')


def case_xz(t):
    compressor(t, 'xz', '-T2', '-k', '-1', '--block-size=500KiB')


def case_zstd(t):
    compressor(t, 'zstd', '-T2', '-k', '-q', '-B512K')


def case_pbzip2_back(t):
    """Decompression has threads of its own."""
    if not shutil.which('pbzip2'):
        t.skip('pbzip2 is not installed (tools/setup test)')
    t.reproduce(['sh', '-c', 'pbzip2 -p2 -b1 input && pbzip2 -d -p2 -v -c input.bz2 | sha256sum'], make=make_input, timeout=120)


def case_git(t):
    t.reproduce(['bash', '-c', GIT], make=make_files, varies=True, timeout=180)


case_pigz.quick = True
