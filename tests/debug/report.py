"""heddle report and heddle dump --format=chrome: what the page says, with a browser and without."""
import html.parser
import json
import os
import re
import sys

from harness import CANNOT, ROOT, USAGE

PARTS = os.path.join(ROOT, 'tests', 'debug', 'parts')
sys.path.insert(0, PARTS)
from browser import Browser  # noqa: E402


def line_of(source, text):
    with open(source) as file:
        return next(n for n, line in enumerate(file, 1) if text in line)


def recording(t, source, *arguments):
    """A recorded run of a program that heddle-cc has built with all accesses hooked; its trace."""
    name = os.path.splitext(os.path.basename(source))[0]
    t.run_well([os.path.join(t.settings.build, 'bin', 'heddle-cc'), '-O0', '-g', '-pthread', '--select=all', '-o', t.path(name), source],
               timeout=120)
    t.record([t.path(name), *arguments], trace=t.path(name + '.trace'), timeout=240)
    return t.path(name + '.trace')


def page(t, trace):
    path = trace + '.html'
    t.run_well([t.heddle, 'report', '-o', path, trace], timeout=300)
    return path


class Plain(html.parser.HTMLParser):
    """What a reader without scripts gets."""

    def __init__(self, text):
        super().__init__()
        self.text, self.skip = [], 0
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.skip += tag in ('script', 'style') or ('hidden', None) in attributes

    def handle_endtag(self, tag):
        self.skip -= tag in ('script', 'style', 'section') and self.skip > 0

    def handle_data(self, data):
        if not self.skip:
            self.text.append(data)


def facts(path):
    with open(path) as file:
        return ' '.join(Plain(file.read()).text)


def expect(t, text, *patterns):
    for pattern in patterns:
        t.check(re.search(pattern, text, re.S), f'no /{pattern}/ in\n{text}')


def case_report_facts(t):
    """Without JavaScript: outcome, races with both places, locks, crash, threads."""
    bank = os.path.join(ROOT, 'examples', 'bank.c')
    write = line_of(bank, 'accounts[from] = have - amount')
    text = facts(page(t, recording(t, bank)))
    expect(t, text, r'exit status [01]', rf'bank\.c:{write}', r'accounts', r'p0/t3', r'no lock, join or the like')
    published = os.path.join(PARTS, 'published.c')
    text = facts(page(t, recording(t, published)))
    expect(t, text, r'killed by SIGSEGV', r'fault SIGSEGV at address 0')
    busy = os.path.join(PARTS, 'busy.c')
    text = facts(page(t, recording(t, busy, '20')))
    expect(t, text, r'first\s+52\s', r'second\s+28\s', rf'busy\.c:{line_of(busy, "line of the lock")}', rf'busy\.c:{line_of(busy, "line of the race")}')


def case_report_unmodified(t):
    """Locks and calls of a program that heddle-cc has not built; of its accesses the page says that they are not
    known."""
    busy = os.path.join(PARTS, 'busy.c')
    t.run_well(['gcc', '-O1', '-g', '-pthread', '-o', t.path('busy'), busy])
    t.record([t.path('busy'), '30'])
    text = facts(page(t, t.path('trace')))
    expect(t, text, r'first\s+80\s', r'second\s+40\s', r'not known: the program was not built by heddle-cc', rf'busy\.c:{line_of(busy, "line of the lock")}')


def data_of(path):
    """What the page's script gets."""
    with open(path) as file:
        return json.loads(re.search(r'<script[^>]*id="?data"?[^>]*>(.*?)</script>', file.read(), re.S).group(1))


def case_report_long_line(t):
    """Source lines are the ones that their numbers say, also behind a very long one."""
    with open(os.path.join(PARTS, 'published.c')) as file:
        lines = [f'/* {"x" * 5000} */', *file.read().split('\n')]
    with open(t.path('long.c'), 'w') as file:
        file.write('\n'.join(lines))
    data = data_of(page(t, recording(t, t.path('long.c'))))
    found = [(source, int(re.search(r':(\d+)', place).group(1))) for place, source in zip(data['places'], data['sources'])
             if source and 'long.c' in place]
    t.check(found, f'no place of the program is there: {data["places"]}')
    for (first, *texts), line in found:
        t.check(texts == [text[:160] for text in lines[first - 1:line + 3]], f'line {line}: from {first} on {texts}')


