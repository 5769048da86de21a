#!/bin/sh
# SPDX-License-Identifier: MIT
# The commands of docs/commands.md for your own network, typed: they must end well with the files they name, generated
# ones and, where $PITH_DATA is, ResNet-20 with 80 pictures of CIFAR-10. tests/samples/demo.sh types the others.
. "$(dirname "$0")/sandbox.inc"
mkdir typed && cd typed || exit 1
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 "$here/make_own_inputs.py" || exit 1

sed -n '/^## Your own network/,/^## Training/p' "$root/docs/commands.md" | sed -n '/^```sh$/,/^```$/{/^```/d;p}' >commands
[ "$(grep -c '^pith ' commands)" -ge 6 ] || complain "docs/commands.md has no commands for your own network"

# type_all [NOT]: runs all commands that do not name NOT.
type_all() {
    # shellcheck disable=SC2162
    while IFS= read line; do
        case $line in *"${1:-no such word}"*) continue ;; esac
        sh -c "$line" >>out 2>>err </dev/null || complain "$line: exit $?: $(tail -3 err)"
    done <commands
}
# What compress ends with: at least that share of the samples is put into the same class, and the file
# is so many times smaller.
ends_with() {
    sed -n 's/^photos.*: \([0-9.]*\)x smaller.*/\1/p' err | tail -n 1 >ended
    sed -n 's/.*agreement \([0-9.]*\) %.*/\1/p' err | tail -n 1 >>ended
    paste -s ended >both
    awk -v ratio="$1" -v share="$2" 'END { exit !(NF == 2 && $1 >= ratio && $2 >= share) }' both ||
        complain "compress: $(cat ended): expected $1x and $2%"
}

mkdir pictures
tar xf val.tar -C pictures
type_all
ends_with 4 90
[ "$(pith run photos.pith picture.png --top 1 | cut -f1)" = 1 ] || complain "picture.png is not classified as green"
pith info --meta photos.pith | grep -q '^preprocess: scale=1/255,mean=0.485:.*resize=256,crop=224' ||
    complain "compress does not store the preprocessing"
for f in outputs/hidden.npy outputs/pooled.npy p.npy; do [ -s $f ] || complain "no $f"; done
grep -q warning err && complain "a warning: $(grep warning err)"

# The same with ResNet-20 and pictures that it has its classes of.
if [ -d "$PITH_DATA/cifar10" ]; then
    cifar=scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225
    rm -rf photos.pith plain.pith p.npy out err pictures
    ln -sf "$PITH_DATA/models/cifar10_resnet20.onnx" photos.onnx
    mkdir pictures all
    tar xzf "$PITH_DATA/cifar10/test_jpeg.tar.gz" -C all
    find all -name '*.jpg' | sort | sed -n 1~125p >names # 80, as many of each class
    while read -r name; do mv "$name" "pictures/$(echo "$name" | tr / _)"; done <names
    rm -r all
    cp pictures/*airplane_0000.jpg picture.png
    sed "s|--preprocess imagenet|--preprocess $cifar|" commands >those
    mv those commands
    type_all bert
    ends_with 7 80
    pith import photos.onnx --preprocess $cifar -q -o was.pith
    [ "$(pith run photos.pith picture.png --top 1 | cut -f1)" = "$(pith run was.pith picture.png --top 1 | cut -f1)" ] ||
        complain "picture.png is classified as something else"
fi
cd ..
finish
