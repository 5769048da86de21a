#!/bin/sh
# SPDX-License-Identifier: MIT
# Every allocation of each command fails, once alone and once with all that follow: exit 6 with one
# message, no output but an error in JSON where that was requested, never a crash. PITH_STEP=1 tries every one; the default tries every 7th.
. "$(dirname "$0")/sandbox.inc"
nm -u "$PITH" | grep -q __asan_init && { echo "AddressSanitizer brings a heap of its own"; exit 77; }
${CC:-cc} -O1 -shared -fPIC "$here/fail_alloc.c" -o fail_alloc.so || { echo "no shared library can be made"; exit 77; }
gzip -k images-idx3-ubyte labels-idx1-ubyte
step=${PITH_STEP:-7}
: >out >err >whole.out >whole
cat >recipe.json <<'EOF'
{"pith": 1, "stages": [{"do": "prune", "sparsity": 0.5, "layers": {"f*": 0.6}},
 {"do": "cluster", "bits": 3}, {"do": "encode"}]}
EOF

# standard output is empty, or results of a sweep until then, or with --json one object that is an error
says_error_alone() {
    [ ! -s out ] || ! grep -qv '^{"pith":1,"spec":.*}$' out || { [ "$(wc -l <out)" -eq 1 ] && grep -q '^{"pith":1,"error":{"exit":6,' out; }
}

