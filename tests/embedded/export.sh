#!/bin/sh
# SPDX-License-Identifier: MIT
# Exported networks have the runtime's bits. Networks drawn by a seed (SEED=n draws others), as floats and quantized, with
# each form of input and memory: compiled without a warning, run under sanitizers. Then networks of the data folder. Sizes
# and instructions: figures.sh.
here=tests/embedded
python=$PITH_VENV/bin/python3
"$python" -c 'import onnx, numpy' 2>/dev/null || { echo "no onnx in $PITH_VENV"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
status=0
complain() { echo "$*"; status=1; }
flags="-std=c99 -O1 -Wall -Wextra -Wconversion -pedantic -Werror -ffp-contract=off"
sanitize=
echo 'int main(void) { return 0; }' >"$work/empty.c"
${CC:-gcc} -fsanitize=address,undefined "$work/empty.c" -o "$work/empty" 2>/dev/null && sanitize="-fsanitize=address,undefined -fno-sanitize-recover"

mkdir "$work/drawn"
"$python" $here/draw_networks.py "$work/drawn" "${SEED:-1}" "${N:-24}" || exit 1
tried=0 refused=0
try() { # model options...
    model=$1
    shift
    rm -rf "$work/c"
    tried=$((tried + 1))
    if ! "$PITH" export "$model" --c "$work/c" -q "$@" 2>"$work/why"; then
        refused=$((refused + 1))
        grep -q "layer '\|input '" "$work/why" || complain "$model $*: $(cat "$work/why")"
        [ -e "$work/c" ] && complain "$model $*: refused, and files are left"
        return
    fi
    ${CC:-gcc} $flags $sanitize -DNET_MAIN "$work"/c/*.c -o "$work/net" 2>"$work/why" ||
        { complain "$model $*: $(head -3 "$work/why")"; return; }
    ASAN_OPTIONS=detect_leaks=0 "$work/net" >"$work/out" 2>&1 || complain "$model $*: $(tail -1 "$work/out")"
}
i=0
while [ -f "$work/drawn/$i.onnx" ]; do
    net=$work/drawn/$i
    from=$net.onnx bits=8
    case $((i % 5)) in
    1) "$PITH" prune "$net.onnx" --sparsity 80% -q -o "$net.made.pith" && from=$net.made.pith ;;
    2) "$PITH" cluster "$net.onnx" --bits $((i % 4 + 1)) -q -o "$net.made.pith" && from=$net.made.pith ;;
    3) bits=4 ;;
    esac
    try "$from"
    if "$PITH" quantize "$from" --weights $bits -d "$net.npy" $(cat "$net.options") -q -o "$net.pith" 2>"$work/why"; then
        case $((i % 4)) in
        0) try "$net.pith" --input u8 ;;
        1) try "$net.pith" --input i8 --target cortex-m0 ;;
        2) try "$net.pith" --arena caller --selftest 2 ;;
        3) try "$net.pith" --target cortex-m0 ;;
        esac
        target=$([ $((i % 2)) -eq 0 ] && echo generic || echo cortex-m0)
        least=$("$PITH" export "$net.pith" --c "$work/c" -n --flash-limit 1 --target "$target" 2>&1 |
            sed -n 's/.* integers coded the network takes about //p')
        [ -n "$least" ] && try "$net.pith" --flash-limit "$least" --target "$target"
    else
        complain "$net: $(cat "$work/why")"
    fi
    i=$((i + 1))
done
echo "$tried exports of drawn networks, $refused refused by name"
[ $((refused * 10)) -le "$tried" ] || complain "too many are refused"

"$PITH" export "$work/drawn/0.pith" --c "$work/m0" --target cortex-m0 -q &&
    ${CC:-gcc} -std=c99 -O2 -ffp-contract=off -w -DNET_C="\"$work/m0/net.c\"" -I"$work/m0" $here/export_requantize.c \
        -o "$work/requantize" && "$work/requantize" || complain "requantization in integers has other bits"
if command -v clang >/dev/null; then
    clang $flags -c "$work/m0/net.c" -o "$work/net.o" || complain "clang warns"
fi
if command -v riscv64-unknown-elf-gcc >/dev/null; then
    riscv64-unknown-elf-gcc -march=rv32imac -mabi=ilp32 $flags -ffreestanding -c "$work/m0/net.c" -o "$work/net.o" ||
        complain "gcc for RISC-V warns"
fi
if command -v g++ >/dev/null; then
    printf '#include "net.h"\nint main() { return net_selftest(); }\n' >"$work/net.cc"
    g++ -Wall -Wextra -Werror -I"$work/m0" -c "$work/net.cc" -o "$work/net.o" || complain "C++ does not take the header"
fi

# The parts of a Concat along channels are computed where they lie: no copy, and the same bits.
"$python" - "$work/fire" <<'END'
import sys
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
rng = np.random.default_rng(5)
nodes, weights = [], []
def conv(x, y, inputs, outputs, kernel):
    weights.append(numpy_helper.from_array(rng.normal(0, 0.3, [outputs, inputs, kernel, kernel]).astype(np.float32), y + ".w"))
    nodes.append(helper.make_node("Conv", [x, y + ".w"], [y + ".c"], pads=[kernel // 2] * 4))
    nodes.append(helper.make_node("Relu", [y + ".c"], [y]))
conv("x", "a", 3, 5, 3)
conv("a", "one", 5, 7, 1)
conv("a", "three", 5, 6, 3)
nodes.append(helper.make_node("Concat", ["one", "three"], ["both"], axis=1))
conv("both", "y", 13, 4, 1)
ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, c, 9, 11]) for n, c in (("x", 3), ("y", 4))]
graph = helper.make_graph(nodes, "fire", ends[:1], ends[1:], weights)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), sys.argv[1] + ".onnx")
np.save(sys.argv[1] + ".npy", rng.normal(size=[8, 3, 9, 11]).astype(np.float32))
END
"$PITH" quantize "$work/fire.onnx" -d "$work/fire.npy" -q -f -o "$work/fire.pith" || complain "quantize fire"
"$PITH" export "$work/fire.pith" --c "$work/c" -n >"$work/out"
grep -q ' copy ' "$work/out" && complain "parts of a Concat are copied: $(cat "$work/out")"
try "$work/fire.pith"
try "$work/fire.pith" --target cortex-m0

# ---- networks of the data folder ---------------------------------------------------------------------------
inputs() { # file dims...: a few samples of random numbers
    "$python" - "$@" <<'END'
import sys
import numpy as np
rng = np.random.default_rng(1)
np.save(sys.argv[1], rng.normal(size=[8] + [int(d) for d in sys.argv[2:]]).astype(np.float32))
END
}
whole() { # network dims...: in integers, exported and equal
    model=$PITH_DATA/models/$1.onnx name=$1
    [ -f "$model" ] || return
    shift
    refused=0
    inputs "$work/in.npy" "$@"
    "$PITH" quantize "$model" -d "$work/in.npy" -q -o "$work/$name.pith" || complain "quantize $name"
    try "$work/$name.pith" --selftest 1
    [ $refused -eq 0 ] || complain "$name: $(cat "$work/why")"
}
whole kws_LSTM_L 490
whole kws_GRU_L 490
whole kws_DNN_L 250
whole mnist_cntk 1 28 28
whole cifar10_resnet20 3 32 32
whole tiny_vww_mbv1 3 96 96
if [ -f "$PITH_DATA/models/silero_vad_16k.onnx" ]; then # floats: mirrored padding, magnitudes, an LSTM step with states
    refused=0
    try "$PITH_DATA/models/silero_vad_16k.onnx" --selftest 1
    [ $refused -eq 0 ] || complain "silero_vad_16k: $(cat "$work/why")"
fi
exit $status
