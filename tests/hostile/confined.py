"""What a replay leaves alone: files, the network, the programs that the trace names; and what a killed one leaves
behind."""
import os
import signal
import socket
import subprocess
import threading

from harness import end_session

# Everything that a program can do to the folder `data`.
CHANGES = '''
import os
os.chdir("data")
open("new", "w").write("made")
open("appended", "a").write("more")
open("cut", "r+").truncate(1)
os.unlink("removed"); os.rename("old name", "new name"); os.mkdir("folder"); os.rmdir("empty")
os.symlink("a", "link"); os.link("cut", "hard"); os.chmod("cut", 0o600); os.utime("appended", (1, 1)); os.mkfifo("fifo")
import mmap
with open("mapped", "r+b") as f:
    m = mmap.mmap(f.fileno(), 0)
    m[0:4] = b"MINE"
    m.flush()
print("changed", sorted(os.listdir(".")))
'''


def prepare(folder):
    os.makedirs(os.path.join(folder, 'empty'))
    for name in ('appended', 'cut', 'removed', 'old name', 'mapped'):
        with open(os.path.join(folder, name), 'w') as file:
            file.write(f'text of {name}')


def everything(folder):
    """Names, contents, modes and times of all that is below."""
    found = {}
    for top, folders, names in os.walk(folder):
        for name in folders + names:
            path = os.path.join(top, name)
            st = os.lstat(path)
            data = open(path, 'rb').read() if os.path.isfile(path) and not os.path.islink(path) else None
            found[os.path.relpath(path, folder)] = (st.st_mode, st.st_nlink, st.st_mtime_ns, st.st_ctime_ns, data)
    return found


def case_replay_changes_no_file(t):
    prepare(t.path('data'))
    outcome = t.record(['python3', '-S', '-c', CHANGES], cwd=t.dir)
    t.check(outcome.status == 0 and b'new name' in outcome.out, f'{outcome}')
    subprocess.run(['rm', '-r', t.path('data')], check=True)
    prepare(t.path('data'))
    t.env['TMPDIR'] = t.folder('tmp')
    before, trace = everything(t.path('data')), everything(t.path('trace'))
    again = t.replay(cwd=t.dir)
    t.check((again.status, again.out) == (0, outcome.out), f'replay: {again}')
    t.check(everything(t.path('data')) == before, 'the replay changed files of the program')
    t.check(everything(t.path('trace')) == trace, 'the replay changed the trace')
    t.check(not os.listdir(t.path('tmp')), f'left over: {os.listdir(t.path("tmp"))}')


class Server:
    """Counts who connects, and answers."""

    def __init__(self):
        self.socket = socket.create_server(('127.0.0.1', 0))
        self.port, self.calls = self.socket.getsockname()[1], 0
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                peer, _ = self.socket.accept()
            except OSError:
                return
            self.calls += 1
            peer.sendall(b'%d\n' % self.calls)
            peer.close()


def case_replay_makes_no_connection(t):
    server = Server()
    program = f'import socket; print(socket.create_connection(("127.0.0.1", {server.port})).makefile().read())'
    outcome = t.record(['python3', '-c', program])
    t.check(outcome.out == b'1\n\n' and server.calls == 1, f'{outcome} {outcome.out!r}')
    again = t.replay(offline=False)
    t.check((again.status, again.out) == (0, outcome.out), f'replay: {again}')
    after = socket.create_connection(('127.0.0.1', server.port)).makefile().read()      # what came before it has been counted
    server.socket.close()
    t.check(after == '2\n', f'the replay connected to the server: {after!r}')


def script(path, text):
    with open(path, 'w') as file:
        file.write(f'#!/bin/sh\n{text}\n')
    os.chmod(path, 0o755)


def case_replay_runs_no_other_program(t):
    """What the trace names lies there as something else by now: the replay runs what is in the trace."""
    script(t.path('first'), './second; ./copy -c "echo three"')
    script(t.path('second'), 'echo two')
    t.copy_program('/bin/sh', t.path('copy'))
    outcome = t.record(['./first'], cwd=t.dir)
    t.check((outcome.status, outcome.out) == (0, b'two\nthree\n'), f'{outcome}')
    for name in ('first', 'second', 'copy'):
        os.unlink(t.path(name))
        script(t.path(name), f'echo ran > {t.path("ran")}')
    again = t.replay(cwd=t.dir)
    t.check((again.status, again.out) == (0, outcome.out), f'replay: {again}')
    t.check(not os.path.exists(t.path('ran')), 'the replay ran a program that the trace names')


def case_killed_replay_leaves_nothing(t):
    """Its directory is removed by the next one, and not that of a replay that still runs."""
    outcome = t.record(['sh', '-c', 'i=0; while [ $i -lt 8000 ]; do i=$((i+1)); echo "this is line number $i of them"; done'])
    t.check(outcome.status == 0, f'{outcome}')
    tmp = t.env['TMPDIR'] = t.folder('tmp')
    stopped = []
    for _ in range(2):
        process = subprocess.Popen([t.heddle, 'replay', t.path('trace')], env=t.env, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                   start_new_session=True)
        process.stdout.read(1)          # it runs, and will wait for us: nobody reads on, and the pipe holds a part only
        os.kill(process.pid, signal.SIGSTOP)
        stopped.append(process)
    t.check(len(os.listdir(tmp)) == 2, f'{os.listdir(tmp)}')
    end_session(stopped[0])
    t.check(t.replay(offline=False).out == outcome.out, 'a replay beside them is not exact')
    left = os.listdir(tmp)
    end_session(stopped[1])
    t.check(len(left) == 1, f'beside the one that runs there is {left}')
    t.replay(offline=False)
    t.check(not os.listdir(tmp), f'left over: {os.listdir(tmp)}')
