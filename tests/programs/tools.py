"""Real programs that do real work: compilers, databases, version control, archives, interpreters."""
import os
import random

GIT = r'''
set -e
export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.org
git init -q -b main one
cd one
for i in 1 2 3 4 5; do seq 1 $((i * 100)) > "file$i"; date +%N >> "file$i"; done
git add .
git commit -q -m 'first'
echo more >> file1
git commit -q -a -m 'second'
git log --stat --format='%H %an %s'
cd ..
git clone -q one two
git -C two log --oneline
git -C two fsck
'''

SQL = r'''
create table t(id integer primary key, name text, r integer);
begin;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000) insert into t select i, 'name ' || i, random() from n;
commit;
create index by_r on t(r);
select count(*), min(r), max(r) from t;
select hex(randomblob(16)), strftime('%f', 'now');
select name from t order by r limit 5;
'''

PYTHON = r'''
import os, random, socket, subprocess, sys, tempfile, time
print(hash('a string'), random.random(), time.time(), os.getpid(), id(object()))
print({w for w in 'the order of a set of strings varies'.split()})
print(subprocess.run(['sh', '-c', 'echo $$; cat; exit 7'], input=b'through a pipe\n', capture_output=True))
children = [subprocess.Popen([sys.executable, '-c', f'import time; time.sleep(0.0{i}); print({i}, hash("x"))'],
                             stdout=subprocess.PIPE) for i in range(3)]
for child in children:
    print(child.communicate()[0], child.returncode)
server = socket.create_server(('127.0.0.1', 0))
port = server.getsockname()[1]
if os.fork() == 0:
    client = socket.create_connection(('127.0.0.1', port))
    client.sendall(b'%d says hello' % os.getpid() * 1000)
    client.shutdown(socket.SHUT_WR)
    os._exit(len(client.recv(100)))
connection, peer = server.accept()
data = bytearray()
while piece := connection.recv(1000):
    data += piece
connection.sendall(b'bye')
print(port, peer, len(data), bytes(data[:30]), os.wait())
with tempfile.NamedTemporaryFile() as file:
    file.write(os.urandom(1000))
    file.flush()
    print(file.name, os.stat(file.name).st_mtime_ns, os.listdir('.'))
'''

PERL = r'''
print "$$ ", time, " ", rand(), "\n";
my %h = map { $_ => 1 } 'a' .. 'z';
print join(',', keys %h), "\n";
open(my $p, '-|', 'sh', '-c', 'echo $$; exit 2') or die; print <$p>; close $p; print $? >> 8, "\n";
$SIG{ALRM} = sub { print "alarm\n" }; use Time::HiRes 'ualarm'; ualarm(20000); select(undef, undef, undef, 1);
open(my $f, '<', 'input') or die; my @lines = <$f>; print scalar(@lines), " $lines[7]";
'''

C_SOURCE = r'''
#include <stdio.h>
#include <time.h>
int main(void) { struct timespec t; clock_gettime(CLOCK_REALTIME, &t); printf("%ld %p\n", t.tv_nsec, (void *)&t); return 6; }
'''


def write(folder, name, text):
    with open(os.path.join(folder, name), 'w') as file:
        file.write(text)


def tree(folder):
    """A small tree of files with contents that differ from call to call."""
    for name in ('a', 'a/b', 'a/b/c', 'd'):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
        for i in range(5):
            with open(os.path.join(folder, name, f'file{i}'), 'wb') as file:
                file.write(random.randbytes(100 * i) + b'text ' * 1000)
    os.symlink('a/file1', os.path.join(folder, 'link'))


def case_sqlite3(t):
    t.reproduce(['sqlite3', 'new.db'], stdin=SQL.encode(), varies=True)


def case_git(t):
    t.reproduce(['bash', '-c', GIT], varies=True, timeout=120)


def case_gcc(t):
    t.reproduce(['sh', '-c', 'gcc -O1 -o prog prog.c && ./prog'], make=lambda d: write(d, 'prog.c', C_SOURCE), status=6,
                varies=True, timeout=120)


def case_python3(t):
    t.reproduce(['python3', '-c', PYTHON], varies=True, timeout=120)


def case_perl(t):
    t.reproduce(['perl', '-e', PERL], make=lambda d: write(d, 'input', ''.join(f'line {i}\n' for i in range(50))),
                varies=True)


def case_find(t):
    t.reproduce(['find', '.', '-printf', '%p %s %i %T@ %l\n'], make=tree, varies=True)


def case_find_exec(t):
    t.reproduce(['find', '.', '-type', 'f', '-exec', 'sha256sum', '{}', '+'], make=tree, varies=True)


def case_tar_xz(t):
    t.reproduce(['sh', '-c', 'tar -cf - a d link | xz -1 > out.tar.xz; ls -l --full-time out.tar.xz; xz -dc out.tar.xz | tar -tvf -'],
                make=tree, varies=True)


def case_static_busybox(t):
    t.reproduce(['busybox', 'sh', '-c', 'busybox date +%s; echo $$; busybox find . | busybox sort | busybox md5sum; exit 9'],
                make=tree, status=9, varies=True)
