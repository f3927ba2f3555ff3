"""Small commands and shell scripts: time, random bytes, /proc, pipelines, traps, exit statuses."""

TRAPS = r'''
trap 'echo "usr1 in $BASHPID after $SECONDS"; got=1' USR1
trap 'echo "exit trap, status $?"' EXIT
echo "shell $$, parent $PPID, random $RANDOM $RANDOM"
# a pipeline whose members answer in any order
seq 1 200 | while read -r n; do echo "$((n * RANDOM % 7))"; done | sort | uniq -c
# background jobs, waited for in the order they end
for i in 1 2 3; do (sleep "0.0$i"; echo "job $i is $BASHPID"; exit "$i") & pids+=($!); done
for p in "${pids[@]}"; do wait "$p"; echo "status $?"; done
# a signal to ourselves from a child, while waiting
(sleep 0.05; kill -USR1 $$) &
until [ "$got" ]; do sleep 0.01; done
wait
# command substitution, here documents, process substitution
echo "$(date +%s.%N) $(cat <<END
from a here document
END
)"
diff <(echo one; echo two) <(echo one; echo three)
(kill -TERM $BASHPID; echo never); echo "subshell ended with $?"
exit 5
'''


def case_date(t):
    t.reproduce(['date', '+%N'], varies=True)


case_date.quick = True


def case_random_pipeline(t):
    t.reproduce(['sh', '-c', 'head -c 100 /dev/urandom | sha256sum'], varies=True)


def case_proc_self(t):
    t.reproduce(['ls', '-l', '/proc/self'], varies=True)


def case_bash_traps_and_jobs(t):
    t.reproduce(['bash', '-c', TRAPS], status=5, varies=True)


def case_exits_3(t):
    t.reproduce(['sh', '-c', 'echo out; echo err >&2; exit 3'], status=3, same=True)


def case_kills_itself(t):
    t.reproduce(['sh', '-c', 'echo before; kill -9 $$; echo after'], status=-9, same=True)


def case_terminated(t):
    t.reproduce(['sh', '-c', 'echo before; kill -TERM $$; echo after'], status=-15, same=True)


def case_reads_standard_input(t):
    t.reproduce(['sh', '-c', 'read line; echo "got $line"; wc -c'], stdin=b'a line\n' + b'x' * 300000, same=True)


def case_script_by_its_first_line(t):
    def make(folder):
        with open(f'{folder}/script', 'w') as file:
            file.write('#!/bin/sh -e\necho "$0 $1 $$"\n')
        import os
        os.chmod(f'{folder}/script', 0o755)
    t.reproduce(['./script', 'one'], make=make, varies=True)


def case_order_of_stdout_and_stderr(t):
    """Both on one pipe: the order in which processes wrote is part of the recording."""
    t.reproduce(['sh', '-c', 'exec 2>&1; for i in 1 2 3 4 5 6; do (echo "out $i") & (echo "err $i" >&2) & done; wait'])


def case_quiet(t):
    recorded = t.record(['sh', '-c', 'echo shown; exit 4'])
    quiet = t.replay(options=['--quiet'])
    t.check(recorded.out == b'shown\n' and quiet.out == b'', f'--quiet printed {quiet.out!r}')
    t.check(quiet.status == 4, f'{quiet}')


def case_repeat(t):
    recorded = t.record(['date', '+%N'], options=['--checksum'])
    t.check(recorded.status == 0 and recorded.out, f'recording: {recorded}')
    again = t.replay(options=['--repeat=20'])
    t.check(again.status == 0, f'{again}')
    t.check(set(again.out.split()) == set(recorded.out.split()), f'printed {again.out!r}, recorded {recorded.out!r}')


SCRIPTS = r'''
last='/bin/echo -n'
for i in 1 2 3 4 5 6; do
    echo "#!$last" > "s$i"; chmod +x "s$i"; last="$PWD/s$i with$i"
    env "$PWD/s$i" argument; echo "; status $?"
done 2>&1
'''


def case_scripts_of_scripts(t):
    """Scripts whose interpreters are scripts: five #! lines are one after the other, the sixth is refused by exec."""
    t.reproduce(['sh', '-c', SCRIPTS], same=True)
