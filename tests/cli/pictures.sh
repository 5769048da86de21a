#!/bin/sh
# SPDX-License-Identifier: MIT
# Pictures fed to a network that stores no preprocessing are warned of; what makes it store some.
. "$(dirname "$0")/sandbox.inc"
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 "$here/make_own_inputs.py" && mv photos.onnx net.onnx || exit 1
warned() { # yes|no
    n=$(grep -c 'warning: the model stores no preprocessing' .err)
    [ "$n" -eq "$([ "$1" = yes ] && echo 1 || echo 0)" ] || complain "$1: $n warnings: $(cat .err)"
}
stores() { pith info --meta "$1" | grep -qx "preprocess: $2" || complain "$1 does not store $2"; }

expect 0 pith import net.onnx -q -o net.pith
expect 2 pith run net.pith picture.png # does not fit as it is
grep -q -- '--preprocess NAME,resize=256,crop=224 makes pictures fit' .err || complain "$(cat .err)"
expect 0 pith run net.pith picture.png --preprocess unit,resize=256,crop=224
warned no

# digits.onnx takes 28 x 28, grey28.png has them.
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 -c '
from make_inputs import png, write
write("grey28.png", png(28, 28, lambda y, x: 9 * y))'
expect 0 pith run digits.onnx grey28.png
warned yes
expect 0 pith run digits.onnx -d grey28.png
warned yes
expect 0 pith quantize digits.onnx -d grey28.png -o q.pith
warned yes
expect 0 pith run digits.onnx grey28.png -q
warned no
expect 0 pith run digits.onnx grey28.png --preprocess raw
warned no
expect 0 pith run sum.onnx -d x.npy --state sum=s
warned no
expect 0 pith import digits.onnx --preprocess raw -q -o raw.pith
expect 0 pith run raw.pith grey28.png
warned no

# compare feeds what is requested, else what the first model stores, else the second: the network of raw
# pixels answers otherwise.
expect 0 pith import digits.onnx --preprocess unit -q -o unit.pith
expect 0 pith prune unit.pith --sparsity 50% -q -o half.pith
expect 0 pith compare digits.onnx half.pith -d grey28.png
warned no
cp .out by_second
expect 0 pith compare unit.pith half.pith -d grey28.png
cp .out by_first
expect 0 pith compare digits.onnx half.pith -d grey28.png --preprocess raw
warned no
cp .out raw
same by_second by_first
cmp -s by_second raw && complain "compare does not heed --preprocess: $(cat raw)"
expect 2 pith compare net.pith net.pith -d picture.png
grep -q -- '--preprocess NAME,resize=256,crop=224 makes' .err || complain "$(cat .err)"
expect 0 pith compare net.pith net.pith -d picture.png --preprocess unit,resize=256,crop=224

expect 0 pith quantize digits.onnx -d grey28.png --preprocess unit -o q.pith -f
warned no
stores q.pith scale=1/255
expect 0 pith quantize raw.pith -d grey28.png --preprocess signed -o q.pith -f
stores q.pith scale=0.007843138,mean=1
expect 0 pith compress raw.pith --preprocess unit -q -o c.pith
stores c.pith scale=1/255
# Labels by file name, in any order; what is wrong with one names the file.
mkdir set
cp grey28.png set/one.png
cp grey28.png set/two.png
printf 'label,file\n3,two.png\n5,one.png\n' >names.csv
expect 0 pith eval digits.onnx -d set --labels names.csv --preprocess unit
printf 'file,label\none.png,1\ntwo.png,12\n' >names.csv
expect 2 pith eval digits.onnx -d set --labels names.csv --preprocess unit
grep -q "two.png has label 12, the model's classes are 0 to 9" .err || complain "$(cat .err)"
expect 2 pith eval digits.onnx -d set --labels names.csv --preprocess unit --range 1:2
grep -q "two.png has label 12, the model's classes are 0 to 9" .err || complain "$(cat .err)"
printf 'file,label\none.png,1\ntow.png,2\n' >names.csv
expect 4 pith eval digits.onnx -d set --labels names.csv
grep -q "names.csv: line 3: no picture 'tow.png' in set" .err || complain "$(cat .err)"
printf 'junk' >set/zz.png
expect 4 pith run digits.onnx -d set --preprocess unit
grep -q 'zz.png: neither PNG nor JPEG' .err || complain "$(cat .err)"

expect 2 pith quantize digits.onnx -d grey28.png --preprocess nothing -o q.pith -f
# a size of its own, and a letterbox: values by hand, as Pillow's Image.resize(BILINEAR) gives them
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 - <<'PY' || exit 1
from make_inputs import field, model, node, png, value, write
for h, w in ((1, 4), (4, 4), (5, 4), (3, 2)):
    write(f"as_is{h}x{w}.onnx", model(node("Relu", ["x"], ["y"], "relu") + field(2, "g") +
                                      value(11, "x", [1, 1, h, w]) + value(12, "y", [1, 1, h, w])))
