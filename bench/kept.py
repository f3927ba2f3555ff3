"""Where benchmarks put their figures: one JSON file each, with machine and date. bench/all.py gathers them in a folder,
report.py reads that."""
import datetime
import glob
import json
import os
import platform
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KEPT = os.path.join(ROOT, 'bench', 'results')      # a folder per run: DATE-MACHINE


def add_option(parser):
    parser.add_argument('--json', help='write all figures to this file')


def cpu_name():
    try:
        text = subprocess.run(['lscpu'], capture_output=True, text=True, env=dict(os.environ, LC_ALL='C')).stdout
    except OSError:
        return 'unknown'
    return next((line.split(':', 1)[1].strip() for line in text.splitlines() if line.startswith('Model name')), 'unknown')


def keep(settings, results):
    """With machine and date, if a file was asked for. Whole or not at all: a stopped run is taken up where no file
    is."""
    if not settings.json:
        return
    results = dict(results, machine={'arch': platform.machine(), 'kernel': platform.release(), 'cores': os.cpu_count(), 'cpu': cpu_name()},
                   date=datetime.date.today().isoformat())
    with open(settings.json + '.part', 'w') as file:
        json.dump(results, file, indent=1)
        file.write('\n')
    os.replace(settings.json + '.part', settings.json)


def merge(into, more):
    """The tables of one kernel into those of others."""
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            merge(into[key], value)
        else:
            into[key] = value


def read(folder):
    """{kind: results} of KIND.json and KIND-PART.json."""
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, '*.json'))):
        with open(path) as file:
            merge(found.setdefault(os.path.basename(path)[:-5].split('-')[0], {}), json.load(file))
    return found


def newest():
    """The folder of the newest run that is kept."""
    folders = sorted(f for f in glob.glob(os.path.join(KEPT, '*')) if os.path.isdir(f))
    return folders[-1] if folders else None
