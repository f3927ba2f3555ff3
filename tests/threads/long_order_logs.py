"""Streams that are too long to be unpacked as a whole, of programs with an order log: replay takes no more room,
however long they are."""
import os

from harness import CANNOT, ROOT

ORDERS = 'region', 'global', 'leap', 'tplay'
ROOM = 6 << 20      # bytes that a file may have: more than the two windows on a stream, less than the stream


def case_long_order_logs(t):
    program = t.path('long_order_logs')
    t.run_well([os.path.join(t.settings.build, 'bin', 'heddle-cc'), '--select=all', '-O2', '-g', '-pthread', '-o', program,
                os.path.join(ROOT, 'tests', 'threads', 'parts', 'long_order_logs.c')], timeout=300)
    for order in ORDERS:
        trace = t.path(order)
        was = t.record([program], trace=trace, options=['--checksum', '--verify', '--order=' + order], timeout=240)
        t.check(was.status == 0 and was.out, f'{order}: {was}')
        replay = ['env', '--ignore-signal=XFSZ', 'prlimit', f'--fsize={ROOM}:{ROOM}', t.heddle, 'replay', trace]
        for _ in range(t.settings.replays):
            again = t.run(replay, timeout=240)
            t.check(again.status == 0 and again.out == was.out, f'{order}: recorded {was}, now {again}')
        # who needs the whole streams notices that there is no room for them, or the test would show nothing
        again = t.run([*replay, '--repeat=2'], timeout=240)
        t.check(again.status == CANNOT and b'TMPDIR' in again.err, f'{order}: no limit was felt: {again}')