write("wide.png", png(2, 1, lambda y, x: 200 * x))
write("tall.png", png(1, 3, lambda y, x: 10 + y))
PY
values() { # NETWORK PICTURE SPEC VALUES
    expect 0 pith import "$1.onnx" --preprocess "$3" -f -q -o size.pith
    expect 0 pith run size.pith "$2" -f -o size.npy
    got=$(python3 -c 'import struct; b = open("size.npy", "rb").read(); n = (len(b) - 128) // 4
print(*(f"{v:g}" for v in struct.unpack(f"<{n}f", b[128:])))')
    [ "$got" = "$4" ] || complain "$2 by $3: $got, expected $4"
    stores size.pith "$3"
}
values as_is1x4 wide.png resize=1x4 "0 50 150 200"
values as_is4x4 wide.png resize=4x4 "0 50 150 200 0 50 150 200 0 50 150 200 0 50 150 200"
values as_is4x4 wide.png letterbox=4x4 \
    "114 114 114 114 0 50 150 200 0 50 150 200 114 114 114 114"
values as_is5x4 wide.png letterbox=5x4,pad=7 \
    "7 7 7 7 0 50 150 200 0 50 150 200 7 7 7 7 7 7 7 7"
values as_is3x2 tall.png letterbox=3x2,pad=0 "10 0 11 0 12 0"
expect 2 pith run as_is5x4.onnx wide.png --preprocess letterbox=4x4
grep -q -- '--preprocess .*resize=5x4 makes pictures fit' .err || complain "$(cat .err)"

# One broken picture ends a run with its name and what leaves it out; then it is counted, and the labels stay
# with the others. What is no PNG and no JPEG is called by its format.
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 - <<'END' || exit 1
import os
import struct
from make_inputs import npy, png, write
os.mkdir("some")
rows = b""
for i in range(6):
    shade = [[(11 * i + 3 * x + (5 + i) * y) % 251 for x in range(28)] for y in range(28)]
    data = png(28, 28, lambda y, x: shade[y][x])
    write(f"some/{i}.png", data[:-30] if i in (0, 3) else data)
    rows += b"" if i in (0, 3) else bytes(sum(shade, []))
write("whole.npy", npy("|u1", (4, 1, 28, 28), rows))
for name, head in (("bmp", b"BM"), ("gif", b"GIF89a"), ("tif", b"II*\0"), ("webp", b"RIFF\1\0\0\0WEBP"), ("avif", b"\0\0\0\x20ftypavif")):
    os.mkdir(name)
    write(f"{name}/p.{name}", head.ljust(40, b"\0"))
END
pith run digits.onnx -d whole.npy | cut -f 2 >answers
awk 'BEGIN { print "file,class" } { i = NR + (NR > 2); printf "%d.png,%s\n", i, $1 }
    END { print "0.png,9"; print "3.png,9" }' answers >some/labels.csv
tar cf some.tar -C some .
raw="--preprocess raw"
for d in some some.tar; do
    expect 4 pith eval digits.onnx -d $d $raw
    grep -q '0.png: broken PNG: .*(--skip-broken leaves it out)' .err || complain "$d: $(cat .err)"
    expect 0 pith eval digits.onnx -d $d $raw --skip-broken --json
    grep -q '"samples":4,"top1":1,.*"skipped":2}' .out || complain "$d: labels do not stay: $(cat .out)"
    [ "$(grep -c 'left out: .*[03].png: broken PNG' .err)" -eq 2 ] || complain "$d: names: $(cat .err)"
    [ "$(tail -n 1 .err)" = "skipped 2 pictures that cannot be read" ] || complain "$d: count: $(cat .err)"
    expect 0 pith eval digits.onnx -d $d $raw --skip-broken --range 1:4
    grep -q 'top-1 100.00% (2)' .out || complain "$d: range: $(cat .out)"
    expect 4 pith run digits.onnx -d $d $raw --skip-broken --range 3:4
    grep -q 'none of its pictures can be read' .err || complain "$d: none: $(cat .err)"
done
expect 0 pith run digits.onnx some/*.png $raw --skip-broken
cut -f 2 .out | cmp -s - answers || complain "run of pictures one by one: $(cat .out)"
for command in check compare\ digits.onnx calibrate quantize sense compress "train --batch 8"; do
    set -- pith ${command%% *} digits.onnx -d some $raw -o made.pith -f
    case $command in
    compare*) set -- pith compare digits.onnx digits.onnx -d some $raw ;;
    check | sense) set -- pith $command digits.onnx -d some $raw ;;
    train*) set -- pith train digits.onnx -d some $raw -o made.pith -f --batch 8 ;;
    esac
    "$@" --skip-broken >.out 2>.err
    [ "$(tail -n 1 .err)" = "skipped 2 pictures that cannot be read" ] || complain "$command: count: $(cat .err)"
done
for f in bmp gif tif webp avif; do
    name=$(echo $f | tr a-z A-Z | sed 's/TIF/TIFF/; s/WEBP/WebP/')
    for d in "$f/p.$f" "-d $f/p.$f"; do
        expect 5 pith run digits.onnx $d
        grep -q "p.$f: the picture is $name; pith reads PNG and JPEG: convert it first" .err || complain "$d: $(cat .err)"
    done
    expect 5 pith run digits.onnx -d $f
    grep -q "$f: no .png or .jpg in it, but p.$f: convert" .err || complain "$f: $(cat .err)"
done
cp webp/p.webp some
expect 0 pith run digits.onnx -d some $raw --skip-broken
grep -q 'some: 1 picture left out (p.webp); pith reads PNG and JPEG' .err || complain "webp among others: $(cat .err)"
finish
