"""What the papers print: of each table its rows, as {program: (the kernel of ours that is of the same kind, or None,
{column: figure})}. None: the cell is empty in print, or in our copies."""

# Programs that are called otherwise than the kernel of their kind.
KINDS = {'lu_cb': 'lu', 'lu_ncb': 'lu', 'ocean_cp': 'ocean', 'ocean_ncp': 'ocean', 'volrend': 'radiosity', 'water_nsquared': 'water', 'water_spatial': 'water',
         'fmm': 'barnes', 'mysql': 'store', 'apache': 'store', 'Test Chain': 'chain', 'aget': 'fetch', 'pfscan': 'scan', 'Mean': None,
         'Avrora': None, 'Lusearch': 'scan', 'Derby': 'store', 'Tomcat': 'store', 'MolDyn': 'water', 'MonteCarlo': None, 'RayTracer': 'raytrace'}


def table(columns, rows):
    return {name: (KINDS.get(name, name), dict(zip(columns, row))) for name, row in rows.items()}


# LEAP, table 1: overhead in percent over native, for LEAP, Lamport clocks, InstantReplay (our crew) and a global clock.
LEAP_TABLE_1 = table(('total', 'spe', 'spe size', 'leap', 'lamport', 'crew', 'global'), {
    'Avrora': (16003, 1725, 113, 626, 1697, 1821, 1036),
    'Lusearch': (11497, 1140, 75, 74, 308, 379, 227),
    'Derby': (48356, 1433, 264, 9.9, 68, 113, 52),
    'Tomcat': (23046, 654, 163, 7.3, 39, 44, 34),
    'MolDyn': (821, 634, 66, 64, 2776, 3567, 9960),
    'MonteCarlo': (427, 104, 18, 7.5, 7.9, 8.6, 9.1),
    'RayTracer': (442, 223, 19, 18, 39, 43, 94),
})

# TPLAY, table II, 4 threads: events.
TPLAY_EVENTS = table(('reads', 'writes', 'locks'), {
    'cholesky': (13539277, 3576547, 1529),
    'fft': (23738757, 14934083, 34),
    'lu_cb': (95376483, 45684566, 274),
    'lu_ncb': (94188973, 45662755, 274),
    'ocean_cp': (95195697, 18453146, 4434),
    'ocean_ncp': (95164212, 18453231, 4427),
    'raytrace': (319947352, 69805540, 239444),
    'radiosity': (3403130, 2061336, 76),
    'radix': (237630987, 78661575, 213960),
    'volrend': (35082358, 10642543, 7133),
    'water_nsquared': (117250198, 46340899, 6294),
    'water_spatial': (104690984, 41625532, 159),
    'barnes': (2784956319, 1680710156, 275331),
    'mysql': (1560872, 542635, 6),
})

# TPLAY, tables III to V, 4 threads: log in MB, Light's time over TPLAY's; transactions, interleavings, violations (the
# text gives those of raytrace to radiosity), Light's write-read pairs; replay over record, successful replays of 50, of
# Light where its solver answered (80 percent).
TPLAY = table(('tplay MB', 'light MB', 'light/tplay', 'transactions', 'interleavings', 'violations', 'light pairs', 'replay/record', 'tplay of 50', 'light of 50'), {
    'cholesky': (10.5, 39.9, 0.19, 9632, 761, 0, 2009143, 0.86, 45),
    'fft': (12.2, 32.7, 0.19, 11355241, 639294, 0, 1672548, 0.83, 50),
    'lu_cb': (8.3, 503, 0.64, 46392503, 399169, 0, 23785125, 0.8, 50),
    'lu_ncb': (8.3, 502.5, 0.72, 46117695, 397970, 0, 23757388, 0.77, 50),
    'ocean_cp': (17.5, 44, 0.47, 18536819, 239971, 0, 2360277, 0.77, 50),
    'ocean_ncp': (27.7, 43.9, 0.77, 17545516, 287698, 0, 2351007, 0.71, 41),
    'raytrace': (50.9, 765, 0.03, 17108800, 1203113, 2, 73440436, 0.72, 50),
    'radiosity': (7.5, 13.1, 0.05, 2057238, 413560, 0, 777345, 0.8, 50),
    'radix': (59.3, 720, 0.01, 21165176, 2177458, 0, 77013873, 0.77, 50),
    'volrend': (12, 152.3, 0.06, 5559482, 421344, 98, 7711556, 0.79, 50),
    'water_nsquared': (10.1, 561.1, 0.13, 42878818, 254304, 0, 28316969, 0.85, 50),
    'water_spatial': (5.2, 396.9, 0.11, 39523924, 217046, 0, 20725403, 0.64, 50),
    'barnes': (126, 890, 1.97, 69510023, 8510541, 0, 411164199, 0.7, 40),
    'mysql': (0.6, 0.4, 0.75, 49821, 9581, 0, 352, 0.57, 50, 40),
    'Mean': (25.44, 333.2, 0.44, 24129334, 1083700, 50, 48220401, 0.76, 48.3),
})

