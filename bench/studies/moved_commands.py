# SPDX-License-Identifier: MIT
"""How near students of tiny_kws_dscnn are to their teacher, on many versions of spoken commands.

    python bench/studies/moved_commands.py PITH DATA FIRST:STEP FILE.pith...

250 commands tell shares of 2 and 3 % hardly apart. So those of kws01 from FIRST on, every STEPth,
are judged as they are and in nine versions more, moved, stretched and tinted half as strongly as
bench/distill_data.py does it. For each file: its bytes, the mean divergence KL(teacher, student),
and the shares of answers that differ, of all versions and of the commands as they are.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import distill_data  # noqa: E402

VERSIONS = 10
LEAST = 1e-9  # so that no logarithm is of 0


def versions(data, which):
    """[VERSIONS * n, FRAMES, COEFFICIENTS]; the first n are the commands as they are."""
    rng = np.random.default_rng(78)
    commands = distill_data.recorded(data, which)
    moved = [distill_data.moved(x, rng, 0.5) for _ in range(VERSIONS - 1) for x in commands]
    return distill_data.on_grid(np.concatenate([commands, np.array(moved)]))


def student_answers(pith, model, samples, to):
    options = ["-d", samples, "--preprocess", "scale=1", "-o", to, "-f", "-q"]
    subprocess.run([pith, "run", model, *options], check=True)
    return np.load(to).reshape(-1, 12).astype(np.float64)


def main():
    pith, data, which, *models = sys.argv[1:]
    first, step = (int(t) for t in which.split(":"))
    x = versions(data, slice(first, None, step))
    p = distill_data.asked(data)(x).astype(np.float64)
    n = len(x) // VERSIONS
    print("| file | bytes | KL | answers that differ, % | as they are |")
    print("| --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as work:
        samples, to = work + "/samples.npy", work + "/answers.npy"
        np.save(samples, x[:, None].astype(np.float32))
        for model in models:
            q = student_answers(pith, model, samples, to)
            divergence = (p * np.log((p + LEAST) / (q + LEAST))).sum(1).mean()
            differ = 100 * (p.argmax(1) != q.argmax(1))
            name, size = os.path.basename(model), os.path.getsize(model)
            print(f"| {name} | {size:,} | {divergence:.4f} | {differ.mean():.2f} | {differ[:n].mean():.1f} |")


if __name__ == "__main__":
    main()
