"""Line plots as SVG, both axes logarithmic, each line named at its end. No library needed."""
import math

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 460, 70, 150, 50, 55
COLOURS = ['#222222', '#888888', '#1f77b4', '#17a2b8', '#d62728', '#e8820c', '#2ca02c', '#9467bd', '#8c564b', '#c2185b', '#bcbd22',
           '#3f51b5', '#00796b', '#795548']


def ticks(low, high):
    """1, 2, 5, 10, ... that lie between; only powers of ten where that gives too many."""
    found = [m * 10.0 ** e for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1) for m in (1, 2, 5)]
    found = [t for t in found if low <= t <= high]
    return found if len(found) <= 12 else [t for t in found if math.log10(t) == int(math.log10(t))]


def scale(low, high, first, last):
    low, high = math.log10(low), math.log10(high)
    return lambda v: first + (math.log10(v) - low) / ((high - low) or 1) * (last - first)


def spread(places, room):
    """Move labels apart so that none covers another, in their order."""
    placed = {}
    at = TOP - room
    for name, y in sorted(places.items(), key=lambda item: item[1]):
        at = max(y, at + room)
        placed[name] = at
    return placed


def lines(path, title, x_label, y_label, series):
    """series: {name: [(x, y)]}, all positive."""
    points = [p for line in series.values() for p in line]
    if not points:
        return
    xs, ys = [x for x, _ in points], [y for _, y in points]
    low, high = min(ys) / 1.2, max(ys) * 1.2
    x_at, y_at = scale(min(xs), max(xs), LEFT, WIDTH - RIGHT), scale(low, high, HEIGHT - BOTTOM, TOP)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/><text x="{LEFT}" y="24" font-size="15">{title}</text>',
           f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 14}" text-anchor="middle">{x_label}</text>',
           f'<text x="18" y="{HEIGHT / 2}" text-anchor="middle" transform="rotate(-90 18 {HEIGHT / 2})">{y_label}</text>']
    for t in ticks(low, high):
        out.append(f'<path d="M{LEFT} {y_at(t):.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>'
                   f'<text x="{LEFT - 6}" y="{y_at(t) + 4:.1f}" text-anchor="end">{t:g}</text>')
    for x in sorted(set(xs)):
        out.append(f'<text x="{x_at(x):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{x:g}</text>')
    labels = spread({name: y_at(line[-1][1]) for name, line in series.items() if line}, 14)
    for (name, line), colour in zip(series.items(), COLOURS * 3):
        if not line:
            continue
        places = [(x_at(x), y_at(y)) for x, y in line]
        out.append(f'<path d="M{"L".join(f"{x:.1f} {y:.1f}" for x, y in places)}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        out.append(f'<text x="{places[-1][0] + 9:.1f}" y="{labels[name] + 4:.1f}" fill="{colour}">{name}</text>')
    with open(path, 'w') as file:
        file.write('\n'.join(out) + '\n</svg>\n')
