"""doc/heddle-calls.1.md lists what `heddle calls` prints: each call that is known on one of the machines, once.

python3 tests/house/calls.py HEDDLE     writes the list anew, on the machine at hand
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, 'doc', 'heddle-calls.1.md')
MARK = '<!-- heddle calls -->'
ONLY = 'Only on '


def known(text):
    """{call: what is done with it} of what the verb prints."""
    return dict(re.match(r'(\S+) +(.*)', line).groups() for line in text.splitlines())


def listed(page):
    """The same of the page, and {machine: calls}."""
    calls, only = {}, {}
    for title, names in re.findall(r'^\*\*(.*?)\*\*\n: (.*?)$', page.split(MARK)[1], re.M):
        names = re.findall(r'`(\w+)`', names)
        if title.startswith(ONLY):
            only[title[len(ONLY):]] = set(names)
        else:
            calls.update(dict.fromkeys(names, title[0].lower() + title[1:]))
    return calls, only


def case_calls(t):
    """Every call of this machine's table is in the manual, with what is done with it, and no other."""
    here = known(t.run_well([t.heddle, 'calls']).out.decode())
    with open(PAGE, encoding='utf-8') as file:
        calls, only = listed(file.read())
    away = set().union(*(names for machine, names in only.items() if machine != os.uname().machine))
    missing = {call: how for call, how in here.items() if calls.get(call) != how}
    t.check(not missing, f'not in {PAGE}, or otherwise: {missing}; write it anew with tests/house/calls.py')
    t.check(set(calls) - away == set(here), f'{sorted(set(calls) - away - set(here))} are in the manual, and not in the table')


def write(heddle):
    here = known(subprocess.run([heddle, 'calls'], stdout=subprocess.PIPE, check=True, text=True).stdout)
    with open(PAGE, encoding='utf-8') as file:
        page = file.read()
    calls, only = listed(page)
    calls = {**{call: how for call, how in calls.items() if any(call in names for names in only.values())}, **here}
    lists = {}
    for call, how in sorted(calls.items()):
        lists.setdefault(how[0].upper() + how[1:], []).append(call)
    for machine, names in only.items():
        lists[ONLY + machine] = sorted(names & set(calls))
    text = '\n\n'.join(f'**{title}**\n: ' + ', '.join(f'`{name}`' for name in names) for title, names in lists.items())
    before, _, after = page.split(MARK)
    with open(PAGE, 'w', encoding='utf-8') as file:
        file.write(f'{before}{MARK}\n{text}\n{MARK}{after}')


if __name__ == '__main__':
    write(sys.argv[1])
