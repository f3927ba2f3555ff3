'use strict';
/*
 * The picture of a report: lanes of threads over logical time on a canvas.
 *
 * Few events in view are drawn one by one, with their edges. Many are drawn by buckets of 2^n neighbours, whose kinds were added up
 * when the filter was set: what is drawn never depends on how long the run was.
 */
(() => {
const KINDS = [
    { name: 'thread begins', colour: '#37474f' }, { name: 'gets a lock', colour: '#2e7d32' }, { name: 'gives it back', colour: '#81c784' },
    { name: 'waits, wakes', colour: '#8e24aa' }, { name: 'system call', colour: '#1e88e5' }, { name: 'data from another thread', colour: '#78909c' },
    { name: 'race', colour: '#e53935' }, { name: 'signal', colour: '#fb8c00' }, { name: 'crash', colour: '#b71c1c' }];
const [BEGINS, GETS, GIVES, WAITS, CALL, , RACE, SIGNAL, CRASH] = KINDS.keys();
const IMPORTANT = [CRASH, SIGNAL, RACE, BEGINS, WAITS, GETS, GIVES, 5, CALL];     // of a bucket the first of these gives the colour
const LEFT = 110, TOP = 24, LANE = 54, EDGES_MOST = 1500, SINGLE_MOST = 3000, HOLDS_MOST = 2000;

const data = JSON.parse(document.getElementById('data').textContent);
const $ = id => document.getElementById(id);

// ---- the data ------------------------------------------------------------------------------------------------------

function decode(lane) {
    const bytes = atob(lane.nodes), n = lane.count;
    let at = 0;
    const number = () => {
        let value = 0, scale = 1, byte;
        do {
            byte = bytes.charCodeAt(at++);
            value += (byte & 127) * scale;
            scale *= 128;
        } while (byte & 128);
        return value;
    };
    const l = { image: lane.image, slot: lane.slot, count: n, hidden: false, time: new Float64Array(n), kind: new Uint8Array(n),
        text: new Uint32Array(n), object: new Uint32Array(n), stack: new Uint32Array(n), from: new Int32Array(n).fill(-1),
        fromAt: new Uint32Array(n), shown: new Uint8Array(n).fill(1) };
    let time = 0;
    for (let i = 0; i < n; i++) {
        time += number();
        const kind = number();
        l.time[i] = time;
        l.kind[i] = kind & 15;
        l.text[i] = number();
        l.object[i] = number();
        l.stack[i] = number();
        if (kind & 16) {
            l.from[i] = number();
            l.fromAt[i] = number();
        }
    }
    delete lane.nodes;
    return l;
}

const lanes = data.lanes.map(decode);
const several = lanes.some(l => l.image !== lanes[0].image);
const end = Math.max(1, ...lanes.map(l => l.count ? l.time[l.count - 1] : 0));
const laneName = l => (several ? `p${l.image} ` : '') + `thread ${l.slot}`;
const placesOf = stack => data.stacks[stack] ? data.stacks[stack].split(',').map(Number) : [];

const entersCondition = data.texts.map(text => text.startsWith('wait for condition'));

/*
 * While a lane has a lock: from, to, object. Who waits for a condition gives back a lock, and the next one that the lane gets is that one
 * again; of a wait without end, the last that it got before is taken. A lock that is got twice is held until it was given back twice.
 */
function holds(l) {
    const open = new Map(), all = [];
    let waits = null;
    const close = (object, to) => {
        all.push([open.get(object).from, to, object]);
        open.delete(object);
    };
    for (let i = 0; i < l.count; i++) {
        const object = l.object[i], time = l.time[i];
        if (l.kind[i] === WAITS && entersCondition[l.text[i]])
            waits = time;
        else if (l.kind[i] === GETS) {
            if (waits !== null && open.has(object))
                close(object, waits);
            waits = null;
            if (open.has(object))
                open.get(object).depth++;
            else
                open.set(object, { from: time, depth: 1 });
        } else if (l.kind[i] === GIVES && open.has(object) && !--open.get(object).depth)
            close(object, time);
    }
    if (waits !== null && open.size)
        close([...open.keys()].pop(), waits);
    for (const object of open.keys())
        close(object, l.time[l.count - 1] + 1);
    return all.sort((a, b) => a[0] - b[0]);
}
for (const l of lanes) {
    l.holds = holds(l);
    l.holdTimes = l.holds.map(h => h[0]);
    let latest = -1;
    l.holdEnds = l.holds.map(h => latest = Math.max(latest, h[1]));      // of all up to this one
}

/* The first index whose time is not before t. */
function firstAt(times, t) {
    let low = 0, high = times.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (times[middle] < t) low = middle + 1; else high = middle;
    }
    return low;
}

// ---- filter ------------------------------------------------------------------------------------------------------------

const filter = { kinds: KINDS.map(() => true), text: '', object: 0 };
let matches = 0;

/* For each level, the kinds that are in each bucket. */
function pyramid(l) {
    const levels = [];
    let below = new Uint16Array(l.count);
    for (let i = 0; i < l.count; i++)
        below[i] = l.shown[i] ? 1 << l.kind[i] : 0;
    while (below.length > 256) {
        const level = new Uint16Array(below.length + 1 >> 1);
        for (let i = 0; i < below.length; i++)
            level[i >> 1] |= below[i];
        levels.push(below = level);
    }
    return levels;
}

function applyFilter() {
    const wanted = filter.text.toLowerCase();
    const has = list => Uint8Array.from(list, x => x.toLowerCase().includes(wanted));
    const texts = has(data.texts), objects = has(data.objects), places = has(data.places);
    const stacks = Uint8Array.from(data.stacks, (_, i) => placesOf(i).some(p => places[p]));
    matches = 0;
    for (const l of lanes) {
        for (let i = 0; i < l.count; i++) {
            const fits = filter.kinds[l.kind[i]] && (!filter.object || l.object[i] === filter.object) &&
                (!wanted || texts[l.text[i]] || objects[l.object[i]] || stacks[l.stack[i]]);
            l.shown[i] = fits ? 1 : 0;
            matches += fits && !l.hidden ? 1 : 0;
        }
        l.levels = pyramid(l);
        l.edges = [];
        l.races = [];
        for (let i = 0; i < l.count; i++)
            if (l.from[i] >= 0 && (l.shown[i] || l.kind[i] === BEGINS && !wanted && !filter.object && filter.kinds[BEGINS]))
                (l.kind[i] === RACE ? l.races : l.edges).push(i);
    }
    $('found').textContent = wanted || filter.object ? `${matches.toLocaleString('en')} events` : '';
    drawOverview();
    draw();
}

// ---- drawing --------------------------------------------------------------------------------------------------------------

const canvas = $('lanes'), paint = canvas.getContext('2d');
const view = { from: 0, to: end + 1 };
let selected = null, drawnEdges = [], width = 800;

const xOf = t => LEFT + (t - view.from) / (view.to - view.from) * (width - LEFT);
const timeOf = x => view.from + (x - LEFT) / (width - LEFT) * (view.to - view.from);
/* The canvas is what is seen of the lanes: one for all of them would be higher than a browser can draw. */
const stage = $('stage'), ALL = TOP + LANE * lanes.length + 8;
const yOf = lane => TOP + LANE * lane + LANE / 2 - stage.scrollTop;
const laneAt = y => y < TOP ? -1 : Math.floor((y - TOP + stage.scrollTop) / LANE);
const seenLanes = () => lanes.map((_, i) => i).slice(Math.max(0, laneAt(TOP)), laneAt(stage.clientHeight) + 1);

function size(c, height) {
    const ratio = window.devicePixelRatio || 1;
    width = document.documentElement.clientWidth;
    c.width = width * ratio;
    c.height = height * ratio;
    c.style.height = height + 'px';
    c.getContext('2d').setTransform(ratio, 0, 0, ratio, 0, 0);
}

function drawRuler() {
    let step = Math.pow(10, Math.ceil(Math.log10((view.to - view.from) / 12)));
    step = Math.max(1, step);
    paint.fillStyle = '#667';
    paint.strokeStyle = '#edf0f3';
    paint.font = '11px system-ui, sans-serif';
    for (let t = Math.max(0, Math.ceil(view.from / step) * step); t <= view.to; t += step) {
        paint.beginPath();
        paint.moveTo(xOf(t), TOP);
        paint.lineTo(xOf(t), yOf(lanes.length - .5));
        paint.stroke();
        paint.fillText(t.toLocaleString('en'), xOf(t) + 2, 14);
    }
    paint.fillText('logical time', 8, 14);
}

const hue = object => `hsl(${object * 67 % 360} 55% 55% / .28)`;

/* Of too many, only those that are as wide as a pixel. How many are not drawn? */
function drawHolds(l, y) {
    const inView = l.holds.slice(firstAt(l.holdEnds, view.from), firstAt(l.holdTimes, view.to))
        .filter(([, to, object]) => to >= view.from && (!filter.object || object === filter.object));
    const pixel = (view.to - view.from) / (width - LEFT);
    const drawn = inView.length < HOLDS_MOST ? inView : inView.filter(([from, to]) => to - from >= pixel);
    for (const [from, to, object] of drawn) {
        const x = Math.max(LEFT, xOf(from)), w = xOf(to) - x;
        paint.fillStyle = hue(object);
        paint.fillRect(x, y - 15, Math.max(1, Math.min(w, width)), 30);
        if (w > 80) {
            paint.fillStyle = '#37474f';
            paint.font = '10px ui-monospace, monospace';
            paint.fillText(data.objects[object].slice(0, w / 7 | 0), x + 3, y + 25);
        }
    }
    return inView.length - drawn.length;
}

const SHAPES = {
    [GETS]: (x, y) => paint.fillRect(x - 4, y - 7, 8, 14),
    [GIVES]: (x, y) => paint.fillRect(x - 4, y - 4, 8, 8),
    [CALL]: (x, y) => paint.fillRect(x - 1.5, y - 9, 3, 18),
    [RACE]: (x, y) => circle(x, y, 6),
    [SIGNAL]: (x, y) => diamond(x, y, 8),
    [CRASH]: (x, y) => cross(x, y, 9),
    [BEGINS]: (x, y) => { paint.beginPath(); paint.moveTo(x - 5, y - 8); paint.lineTo(x + 6, y); paint.lineTo(x - 5, y + 8); paint.fill(); },
};
function circle(x, y, r) { paint.beginPath(); paint.arc(x, y, r, 0, 7); paint.fill(); }
function diamond(x, y, r) { paint.beginPath(); paint.moveTo(x, y - r); paint.lineTo(x + r, y); paint.lineTo(x, y + r); paint.lineTo(x - r, y); paint.fill(); }
function cross(x, y, r) {
    paint.lineWidth = 5;
    paint.strokeStyle = KINDS[CRASH].colour;
    paint.beginPath();
    paint.moveTo(x - r, y - r); paint.lineTo(x + r, y + r); paint.moveTo(x - r, y + r); paint.lineTo(x + r, y - r);
    paint.stroke();
    paint.lineWidth = 1;
}

function drawSingle(l, y, first, last) {
    let free = 0;                               // labels must not cover one another
    for (let i = first; i < last; i++) {
        const x = xOf(l.time[i]);
        if (!filter.kinds[l.kind[i]])
            continue;
        paint.globalAlpha = l.shown[i] ? 1 : .12;
        paint.fillStyle = KINDS[l.kind[i]].colour;
        (SHAPES[l.kind[i]] || ((a, b) => circle(a, b, 4)))(x, y);
        const next = i + 1 < last ? xOf(l.time[i + 1]) : width, text = data.texts[l.text[i]];
        if (l.shown[i] && x > free && next - x > 60 || l.kind[i] === CRASH) {
            paint.fillStyle = l.kind[i] === CRASH ? KINDS[CRASH].colour : '#455a64';
            paint.font = (l.kind[i] === CRASH ? 'bold 12px' : '10px') + ' ui-monospace, monospace';
            if (l.kind[i] === CRASH)
                paint.fillText(text, Math.min(x - 10, width - paint.measureText(text).width - 6), y + 24);
            else
                paint.fillText(text.slice(0, Math.max(3, (next - x - 12) / 6.2 | 0)), x + 8, y - 13);
            free = next - 8;
        }
    }
    paint.globalAlpha = 1;
}

/* Buckets of neighbours, each as wide as the time it takes; one that is wide enough is drawn as its two halves. */
function drawMany(l, y, first, last) {
    const draw = (level, b) => {
        const from = b << level + 1, to = Math.min(b + 1 << level + 1, l.count) - 1;
        const mask = level < 0 ? l.shown[b] << l.kind[b] : l.levels[level][b];
        if (!mask || to < first || from >= last)
            return;
        const x1 = xOf(l.time[from]), x2 = xOf(l.time[to]);
        if (level >= 0 && x2 - x1 > 2) {
            draw(level - 1, 2 * b);
            if (2 * b + 1 < (level ? l.levels[level - 1].length : l.count))
                draw(level - 1, 2 * b + 1);
            return;
        }
        const kind = IMPORTANT.find(k => mask >> k & 1);
        const tall = kind === CALL ? 9 : kind === RACE || kind === CRASH || kind === SIGNAL ? 18 : 13;
        paint.fillStyle = KINDS[kind].colour;
        paint.fillRect(x1, y - tall / 2, Math.max(1.2, x2 - x1), tall);
    };
    const top = l.levels.length - 1;
    for (let b = 0; b < l.levels[top].length; b++)
        draw(top, b);
}

function drawLane(l, index) {
    const y = yOf(index);
    paint.fillStyle = index % 2 ? '#fafbfc' : '#fff';
    paint.strokeStyle = '#cfd6dd';
    paint.beginPath();
    paint.moveTo(LEFT, y);
    paint.lineTo(width, y);
    paint.stroke();
    if (l.hidden || !l.count)
        return 0;
    const left = drawHolds(l, y);
    const first = Math.max(0, firstAt(l.time, view.from) - 1), last = Math.min(l.count, firstAt(l.time, view.to) + 1);
    const life = [Math.max(LEFT, xOf(l.time[0])), Math.min(width, xOf(l.time[l.count - 1]))];
    paint.strokeStyle = '#90a4ae';
    paint.lineWidth = 2;
    paint.beginPath(); paint.moveTo(life[0], y); paint.lineTo(Math.max(life[0], life[1]), y); paint.stroke();
    paint.lineWidth = 1;
    if (last - first > SINGLE_MOST && l.levels.length || (last - first) / (width - LEFT) > .5 && l.levels.length)
        drawMany(l, y, first, last);
    else
        drawSingle(l, y, first, last);
    return left;
}

function drawEdge(lane, i, colour, alpha, wide) {
    const l = lanes[lane], source = l.from[i], s = lanes[source];
    const x1 = xOf(s.time[l.fromAt[i]]), x2 = xOf(l.time[i]), y1 = yOf(source), y2 = yOf(lane), down = y2 > y1 ? 1 : -1;
    paint.globalAlpha = alpha;
    paint.strokeStyle = paint.fillStyle = colour;
    paint.lineWidth = wide;
    const bend = Math.min(60, Math.abs(x2 - x1) / 2 + 6), a = y1 + 8 * down, b = y2 - 9 * down;
    paint.beginPath();
    paint.moveTo(x1, a);
    paint.bezierCurveTo(x1 + bend * .3, a + bend * down * .6, x2 - bend * .3, b - bend * down * .6, x2, b);
    paint.stroke();
    paint.beginPath();
    paint.moveTo(x2, b + 3 * down); paint.lineTo(x2 - 4, b - 5 * down); paint.lineTo(x2 + 4, b - 5 * down);
    paint.fill();
    paint.globalAlpha = paint.lineWidth = 1;
    drawnEdges.push([x1, a, x2, b, lane, i]);
}

/* Of too many, every n-th; more when one zooms in. */
function drawEdges(name, colour, alpha, wide) {
    let all = 0;
    const visible = lanes.map(l => {
        if (l.hidden)
            return [0, 0];
        const times = i => l.time[l[name][i]];
        let low = 0, high = l[name].length;
        while (low < high) { const m = (low + high) >> 1; if (times(m) < view.from) low = m + 1; else high = m; }
        const first = low;
        high = l[name].length;
        while (low < high) { const m = (low + high) >> 1; if (times(m) <= view.to) low = m + 1; else high = m; }
        all += low - first;
        return [first, low];
    });
    const step = Math.ceil(all / EDGES_MOST) || 1;
    visible.forEach(([first, last], lane) => {
        for (let k = first; k < last; k += step)
            if (!lanes[lanes[lane].from[lanes[lane][name][k]]].hidden)
                drawEdge(lane, lanes[lane][name][k], colour, step > 1 ? alpha / 2 : alpha, wide);
    });
    return step;
}

function drawNames() {
    paint.fillStyle = '#fff';
    paint.fillRect(0, TOP, LEFT - 2, ALL);
    for (const i of seenLanes()) {
        const l = lanes[i];
        paint.fillStyle = l.hidden ? '#b0bec5' : '#1d2129';
        paint.font = '600 12px system-ui, sans-serif';
        paint.fillText(laneName(l), 8, yOf(i) + 1);
        paint.font = '10px system-ui, sans-serif';
        paint.fillStyle = '#889';
        paint.fillText(l.hidden ? 'hidden' : `${l.count.toLocaleString('en')} events`, 8, yOf(i) + 14);
    }
}

function drawSelection() {
    if (!selected)
        return;
    const l = lanes[selected.lane], x = xOf(l.time[selected.at]), y = yOf(selected.lane);
    paint.strokeStyle = '#ffb300';
    paint.lineWidth = 3;
    paint.strokeRect(x - 10, y - 13, 20, 26);
    if (l.from[selected.at] >= 0)
        drawEdge(selected.lane, selected.at, '#ff8f00', 1, 3);
    paint.lineWidth = 1;
}

function draw() {
    size(canvas, Math.min(ALL, stage.clientHeight));
    paint.clearRect(0, 0, width, canvas.height);
    drawnEdges = [];
    drawRuler();
    paint.save();
    paint.beginPath();
    paint.rect(0, TOP, width, canvas.height);
    paint.clip();
    const left = seenLanes().reduce((sum, i) => sum + drawLane(lanes[i], i), 0);
    const steps = [drawEdges('edges', '#607d8b', .55, 1), drawEdges('races', KINDS[RACE].colour, .7, 1.3)];
    drawSelection();
    drawNames();
    paint.restore();
    const what = [Math.max(...steps) > 1 && 'edges', left && 'times of locks'].filter(Boolean).join(' and ');
    $('hint').textContent = what && `Not all ${what} fit: zoom in to see every one.`;
    drawWindow();
}

// ---- the overview -------------------------------------------------------------------------------------------------------------

const overview = $('overview'), small = overview.getContext('2d');
let overviewImage = null;

function drawOverview() {
    size(overview, 34);
    const columns = width - LEFT, all = new Uint32Array(columns), marks = new Uint16Array(columns);
    for (const l of lanes)
        for (let i = 0; i < l.count && !l.hidden; i++)
            if (l.shown[i]) {
                const x = Math.min(columns - 1, l.time[i] / (end + 1) * columns | 0);
                all[x]++;
                marks[x] |= 1 << l.kind[i];
            }
    const most = all.reduce((a, b) => Math.max(a, b), 1);
    small.clearRect(0, 0, width, 34);
    for (let x = 0; x < columns; x++) {
        const h = all[x] ? 4 + 24 * Math.log(1 + all[x]) / Math.log(1 + most) : 0;
        const kind = [CRASH, SIGNAL, RACE].find(k => marks[x] >> k & 1);
        small.fillStyle = kind ? KINDS[kind].colour : '#b0bec5';
        small.fillRect(LEFT + x, 32 - h, 1, h);
        if (kind === CRASH)
            small.fillRect(LEFT + x - 1, 0, 3, 34);
    }
    small.fillStyle = '#667';
    small.font = '11px system-ui, sans-serif';
    small.fillText('the whole run', 8, 20);
    overviewImage = small.getImageData(0, 0, overview.width, overview.height);
}

function drawWindow() {
    small.putImageData(overviewImage, 0, 0);
    const x1 = LEFT + view.from / (end + 1) * (width - LEFT), x2 = LEFT + view.to / (end + 1) * (width - LEFT);
    small.fillStyle = 'rgba(30,136,229,.12)';
    small.strokeStyle = '#1e88e5';
    small.fillRect(x1, 0, Math.max(2, x2 - x1), 34);
    small.strokeRect(x1, .5, Math.max(2, x2 - x1), 33);
}

// ---- moving ----------------------------------------------------------------------------------------------------------------------

function show(from, to) {
    const wide = Math.min(Math.max(to - from, 4), end + 2);
    view.from = Math.min(Math.max(from, -1), end + 1 - wide + 1);
    view.to = view.from + wide;
    draw();
}
const zoom = (factor, at = (view.from + view.to) / 2) => show(at - (at - view.from) * factor, at + (view.to - at) * factor);

function look(lane, at) {
    const t = lanes[lane].time[at], wide = Math.min(view.to - view.from, 60);
    select(lane, at);
    stage.scrollTop += yOf(lane) - stage.clientHeight / 2;
    show(t - wide / 2, t + wide / 2);
}

/* The next shown node of a kind after where we are; any kind: -1. */
function find(kind, back) {
    const here = selected ? lanes[selected.lane].time[selected.at] + selected.lane / (lanes.length + 1) : back ? end + 1 : -1;
    let best = null;
    lanes.forEach((l, lane) => {
        for (let i = 0; i < l.count; i++) {
            const place = l.time[i] + lane / (lanes.length + 1);
            if (!l.hidden && l.shown[i] && (kind < 0 || l.kind[i] === kind) && (back ? place < here : place > here) &&
                (!best || (back ? place > best.place : place < best.place)))
                best = { lane, at: i, place };
        }
    });
    if (best)
        look(best.lane, best.at);
    else if (selected) {
        selected = null;
        find(kind, back);
    }
}

// ---- details -----------------------------------------------------------------------------------------------------------------------

const make = (tag, properties, ...children) => {
    const e = Object.assign(document.createElement(tag), properties);
    e.append(...children);
    return e;
};

function sourceOf(place) {
    const lines = data.sources[place], line = Number((data.places[place].match(/:(\d+)(:\d+)?\)$/) || [])[1]);
    if (!lines)
        return '';
    return make('pre', {}, ...lines.slice(1).map((text, i) =>
        make('span', { className: lines[0] + i === line ? 'here' : '' }, make('b', {}, String(lines[0] + i)), text || ' ')));
}

