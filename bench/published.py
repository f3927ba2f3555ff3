"""What the papers print, by the kernel of ours that is of the same kind. None: our copies of the papers lack the
cell."""

# LEAP, table 1: overhead in percent over native, for LEAP, Lamport clocks, InstantReplay (our crew) and a global clock.
LEAP_TABLE_1 = {
    'water': ('MolDyn', {'total': 821, 'spe': 634, 'leap': 64, 'lamport': 2776, 'crew': 3567, 'global': 9960}),
    'raytrace': ('RayTracer', {'total': 442, 'spe': 223, 'leap': 18, 'lamport': 39, 'crew': 43, 'global': 94}),
    'store': ('Derby', {'total': 48356, 'spe': 1433, 'leap': 9.9, 'lamport': 68, 'crew': 113, 'global': 52}),
    'scan': ('Lusearch', {'total': 11497, 'spe': 1140, 'leap': 74, 'lamport': 308, 'crew': 379, 'global': 227}),
}

# TPLAY, tables III to V, 4 threads: log in MB, Light's time over TPLAY's; transactions, interleavings, violations,
# Light's write-read pairs; replay over record, successful replays of 50.
TPLAY_COLUMNS = ('tplay MB', 'light MB', 'light/tplay', 'transactions', 'interleavings',
                 'violations', 'light pairs', 'replay/record', 'tplay of 50')
TPLAY = {name: dict(zip(TPLAY_COLUMNS, row)) for name, row in {
    'cholesky': (10.5, 39.9, 0.19, 9632, 761, 0, 2009143, 0.86, 45),
    'fft': (12.2, 32.7, 0.19, 11355241, 639294, 0, 1672548, 0.83, 50),
    'lu': (8.3, 503, 0.64, 46392503, 399169, 0, 23785125, 0.8, 50),
    'ocean': (17.5, 44, 0.47, 18536819, 239971, 0, 2360277, 0.77, 50),
    'raytrace': (50.9, 765, 0.03, 17108800, 1203113, 2, 73440436, 0.72, 50),
    'radiosity': (7.5, 13.1, 0.05, 2057238, 413560, 0, 777345, 0.8, 50),
    'radix': (59.3, 720, 0.01, 21165176, 2177458, 0, 77013873, 0.77, 50),
    'water': (10.1, 561.1, 0.13, 42878818, 254304, 0, 28316969, 0.85, 50),
    'barnes': (126, 890, 1.97, 69510023, 8510541, 0, 411164199, 0.7, 40),
}.items()}

# AggrePlay, tables 3 and 5, 8 threads: log in MB after compression, slowdown (the legend swaps letters: A is AggrePlay,
# B Light, C Stride), replays of 50 with the right interleaving, slowdown of replay. Light: None, its solver did not
# answer.
AGGREPLAY_COLUMNS = ('aggreplay MB', 'light MB', 'stride MB', 'aggreplay', 'light', 'stride', 'aggreplay of 50', 'stride of 50',
                     'aggreplay replay', 'stride replay')
AGGREPLAY = {name: dict(zip(AGGREPLAY_COLUMNS, row)) for name, row in {
    'cholesky': (25.3, 18, 130, 25.41, 16.6, 18.26, 48, 21, 2.1, 3.2),
    'fft': (15.1, 11.3, 259.9, 52.48, 45.7, 125.65, 43, 20, 3.2, 3.65),
    'lu': (17.37, 11.37, 9.8, 3.74, 4.54, 2.18, 41, 15, 2.1, 2.9),
    'ocean': (52.3, 41.7, 215.1, 53.12, 45.21, 35.8, 41, 26, 3.15, 4.72),
    'raytrace': (82.6, 68.4, 432.48, 23.1, 20.5, 35.2, 37, 19, 3.35, 3.73),
    'radiosity': (40.23, 32.35, 290.36, 36.81, 39.64, 41.1, 42, 23, 2.2, 2.9),
    'radix': (31.39, 24.25, 253.12, 43.1, 35.7, 118.26, 40, 22, 3.5, 4.28),
    'water': (18, 11.1, 143.7, 20.2, 18.8, 98.97, 48, 24, 1.9, 2.85),
    'barnes': (172.4, 120.4, 864.58, 46.82, 41.7, 108.2, 39, 17, 4.8, 5.2),
    'chain': (152, 135.1, 935.12, 8.9, 9.5, 12.4, 48, 25, 4.9, 5.25),
    'store': (1.2, 0.9, 3.5, 3.1, 3.3, 4.6, 46, 28, 2.4, 3.9),
}.items()}

# RacX, tables 2 and 3: warnings, pairs, sites raw and refined (water has 488 sites in one table and 464 in the other).
RACX_SITES = {
    'fetch': {'warnings': 46, 'pairs': 230, 'raw sites': 108, 'refined sites': 53},
    'scan': {'warnings': 20, 'pairs': 93, 'raw sites': 67, 'refined sites': 3},
    'fft': {'warnings': 26, 'pairs': 281, 'raw sites': 145, 'refined sites': 37},
    'lu': {'warnings': 16, 'pairs': 104, 'raw sites': 88, 'refined sites': 45},
    'water': {'warnings': 115, 'pairs': 712, 'raw sites': 488, 'refined sites': 53},
    'ocean': {'warnings': 77, 'pairs': 2678, 'raw sites': 1807, 'refined sites': 24},
}

# RacX, table 4: overhead of recording in percent, by threads. The columns of replay are announced and not printed.
RACX_OVERHEAD = {
    'fetch': {1: 4.43, 2: 6.40, 4: 6.98, 8: 7.76},
    'scan': {1: 0.12, 2: 0.14, 4: 0.15, 8: 0.28, 16: 0.57},
    'fft': {1: 0.56, 2: 0.73, 4: 1.67, 8: 0.98, 16: 1.58},
    'lu': {1: 0.25, 2: -1.53, 4: -1.97, 8: -1.90, 16: -0.99},
    'water': {1: 0.74, 2: 1.03, 4: 1.66, 8: 4.15, 16: 38.7},
    'ocean': {1: 0.22, 2: 0.56, 4: 0.87, 8: 1.62, 16: 3.92},
}
