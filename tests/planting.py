"""A folder like build/, with a fault planted in one of our sources: what must be noticed.

The fault is compiled in place of its source, so that the sources stay free of switches.
"""
import os
import shutil

from harness import ROOT

FAST = 'compiler/fast.c'        # what heddle-cc links into programs
CLANG = ['clang-19', '-std=gnu17', '-O2', f'-I{ROOT}', '-fPIC', '-fno-strict-aliasing', '-fno-stack-protector', '-fno-builtin', '-emit-llvm']


def plant(t, place, changes):
    """[(text, instead)] in `place`: compiler/fast.c, or a source of libheddle.so or of the runtime."""
    text = t.with_fault(place, changes)
    top = t.path('planted')
    shutil.rmtree(top, ignore_errors=True)
    for name in ('bin', 'lib'):
        shutil.copytree(os.path.join(t.settings.build, name), f'{top}/{name}', symlinks=True)
    changed = f'{top}/{os.path.basename(place)}'
    with open(changed, 'w') as file:
        file.write(text)
    if place == FAST:
        os.unlink(f'{top}/lib/heddle/fast.bc')
        t.run_well([*CLANG, '-c', '-o', f'{top}/lib/heddle/fast.bc', changed])
        return top
    library = place.startswith('interpose/')
    os.unlink(f'{top}/lib/heddle/loader-mapped')
    t.run_well(['make', '-s', 'preload-with' if library else 'loader-with', f'BUILD={t.settings.build}', f'PLACE={place}', f'FILE={changed}',
                f'OUT={top}/lib/heddle/{"libheddle.so" if library else "loader"}'], cwd=ROOT, timeout=600)
    os.link(f'{top}/lib/heddle/loader', f'{top}/lib/heddle/loader-mapped')
    return top
