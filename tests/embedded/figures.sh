#!/bin/sh
# SPDX-License-Identifier: MIT
# Size, memory and instructions on microcontrollers and phones, under QEMU: exported networks, the keyword spotter of
# samples/mcu, the linked runtime, AArch64. One line a figure: it fails above `most`; `aim` is where it should go.
# Networks are those of the data folder, in integers of 8 bits but where the line says otherwise.
python=$PITH_VENV/bin/python3
"$python" -c 'import numpy' 2>/dev/null || { echo "no numpy in $PITH_VENV"; exit 77; }
[ -d "$PITH_DATA/models" ] || { echo "no $PITH_DATA/models"; exit 77; }
command -v arm-none-eabi-gcc >/dev/null && command -v qemu-system-arm >/dev/null ||
    { echo "no arm-none-eabi-gcc or qemu-system-arm"; exit 77; }
here=tests/embedded
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
status=0 figures=0 above=0
complain() { echo "$*"; status=1; }
hold() { # line figure most [aim]
    figures=$((figures + 1))
    [ "$2" -le "${4:-$3}" ] || above=$((above + 1))
    printf '%-84s %10s %10s %10s\n' "$1" "$2" "$3" "$4"
    [ "$2" -gt 0 ] && [ "$2" -le "$3" ] || complain "above what it may take: $1"
}
printf '%-84s %10s %10s %10s\n' "" figure most aim
inputs() { # file dims...: a few samples of random numbers
    "$python" - "$@" <<'END'
import sys
import numpy as np
rng = np.random.default_rng(1)
np.save(sys.argv[1], rng.normal(size=[8] + [int(d) for d in sys.argv[2:]]).astype(np.float32))
END
}
run_on() { # machine program [timing]
    timeout 300 qemu-system-arm -M "$1" -nographic ${3--icount shift=5} -monitor none -serial none \
        -semihosting-config enable=on,target=native -kernel "$2" >"$work/run" 2>&1
}
number() { sed -n "s/^$1 //p" "$work/run"; }
of_json() { grep -o "\"$1\":[0-9]*" | head -1 | cut -d: -f2; } # name: of the network, in front of its layers