function side(title, lane, at) {
    const l = lanes[lane], places = placesOf(l.stack[at]);
    const object = data.objects[l.object[at]];
    const box = make('div', { className: 'side' }, make('h3', {}, `${title}${laneName(l)}, time ${l.time[at].toLocaleString('en')}`),
        make('p', {}, make('b', {}, data.texts[l.text[at]]), object ? ` ${object}` : ''));
    places.forEach((p, i) => {
        box.append(make('div', { className: 'place' }, (i ? 'by ' : 'at ') + data.places[p]));
        if (!i || !data.sources[places[i - 1]] && i < 3)
            box.append(sourceOf(p));
    });
    if (!places.length)
        box.append(make('div', { className: 'place' }, 'no source line is known'));
    return box;
}

function followers(lane, at) {
    const found = [];
    lanes.forEach((l, k) => {
        for (const i of [...l.edges, ...l.races])
            if (l.from[i] === lane && l.fromAt[i] === at && found.length < 8)
                found.push([k, i]);
    });
    return found;
}

function select(lane, at) {
    selected = { lane, at };
    const l = lanes[lane], parts = [], isRace = l.kind[at] === RACE;
    if (l.from[at] >= 0) {
        parts.push(side('first: ', l.from[at], l.fromAt[at]));
        parts.push(make('p', { className: 'then' + (isRace ? ' race' : '') }, isRace ?
            'then, but no lock or the like says so: a race' : 'then'));
    }
    parts.push(side(l.from[at] >= 0 ? 'then: ' : '', lane, at));
    const next = followers(lane, at);
    if (next.length)
        parts.push(make('p', {}, 'after it: ', ...next.flatMap(([k, i]) =>
            [make('a', { onclick: () => look(k, i) }, `${laneName(lanes[k])} ${data.texts[lanes[k].text[i]]}`), ' '])));
    $('detail').replaceChildren(...parts);
}