def centre_of_edge(browser, kind):
    """A place on an edge to an event of this kind that no other thing is at, or nearer to."""
    return browser.run('''
        const box = document.querySelector('#lanes').getBoundingClientRect();
        for (const [x1, y1, x2, y2, lane, at] of heddle.edges()) {
            if (heddle.lanes[lane].kind[at] !== arguments[0]) continue;
            for (const part of [.5, .4, .6, .3, .7]) {
                const x = x1 + (x2 - x1) * part, y = y1 + (y2 - y1) * part, hit = heddle.hit(x, y);
                if (x > 120 && hit && hit.lane === lane && hit.at === at)
                    return [Math.round(box.left + x), Math.round(box.top + y)];
            }
        }
        return null;''', kind)


RED = '''const c = document.querySelector('#lanes'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
         let n = 0;
         for (let i = 0; i < d.length; i += 4) n += d[i] > 200 && d[i + 1] < 90 && d[i + 2] < 90;
         return n;'''


def look_at_race(t, browser, path):
    """Click an edge, and both source places are there; search, filter, hide, zoom."""
    browser.open(path)
    t.check(browser.run(RED) > 50, 'nothing red is drawn, but the run has races')
    browser.screenshot(t.path('bank.png'))
    place = centre_of_edge(browser, 6)
    t.check(place, 'no edge of a race can be clicked')
    browser.click_at(*place)
    text = browser.text('#detail')
    expect(t, text, r'first: thread \d.*bank\.c:\d+.*a race.*then: thread \d.*bank\.c:\d+')
    t.check(len(browser.run("return [...document.querySelectorAll('#detail .here')].map(e => e.innerText)")) == 2, f'not two source lines in\n{text}')
    span = 'return heddle.view.to - heddle.view.from'
    before = browser.run(span)
    browser.click('#in')
    t.check(browser.run(span) < before, 'the view is not smaller after zooming in')
    browser.click('#fit')
    everything = browser.run('return heddle.lanes.reduce((n, l) => n + l.count, 0)')
    browser.type('#search', 'accounts\n')
    found = int(browser.text('#found').split()[0].replace(',', ''))
    t.check(0 < found < everything, f'{found} of {everything} events are found')
    browser.run("document.querySelector('#search').value = ''")
    browser.type('#search', '\n')
    browser.click('#kind6')
    t.check(browser.run(RED) < 50, 'races are drawn though they are filtered')
    browser.click('#kind6')
    name = browser.run("const b = document.querySelector('#lanes').getBoundingClientRect(); return [b.left + 30, b.top + heddle.place(1, 0)[1]]")
    browser.click_at(*name)
    t.check(browser.run('return heddle.lanes[1].hidden'), 'a click at its name does not hide a thread')


def look_at_crash(t, browser, path):
    browser.open(path)
    browser.click('#crash')
    expect(t, browser.text('#detail'), r'thread 0, .*fault SIGSEGV at address 0')
    t.check(browser.run(RED) > 0, 'no crash is drawn')
    browser.screenshot(t.path('published.png'))


def look_at_many(t, browser, path):
    """Very many events are drawn by few rectangles; zoomed in, each by itself."""
    browser.open(path)
    count = browser.run('return heddle.lanes.reduce((n, l) => n + l.count, 0)')
    t.check(count > 150000, f'only {count} events')
    drawn = '''const p = CanvasRenderingContext2D.prototype, real = p.fillRect;
               let n = 0;
               p.fillRect = function (...a) { n++; return real.apply(this, a); };
               heddle.show(arguments[0], arguments[1]);
               p.fillRect = real;
               return n;'''
    t.check(browser.run(drawn, -1, 1e9) < 20000, 'each of very many events is drawn by itself')
    browser.screenshot(t.path('busy.png'))
    browser.run("document.querySelector('#object').value = heddle.data.objects.indexOf('second'); document.querySelector('#object').onchange()")
    t.check(browser.run('return heddle.lanes.every(l => l.shown.every((s, i) => !s || heddle.data.objects[l.object[i]] === "second"))'),
            'the filter by lock shows others')
    browser.run('heddle.find(1)')
    expect(t, browser.text('#detail'), r'lock second', rf'busy\.c:{line_of(os.path.join(PARTS, "busy.c"), "line of the lock")}')


