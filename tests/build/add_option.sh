#!/bin/sh
# SPDX-License-Identifier: MIT
# An option of training is one row, one member and the line that reads it: add_option.patch adds one
# that has no use, in a copy of the tree. Built there, it is set by --set and by a recipe, refused where it
# does nothing, listed in the help, and it changes what is trained. So is a goal of compress, by add_goal.patch.
top=$(cd "$(dirname "$0")/../.." && pwd)
case ${PITH_O##*/} in
release) ;;
*) echo "built once, for release"; exit 77 ;;
esac
[ -x "$PITH" ] || { echo "PITH does not name the command"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
status=0
complain() { echo "$*"; status=1; }
cd "$top" || exit 1

# The sources, and what is built of them: make then compiles what the patch touches.
find . \( -path ./build -o -path ./.git -o -path ./docs -o -name __pycache__ \) -prune -o -type f -print0 |
    xargs -0 cp -a --parents -t "$work" || exit 1
mkdir -p "$work/build/release"
for part in "$PITH_O"/*; do
    case ${part##*/} in
    tests | include | bench | python) ;;
    *) cp -a "$part" "$work/build/release/" ;;
    esac
done
cd "$work" || exit 1
for patch in add_option add_goal; do
    [ "$(grep -c '^diff ' "$top/tests/build/$patch.patch")" -eq 3 ] || complain "$patch.patch is of more than three files"
done
command -v patch >/dev/null || { echo "no patch(1)"; exit 77; }
for patch in add_option add_goal; do
    patch -p1 -s <"$top/tests/build/$patch.patch" || { echo "$patch.patch does not apply"; exit 1; }
done
# Links to headers first, then what the patches touch, and nothing else: the flags (-o) name the folder that is compiled in, and
# so may .d files. -O0: two runs of this program are compared, and speed does not matter. NVCC=: no
# kernels for a GPU, which would be compiled anew for minutes.
find build -name '*.d' -exec sed -i "s|$top/||g" {} +
build() { ${MAKE:-make} -s CC="${CC:-gcc}" CFLAGS=-O0 NVCC= -o build/release/flags "$1" >make.log 2>&1 || { cat make.log; exit 1; }; }
build build/release/include/made
build build/release/pith
pith=$work/build/release/pith

"$pith" help train-advanced | grep -q '^  rate_part=SHARE .*; default 1$' || complain "not in the help"
"$pith" help --man pith-train | grep -q '^.It rate_part=SHARE' || complain "not in the manual page"
"$pith" completion bash | grep -q ' rate_part=' || complain "not completed"
recipe() { echo '{"pith":1,"stages":[{"do":"train",'"$1"'}]}' | "$pith" recipe lint 2>&1; }
recipe '"optimizer":"sgd","rate_part":0.5' | grep -q '"rate_part": 0.5' || complain "a recipe does not keep it"
recipe '"rate_part":0.5' | grep -q "'rate_part' needs 'optimizer' sgd" || complain "a recipe takes it where it does nothing"
recipe '"optimizer":"sgd","rate_part":2' | grep -q "'rate_part' must be a number in 0..1" || complain "a recipe takes 2"

"$PITH_O/samples/make_digits" digits 64 8 >/dev/null
train() {
    "$pith" train --init digits --preprocess scale=1/255 -d digits/train-images-idx3-ubyte --batch 32 --epochs 1 \
        --optimizer sgd -T 1 -q -f "$@" 2>message
}
train -o whole.pith --lr 0.05 || complain "does not train: $(cat message)"
train -o part.pith --lr 0.1 --set rate_part=0.5 || complain "is not set: $(cat message)"
"$pith" encode whole.pith -q -o a.pith --for size && "$pith" encode part.pith -q -o b.pith --for size
cmp -s a.pith b.pith || complain "half of twice the rate is not the rate"
train -o twice.pith --lr 0.1 && "$pith" encode twice.pith -q -o c.pith --for size
cmp -s a.pith c.pith && complain "the rate does not matter"
"$pith" train --init digits -d digits/train-images-idx3-ubyte --rate-part 0.5 2>&1 | grep -q -e '--set rate_part=SHARE' ||
    complain "--rate-part is refused without naming --set"

"$pith" help compress | grep -q -e '--max-nodes N ' || complain "the goal is not in the help"
"$pith" completion bash | grep -q -e ' --max-nodes' || complain "the goal is not completed"
goal() { echo '{"pith":1,"goal":{'"$1"'},"stages":[{"do":"encode"}]}'; }
goal '"max_drop":"1%","max_nodes":9' | "$pith" recipe lint | grep -q '"max_nodes": 9' || complain "a recipe does not keep the goal"
goal '"max_nodes":9' | "$pith" recipe lint 2>&1 | grep -q "'max_nodes' needs 'max_drop'" || complain "a recipe takes the goal alone"
goal '"max_drop":"1%","max_nodes":99' >goal.json
reached() { "$pith" compress whole.pith -d digits/train-images-idx3-ubyte -q -f -o goal.pith "$@" 2>message; }
reached --bits 8 --max-drop 90% --max-nodes 1 && complain "more nodes than the goal are no miss"
reached --bits 8 --max-drop 90% --max-nodes 99 || complain "the goal is missed: $(cat message)"
reached -r goal.json || complain "the recipe's goal is missed: $(cat message)"
reached -r goal.json --max-drop 90% --max-nodes 1 && complain "the command's goal does not win over the recipe's"
exit $status
