"""Servers of Debian's, to be recorded under load: how each is started, and what clients do to it.

Used by tests/threads/servers.py, tests/sources and bench/threads.py.
"""
import itertools
import os
import shutil
import signal
import socket
import subprocess
import threading
import time

from harness import Failure, kill_tree


class ServerFailed(Exception):
    pass


class Server:
    """One kind of server. start(folder, port) writes what it needs and returns its command line; load(port) is a small
    load; ends are the statuses that it may end with, after SIGTERM."""

    def __init__(self, name, needs, start, load, ends=(0,)):
        self.name, self.needs, self.start, self.load, self.ends = name, needs, start, load, ends

    def missing(self):
        return [p for p in self.needs if not shutil.which(p, path=os.environ.get('PATH', '') + ':/usr/sbin:/sbin')]

    def run(self, folder, prefix, load, *, env=None, timeout=120):
        """Start it behind `prefix` (heddle record ...), load it, stop it by SIGTERM: (status, out, err, what load
        gave)."""
        port = free_port()
        argv = self.start(folder, port)
        with open(os.path.join(folder, 'stdout'), 'wb') as out, open(os.path.join(folder, 'stderr'), 'wb') as err:
            process = subprocess.Popen([*prefix, *argv], stdout=out, stderr=err, stdin=subprocess.DEVNULL, cwd=folder, env=env,
                                       start_new_session=True)
            try:
                wait_for_port(port, process)
                found = load(port)
                process.send_signal(signal.SIGTERM)     # heddle passes it on
                process.wait(timeout)
            except subprocess.TimeoutExpired:
                raise ServerFailed(f'{self.name}: no end {timeout} s after SIGTERM') from None
            finally:
                kill_tree(process)
                process.wait()
        with open(os.path.join(folder, 'stdout'), 'rb') as out, open(os.path.join(folder, 'stderr'), 'rb') as err:
            return process.returncode, out.read(), err.read(), found


PORTS = range(20000, 32000)         # below those that the system gives to clients
_next_port = itertools.count(os.getpid() * 37)


def free_port():
    """One that no other case of this run gets, even if its server has not begun to listen yet."""
    while True:
        port = PORTS[next(_next_port) % len(PORTS)]
        try:
            socket.create_server(('127.0.0.1', port)).close()
            return port
        except OSError:
            continue


def wait_for_port(port, process):
    for _ in range(400):
        if process.poll() is not None:
            raise ServerFailed(f'the server ended with {process.poll()} before it answered')
        try:
            return socket.create_connection(('127.0.0.1', port), 5).close()
        except OSError:
            time.sleep(0.05)
    raise ServerFailed('the server does not answer')


def in_parallel(count, client):
    """client(n) in `count` threads; the first failure is raised."""
    failures = []

    def run(n):
        try:
            client(n)
        except Exception as error:
            failures.append(error)
    clients = [threading.Thread(target=run, args=(n,)) for n in range(count)]
    for c in clients:
        c.start()
    for c in clients:
        c.join()
    if failures:
        raise ServerFailed(f'a client failed: {failures[0]!r}')


# ---- memcached: four workers, clients that write and read each other's keys ------------------------------------------

def start_memcached(*options, program='memcached'):
    def start(folder, port):
        user = ['-u', 'root'] if os.geteuid() == 0 else []
        return [program, '-t', '4', '-l', '127.0.0.1', '-p', str(port), '-U', '0', *user, *options]
    return start


def load_memcached(port, requests=500):
    def client(n):
        with socket.create_connection(('127.0.0.1', port), 20) as s:
            f = s.makefile('rwb')
            for i in range(requests):
                f.write(b'set k%d-%d 0 0 10\r\n0123456789\r\nget k%d-%d\r\nincr count 1\r\n' % (n, i % 50, (n + 1) % 8, i % 50))
                if i == 0:
                    f.write(b'add count 0 0 1\r\n0\r\n')
                f.flush()
                answers = 4 if i == 0 else 3
                while answers:
                    line = f.readline()
                    answers -= not line.startswith((b'VALUE', b'0123456789'))
                    if not line:
                        raise EOFError('memcached closed the connection')
    in_parallel(8, client)


# ---- redis -----------------------------------------------------------------------------------------------------------

def start_redis(io_threads, program=None):
    def start(folder, port):
        # By its second name, which the package with the clients has, too: that one starts no service.
        os.symlink(program or shutil.which('redis-check-rdb'), os.path.join(folder, 'redis-server'))
        return ['./redis-server', '--port', str(port), '--save', '', '--appendonly', 'no', '--io-threads', str(io_threads),
                *(['--io-threads-do-reads', 'yes'] if io_threads > 1 else [])]
    return start


def load_redis(port, requests=2000):
    subprocess.run(['redis-benchmark', '-p', str(port), '-n', str(requests), '-c', '20', '-q', '-t', 'set,get,incr,lpush,lpop,mset'],
                   stdout=subprocess.DEVNULL, timeout=300, check=True)


# ---- apache2, mpm_event; or another one, with its modules in it ---------------------------------------------

MODULES = '''LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
'''