# AggrePlay, tables 3 and 5, 8 threads: log in MB after compression, slowdown (the legend swaps letters: A is AggrePlay,
# B Light, C Stride), replays of 50 with the right interleaving, of Stride those with the right output, too, and
# slowdown of replay. Light: None where its solver did not answer.
AGGREPLAY = table(('aggreplay MB', 'light MB', 'stride MB', 'aggreplay', 'light', 'stride', 'stride output of 50', 'aggreplay of 50', 'light of 50', 'stride of 50',
                   'aggreplay replay', 'light replay', 'stride replay'), {
    'cholesky': (25.3, 18, 130, 25.41, 16.6, 18.26, 36, 48, None, 21, 2.1, None, 3.2),
    'fft': (15.1, 11.3, 259.9, 52.48, 45.7, 125.65, 28, 43, None, 20, 3.2, None, 3.65),
    'fmm': (19.02, 12.02, 160.24, 40.4, 34.2, 45.25, 26, 40, None, 18, 2.7, None, 2.3),
    'lu_cb': (17.37, 11.37, 9.8, 3.74, 4.54, 2.18, 27, 41, None, 15, 2.1, None, 2.9),
    'lu_ncb': (14.6, 9.6, 8.7, 3.9, 4.6, 2.2, 25, 44, None, 19, 2.64, None, 3.3),
    'ocean_cp': (52.3, 41.7, 215.1, 53.12, 45.21, 35.8, 36, 41, None, 26, 3.15, None, 4.72),
    'ocean_ncp': (76.5, 53.5, 292.62, 62.5, 39.5, 42.36, 32, 39, None, 24, 3.18, None, 2.8),
    'raytrace': (82.6, 68.4, 432.48, 23.1, 20.5, 35.2, 29, 37, None, 19, 3.35, None, 3.73),
    'radiosity': (40.23, 32.35, 290.36, 36.81, 39.64, 41.1, 32, 42, None, 23, 2.2, None, 2.9),
    'radix': (31.39, 24.25, 253.12, 43.1, 35.7, 118.26, 32, 40, None, 22, 3.5, None, 4.28),
    'volrend': (17.2, 14.2, 249.4, 43.65, 40.6, 120.4, 24, 42, None, 18, 1.7, None, 2.4),
    'water_nsquared': (18, 11.1, 143.7, 20.2, 18.8, 98.97, 36, 48, None, 24, 1.9, None, 2.85),
    'water_spatial': (18.8, 11.6, 170.9, 31.6, 26.4, 74.5, 37, 45, None, 21, 1.85, None, 2.3),
    'barnes': (172.4, 120.4, 864.58, 46.82, 41.7, 108.2, 31, 39, None, 17, 4.8, None, 5.2),
    'mysql': (0.65, 0.53, 2.1, 1.45, 1.12, 1.35, 40, 48, 40, 31, 4, 5.4, 5.5),
    'apache': (1.2, 0.9, 3.5, 3.1, 3.3, 4.6, 40, 46, 38, 28, 2.4, 3.5, 3.9),
    'Test Chain': (152, 135.1, 935.12, 8.9, 9.5, 12.4, 30, 48, None, 25, 4.9, None, 5.25),
    'Mean': (44.39, 33.9, 260.1, 29.43, 25.16, 52.16, 32.56, 43.39, 39, 22.61, 2.85, 4.45, 3.54),
})

# RacX, tables 2 and 3: warnings, pairs, sites raw and refined (water has 488 sites in one table and 464 in the other).
RACX_SITES = table(('warnings', 'pairs', 'raw sites', 'refined sites'), {
    'apache': (4739, 273258, 11590, 11546),
    'aget': (46, 230, 108, 53),
    'pfscan': (20, 93, 67, 3),
    'fft': (26, 281, 145, 37),
    'lu': (16, 104, 88, 45),
    'water': (115, 712, 488, 53),
    'ocean': (77, 2678, 1807, 24),
})

# RacX, table 4: overhead of recording in percent, by threads. The columns of replay are announced and not printed.
RACX_OVERHEAD = table(('1', '2', '4', '8', '16'), {
    'apache': (0.81, 1.12, 3.90, 2.48, 6.65),
    'aget': (4.43, 6.40, 6.98, 7.76),
    'pfscan': (0.12, 0.14, 0.15, 0.28, 0.57),
    'fft': (0.56, 0.73, 1.67, 0.98, 1.58),
    'lu': (0.25, -1.53, -1.97, -1.90, -0.99),
    'water': (0.74, 1.03, 1.66, 4.15, 38.7),
    'ocean': (0.22, 0.56, 0.87, 1.62, 3.92),
})

# RacX, figure 6: times native with all raw warnings instrumented, as far as the text has the figure's numbers. (aget,
# which table 4 has with 8 threads at most, is said to have been run with 16.)
RACX_RAW = table(('2', '16'), {'apache': (None, 1.08), 'aget': (None, 1.07), 'fft': (11.2, None), 'lu': (None, 'more than 900')})