/* The node or edge at a place of the canvas. */
function hit(x, y) {
    const lane = laneAt(y), l = lanes[lane];
    if (l && !l.hidden && Math.abs(y - yOf(lane)) < 14) {
        const i = firstAt(l.time, timeOf(x));
        const near = [i - 1, i].filter(k => k >= 0 && k < l.count).sort((a, b) => Math.abs(xOf(l.time[a]) - x) - Math.abs(xOf(l.time[b]) - x))[0];
        if (near !== undefined && Math.abs(xOf(l.time[near]) - x) < 8)
            return { lane, at: near };
    }
    let best = null, far = y < TOP ? 0 : 7;
    for (const [x1, y1, x2, y2, to, at] of drawnEdges) {
        const length = Math.hypot(x2 - x1, y2 - y1) || 1;
        const along = ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / length / length;
        if (along < 0 || along > 1)
            continue;
        const away = Math.abs((x2 - x1) * (y1 - y) - (x1 - x) * (y2 - y1)) / length;
        if (away < far) {
            far = away;
            best = { lane: to, at };
        }
    }
    return best;
}

// ---- hands ------------------------------------------------------------------------------------------------------------------------

let drag = null;
canvas.addEventListener('mousedown', e => { drag = { x: e.offsetX, from: view.from, to: view.to, moved: false }; });
window.addEventListener('mousemove', e => {
    if (!drag)
        return;
    const x = e.clientX - canvas.getBoundingClientRect().left;
    drag.moved = drag.moved || Math.abs(x - drag.x) > 3;
    if (drag.moved) {
        const by = (drag.x - x) / (width - LEFT) * (drag.to - drag.from);
        show(drag.from + by, drag.to + by);
    }
});
window.addEventListener('mouseup', e => {
    const clicked = drag && !drag.moved && e.target === canvas;
    drag = null;
    if (!clicked)
        return;
    const lane = lanes[laneAt(e.offsetY)];
    if (e.offsetX < LEFT && lane) {
        lane.hidden = !lane.hidden;
        applyFilter();
        return;
    }
    const found = hit(e.offsetX, e.offsetY);
    if (found) {
        select(found.lane, found.at);
        draw();
    }
});
canvas.addEventListener('wheel', e => {
    if (e.shiftKey)
        return;
    e.preventDefault();
    if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
        const by = e.deltaX / width * (view.to - view.from);
        show(view.from + by, view.to + by);
    } else
        zoom(Math.pow(1.0015, e.deltaY), timeOf(e.offsetX));
}, { passive: false });
canvas.addEventListener('dblclick', e => zoom(.3, timeOf(e.offsetX)));
const centre = e => {
    const t = (e.offsetX - LEFT) / (width - LEFT) * (end + 1), half = (view.to - view.from) / 2;
    show(t - half, t + half);
};
overview.addEventListener('mousedown', centre);
overview.addEventListener('mousemove', e => e.buttons & 1 && centre(e));
canvas.addEventListener('keydown', e => {
    const by = (view.to - view.from) / 5;
    const does = { '+': () => zoom(.5), '=': () => zoom(.5), '-': () => zoom(2), 0: () => show(-1, end + 1),
        ArrowLeft: () => show(view.from - by, view.to - by), ArrowRight: () => show(view.from + by, view.to + by) }[e.key];
    if (does) {
        e.preventDefault();
        does();
    }
});