# SIGTERM makes its first thread close the sockets of busy workers (close_worker_sockets), without a lock; a worker that
# just then gives its pool back to the system makes that a use after free, with and without Heddle.
APACHE_ENDS = (0, -signal.SIGSEGV)
APACHE = '''
ServerRoot "{folder}"
ServerName localhost
Listen 127.0.0.1:{port}
PidFile "{folder}/pid"
DefaultRuntimeDir "{folder}"
ErrorLog "{folder}/stderr.log"
{modules}DocumentRoot "{folder}/pages"
<Directory />
AllowOverride None
</Directory>
CustomLog "{folder}/access.log" "%h %r %>s %b"
StartServers 1
ServerLimit 1
ThreadsPerChild 8
MaxRequestWorkers 8
MinSpareThreads 1
MaxSpareThreads 8
KeepAlive On
'''


def start_apache(program='apache2', modules=MODULES):
    def start(folder, port):
        os.makedirs(os.path.join(folder, 'pages'), exist_ok=True)
        for n in range(4):
            with open(os.path.join(folder, 'pages', f'page{n}.txt'), 'w') as page:
                page.write(f'page {n}\n' * (1 + 200 * n))
        with open(os.path.join(folder, 'apache.conf'), 'w') as file:
            file.write(APACHE.format(folder=folder, port=port, modules=modules))
        return [program, '-X', '-f', os.path.join(folder, 'apache.conf')]
    return start


def load_apache(port, requests=300):
    for page in range(4):
        subprocess.run(['ab', '-q', '-n', str(requests), '-c', '8', '-k', f'http://127.0.0.1:{port}/page{page}.txt'],
                       stdout=subprocess.DEVNULL, timeout=300, check=True)


# ---- python3: a server with a thread for each client, and workers behind a queue ----------------------------

PYTHON = r'''
import queue, signal, socketserver, sys, threading
sys.setswitchinterval(float(sys.argv[2]))
jobs, done, lock, arrived = queue.Queue(5), {}, threading.Lock(), []

def work():
    while (job := jobs.get()) is not None:
        number, answer = job
        with lock:
            arrived.append(number)
        answer.put(sum(range(number * 37 % 40000)))

class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        answer = queue.Queue()
        for line in self.rfile:
            jobs.put((int(line), answer))
            self.wfile.write(b'%d\n' % answer.get())

class Server(socketserver.ThreadingTCPServer):
    daemon_threads = False
    allow_reuse_address = True

workers = [threading.Thread(target=work) for _ in range(3)]
for w in workers:
    w.start()
server = Server(('127.0.0.1', int(sys.argv[1])), Handler)
serving = threading.Thread(target=server.serve_forever, args=(0.05,))
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
serving.start()
signal.sigwait([signal.SIGTERM])
server.shutdown()
serving.join()
server.server_close()
for w in workers:
    jobs.put(None)
for w in workers:
    w.join()
print(len(arrived), hash(tuple(arrived)), flush=True)
'''


def start_python(interval):
    def start(folder, port):
        with open(os.path.join(folder, 'server.py'), 'w') as file:
            file.write(PYTHON)
        return ['/usr/bin/python3', '-S', 'server.py', str(port), str(interval)]
    return start


def load_lines(port, requests=100):
    def client(n):
        with socket.create_connection(('127.0.0.1', port), 20) as s:
            f = s.makefile('rwb')
            for i in range(requests):
                f.write(b'%d\n' % (n * 10000 + i))
                f.flush()
                if int(f.readline()) != sum(range((n * 10000 + i) * 37 % 40000)):
                    raise ValueError('a wrong answer')
    in_parallel(6, client)


SERVERS = {s.name: s for s in (
    Server('memcached', ['memcached'], start_memcached(), load_memcached),
    Server('memcached -vv', ['memcached'], start_memcached('-vv'), load_memcached),
    Server('redis', ['redis-check-rdb', 'redis-benchmark'], start_redis(1), load_redis),
    Server('redis, 4 io-threads', ['redis-check-rdb', 'redis-benchmark'], start_redis(4), lambda port: load_redis(port, 200)),
    Server('apache2', ['apache2', 'ab'], start_apache(), load_apache, ends=APACHE_ENDS),
    Server('python3', ['python3'], start_python(100), load_lines),
    Server('python3, switching', ['python3'], start_python(0.0002), load_lines),
)}


# ---- a server as a test: the trial is the harness's ---------------------------------------------------------

class Recorded:
    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err


def serve(t, server, folder, prefix):
    try:
        return server.run(t.folder(folder), prefix, server.load, env=t.env)
    except ServerFailed as problem:
        raise Failure(f'{folder}: {problem}') from None


def record(t, server, options=('--checksum',)):
    """Run it plainly, and recorded; then the folder with its inputs is moved away."""
    if server.missing():
        t.skip(f'{" ".join(server.missing())}: not installed (tools/setup test)')
    status, out, err, _ = serve(t, server, 'plain', [])
    t.check(status in server.ends, f'plain run: status {status}, {err[-500:]}')
    t.hint = f'{t.heddle} replay {t.path("trace")}'
    recorded = Recorded(*serve(t, server, 'work', [t.heddle, 'record', '-o', t.path('trace'), *options, '--'])[:3])
    t.check(recorded.status in server.ends, f'recording: status {recorded.status}, {recorded.err[-500:]}')
    t.check(bool(out) == bool(recorded.out) and bool(err) == bool(recorded.err), 'plain and recorded did not both print something')
    os.rename(t.path('work'), t.path('away'))
    return recorded
