#!/bin/sh
# SPDX-License-Identifier: MIT
# samples/mcu in one `make`: trained, quantized, exported and linked without libc, the network spots keywords on an
# emulated Cortex-M4F. The runtime as one file hears the same words there, in more flash and RAM. The features of both
# are those of the definition, computed in double precision, and so are test samples that the training did not see.
command -v arm-none-eabi-gcc >/dev/null && command -v qemu-system-arm >/dev/null ||
    { echo "no arm-none-eabi-gcc or qemu-system-arm"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
MAKEFLAGS= ${MAKE:-make} -s -C samples/mcu PITH="$PITH" MAKE_KEYWORDS="$PITH_O/samples/make_keywords" O="$work" >"$work/out" 2>"$work/err" ||
    { cat "$work/out" "$work/err"; exit 1; }
[ ! -s "$work/err" ] || { cat "$work/err"; exit 1; }
for program in exported linked; do
    sed -n "/^$program:/,/^flash/p" "$work/out" | grep '^heard' >"$work/$program.heard"
done
[ "$(wc -l <"$work/exported.heard")" -eq 12 ] || { echo "not 12 clips:"; cat "$work/out"; exit 1; }
diff "$work/exported.heard" "$work/linked.heard" || exit 1
awk '/^flash [0-9]/ { flash[++n] = $2 - $7; ram[n] = $9; print }
    END { exit !(n == 2 && flash[1] > 20000 && flash[1] < flash[2] && ram[1] > 5000 && ram[1] < ram[2]) }' "$work/out" || exit 1
"$PITH" eval "$work/int8.pith" -d "$work/keywords/test.npy" --labels "$work/keywords/test-labels.npy" >"$work/eval" &&
    awk '$1 == "top-1" { print; exit !($2 >= 95) }' "$work/eval" || { cat "$work/eval"; exit 1; }
"$PITH_VENV/bin/python3" -c 'import numpy' 2>/dev/null || exit 0
"$PITH_VENV/bin/python3" - "$work/keywords" <<'END'
import sys
import numpy as np
sound = np.fromfile(sys.argv[1] + "/test.pcm", "<i2").reshape(12, 16000) / 32768
made = np.load(sys.argv[1] + "/test.npy")[:12, 0]
frames = np.stack([sound[:, t * 320 : t * 320 + 480] for t in range(49)], 1)
magnitude = np.abs(np.fft.rfft(frames * (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(480) / 480)), 512))
mel = lambda hz: 1127 * np.log(1 + hz / 700)
edge, at = np.linspace(mel(20), mel(4000), 42), mel(np.arange(257) * 31.25)[:, None]
triangle = np.minimum((at - edge[:-2]) / (edge[1:-1] - edge[:-2]), (edge[2:] - at) / (edge[2:] - edge[1:-1]))
triangle[0] = 0
bands = np.log(magnitude @ np.maximum(triangle, 0) + 1e-6)
cosine = np.cos(np.pi * np.outer(2 * np.arange(40) + 1, np.arange(10)) / 80)
error = np.abs(2 / np.sqrt(80) * bands @ cosine - made).max()
if not error < 2e-3:
    sys.exit(f"features differ by {error} from the definition")
END
