"""heddle races, as text, JSON and SARIF, and the options of heddle-cc that change what it finds."""
import json
import os
import re

import golden

SOURCE = os.path.join(golden.FOLDER, 'publish_unlocked.c')


def line_of(mark, source=SOURCE):
    with open(source) as file:
        return next(n for n, line in enumerate(file, 1) if f'// @{mark}' in line)


def races(t, program, *options, status=0):
    outcome = t.run([t.heddle, 'races', *options, program])
    t.check(outcome.status == status, f'{options}: {outcome}')
    return outcome.out.decode() + outcome.err.decode()


def compiled(t, source, *options):
    program = t.path(os.path.basename(source) + ''.join(o for o in options if '/' not in o))
    t.run_well([os.path.join(t.settings.build, 'bin', 'heddle-cc'), '--select=races', '-O1', '-g', '-pthread', *options, '-o', program, source])
    return program


def case_races_text(t):
    """Both places, the locks and the threads of a warning; and the table of steps."""
    text = races(t, golden.build(t, SOURCE, 'races'))
    for mark in 'apqb':
        t.check(f'publish_unlocked.c:{line_of(mark)}' in text, f'line {line_of(mark)} is not in\n{text}')
    t.check('maker' in text and 'taker' in text and re.search(r'raw +\d+ +\d+ +\d+', text), text)


def case_races_locks_once(t):
    """What main does when it is alone again counts as done under every lock: of those that there are, each once."""
    source = t.path('alone.c')
    with open(source, 'w') as file:
        file.write('#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n'
                   'static void *work(void *arg) { return arg; }\n'
                   'static __attribute__((noinline)) void show(const char *s) { printf("%s %zu\\n", s, strlen(s)); }\n'
                   'int main(int argc, char **argv) {\n'
                   '\tpthread_t t; (void)argc;\n\tpthread_create(&t, NULL, work, NULL);\n\tpthread_join(t, NULL);\n'
                   '\tshow(argv[0]);\n\treturn 0;\n}\n')
    text = races(t, compiled(t, source))
    t.check('code outside' in text, f'nothing to see:\n{text}')
    for line in text.split('\n'):
        locks = line.partition('  with ')[2].split(', ')
        t.check(len(set(locks)) == len(locks), line)


def case_races_why(t):
    """One access: with whom it may race, or why it cannot; and a line without any."""
    program = golden.build(t, SOURCE, 'races')
    text = races(t, program, f'--why=publish_unlocked.c:{line_of("a")}')
    t.check(f'publish_unlocked.c:{line_of("b")}' in text, text)
    text = races(t, program, '--why=publish_unlocked.c:1', status=golden.CANNOT)
    t.check('no access' in text, text)
    source = os.path.join(golden.FOLDER, 'barrier_phases.c')
    line = sorted(golden.expected(source)[0].lines[0])[0]
    text = races(t, golden.build(t, source, 'races'), f'--why=barrier_phases.c:{line}')
    t.check('cannot race' in text, text)


def case_races_sarif(t):
    """As SARIF: a rule that is listed, both places, and a URI for a path with a space in it."""
    folder = t.path('a folder')
    os.mkdir(folder)
    source = os.path.join(folder, 'source.c')
    with open(source, 'w') as file, open(SOURCE) as original:
        file.write(original.read())
    run = json.loads(races(t, compiled(t, source, '-I' + golden.FOLDER), '--sarif'))['runs'][0]
    rules = {rule['id'] for rule in run['tool']['driver']['rules']}
    pairs = set()
    for result in run['results']:
        t.check(result['ruleId'] in rules, f'{result}')
        places = [p['physicalLocation'] for p in result['locations'] + result['relatedLocations']]
        t.check(all(p['artifactLocation']['uri'].endswith('/a%20folder/source.c') for p in places if 'source' in str(p)), f'{places}')
        pairs.add(frozenset(p['region']['startLine'] for p in places))
    for pair in ('ab', 'pq'):
        t.check(frozenset(map(line_of, pair)) in pairs, f'{pair} is not in {pairs}')


def case_races_options(t):
    """--races-report writes what the verb prints; --without leaves out a step; --barrier is believed; nonsense is refused."""
    source = os.path.join(golden.FOLDER, 'barrier_phases.c')
    report = t.path('report.json')
    whole = compiled(t, source, f'--races-report={report}')
    with open(report) as file:
        t.check(json.load(file)['warnings'] == json.loads(races(t, whole, '--json'))['warnings'], 'the report is another one')
    lines = set().union(*golden.expected(source)[0].lines)
    for program, kept in ((whole, False), (compiled(t, source, '--without=phases'), True)):
        found = [w for w in json.loads(races(t, program, '--json'))['warnings'] if {w['a']['line'], w['b']['line']} & lines]
        t.check(bool(found) == kept, f'with phases {not kept}: {found}')
    source = os.path.join(golden.FOLDER, 'barrier_handmade_two_locks.c')
    for options, kept in (((), True), (('--barrier=barrier_wait',), False)):
        found = json.loads(races(t, compiled(t, source, *options), '--json'))['warnings']
        t.check(any({w['a']['line'], w['b']['line']} == {line_of('a', source), line_of('b', source)} for w in found) == kept, f'{options}: {found}')
    refused = t.run([os.path.join(t.settings.build, 'bin', 'heddle-cc'), '--without=nothing', '-c', source, '-o', t.path('x.o')])
    t.check(refused.status != 0 and b'initialisation' in refused.err, f'{refused}')
