"""Programs of Debian's, built from its sources by heddle-cc. Used by tests/sources and bench/sources.py.

Sources are fetched by apt with settings and lists of our own, made from the machine's: what it has as `deb` we ask for
as `deb-src`. Nothing of the machine's is changed. Sources and programs stay in the build folder, until the compiler
changes.
"""
import glob
import hashlib
import os
import re
import shutil
import subprocess
import threading

from harness import ROOT, Failure, kill_tree

_lock = threading.Lock()
PARTS = os.path.join(ROOT, 'tests', 'sources', 'parts')
MAKE = 'make -j2 AR=$AR RANLIB=$RANLIB'

# Source package: what the shell does in it, and the program that comes of it. The compilers are $CC and $CXX.
RECIPES = {
    # Its C++ is older than C++11, where "..."PRIuMAX is one word.
    'pbzip2': (f'{MAKE} pbzip2 CXX="$CXX -std=c++98 -Wno-reserved-user-defined-literal"', 'pbzip2'),
    'pigz': (f'{MAKE} pigz CC="$CC"', 'pigz'),
    'libzstd': (f'{MAKE} -C programs zstd CC="$CC"', 'programs/zstd'),
    'sqlite3': (f'''./configure CC="$CC" --disable-tcl && make sqlite3.c
        $CC -O2 -g -pthread -DSQLITE_THREADSAFE=1 -I. -o threads {PARTS}/sqlite_threads.c sqlite3.c -ldl -lm''', 'threads'),
    'memcached': (f'./configure && {MAKE} memcached', 'memcached'),
    # Without its own allocator: ours must know who has which block.
    'redis': (f'{MAKE} -C src redis-server CC="$CC" MALLOC=libc OPTIMIZATION=-O2 CFLAGS=-I/usr/include/liblzf '
              'LDFLAGS="-Wl,-no-as-needed -ldl -latomic -llzf"', 'src/redis-server'),
    'leveldb': ('''mkdir heddle && cd heddle
        cmake -DCMAKE_BUILD_TYPE=Release -DCMAKE_AR=$(command -v $AR) -DCMAKE_RANLIB=$(command -v $RANLIB) -DLEVELDB_BUILD_TESTS=OFF ..
        make -j2 db_bench''', 'heddle/db_bench'),
    # apache2's library reads words that other threads write, in its own code: it must have hooks, too.
    'apr': ('./configure --prefix=$PWD/installed --disable-shared && make -j2 && make install', 'installed/bin/apr-1-config'),
    'apr-util': ('./configure --prefix=$PWD/installed --with-apr=$apr --disable-util-dso && make -j2 && make install',
                 'installed/bin/apu-1-config'),
    'apache2': ('''./configure --with-mpm=worker --with-apr=$apr --with-apr-util=$apr_util --with-pcre=/usr/bin/pcre2-config \\
            --enable-modules=none --enable-mods-static="authz_core unixd log_config" CPPFLAGS=-DBUILD_DATETIME=__DATE__
        make -j2''', 'httpd'),
}
# What else must be built before, in this order: the recipe finds it in the variable of its name.
NEEDS = {'apr-util': ['apr'], 'apache2': ['apr', 'apr-util']}


def source_lists(text, deb822):
    """A list of packages as one of their sources."""
    if deb822:
        return re.sub(r'^Types:.*$', 'Types: deb-src', text, flags=re.M)
    return ''.join(re.sub(r'^deb\s', 'deb-src ', line) for line in text.splitlines(True) if re.match(r'deb\s', line))


def release():
    """'bookworm'"""
    with open('/etc/os-release') as file:
        return re.search(r'^VERSION_CODENAME=(\S+)', file.read(), re.M).group(1)