# ---- exported networks -------------------------------------------------------------------------------------
m4="-mthumb -mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard"
m0="-mthumb -mcpu=cortex-m0plus"
m55="-mthumb -mcpu=cortex-m55 -mfloat-abi=hard -DNO_TIMER"
sed 's/LENGTH = 4M/LENGTH = 512K/' samples/mcu/mps2.ld >"$work/mps3.ld"
board() { # machine "flags" options of the object...
    machine=$1 cpu=$2
    shift 2
    arm-none-eabi-gcc -std=gnu99 "$@" $cpu -ffunction-sections -Wall -Wextra -Wconversion -Werror -ffp-contract=off \
        -c "$work/c/kws.c" -o "$work/kws.o" || return 1
    arm-none-eabi-gcc -std=gnu99 -O2 $cpu -ffreestanding -I"$work/c" -DNET_H='"kws.h"' -DNET=kws -DNET_INPUT=uint8_t \
        -DNET_INPUTS=KWS_IN0_COUNT -DNET_OUTPUTS=KWS_OUT0_COUNT -nostdlib -nostartfiles -Wl,--gc-sections \
        -T ${ld:-samples/mcu/mps2.ld} samples/mcu/start.c samples/mcu/memory.c $here/export_main.c "$work/c/kws_selftest.c" \
        "$work/kws.o" -lgcc -o "$work/kws.elf" && run_on "$machine" "$work/kws.elf"
}
size_of() { arm-none-eabi-size "$1" | awk 'NR == 2 { print $'"$2"' }'; }
# What `pith info --target` estimates is near: of the run just made.
estimates() { # name target
    "$PITH" info "$work/measured.pith" --target "$2" --json >"$work/estimate"
    stack=$(number stack) estimate=$(of_json stack_bytes <"$work/estimate")
    [ "$stack" -le "$estimate" ] && [ "$estimate" -le $((stack * 2)) ] ||
        complain "$1 on $2: a stack of $stack bytes was estimated as $estimate"
    estimate=$(of_json instructions <"$work/estimate")
    [ $((estimate * 10)) -ge $((instructions * 7)) ] && [ $((estimate * 10)) -le $((instructions * 14)) ] ||
        complain "$1 on $2: $instructions instructions were estimated as $estimate"
}
# exported network "dims" "code most, aim" "RAM" "instructions" "of an M0+" [command that makes another network of it...]
exported() {
    model=$PITH_DATA/models/$1.onnx code_most=$3 ram_most=$4 most=$5 m0_most=$6
    inputs "$work/in.npy" $2
    name=$1
    shift 6
    name="exported $name${1:+ $*}${limit:+ $limit}"
    if [ "$1" = quantize ]; then
        shift
    elif [ $# -gt 0 ]; then
        "$PITH" "$@" "$model" -f -q -o "$work/made.pith" || complain "$*"
        model=$work/made.pith
        set --
    fi
    "$PITH" quantize "$model" -d "$work/in.npy" "$@" -f -q -o "$work/measured.pith" || { complain "quantize $name"; return; }
    rm -rf "$work/c"
    "$PITH" export "$work/measured.pith" --c "$work/c" --name kws --target cortex-m4f --input u8 $limit --json >"$work/sizes"
    bytes=$(of_json model_bytes <"$work/sizes") estimate=$(of_json code_bytes <"$work/sizes")
    [ -z "$limit" ] || [ $((bytes + estimate)) -le "${limit#* }" ] || complain "$name: $((bytes + estimate)) bytes, $limit"
    board mps2-an386 "$m4" -Os || { complain "$name: $(cat "$work/run")"; return; }
    code=$(($(size_of "$work/kws.o" 1) - bytes))
    [ $((estimate * 10)) -ge $((code * 8)) ] && [ $((estimate * 10)) -le $((code * 16)) ] ||
        complain "$name: code of $code bytes was estimated as $estimate"
    hold "$name: code -Os" $code $code_most
    hold "$name: RAM" "$(size_of "$work/kws.o" 3)" $ram_most
    board mps2-an386 "$m4" -O2 || { complain "$name: $(cat "$work/run")"; return; }
    instructions=$(number instructions)
    estimates "$name" cortex-m4f
    hold "$name: instructions, Cortex-M4F" "$instructions" $most
    hold "$name: stack" "$(number stack)" 1024 512
    [ "$m0_most" = - ] && return
    ld=$work/mps3.ld
    board mps3-an547 "$m55" -O2 || complain "$name on cortex-m55: $(cat "$work/run")"
    ld=
    rm -rf "$work/c"
    "$PITH" export "$work/measured.pith" --c "$work/c" --name kws --target cortex-m0 --input u8 -q
    board mps2-an385 "$m0" -O2 || { complain "$name: $(cat "$work/run")"; return; }
    m4_instructions=$instructions instructions=$(number instructions)
    estimates "$name" cortex-m0
    hold "$name: instructions, Cortex-M0+" "$instructions" $m0_most
    instructions=$m4_instructions
}
share_of() { # dense instructions, most: of the network measured last, in percent
    hold "$name: instructions in percent of the dense network" $((100 * instructions / $1)) $2 50
}
limit=
exported tiny_kws_dscnn "1 49 10" "8192 5120" "12288 9523" "7700000 5200000" "35000000 25000000"
dense_dscnn=$instructions
exported tiny_ic_resnet8 "3 32 32" "10240 6656" "40960 22528" "29900000 19800000" -
dense_resnet8=$instructions
exported tiny_ad01_ae 640 "4096 2048" "1536 819" "580000 490000" 2000000
exported mnist_lenet5_caffe "1 28 28" "7168 4096" "17408 12288" "5500000 4400000" 16000000
exported tiny_ic_resnet8 "3 32 32" "10240 6656" "40960 22528" 15900000 - prune --pattern balanced:26/128
share_of "$dense_resnet8" 70
exported tiny_kws_dscnn "1 49 10" "8192 5120" "12288 9523" 5400000 30000000 prune --sparsity 80%
share_of "$dense_dscnn" 75
exported tiny_kws_dscnn "1 49 10" "8192 5120" "12288 9523" 9000000 35000000 quantize --weights 4
limit="--flash-limit 35000"
exported tiny_ic_resnet8 "3 32 32" "10240 6656" "40960 22528" 15000000 - prune --pattern balanced:26/128
limit="--flash-limit 62000"
exported tiny_ic_resnet8 "3 32 32" "10240 6656" "40960 22528" 28000000 - quantize --weights 5

# ---- the keyword spotter, sound to class: MLPerf Tiny's network, its features computed on the board ----------------------
keywords=$PITH_DATA/kws
"$python" - "$keywords" "$work/kws01" <<'END' || exit 1
import csv, gzip, sys
import numpy as np
x = np.frombuffer(gzip.open(sys.argv[1] + "/kws01_mfcc_int8.bin.gz").read(), np.int8).reshape(1000, 1, 49, 10)
np.save(sys.argv[2] + ".npy", ((x.astype(np.float32) - 83) * 0.5847029089927673).astype(np.float32))
with open(sys.argv[1] + "/kws01_labels.csv") as f:
    np.array([int(row["class"]) for row in csv.DictReader(f)], np.uint8).tofile(sys.argv[2] + ".labels")
END
spotter() { # program, options of quantize...: a program of samples/mcu with that network
    program=$work/mcu/$1.elf
    shift
    "$PITH" quantize "$PITH_DATA/models/tiny_kws_dscnn.onnx" -d "$work/kws01.npy" --range 0::5 "$@" -q -f -o "$work/spotter.pith" &&
        MAKEFLAGS= ${MAKE:-make} -s -C samples/mcu PITH="$PITH" MAKE_KEYWORDS="$PITH_O/samples/make_keywords" O="$work/mcu" \
            NETWORK="$work/spotter.pith" "$program" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    sound=$(wc -c <"$work/mcu/keywords/test.pcm")
}
spotter exported --weights 4
"$python" - "$work" <<'END' || exit 1
import re, sys
import numpy as np
header = open(sys.argv[1] + "/mcu/export/keywords.h").read()
scale = float.fromhex(re.search(r"KEYWORDS_IN0_SCALE (0x.*)f$", header, re.M).group(1))
zero = int(re.search(r"KEYWORDS_IN0_ZERO \(?(-?[0-9]+)\)?$", header, re.M).group(1))
q = np.clip(np.round(np.load(sys.argv[1] + "/kws01.npy") / np.float32(scale)) + zero, -128, 127).astype(np.int8)
with open(sys.argv[1] + "/samples", "wb") as f:
    f.write(q.tobytes() + open(sys.argv[1] + "/kws01.labels", "rb").read())
END
cc="arm-none-eabi-gcc -std=gnu11 -Os $m4 -ffreestanding -ffp-contract=off"
$cc -c "$work/mcu/export/keywords.c" -o "$work/kws.o" &&
    $cc -I"$work/mcu/export" -DSAMPLES="\"$work/samples\"" -nostdlib -nostartfiles -Wl,--gc-sections -T samples/mcu/mps2.ld \
        samples/mcu/start.c samples/mcu/memory.c $here/keywords_main.c "$work/kws.o" -lgcc -o "$work/kws.elf" &&
    run_on mps2-an386 "$work/kws.elf" "" || { cat "$work/run"; exit 1; }
flash=$(($(size_of "$program" 1) + $(size_of "$program" 2) - sound))
around=$((flash - $(size_of "$work/kws.o" 1))) # features, start-up, main
hold "keyword spotter, weights of 4 bits: flash" $flash 40960 24576
hold "keyword spotter, weights of 4 bits: RAM, with 1,024 bytes of stack" \
    $(($(size_of "$program" 2) + $(size_of "$program" 3) + 1024)) 19456
hold "keyword spotter, weights of 4 bits: wrong of 1,000 on the board" $((1000 - $(number right))) 100

# ---- linked runtime ----------------------------------------------------------------------------------------
spotter linked
hold "linked, operators of tiny_kws_dscnn: code -Os" \
    $(($(size_of "$program" 1) - sound - around - $(wc -c <"$work/spotter.pith"))) 61440 46080
. $here/objects.inc
cc="$cortex_m4f $flags"
objects_of cortex-m4f "$cc"
linked() { # file "work in percent of the need" "planning" "run" "stack" [bytes of memory]
    image_of "$work/$1.pith" >"$work/image.c"
    $cc -DMEMORY_LIMIT="${6:-0}" -nostdlib -nostartfiles -Wl,--gc-sections -T samples/mcu/mps2.ld samples/mcu/start.c \
        samples/mcu/memory.c $here/linked_main.c "$work/image.c" $objects -lgcc -o "$work/net.elf" || exit 1
    run_on mps2-an386 "$work/net.elf" || { complain "$1: $(cat "$work/run")"; return; }
    name="linked $1${6:+, decoded once}"
    hold "$name: bytes of the plan" "$(number need)" "${6:-70000}"
    hold "$name: working memory in percent of the plan" $((100 * $(number work) / $(number need))) $2
    hold "$name: instructions of planning" "$(number load)" $3
    hold "$name: instructions of a run" "$(number run)" $4
    hold "$name: stack of a run" "$(number stack)" $5
}
network() { # name dims...
    name=$1
    shift
    inputs "$work/in.npy" "$@"
    "$PITH" quantize "$PITH_DATA/models/$name.onnx" -d "$work/in.npy" -q -o "$work/$name.pith" || exit 1
}
network tiny_kws_dscnn 1 49 10
network tiny_ic_resnet8 3 32 32
network tiny_ad01_ae 640
linked tiny_kws_dscnn 150 2000000 "12000000 9000000" "1024 512"
linked tiny_ic_resnet8 150 3000000 "38000000 35000000" "1024 512"
linked tiny_ad01_ae 150 4000000 "1000000 700000" "1024 512"
plain=$(number run)
"$PITH" encode "$work/tiny_ad01_ae.pith" --coder huffman -q -o "$work/tiny_ad01_coded.pith" || exit 1
linked tiny_ad01_coded 150 9000000 4600000 "1024 512"
hold "linked tiny_ad01_coded: instructions of a run in percent of plain weights" $((100 * $(number run) / plain)) 500 300
linked tiny_ad01_coded 150 11000000 1000000 "1024 512" 400000

# ---- AArch64, armhf: instructions of a run of MobileNet-v2 -------------------------------------------------
${CC:-gcc} -O1 -shared -fPIC -Wall -Wextra -Werror $here/count_instructions.c -o "$work/count.so" || exit 1
name=imagenet_mobilenet_v2
inputs "$work/in.npy" 3 224 224
"$PITH" quantize "$PITH_DATA/models/$name.onnx" -d "$work/in.npy" --samples 4 --rounding nearest --all-integers -q \
    -o "$work/integers.pith" && "$PITH" encode "$PITH_DATA/models/$name.onnx" -q -o "$work/floats.pith" || exit 1
linux() { # name prefix emulator: compiles the runtime, if the tools are there
    machine=$1 emulator=$3 cc="$2-gcc $vector_flags"
    command -v "$2-gcc" >/dev/null && command -v "$3" >/dev/null || return 1
    vectors_of "$1"
}
mobilenet() { # network kernels most [aim]
    printf '.section .rodata\n.global model_image, model_image_bytes\n.balign 64\nmodel_image: .incbin "%s"\nend: .balign 4\nmodel_image_bytes: .4byte end - model_image\n.section .note.GNU-stack\n' \
        "$work/$1.pith" >"$work/image.S"
    $cc -static "-DCPU_MASK=($2)" $here/run_times.c "$work/image.S" $objects -o "$work/run" || exit 1
    for n in 1 2; do
        "$emulator" -cpu max -plugin "$work/count.so" "$work/run" $n 2>"$work/count.$n" || exit 1
    done
    hold "$machine, MobileNet-v2 in $1: instructions of a run, $2" $(($(cat "$work/count.2") - $(cat "$work/count.1"))) $3 $4
}
if linux aarch64 aarch64-linux-gnu qemu-aarch64; then
    mobilenet integers PITH_CPU_NEON 150000000 120000000
    mobilenet integers "PITH_CPU_NEON|PITH_CPU_DOTPROD" 60000000 45000000
    mobilenet integers "PITH_CPU_NEON|PITH_CPU_DOTPROD|PITH_CPU_I8MM" 60000000 45000000
fi
if linux armhf arm-linux-gnueabihf qemu-arm; then
    mobilenet integers PITH_CPU_NEON 280000000
    mobilenet floats PITH_CPU_NEON 360000000
fi
echo "$figures figures, $above above the aim"
exit $status
