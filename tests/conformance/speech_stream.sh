#!/bin/sh
# SPDX-License-Identifier: MIT
# A speech network called frame by frame, its state fed back, decides as recorded with onnxruntime on
# every frame of a recording; probabilities within 1e-3. Quantized on its first 128 frames, its state going
# round, it decides otherwise on few (2 were measured): what must stay float is found.
[ -x "$PITH" ] || { echo "PITH does not name the command"; exit 1; }
models=$PITH_DATA/models audio=$PITH_DATA/audio
[ -r "$models/silero_vad_16k.onnx" ] && [ -r "$audio/vad_test_16k.wav" ] || { echo "no $models"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

"$PITH" import "$models/silero_vad_16k.onnx" -q -o "$work/vad.pith" &&
    "$PITH" run "$work/vad.pith" -d "wav:576:512:$audio/vad_test_16k.wav" --state stateN=state -q \
        -o "$work/p.npy" || exit 1
python3 - "$work/p.npy" "$audio/vad_test_probs.csv" <<'EOF' || exit 1
import struct, sys
data = open(sys.argv[1], "rb").read()
at = 10 + struct.unpack("<H", data[8:10])[0]
got = struct.unpack(f"<{(len(data) - at) // 4}f", data[at:])
want = [float(line) for line in open(sys.argv[2]) if line.strip()]
worst = max(abs(a - b) for a, b in zip(got, want))
turned = sum((a > 0.5) != (b > 0.5) for a, b in zip(got, want))
if len(got) != 1875 or len(want) != 1875 or worst > 1e-3 or turned:
    sys.exit(f"{len(got)} of {len(want)} frames, largest error {worst}, {turned} decided otherwise")
EOF

recording=wav:576:512:$audio/vad_test_16k.wav
"$PITH" quantize "$work/vad.pith" -d "$recording" --state stateN=state --samples 128 -q -o "$work/integers.pith" &&
    "$PITH" run "$work/integers.pith" -d "$recording" --state stateN=state -q -o "$work/q.npy" || exit 1
python3 - "$work/p.npy" "$work/q.npy" <<'EOF' || exit 1
import struct, sys
def numbers(path):
    data = open(path, "rb").read()
    at = 10 + struct.unpack("<H", data[8:10])[0]
    return struct.unpack(f"<{(len(data) - at) // 4}f", data[at:])
turned = sum((a > 0.5) != (b > 0.5) for a, b in zip(numbers(sys.argv[1]), numbers(sys.argv[2])))
if turned > 10:
    sys.exit(f"in integers {turned} of 1875 frames are decided otherwise")
EOF