class Apt:
    """apt-get with its own lists, in `folder`."""

    def __init__(self, t, folder):
        self.t, self.folder = t, folder
        self.options = ['-o', 'Dir::Etc::sourcelist=/dev/null', '-o', f'Dir::Etc::sourceparts={folder}/parts',
                        '-o', f'Dir::State::lists={folder}/lists', '-o', f'Dir::Cache={folder}/cache', '-o', 'APT::Sandbox::User=root']

    def make_lists(self):
        for name in ('parts', 'lists/partial', 'cache/archives/partial'):
            os.makedirs(f'{self.folder}/{name}', exist_ok=True)
        where = self.t.run_well(['apt-config', 'shell', 'ONE', 'Dir::Etc::sourcelist/f', 'PARTS', 'Dir::Etc::sourceparts/d']).out.decode()
        one, parts = re.findall(r"='(.*)'", where)
        for path in [one, *glob.glob(f'{parts}/*.list'), *glob.glob(f'{parts}/*.sources')]:
            if os.path.exists(path):
                with open(path) as old, open(f'{self.folder}/parts/{os.path.basename(path)}', 'w') as new:
                    new.write(source_lists(old.read(), path.endswith('.sources')))
        self.run('update')

    def run(self, *words, cwd=None, otherwise=None):
        """otherwise: words to be tried if these fail."""
        done = self.t.run(['apt-get', '-q', *self.options, *words], timeout=600, cwd=cwd)
        if done.status and otherwise:
            return self.run(*otherwise, cwd=cwd)
        # A mirror without this source says nothing about heddle: told, and left out.
        if done.status:
            errors = [line for line in done.err.decode().splitlines() if line.startswith('E:')] or ['no reason given']
            self.t.skip(f'apt-get {" ".join(words)}: {errors[0]}')

    def source(self, name):
        """The folder with the unpacked and patched source."""
        place = os.path.join(self.folder, name)
        if not glob.glob(f'{place}/*/debian'):
            if not os.path.exists(f'{self.folder}/parts'):
                self.make_lists()
            shutil.rmtree(place, ignore_errors=True)
            os.makedirs(place)
            # Some mirrors lack the sources of security updates.
            self.run('source', '--only-source', name, cwd=place, otherwise=('source', '--only-source', f'{name}/{release()}'))
        return os.path.dirname(glob.glob(f'{place}/*/debian')[0])


def compiler_digest(build):
    digest = hashlib.sha256()
    for name in ('bin/heddle-cc', 'lib/heddle/heddle-pass.so', 'lib/heddle/fast.bc', 'lib/heddle/replaced.bc'):
        with open(os.path.join(build, name), 'rb') as file:
            digest.update(file.read())
    return digest.hexdigest()


def tools(select):
    """The compilers, as the environment of a recipe: Heddle's with this --select, or clang alone, linking as they
    do."""
    if select == 'native':
        lto = '-flto --start-no-unused-arguments -fuse-ld=lld-19 --end-no-unused-arguments'
        return {'CC': f'clang-19 {lto}', 'CXX': f'clang++-19 {lto}', 'AR': 'llvm-ar-19', 'RANLIB': 'llvm-ranlib-19', 'NM': 'llvm-nm-19'}
    return {'CC': f'heddle-cc --select={select}', 'CXX': f'heddle-c++ --select={select}', 'AR': 'heddle-ar',
            'RANLIB': 'heddle-ranlib', 'NM': 'heddle-nm'}


def built(t, name, select='all'):
    """The program of this source package, built with --select=SELECT; or 'native'."""
    commands, program = RECIPES[name]
    needed = {n.replace('-', '_'): built(t, n, select) for n in NEEDS.get(name, [])}
    top = os.path.join(t.settings.build, 'tests', 'sources')
    place = os.path.join(top, 'built', name if select == 'all' else f'{name}-{select}')
    digest = compiler_digest(t.settings.build) + hashlib.sha256(commands.encode()).hexdigest()
    with _lock:
        source = Apt(t, top).source(name)
        stamp = os.path.join(place, 'compiler')
        if not os.path.exists(stamp) or open(stamp).read() != digest:
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(source, place, symlinks=True)
            env = dict(t.env, PATH=os.path.join(t.settings.build, 'bin') + ':' + t.env['PATH'], **tools(select), **needed)
            with open(os.path.join(place, 'build.log'), 'w') as log:
                process = subprocess.Popen(['sh', '-ec', commands], cwd=place, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                           start_new_session=True)
                try:
                    process.wait(3600)
                finally:
                    kill_tree(process)
            if process.returncode:
                raise Failure(f'{name} does not build with --select={select}: see {place}/build.log')
            with open(stamp, 'w') as file:
                file.write(digest)
    return os.path.join(place, program)
