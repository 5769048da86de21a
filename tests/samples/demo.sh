#!/bin/sh
# SPDX-License-Identifier: MIT
# The demo and the batch script run, and their results are what they say. README's commands are typed on the
# files that the demo leaves, word for word and in order (those for your own network: tests/cli/readme.sh).
top=$(pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
mkdir -p "$work/build/release"
ln -s "$PITH" "$work/build/release/pith"
demo=$work/build/demo
MAKE_DIGITS=$PITH_O/samples/make_digits DEMO_DIR=$demo sh samples/demo.sh >"$work/out" 2>"$work/err" || {
    cat "$work/out" "$work/err"
    exit 1
}
awk '
    $1 == "dense.pith" && $4 >= 99 { dense = 1 }
    $1 == "encoded.pith" && $2 < 45000 && $4 >= 98 { encoded = 1 }
    $1 == "small.pith" && $2 < 8000 && $4 >= 98 { small = 1 }
    /^stage by stage$/ && !small && !encoded { apart++ }
    /^in one training$/ && encoded && !small { apart++ }
    END { exit !(dense && encoded && small && apart == 2) }' "$work/out" || { echo "unexpected table:"; tail -15 "$work/out"; exit 1; }
# The last lines are commands that work.
sed -n '/^The files are in .* Next:$/,$s/^    //p' "$work/out" >"$work/next"
[ "$(wc -l <"$work/next")" -eq 2 ] || { echo "the demo names no next commands"; tail -4 "$work/out"; exit 1; }
sh -e "$work/next" >"$work/log" 2>&1 && [ -s "$demo/net.pith" ] || { cat "$work/next" "$work/log"; exit 1; }

# block KIND [N]: README's N-th fenced block of that kind, or all of them
block() {
    sed '/^## Your own network/,/^## Training/d' README.md |
        awk -v kind="\`\`\`$1" -v n="$2" '/^```/ { on = $0 == kind; k += on; next } on && (n == "" || k == n)'
}
block json 1 >"$demo/recipe.json"
block json 2 >"$demo/grid.json"
block sh >"$work/typed"
[ "$(grep -c '^pith ' "$work/typed")" -ge 12 ] || { echo "README has too few commands"; exit 1; }
rm "$demo/net.pith"
cd "$work" || exit 1
while read -r line; do
    eval "$line" >>"$work/typed.out" 2>>"$work/typed.err" </dev/null || {
        echo "README: $line: exit $?"
        tail -5 "$work/typed.err"
        exit 1
    }
done <"$work/typed"
for file in net tiny thin piped int8; do [ -s "$demo/$file.pith" ] || { echo "README's commands made no $file.pith"; exit 1; }; done
[ "$(wc -l <"$demo/results.jsonl")" -eq 4 ] || { echo "README's sweep has no four results"; exit 1; }
grep -q '^7' "$work/typed.out" || { echo "README's picture of a 7 is not classified as 7"; exit 1; }
cd "$top" || exit 1

echo "no network" >"$work/bad.onnx"
"$PITH" init digits -q -o "$work/digits.pith" && "$PITH" decode "$work/digits.pith" --to onnx -q -o "$work/digits.onnx" || exit 1
MODEL=$work/digits.onnx DATA=$demo/digits/test-images-idx3-ubyte DEMO_DIR=$demo \
    sh samples/demo.sh >"$work/out" 2>"$work/err" || {
    cat "$work/out" "$work/err"
    exit 1
}
grep -q '^encoded.pith .*x ' "$work/out" || { echo "unexpected table:"; tail -10 "$work/out"; exit 1; }
if sh samples/batch.sh "$work/batch" "$work/digits.onnx" "$work/bad.onnx" >"$work/out" 2>"$work/err"; then
    echo "batch.sh hid a failure"
    exit 1
fi
[ -s "$work/batch/digits.pith" ] && [ ! -e "$work/batch/bad.pith" ] && grep -q "failed:.*bad.onnx" "$work/err"