HOLDS = 'return heddle.lanes.map(l => l.holds.map(([from, to, object]) => [heddle.data.objects[object], from, to]))'
BARS = '''const p = CanvasRenderingContext2D.prototype, real = p.fillRect;
          let n = 0;
          p.fillRect = function (...a) { n += a[3] === 30; return real.apply(this, a); };
          heddle.show(arguments[0], arguments[1]);
          p.fillRect = real;
          return n;'''


def look_at_holds(t, browser, path):
    """When locks are held: none by two threads at once, also not while one waits for a condition; the outer ones are drawn
    over all the inner ones, of which it is said when they are too many."""
    browser.open(path)
    lanes = browser.run(HOLDS)
    count = [len([h for h in lanes[lane] if h[0] == name]) for lane, name in ((0, 'twice'), (0, 'outer'), (0, 'inner'), (1, 'door'))]
    t.check(count == [1, 1, 2500, 3], f'times that twice, outer, inner and door are held: {count}')
    (twice,) = [h for h in lanes[0] if h[0] == 'twice']
    t.check(twice[2] - twice[1] >= 3, f'{twice} is not held from the first lock to the last unlock')
    both = sorted((h[1], h[2]) for lane in lanes for h in lane if h[0] == 'door')
    t.check(all(a[1] <= b[0] for a, b in zip(both, both[1:])), f'two threads have the door at once: {both}')
    t.check('locks' in browser.text('#hint') and browser.run(BARS, -1, 1e9) >= 2, 'the times of locks are left out, and nobody is told')
    (outer,) = [h for h in lanes[0] if h[0] == 'outer']
    middle = (outer[1] + outer[2]) / 2
    inside = [h for lane in lanes for h in lane if h[2] >= middle - 10 and h[1] < middle + 10]
    t.check(outer in inside and browser.run(BARS, middle - 10, middle + 10) == len(inside), f'not all of {inside} are drawn')
    t.check('locks' not in browser.text('#hint'), 'it is said that locks are left out, and none is')


def with_lanes(path, count):
    """The page, as of a run of very many threads."""
    data = data_of(path)
    data['lanes'] += [dict(data['lanes'][n % len(data['lanes'])], slot=n) for n in range(len(data['lanes']), count)]
    with open(path) as file:
        before, rest = re.split(r'(?<=id="data">)', file.read(), maxsplit=1)
    with open(path + '.many.html', 'w') as file:
        file.write(before + json.dumps(data).replace('<', '\\u003c') + rest[rest.index('</script>'):])
    return path + '.many.html'


def look_at_many_lanes(t, browser, path):
    """Fifteen hundred threads are drawn, and the last of them can be found and hidden."""
    browser.open(with_lanes(path, 1500))
    t.check(browser.run(RED) > 50, 'nothing red is drawn, but the run has races')
    browser.run('const l = heddle.lanes.length - 1; heddle.look(l, heddle.lanes[l].count - 1)')
    name = browser.run("const b = document.querySelector('#lanes').getBoundingClientRect(); return [b.left + 30, b.top + heddle.place(1499, 0)[1]]")
    browser.screenshot(t.path('many.png'))
    browser.click_at(*name)
    hidden = browser.run('return heddle.lanes.map((l, i) => l.hidden ? i : -1).filter(i => i >= 0)')
    t.check(hidden == [1499], f'a click at the name of the last thread hides {hidden}')


def look_at_pages(t, looks, pages):
    """In Chromium."""
    with Browser(t.folder('home')) as browser:
        for look, path in zip(looks, pages):
            look(t, browser, path)
            t.check(not browser.errors(), f'{path}: {browser.errors()}')


