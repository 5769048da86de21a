# SPDX-License-Identifier: MIT
"""How long a peer's call takes, for the benches that run one in their own process."""
import time

import numpy as np


def median_ms(run, seconds):
    """Of calls for so many seconds, five at least, behind three that warm up."""
    for _ in range(3):
        run()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return float(np.median(times)) * 1e3
