#!/bin/sh
# SPDX-License-Identifier: MIT
# demo.sh [PAGE...]: the demo runs, and its results are what it says. README, docs/commands.md and the tutorials are
# typed on the files that it leaves, word for word and in order (type_page.py); they print what they say. (Commands for
# your own network: tests/cli/own_network.sh.)
top=$(pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
mkdir -p "$work/build/release"
ln -s "$PITH" "$work/build/release/pith"
ln -s "$PITH_O/samples" "$work/build/release/samples"
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
cp -r "$demo" "$work/left"
# Pages are typed on fewer pictures, which take less time to learn.
rm -r "$work/left/digits" && "$PITH_O/samples/make_digits" "$work/left/digits" 2400 800 >/dev/null || exit 1
# The last lines are commands that work.
sed -n '/^The files are in .* Next:$/,$s/^    //p' "$work/out" >"$work/next"
[ "$(wc -l <"$work/next")" -eq 2 ] || { echo "the demo names no next commands"; tail -4 "$work/out"; exit 1; }
sed '$s/$/ --range 0:100/' "$work/next" | sh -e >"$work/log" 2>&1 && [ -s "$demo/net.pith" ] || { cat "$work/next" "$work/log"; exit 1; }

"$PITH" init digits -q -o "$work/digits.pith" && "$PITH" decode "$work/digits.pith" --to onnx -q -o "$work/digits.onnx" || exit 1
MODEL=$work/digits.onnx DATA=$demo/digits/test-images-idx3-ubyte DEMO_DIR=$demo \
    sh samples/demo.sh >"$work/out" 2>"$work/err" || {
    cat "$work/out" "$work/err"
    exit 1
}
grep -q '^encoded.pith .*x ' "$work/out" || { echo "unexpected table:"; tail -10 "$work/out"; exit 1; }

python=$PITH_VENV/bin/python3
"$python" -c 'import numpy, onnx' 2>/dev/null || python=
mkdir "$work/bin" "$work/wheel"
if [ -n "$python" ]; then # Python's package as its wheel has it
    ${MAKE:-make} -s wheel BUILD="$(dirname "$PITH_O")" >"$work/path" || exit 1
    "$python" -m zipfile -e "$(tail -n 1 "$work/path")" "$work/wheel" && chmod +x "$work/wheel/pith/pith" || exit 1
    printf '#!/bin/sh\nPYTHONDONTWRITEBYTECODE=1 PYTHONPATH=%s exec %s "$@"\n' "$work/wheel" "$python" >"$work/bin/python3"
    chmod +x "$work/bin/python3"
fi
export PATH="$work/bin:$PATH" BUILD="$(dirname "$PITH_O")" REAL_MAKE="${MAKE:-make}" PITH MAKE_KEYWORDS="$PITH_O/samples/make_keywords"

status=0
complain() { echo "$*"; status=1; }
[ $# -gt 0 ] || set -- README.md docs/commands.md docs/tutorial/*.md
for page; do
    name=$(basename "$page" .md)
    case $name in
    2-*) command -v arm-none-eabi-gcc >/dev/null && command -v qemu-system-arm >/dev/null || { echo "$page: no board"; continue; } ;;
    4-*) command -v cmake >/dev/null && [ -n "$python" ] || { echo "$page: no cmake or numpy"; continue; } ;;
    5-*) [ -n "$python" ] || { echo "$page: no onnx from PyPI"; continue; } ;;
    esac
    mkdir -p "$work/$name/build"
    cp -r "$work/left" "$work/$name/build/demo"
    ln -s "$top/samples" "$work/$name/" && ln -s "$work/build/release" "$work/$name/build/release"
    (cd "$work/$name" && python3 "$top/tests/samples/type_page.py" "$top/$page" "$top" "Your own network") >"$work/$name.out" 2>&1 ||
        complain "$(tail -c 3000 "$work/$name.out")"
    lines=$(wc -l <"$page")
    [ "$lines" -le 120 ] || complain "$page: $lines lines"
done
awk 'length > 100 { print "README.md: line " NR " is longer than 100"; n++ } END { exit n > 0 }' README.md || status=1
in_demo() { [ ! -d "$work/$1" ] || [ -s "$work/$1/build/demo/$2" ] || complain "$1 makes no $2"; }
in_demo README net.pith
for file in tiny thin piped int8; do in_demo commands $file.pith; done
[ ! -d "$work/commands" ] || [ "$(wc -l <"$work/commands/build/demo/results.jsonl")" -eq 4 ] || complain "the sweep has no four results"
[ ! -d "$work/README" ] || grep -q '^7' "$work/README.out" || complain "README's picture of a 7 is not classified as 7"
exit $status
