"""A replay in an editor that speaks the Debug Adapter Protocol, and under lldb: as doc/debugging.md says it."""
import json
import os
import re
import shutil
import subprocess
import threading

from harness import ROOT, end_session
from sessions import Server, build, documented, hunt, line_of

BANK = os.path.join(ROOT, 'examples', 'bank.c')


def find(t, *names):
    if os.uname().machine == 'x86_64':
        t.skip('lldb does not know where a process of gdb\'s server stands at a breakpoint of x86-64: doc/debugging.md')
    found = next(filter(None, map(shutil.which, names)), None)
    return found or t.skip(f'{names[0]} is not there: apt-get install lldb-19')


def failing_bank(t):
    """A recording whose sum is wrong; the accounts and the sum that it printed."""
    program = build(t, BANK)
    trace = hunt(t, program)
    said = t.replay(trace).out.decode()
    return program, trace, [int(n) for n in re.findall(r'(?:account \d|sum): (-?\d+)', said)]


class Adapter:
    """Messages to a debug adapter and from it; `told`: all that came."""

    def __init__(self, t, argv):
        self.t, self.told, self.number = t, [], 0
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=t.env, cwd=t.dir,
                                        start_new_session=True)
        self.watch = threading.Timer(300, end_session, [self.process])      # an adapter that is silent must not stop the tests
        self.watch.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.watch.cancel()
        end_session(self.process)

    def send(self, command, **arguments):
        self.number += 1
        text = json.dumps({'seq': self.number, 'type': 'request', 'command': command, 'arguments': arguments}).encode()
        self.process.stdin.write(b'Content-Length: %d\r\n\r\n' % len(text) + text)
        self.process.stdin.flush()
        return self.number

    def read(self):
        size = None
        while (line := self.process.stdout.readline()) not in (b'\r\n', b''):
            if line.startswith(b'Content-Length:'):
                size = int(line.split(b':')[1])
        self.t.check(size is not None, f'the adapter has ended; it said {self.told[-5:]}')
        self.told.append(json.loads(self.process.stdout.read(size)))
        return self.told[-1]

    def wait(self, **wanted):
        """The first message with these members, of those that were not waited for."""
        while True:
            for n, message in enumerate(self.told):
                if message and all(message.get(name) == value for name, value in wanted.items()):
                    self.told[n] = None
                    return message
            self.read()

    def answer(self, number):
        answer = self.wait(type='response', request_seq=number)
        self.t.check(answer['success'], f'{answer}')
        return answer.get('body', {})

    def ask(self, command, **arguments):
        return self.answer(self.send(command, **arguments))


def settings_of(t, program, port):
    """What VS Code would send, of the launch configuration in the documentation."""
    text = documented('launch.json for lldb-dap').replace('${workspaceFolder}/app', program).replace('2345', str(port))
    settings = json.loads(text)['configurations'][0]
    t.check(settings['type'] == 'lldb-dap' and settings['request'] == 'attach', f'{settings}')
    return {name: value for name, value in settings.items() if name not in ('name', 'type', 'request')}


def stop_at(t, dap, source, line):
    stopped = dap.wait(type='event', event='stopped')['body']
    frames = dap.ask('stackTrace', threadId=stopped['threadId'], startFrame=0, levels=20)['stackFrames']
    t.check(frames[0]['source']['name'] == os.path.basename(source) and frames[0]['line'] == line, f'stopped at {frames[0]}, not at line {line}')
    return stopped['threadId'], frames


def variables(dap, frame, scope_name):
    scope = next(s for s in dap.ask('scopes', frameId=frame['id'])['scopes'] if s['name'] == scope_name)
    return {v['name']: v for v in dap.ask('variables', variablesReference=scope['variablesReference'])['variables']}


def case_debug_adapter(t):
    """An editor's session: attach, a breakpoint, where it stops, its variables, on, and the end. What it sees is what
    was recorded."""
    adapter = find(t, 'lldb-dap-19', 'lldb-dap')
    program, trace, (*accounts, total) = failing_bank(t)
    first, last = line_of(BANK, 'accounts[to] += amount'), line_of(BANK, 'return sum !=')
    with Server(t, trace) as server, Adapter(t, [adapter]) as dap:
        t.check(dap.ask('initialize', adapterID='heddle', linesStartAt1=True, columnsStartAt1=True, pathFormat='path').get('supportsConfigurationDoneRequest'),
                'no configurationDone')
        attach = dap.send('attach', **settings_of(t, program, server.port))
        dap.wait(type='event', event='initialized')
        set_there = dap.ask('setBreakpoints', source={'path': BANK}, breakpoints=[{'line': first}, {'line': last}])['breakpoints']
        t.check([b['line'] for b in set_there if b['verified']] == [first, last], f'{set_there}')
        dap.ask('configurationDone')
        dap.answer(attach)
        thread, frames = stop_at(t, dap, BANK, first)
        t.check([f['name'] for f in frames[:2]] == ['transfer', 'clerk'], f'{frames[:3]}')
        t.check(len(dap.ask('threads')['threads']) >= 2, 'one thread')
        amount = variables(dap, frames[0], 'Locals')['amount']['value']
        t.check(amount.isdigit() and int(amount) < 128, f'amount {amount}')
        dap.ask('setBreakpoints', source={'path': BANK}, breakpoints=[{'line': last}])
        dap.ask('continue', threadId=thread)
        thread, frames = stop_at(t, dap, BANK, last)
        seen = variables(dap, frames[0], 'Locals')
        t.check(int(seen['sum']['value']) == total != sum((1000,) * 4), f'sum is {seen["sum"]}, recorded {total}')
        there = variables(dap, frames[0], 'Globals')['accounts']
        values = [int(v['value']) for v in dap.ask('variables', variablesReference=there['variablesReference'])['variables']]
        t.check(values == accounts, f'accounts are {values}, recorded {accounts}')
        dap.ask('continue', threadId=thread)
        dap.wait(type='event', event='exited')
        dap.ask('disconnect', terminateDebuggee=False)


def case_lldb(t):
    """lldb itself: connects, knows lines and variables, and the run ends as recorded."""
    lldb = find(t, 'lldb-19', 'lldb')
    program, trace, (*accounts, total) = failing_bank(t)
    with Server(t, trace) as server:
        commands = documented('lldb').replace('app', program).replace('2345', str(server.port)).splitlines()
        words = [w for line in [*commands, f'breakpoint set -f bank.c -l {line_of(BANK, "return sum !=")}', 'continue', 'bt', 'p sum', 'p accounts',
                                'continue'] for w in ('-o', line)]
        said = t.run([lldb, '--no-lldbinit', '-b', *words], timeout=300).out.decode()
    t.check(re.search(r'frame #0: .*main.* at bank\.c:\d+', said) and f'(long) {total}' in said, said)
    t.check(all(f'= {n}' in said for n in accounts) and re.search(r'Process \d+ exited', said), said)
