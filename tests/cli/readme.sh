#!/bin/sh
# SPDX-License-Identifier: MIT
# README's first screen, typed: the commands are taken from README itself and must end well with the
# files they name, generated ones and, where $PITH_DATA is, MobileNet-v2 with pictures of ImageNet.
. "$(dirname "$0")/sandbox.inc"
mkdir -p typed/build/release
ln -s "$PITH" typed/build/release/pith
cd typed || exit 1
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 "$here/make_readme_inputs.py" || exit 1

# A command a line; what ends with \ goes on in the next, which read joins.
sed -n '/^With your own network:/,/^## /s/^    //p' "$root/README.md" >commands
[ "$(grep -c '^build/release/pith' commands)" -ge 6 ] || complain "README's first screen has no commands"

# type_all [NOT]: runs all commands that do not name NOT.
type_all() {
    # shellcheck disable=SC2162
    while IFS= read line; do
        case $line in *"${1:-no such word}"*) continue ;; esac
        sh -c "$line" >>out 2>>err </dev/null || complain "$line: exit $?: $(tail -3 err)"
    done <commands
}
# top1 WHAT: "before" or "after", in percent, of the line that compress ends with.
top1() {
    case $1 in
    before) sed -n 's/.*smaller  top-1 .* (was \([0-9.]*\)%.*/\1/p' err ;;
    after) sed -n 's/.*smaller  top-1 \([0-9.]*\)%.*/\1/p' err ;;
    esac
}
close() { # worse by at most 1 %
    awk -v a="$(top1 before)" -v b="$(top1 after)" -v least="$1" \
        'BEGIN { exit !(a >= least && b >= a - 1) }' ||
        complain "compress: top-1 $(top1 after)%, was $(top1 before)%"
}

for net in bert vad; do expect 0 pith import $net.onnx -q -o $net.pith; done
type_all
close 90
[ "$(pith run net.pith picture.png --top 1 | cut -f1)" = 1 ] || complain "picture.png is not told to be green"
pith info --meta net.pith | grep -q '^preprocess: scale=1/255,mean=0.485:.*resize=256,crop=224' ||
    complain "compress does not store the preprocessing"
for f in outputs/hidden.npy outputs/pooled.npy p.npy; do [ -s $f ] || complain "no $f"; done
grep -q warning err && complain "a warning: $(grep warning err)"

if [ -d "$PITH_DATA/imagenet" ]; then
    rm -f net.pith p.npy out err
    ln -sf "$PITH_DATA/models/imagenet_mobilenet_v2.onnx" net.onnx
    ln -sf "$PITH_DATA/imagenet/imagenet_a500.tar" val.tar
    ln -sf "$PITH_DATA/imagenet/labels.csv" labels.csv
    tar xOf val.tar 000_n01440764.jpg >picture.png
    type_all bert
    close 80
    [ "$(pith run net.pith picture.png --top 1 | cut -f1)" = 0 ] || complain "picture.png is no tench"
fi
cd ..
finish
