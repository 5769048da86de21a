#!/bin/sh
# SPDX-License-Identifier: MIT
# pith export: what it writes, twice the same; what it refuses with a sentence, and then nothing is there.
. "$(dirname "$0")/sandbox.inc"
refused() { # exit text command...
    exit=$1 text=$2
    shift 2
    "$@" >out 2>err
    rc=$?
    [ $rc -eq "$exit" ] || complain "$*: exit $rc, not $exit: $(cat err)"
    grep -q -e "$text" err || complain "$*: $(cat err)"
    [ "$(wc -l <err)" -eq 1 ] || complain "$*: $(cat err)"
}
pith export digits.onnx --c a --name digits -q || complain "digits.onnx is not exported"
pith export digits.onnx --c b --name digits -q
diff -r a b || complain "two exports differ"
[ "$(ls a | tr '\n' ' ')" = "CMakeLists.txt Makefile digits.c digits.h digits_selftest.c " ] || complain "files: $(ls a)"
(cd a && ${CC:-gcc} -std=c99 -O1 -ffp-contract=off -DDIGITS_MAIN digits.c digits_selftest.c -o run && ./run) >out ||
    complain "the self-test fails: $(cat out)"
sed -i 's/^static const float expected0.*/&\n{1.0f},/' a/digits_selftest.c
(cd a && ${CC:-gcc} -w -std=c99 -O1 -ffp-contract=off -DDIGITS_MAIN digits.c digits_selftest.c -o run && ./run) >out &&
    complain "the self-test cannot fail"
(umask 027 && pith export digits.onnx --c modes -q)
[ "$(stat -c %a modes modes/net.c | tr '\n' ' ')" = "750 640 " ] || complain "modes: $(stat -c '%a %n' modes modes/*)"
refused 3 "'a' exists" pith export digits.onnx --c a
refused 3 "cannot make" pith export digits.onnx --c nowhere/a
refused 2 "where to" pith export digits.onnx
refused 2 "identifier" pith export digits.onnx --c c --name 2net
refused 2 "identifier" pith export digits.onnx --c c --name 'a b'
refused 2 "identifier" pith export digits.onnx --c c --name while
refused 2 "does not quantize" pith export digits.onnx --c c --input u8
refused 2 "cortex-m9" pith export digits.onnx --c c --target cortex-m9
refused 2 "limit of 100 bytes: .* takes about [0-9]*$" pith export digits.onnx --c c --flash-limit 100
refused 2 "i16" pith export digits.onnx --c c --input i16
refused 2 "heap" pith export digits.onnx --c c --arena heap
refused 5 "layer 'turn': Sign" pith export long.onnx --c c
figures() { grep -o '"model_bytes":[0-9]*,"code_bytes":[0-9]*,"arena_bytes":[0-9]*' | head -1; }
[ "$(pith info digits.onnx --target cortex-m0 --json | figures)" = "$(pith export digits.onnx --c c -n --target cortex-m0 --json | figures)" ] ||
    complain "info --target has other figures: $(pith info digits.onnx --target cortex-m0 --json | figures)"
pith info long.onnx --target cortex-m4f >out || complain "info fails where export refuses"
grep -q "^not exported: layer 'turn': Sign" out || complain "no reason: $(cat out)"
pith export digits.onnx --c c -n -q || complain "a dry run fails"
[ -e c ] && complain "a folder was made"
ls -d c.* 2>/dev/null && complain "a temporary folder is left"
finish
