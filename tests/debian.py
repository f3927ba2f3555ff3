"""Programs of Debian's, built from its sources by heddle-cc.

Sources are fetched by apt with settings and lists of our own, made from the machine's: what it has as `deb` we ask for as
`deb-src`. Nothing of the machine's is changed. Sources and programs stay in the build folder, until the compiler changes.
"""
import glob
import hashlib
import os
import re
import shutil
import subprocess
import threading

from harness import Failure

_lock = threading.Lock()


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


def built(t, name, commands, program):
    """The program that the shell commands build in the source of this name; $SOURCE is it. Heddle's compilers are in PATH."""
    top = os.path.join(t.settings.build, 'tests', 'sources')
    place, digest = os.path.join(top, 'built', name), compiler_digest(t.settings.build)
    with _lock:
        source = Apt(t, top).source(name)
        stamp = os.path.join(place, 'compiler')
        if not os.path.exists(stamp) or open(stamp).read() != digest:
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(source, place, symlinks=True)
            env = dict(t.env, PATH=os.path.join(t.settings.build, 'bin') + ':' + t.env['PATH'])
            with open(os.path.join(t.dir, 'build.log'), 'w') as log:
                done = subprocess.run(['sh', '-ec', commands], cwd=place, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                      timeout=3600)
            if done.returncode:
                raise Failure(f'{name} does not build with heddle-cc: see {t.dir}/build.log')
            with open(stamp, 'w') as file:
                file.write(digest)
    return os.path.join(place, program)