def case_report_holds(t):
    t.run_well(['gcc', '-O1', '-g', '-pthread', '-o', t.path('holds'), os.path.join(PARTS, 'holds.c')])
    t.check(t.record([t.path('holds')]).status == 0, 'recording')
    look_at_pages(t, [look_at_holds], [page(t, t.path('trace'))])


def case_report_many_lanes(t):
    look_at_pages(t, [look_at_many_lanes], [page(t, recording(t, os.path.join(ROOT, 'examples', 'bank.c')))])


def case_report_browser(t):
    """The page, with clicks."""
    pages = [page(t, recording(t, os.path.join(ROOT, 'examples', 'bank.c'))), page(t, recording(t, os.path.join(PARTS, 'published.c'))),
             page(t, recording(t, os.path.join(PARTS, 'busy.c'), '20000'))]
    look_at_pages(t, (look_at_race, look_at_crash, look_at_many), pages)


def case_dump_chrome(t):
    """The format of Perfetto: every edge has a beginning and a later end, every event a thread."""
    outcome = t.run_well([t.heddle, 'dump', '--format=chrome', recording(t, os.path.join(ROOT, 'examples', 'bank.c'))], timeout=120)
    events = json.loads(outcome.out)['traceEvents']
    starts = {e['id']: e for e in events if e['ph'] == 's'}
    ends = {e['id']: e for e in events if e['ph'] == 'f'}
    t.check(starts and starts.keys() == ends.keys(), f'{len(starts)} beginnings, {len(ends)} ends of edges')
    t.check(all(starts[i]['ts'] < ends[i]['ts'] for i in starts), 'an edge leads back in time')
    named = {(e['pid'], e['tid']) for e in events if e['ph'] == 'M'}
    t.check({(e['pid'], e['tid']) for e in events if e['ph'] == 'X'} <= named and len(named) == 4, f'threads: {named}')
    t.check(any(e.get('cat') == 'race' and 'bank.c:' in e['args']['at'] for e in events if e['ph'] == 'X'), 'no race with its line')


def case_report_status_of_ours(t):
    """A program that ended as heddle does when it cannot: that is no failure of the report's."""
    t.check(t.record(['sh', '-c', 'exit 122']).status == 122, 'recording')
    outcome = t.run([t.heddle, 'report', '-o', '-', t.path('trace')])
    t.check(outcome.status == 0 and b'exit status 122' in outcome.out, f'{outcome}')


def case_report_source_from_a_pipe(t):
    """The compiler has read the program from its input: there is nothing to show of it, and nothing to wait for."""
    source, compiler = os.path.join(ROOT, 'examples', 'bank.c'), os.path.join(t.settings.build, 'bin', 'heddle-cc')
    t.run_well(['sh', '-c', f'{compiler} -O0 -g -pthread --select=all -o {t.path("bank")} -x c /dev/stdin < {source}'], timeout=120)
    t.record([t.path('bank')], timeout=240)
    os.mkfifo(t.path('pipe'))
    outcome = t.run(['sh', '-c', f'exec {t.heddle} report -o {t.path("page")} {t.path("trace")} 0<> {t.path("pipe")}'], timeout=60)
    t.check(outcome.status == 0, f'{outcome}')


def case_report_bad_input(t):
    outcome = t.run([t.heddle, 'report', t.path('nothing')])
    t.check(outcome.status == CANNOT, f'no trace: {outcome}')
    t.record(['true'])
    outcome = t.run([t.heddle, 'report', '-o', t.path('no', 'such', 'folder.html'), t.path('trace')])
    t.check(outcome.status == CANNOT and b'folder.html' in outcome.err, f'no folder: {outcome}')
    outcome = t.run([t.heddle, 'dump', '--format=nonsense', t.path('trace')])
    t.check(outcome.status == USAGE, f'no such format: {outcome}')
    outcome = t.run([t.heddle, 'report', '-o', '-', t.path('trace')])
    t.check(outcome.status == 0 and outcome.out.startswith(b'<!doctype html>'), f'to the standard output: {outcome}')