# no temporary file either: the folder holds what it held before, and what this test writes itself
entries() { echo ./* ./.[!.]*; }
nothing_new() {
    rm -f mark
    now=$(entries)
    [ "$now" = "$before" ] || complain "$output: left behind: $(echo "$before" "$now" | tr ' ' '\n' | sort | uniq -u)"
}

# exhaust COUNT OUTPUT COMMAND...: COUNT refusals in a row ("": all that follow)
exhaust() {
    count=$1 output=$2 at=0
    shift 2
    rm -f mark ${output:+"$output"}
    before=$(entries)
    while :; do
        rm -f mark ${output:+"$output"}
        env FAIL_AT=$at ${count:+FAIL_COUNT=$count} FAIL_MARK=mark LD_PRELOAD=./fail_alloc.so \
            "$@" >out 2>err </dev/null
        code=$?
        [ -e mark ] || break
        at=$((at + step))
        # a call may get by without: then what it wrote is what it writes with memory
        if [ $code -eq 0 ]; then
            [ -z "$output" ] || same "$output" whole
            continue
        fi
        [ $code -eq 6 ] || complain "$*: allocation $((at - step)), count '$count': exit $code: $(cat err)"
        [ "$(wc -l <err)" -eq 1 ] || complain "$*: allocation $((at - step)): $(cat err)"
        says_error_alone || complain "$*: allocation $((at - step)) failed and it printed: $(head -c 200 out)"
        [ -z "$output" ] || absent "$output"
        nothing_new
    done
    [ $code -eq 0 ] || complain "$*: exit $code with memory: $(cat err)"
    [ $at -gt 0 ] || complain "$*: nothing failed"
}
both() {
    output=$1
    shift
    [ -z "$output" ] || rm -f "$output"
    "$@" >whole.out 2>err </dev/null || complain "$*: $(cat err)"
    [ -z "$output" ] || mv "$output" whole
    exhaust "" "$output" "$@"
    exhaust 1 "$output" "$@"
}

both net.pith pith compress good.onnx --sparsity 0.5 --bits 3 -q -o net.pith
both net.pith pith compress good.onnx -r recipe.json -q -o net.pith
pith compress digits.onnx --sparsity 0.5 --bits 3 -q -o digits.pith || exit 1
both ints.pith pith quantize good.onnx -d rows.npy --weights 4 -q -o ints.pith
pith quantize good.onnx -d rows.npy -q -o eight.pith || exit 1
both ints.onnx pith decode eight.pith --to onnx -q -o ints.onnx
both coded.pith pith encode digits.pith --coder adaptive -q -o coded.pith
both coded.pith pith encode eight.pith --for size -q -o coded.pith
both "" pith info digits.pith --json
both "" pith eval good.onnx -d images-idx3-ubyte.gz --json
both "" pith check odd.onnx --json
both "" pith run sum.onnx -d x=wav:2:2:five.wav --state sum=s@first.npy --json
both out.npy pith run sum.onnx -d pairs.npy --state sum=s -q -o out.npy
both looked_up.npy pith run ids.onnx table.npy ids=ids.npy --dump look=looked_up.npy --json
cat >spec.json <<'EOF'
{"pith": 1, "sweep": {"stages.0.bits": [2, 4]}, "stages": [{"do": "cluster"}, {"do": "encode"}]}
EOF
# and every other command, in larger steps where there are thousands
both plain.pith pith import good.onnx -q -o plain.pith
both few.pith pith prune good.onnx --sparsity 0.5 -q -o few.pith
both ranges.pith pith calibrate good.onnx -d rows.npy -q -o ranges.pith
both back.pith pith decode net.pith -q -o back.pith
both net.plan pith plan digits.pith -q -o net.plan
both "" pith sense good.onnx -d images-idx3-ubyte --bits 2 --samples 1 --json
both w.png pith weights good.onnx --layer fc -q -o w.png
both "" pith recipe show net.pith
both "" pith recipe lint recipe.json
both "" pith ops --json
both "" pith help compress
both "" pith help exit-codes
both "" pith version --json
both "" pith completion bash
all=$step step=$((step * 3))
both page.html pith report few.pith --vs good.onnx -d images-idx3-ubyte -q -o page.html
both "" pith bench digits.pith --time 0.01 -T 1 --json
step=$((step * 20)) # a plan for every number that a kernel may have
both "" pith tune digits.pith --time 0.1 -T 1 --json
step=$((all * 3))
both new.pith pith init lenet300 -q -o new.pith
both few.pith pith cluster good.onnx --bits 2 -q -o few.pith
both "" pith sweep spec.json good.onnx -d images-idx3-ubyte -T 1 -q
step=$all
# a picture that libpng or libjpeg (a progressive one) had no memory for is not a broken picture
base64 -d >one.jpg <<'EOF'
/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1tdhbWGkJ6jq62rZ4C8yb
qmx5moq6T/wgALCAAcABwBAREA/8QAGAAAAwEBAAAAAAAAAAAAAAAAAAMFBAL/2gAIAQEAAAABmPVyU8KinhUAf//EABsQAAICAwEAAAAAAAAA
AAAAAAADAQQQETMg/9oACAEBAAEFAhapYTGpxTG9cUxvXz//xAAcEAACAgIDAAAAAAAAAAAAAAAAAgEQEXEgIVH/2gAIAQEABj8CJxjomPLcbd
uNvl//xAAeEAACAQMFAAAAAAAAAAAAAAAAAcEQobERICExYf/aAAgBAQABPyE5tT0Oe9tpWKS55rFJc87v/9oACAEBAAAAEAAA/8QAGxABAAID
AQEAAAAAAAAAAAAAARFRACAx8EH/2gAIAQEAAT8Qz5/EzTs0NY7IoSckY0rxbaV4ttv/2Q==
EOF
pith import digits.onnx --preprocess scale=1/255,resize=28,crop=28 -q -o pictures.pith || exit 1
all=$step step=1
both "" pith run pictures.pith grey.png --json
both "" pith run pictures.pith one.jpg --json
both rows.npy pith run pictures.pith grey.png one.jpg -q -o rows.npy
pith init lenet300 -q -o lenet.pith && "$PITH_O/samples/make_digits" small 16 1 || exit 1
step=$((all * 30))
both trained.pith pith train lenet.pith -d small/train-images-idx3-ubyte --preprocess scale=1/255 --range 0:8 --batch 8 --epochs 1 -T 1 -q -o trained.pith
step=$all
step=$all
both "" pith compare digits.onnx digits.onnx --first --tol bits --samples 1 --json
finish