// ---- the bar --------------------------------------------------------------------------------------------------------------------------

$('in').onclick = () => zoom(.5);
$('out').onclick = () => zoom(2);
$('fit').onclick = () => show(-1, end + 1);
$('race').onclick = () => find(RACE);
$('crash').onclick = () => find(CRASH);
$('next').onclick = () => find(-1);
$('previous').onclick = () => find(-1, true);
const hasKind = kind => lanes.some(l => l.kind.includes(kind));
$('race').disabled = !hasKind(RACE);
$('crash').disabled = !hasKind(CRASH);
let typing = 0;
$('search').addEventListener('input', () => {
    clearTimeout(typing);
    typing = setTimeout(() => { filter.text = $('search').value.trim(); applyFilter(); }, 120);
});
$('search').addEventListener('keydown', e => {
    if (e.key !== 'Enter')
        return;
    clearTimeout(typing);
    filter.text = $('search').value.trim();
    applyFilter();
    find(-1, e.shiftKey);
});
KINDS.forEach((kind, k) => {
    if (!hasKind(k))
        return;
    const box = make('input', { type: 'checkbox', checked: true, id: `kind${k}`, onchange: () => { filter.kinds[k] = box.checked; applyFilter(); } });
    const mark = make('i', {});
    mark.style.background = kind.colour;
    $('kinds').append(make('label', {}, box, mark, kind.name));
});
const counts = new Map();
for (const l of lanes)
    for (let i = 0; i < l.count; i++)
        if (l.object[i])
            counts.set(l.object[i], (counts.get(l.object[i]) || 0) + 1);
[...counts].sort((a, b) => b[1] - a[1]).slice(0, 200).forEach(([object, n]) =>
    $('object').append(make('option', { value: object }, `${data.objects[object]} (${n})`)));
$('object').onchange = () => { filter.object = Number($('object').value); applyFilter(); };
window.addEventListener('resize', () => { drawOverview(); draw(); });
stage.addEventListener('scroll', draw);

$('room').style.height = `${ALL}px`;
$('app').hidden = false;
view.from = -1;
applyFilter();
/* For tests, and for who likes to ask: lanes with their events, what is in view, where an event is on the canvas. */
window.heddle = { lanes, data, view, find, look, show, hit, filter, place: (lane, at) => [xOf(lanes[lane].time[at]), yOf(lane)],
    edges: () => drawnEdges, selected: () => selected };
})();
