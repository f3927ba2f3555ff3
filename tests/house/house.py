"""The house itself: layout, includes, both compilers, the other machine, install, manual pages."""
import glob
import os
import re
import shutil
import subprocess
import sys

import tracefile
from harness import ROOT


def make(t, *words, timeout=600):
    return t.run_well(['make', '-s', *words], cwd=ROOT, timeout=timeout)


def case_format(t):
    files = subprocess.run(['find', 'bench', 'commands', 'compiler', 'examples', 'interpose', 'loader', 'runtime', 'tests', 'trace', '-name', '*.[ch]', '-o',
                            '-name', '*.cpp'], cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout.split()
    outcome = t.run(['clang-format', '--dry-run', '-Werror', *sorted(files)], cwd=ROOT)
    wrong = sorted(set(re.findall(r'^(\S+?):\d+:\d+: error', outcome.err.decode(), re.M)))
    t.check(not wrong, 'not laid out (make format):\n' + '\n'.join(wrong))


def case_columns(t):
    """Comments, too, which clang-format leaves alone. Not in the tests, whose cases name lines."""
    wide = []
    for path in t.run(['git', 'ls-files', '*.[chS]', '*.cpp'], cwd=ROOT).out.decode().split():
        if path.startswith('tests/'):
            continue
        with open(os.path.join(ROOT, path), encoding='utf-8') as file:
            text = re.sub(r'/\* clang-format off \*/.*?/\* clang-format on \*/', lambda m: '\n' * m.group().count('\n'), file.read(), flags=re.S)
        wide += [f'{path}:{n}' for n, line in enumerate(text.split('\n'), 1) if len(line.expandtabs(8)) > 120]
    t.check(not wide, 'more than 120 columns:\n' + '\n'.join(wide))


def case_includes(t):
    outcome = t.run([sys.executable, 'tests/check_includes.py'], cwd=ROOT)
    t.check(outcome.status == 0, outcome.out.decode())


case_includes.quick = True


def case_clang(t):
    make(t, 'CC=clang', f'BUILD={t.settings.build}/clang')


def case_cross_build(t):
    make(t, 'cross', f'BUILD={t.settings.build}')


def case_install(t):
    """Installed elsewhere, it finds its parts and works."""
    make(t, 'install', f'DESTDIR={t.path("root")}', 'PREFIX=/usr', f'BUILD={t.settings.build}')
    heddle = t.path('root', 'usr', 'bin', 'heddle')
    outcome = t.run([heddle, 'record', '-o', t.path('trace'), '--', 'sh', '-c', 'echo $$; exit 4'])
    again = t.run([heddle, 'replay', t.path('trace')])
    t.check(outcome.status == again.status == 4 and outcome.out == again.out, f'{outcome}\n{again}')


def case_manual(t):
    """One page per verb: the table of verbs and doc/ name the same ones."""
    verbs = set(re.findall(rb'^  (\w+) ', t.run([t.heddle, 'help']).out, re.M)) - {b'help'}
    pages = {os.path.basename(p)[7:-5].encode() for p in glob.glob(f'{ROOT}/doc/heddle-*.1.md')} - {b'cc'}
    t.check(verbs == pages, f'verbs {sorted(verbs)}\npages {sorted(pages)}')
    for page in glob.glob(f'{ROOT}/doc/*.1.md'):
        t.run_well(['lowdown', '-s', '-Tman', page])


def apt_mirror():
    """Where this machine gets its packages from, and which release it is."""
    found = re.search(r'^VERSION_CODENAME=(\S+)', open('/etc/os-release').read(), re.M)
    release = found.group(1) if found else None
    text = '\n\n'.join(open(path).read() for path in ['/etc/apt/sources.list', *glob.glob('/etc/apt/sources.list.d/*')] if os.path.exists(path))
    for stanza in re.split(r'\n\s*\n', text):
        fields = dict(re.findall(r'^(URIs|Suites):\s*(.*)$', stanza, re.M))
        if release in fields.get('Suites', '').split():
            return fields['URIs'].split()[0], release
    line = re.search(rf'^deb(?: \[.*?\])?\s+(\S+)\s+{release}\s', text, re.M)
    return line and line.group(1), release


def case_clean_root(t):
    """The two commands of the README, in a root that has git and make and nothing else of what they need. A part of the
    soak has the short tests only."""
    t.need_root()
    mirror, release = apt_mirror()
    if not mirror or not release:
        t.skip('not a Debian system')
    root = t.path('root')
    t.run_well(['debootstrap', '--variant=minbase', '--include=git,make,ca-certificates', release, root, mirror], timeout=3600)
    shutil.copytree('/etc/apt', f'{root}/etc/apt', dirs_exist_ok=True)     # mirrors, keys, proxies
    t.run_well(['git', 'clone', '-q', ROOT, f'{root}/heddle'])
    for target in ('demo', 'test' if t.settings.scale == 1 else 'check'):
        # a mount namespace of its own: whatever happens, no mount stays
        outcome = t.run(['unshare', '--mount', 'sh', '-c', 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount --rbind /sys "$0/sys" '
                         '&& exec chroot "$0" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root make -C /heddle "$1"', root, target], timeout=4 * 3600)
        t.check(outcome.status == 0, f'make {target}: {outcome}\n{outcome.out.decode(errors="replace")[-3000:]}')


case_clean_root.only_soak = True


def case_demo(t):
    outcome = t.run(['make', '-s', 'demo', f'BUILD={t.settings.build}'], cwd=ROOT)
    t.check(outcome.status == 0, f'{outcome}\n{outcome.out.decode()}')


def case_no_path_of_one_machine(t):
    """Nothing in the tree names a folder of whoever wrote it."""
    place = os.path.dirname(ROOT) + '/'
    if place.count('/') < 3:
        t.skip('the project lies too near the root to tell')
    found = t.run(['git', 'grep', '--untracked', '-nIF', place], cwd=ROOT)
    if found.status > 1:
        t.skip('not a git repository')
    t.check(found.status == 1, found.out.decode())


def case_only_text(t):
    """What a tool left behind is not committed: every file is text."""
    listed = t.run(['git', 'ls-files', '-z'], cwd=ROOT)
    if listed.status:
        t.skip('not a git repository')
    wrong = []
    for name in filter(None, listed.out.decode().split('\0')):
        path = os.path.join(ROOT, name)
        if os.path.isfile(path) and not os.path.islink(path):
            with open(path, 'rb') as file:
                wrong += [name] if b'\0' in file.read() else []
    t.check(not wrong, f'not text: {", ".join(wrong)}')


case_only_text.quick = True


def example(text, name):
    """The bytes of a worked example: the two-digit words at the start of each line after its mark, up to a wide
    space."""
    lines = text.split(f'<!-- {name} -->\n')[1].split('\n\n')[0].splitlines()
    return bytes.fromhex(''.join(re.match(r'((?:[0-9a-f]{2}\b\s*)+)', re.split(r'\s{3,}', line.strip())[0]).group(1) for line in lines))


def case_format_example(t):
    """The worked example of doc/trace-format.md is what the tests' own reader finds right."""
    with open(f'{ROOT}/doc/trace-format.md') as file:
        text = file.read()
    with open(t.path('p0.t0.log'), 'wb') as file:
        file.write(example(text, 'log'))
    entries = tracefile.Log(t.path('p0.t0.log')).entries()
    t.check([bytes(e.data) for e in entries] == [example(text, 'entry')], f'the log holds {[e.data.hex() for e in entries]}')
    with open(f'{ROOT}/trace/format.h') as file:
        version = re.search(r'TRACE_VERSION (\d+)', file.read()).group(1)
    t.check(f'has a version, {version} now' in text, 'the page is of another version than trace/format.h')
