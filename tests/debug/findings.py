"""heddle replay --races and --atomicity: stacks, values, and all ways to print them."""
import json
import os
import re

from harness import RACES, ROOT, USAGE

SOURCE = os.path.join(ROOT, 'tests', 'debug', 'parts', 'between.c')


def line_of(text):
    with open(SOURCE) as file:
        return next(n for n, line in enumerate(file, 1) if text in line)


def recording(t, *arguments, options=()):
    t.run_well([os.path.join(t.settings.build, 'bin', 'heddle-cc'), '-O0', '-g', '-pthread', '--select=all', '-o', t.path('between'), SOURCE],
               timeout=120)
    recorded = t.record([t.path('between'), *arguments], options=options)
    t.check(recorded.status == (0 if arguments else 1), f'recording: {recorded}')
    return t.path('trace')


def replay(t, trace, *options, status=RACES):
    outcome = t.run([t.heddle, 'replay', '--quiet', *options, trace], timeout=120)
    t.check(outcome.status == status, f'{options}: {outcome}')
    return outcome


def case_atomicity(t):
    """The lost update, with the access that came between; as text, JSON and SARIF, under two orders."""
    lines = [line_of(f'line {text}') for text in ('of the read', 'between', 'of the write')]
    for order in ('region', 'tplay'):
        trace = recording(t, options=[f'--order={order}'])
        text = replay(t, trace, '--atomicity').err.decode()
        pattern = r'atomicity of sum violated.*first thread 1 reads 100 at deposit \(\S*between\.c:{}.*between them thread 2 writes 70 ' \
                  r'at withdraw \(\S*between\.c:{}.*and then thread 1 writes 110 at deposit \(\S*between\.c:{}'
        t.check(re.search(pattern.format(*lines), text, re.S), f'{order}: {text}')
        found = json.loads(replay(t, trace, '--atomicity', '--json').out)['violations']
        t.check([v['object'] for v in found] == ['sum'] and found[0]['between']['thread'] == 2, f'{order}: {found}')
        result, = json.loads(replay(t, trace, '--atomicity', '--sarif').out)['runs'][0]['results']
        places = [place['physicalLocation']['region']['startLine'] for place in result['locations'] + result['relatedLocations']]
        t.check(places == lines and result['ruleId'] == 'atomicity', f'{order}: {result}')
        os.rename(trace, trace + order)


def case_atomicity_kept(t):
    """Each update is one step: nothing is violated, and replay ends as the program did."""
    outcome = replay(t, recording(t, 'whole'), '--atomicity', status=0)
    t.check(b'0 places where atomicity was violated' in outcome.err, f'{outcome}')


def case_races_with_stacks(t):
    """Both stacks and both values of a race."""
    trace = recording(t)
    text = replay(t, trace, '--races').err.decode()
    line = line_of('line of the race')
    side = r'write of {} at \S*between\.c:{}:\d+ in touch, thread {}[^\n]*\n[^\n]*by visit \(\S*between\.c:\d+\)\n[^\n]*by {} '
    sides = [side.format(1, line, 1, 'deposit'), side.format(2, line, 2, 'withdraw')]
    t.check(all(re.search(s, text) for s in sides), text)
    race, = json.loads(replay(t, trace, '--races', '--json').out)['races']
    t.check(sorted(race[s]['value'] for s in 'ab') == [1, 2], f'{race}')
    t.check(all(race[s]['stack'][0].startswith('visit (') for s in 'ab'), f'{race}')
    log = json.loads(replay(t, trace, '--races', '--sarif').out)
    result, = log['runs'][0]['results']
    t.check(log['version'] == '2.1.0' and result['locations'][0]['physicalLocation']['region']['startLine'] == line, f'{log}')


def case_findings_usage(t):
    for options in (['--json'], ['--sarif'], ['--races', '--json', '--sarif'], ['--races', '--atomicity'], ['--atomicity', '--repeat=2']):
        outcome = t.run([t.heddle, 'replay', *options, t.path('nothing')])
        t.check(outcome.status == USAGE, f'{options}: {outcome}')
