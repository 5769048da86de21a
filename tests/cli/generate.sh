#!/bin/sh
# SPDX-License-Identifier: MIT
# pith generate: prompts as ids and as text, what is drawn, and what is refused. Behind token i of next.onnx comes
# 3 i + 1, modulo 8.
. "$(dirname "$0")/sandbox.inc"

says() { # WANTED COMMAND...: what it prints
    wanted=$1
    shift
    got=$("$@" 2>.err) && [ "$got" = "$wanted" ] || complain "$*: '$got' instead of '$wanted': $(cat .err)"
}
refuses() { # EXIT WORDS COMMAND...
    code=$1 words=$2
    shift 2
    expect "$code" "$@"
    grep -qF -- "$words" .err || complain "$*: '$(cat .err)' does not say '$words'"
}

expect 0 pith import next.onnx -o next.pith
expect 0 pith import next.onnx --class-names letters.txt -o letters.pith
says "4 5 0 1 4" pith generate next.pith --ids prompt.npy -n 5
says "4 5 0" pith generate next.pith --ids prompt.npy -n 50 --stop 0
says '\fab\' pith generate letters.pith --text hb -n 5
says a pith generate letters.pith --text "$(printf '\nhf')" -n 1 --top-k 1 --temperature 9
expect 0 pith generate next.pith --ids prompt.npy -n 3 -o tokens.npy
python3 -c 'import struct; assert struct.unpack("<5q", open("tokens.npy", "rb").read()[-40:]) == (5, 1, 4, 5, 0)' || status=1
drawn=$(pith generate next.pith --ids prompt.npy --temperature 3 --seed 5 2>.err)
says "$drawn" pith generate next.pith --ids prompt.npy --temperature 3 --seed 5 -T 1
[ "$(pith generate next.pith --ids prompt.npy --temperature 3 --seed 6 2>.err)" != "$drawn" ] ||
    complain "seeds draw alike"
pith generate next.pith --ids prompt.npy -n 4 --json 2>.err | grep -q '"prompt":2,"ids":\[4,5,0,1\]' ||
    complain "--json has other tokens"
refuses 2 "--ids FILE or --text TEXT" pith generate next.pith
refuses 2 "--ids FILE or --text TEXT" pith generate letters.pith --ids prompt.npy --text a
refuses 2 "class names of one character each" pith generate next.pith --text a
refuses 2 "no class is named by the character 'z'" pith generate letters.pith --text aza
refuses 2 "token 0 of the prompt is 8" pith generate letters.pith --ids strange.npy
refuses 2 "not OUT=IN" pith generate next.pith --ids prompt.npy --state logits=nothing
refuses 2 "not NAME=FILE" pith generate next.pith --ids prompt.npy other=x.npy
refuses 2 "the ids are the prompt" pith generate next.pith --ids prompt.npy ids=prompt.npy
refuses 5 "no input takes token ids" pith generate good.onnx --ids prompt.npy
expect 4 pith generate next.pith --ids letters.txt
finish
