"""What `make soak` has done so far: remembered, so that a stopped run goes on where it was, and told as a table in
doc/reliability.md.

A case that failed is tried again by the next run, but its failure stays in the table: what went wrong once did go
wrong.
"""
import datetime
import glob
import hashlib
import json
import os
import platform
import re

from harness import ROOT

RELIABILITY = os.path.join(ROOT, 'doc', 'reliability.md')
COLUMNS = ('tests', 'cases', 'recordings', 'replays', 'wrong', 'lost', 'left out')


def digest(build):
    """Of what is tested, and of what tests it."""
    sha = hashlib.sha256()
    for path in sorted(glob.glob(f'{build}/bin/*') + glob.glob(f'{build}/lib/heddle/*') + glob.glob(f'{ROOT}/tests/**/*', recursive=True) +
                       glob.glob(f'{ROOT}/bench/*.[cp]*') + glob.glob(f'{ROOT}/bench/programs/*')):
        if os.path.isfile(path) and not path.endswith(('.pyc', '.md')):
            with open(path, 'rb') as file:
                sha.update(file.read())
    return sha.hexdigest()


def group(name):
    """The row of a case: its folder, or for one that is cut into batches the case."""
    batch = re.fullmatch(r'(.*)\[\d+ of \d+\]', name)
    return batch.group(1) if batch else name.split('/')[0]


class Campaign:
    def __init__(self, settings):
        """A part of all counts, or another number of replays, is a campaign of its own. Of the latter, and of some cases of a part,
        the table is only printed."""
        part = '' if settings.scale == 1 else f' SCALE={settings.scale:g}'
        self.command, self.is_told = f'make soak{part}', not settings.other_replays and not (part and settings.only)
        whole = not part and not settings.other_replays
        self.file = os.path.join(settings.build, 'soak.json' if whole else f'soak-{settings.scale:g}-{settings.replays}.json')
        self.state = {'build': digest(settings.build), 'began': datetime.datetime.now().isoformat('T', 'minutes'), 'done': {}, 'failed': []}
        try:
            with open(self.file) as file:
                old = json.load(file)
            if old.get('build') == self.state['build']:
                self.state = old
        except (OSError, ValueError):
            pass

    def remaining(self, cases):
        """What was only left out is tried again, unless it is a measurement that was made."""
        done = [name for name, made in self.state['done'].items() if made['verdict'] == 'passed' or made['replays']]
        left = [c for c in cases if c.id not in done]
        print(f'{len(cases) - len(left)} cases were done earlier with this build, {len(left)} to go; without {self.file} it begins anew')
        return left

    def remember(self, case):
        made = {'verdict': case.verdict, 'seconds': round(case.seconds, 1), 'recordings': case.recordings, 'replays': case.replays}
        if case.verdict == 'failed':
            self.state['failed'].append({'case': case.id, 'lost': case.lost, 'text': case.text, **made})
        else:
            self.state['done'][case.id] = {'text': case.text, **made}
        with open(self.file + '.new', 'w') as file:
            json.dump(self.state, file, indent=1)
        os.rename(self.file + '.new', self.file)

    # ---- the table

    def rows(self, cases):
        """cases: names of all that there are."""
        rows = {}
        for name in cases:
            row = rows.setdefault(group(name), dict.fromkeys(('all', 'passed', 'skipped', 'recordings', 'replays', 'wrong', 'lost'), 0))
            row['all'] += 1
            done = self.state['done'].get(name)
            if done:
                row[done['verdict']] += 1
        for name, made in [*self.state['done'].items(), *((f['case'], f) for f in self.state['failed'])]:
            row = rows.get(group(name))
            if not row:
                continue
            row['recordings'] += made['recordings']
            row['replays'] += made['replays']
            if made['verdict'] == 'failed':
                row['lost' if made['lost'] else 'wrong'] += 1
        return rows

    def table(self, cases):
        rows = self.rows(cases)
        lines = [f'`{self.command}`, {platform.machine()}, Linux {platform.release()}, {os.cpu_count()} processors, {self.state["began"][:10]} to '
                 f'{datetime.date.today().isoformat()}, one build. Recordings and replays are those that the tests count; wrong are cases that failed, '
                 'lost those among them whose recording could not be replayed at all.', '', '| ' + ' | '.join(COLUMNS) + ' |', '|' + '---|' * len(COLUMNS)]
        for name, r in [*sorted(rows.items()), ('all', {k: sum(r[k] for r in rows.values()) for k in next(iter(rows.values()))})]:
            cells = (f'{r["passed"]:,} of {r["all"]:,}', *(f'{r[k]:,}' for k in ('recordings', 'replays', 'wrong', 'lost', 'skipped')))
            lines.append(f'| {name} | ' + ' | '.join(cells) + ' |')
        lines += [''] + [f'- {f["case"]}: {f["text"].partition(chr(10))[0]}' for f in self.state['failed']]
        return '\n'.join(lines).rstrip() + '\n'

    def tell(self, cases):
        """Into doc/reliability.md, in the place of what an earlier campaign of this kind, on this kind of machine, has said
        there."""
        if not self.is_told:
            print(self.table([c.id for c in cases]))
            return
        begin, end = f'<!-- {self.command} {platform.machine()} -->\n', '<!-- end of soak -->\n'
        with open(RELIABILITY) as file:
            text = file.read()
        before, found, rest = text.partition(begin)
        if not found:
            before, rest = text.rstrip('\n') + f'\n\n## `{self.command}`, {platform.machine()}\n\n', end
        with open(RELIABILITY, 'w') as file:
            file.write(before + begin + self.table([c.id for c in cases]) + end + rest.partition(end)[2])
        print(f'the table in {os.path.relpath(RELIABILITY, ROOT)} tells what has been done so far')
