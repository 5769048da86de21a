#!/bin/sh
# SPDX-License-Identifier: MIT
# On a terminal: models neither to nor from it, progress bars only there, control characters of
# foreign names never.
command -v script >/dev/null || { echo "no script"; exit 77; }
script -qec true /dev/null >/dev/null 2>&1 </dev/null || { echo "no terminal can be made"; exit 77; }
. "$(dirname "$0")/sandbox.inc"
# on_terminal CODE COMMAND: stdin, stdout and stderr are a terminal; .out is what it shows.
on_terminal() {
    wanted=$1
    script -qec "$2" /dev/null >.out 2>&1 </dev/null
    got=$?
    [ $got -eq "$wanted" ] || complain "$2: exit $got on a terminal, expected $wanted: $(cat .out)"
}
shows() { grep -q "$1" .out || complain "'$1' is missing in: $(cat .out)"; }
hides() { ! grep -q "$1" .out || complain "'$1' is shown in: $(cat .out)"; }

pith import good.onnx -q -o good.pith
on_terminal 2 'pith import good.onnx'
shows 'refusing to write a model to the terminal'
on_terminal 2 'pith import good.onnx -o -'
shows 'refusing to write'
on_terminal 2 'pith prune --sparsity 0.5 -o a.pith'
shows 'refusing to read a model from the terminal'
absent a.pith
on_terminal 0 'pith import good.onnx -q | cat >b.pith'
same good.pith b.pith
on_terminal 0 'pith prune good.pith --sparsity 0.5 -n'
shows '12 of 24 weights kept'

export TERM=xterm
on_terminal 0 'pith bench digits.onnx --time 1.2'
shows '^.*bench *[#.]*.* [0-9]*%'
shows 'median'
on_terminal 0 'pith bench digits.onnx --time 1.2 --progress=never'
hides '%'
on_terminal 0 'TERM=dumb pith bench digits.onnx --time 1.2'
hides '%'
on_terminal 0 'pith bench digits.onnx --time 1.2 -q 2>err.txt'
[ ! -s err.txt ] || complain "bench -q says: $(cat err.txt)"
pith bench digits.onnx --time 1.2 >/dev/null 2>err.txt
[ ! -s err.txt ] || complain "a bar in a file: $(cat err.txt)"

# per cent and the time left, of what takes long
python3 - <<'EOF' || status=1
import re, struct, subprocess, sys, time
N = 200000
for kind, head, each in (("images-idx3", struct.pack(">IIII", 0x803, N, 28, 28), 784), ("labels-idx1", struct.pack(">II", 0x801, N), 1)):
    with open(f"long-{kind}-ubyte", "wb") as f:
        f.write(head)
        f.truncate(len(head) + N * each)
failed = False
bar = rb"[#.]+ +\d+%  eta \d+:\d\d"
for command, form in (("eval", bar), ("sense --samples 20000", bar), ("quantize --samples 20000 -f -o a.pith", bar), ("calibrate -f -o a.pith", bar),
                      ("compress -f -o a.pith", rb"compress +\d+:\d\d  file \d+: layer \d of \d, left \d+:\d\d to \d+:\d\d")):
    name, *rest = command.split()
    p = subprocess.Popen(["pith", name, "digits.onnx", "-d", "long-images-idx3-ubyte", "--progress=always", *rest],
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    shown, end = b"", time.time() + 60
    while not re.search(form, shown) and time.time() < end:
        more = p.stderr.read1(4096)
        if not more:
            break
        shown += more
    else:
        shown = shown if time.time() < end else b""
    p.terminate()
    p.communicate(timeout=20)
    if not re.search(form, shown):
        print(command, "shows no time left:", shown[-300:])
        failed = True
sys.exit(failed)
EOF
rm -f long-*

# a layer named ESC ] 0 ; x BEL
for command in 'pith info escape.onnx' 'pith prune escape.onnx --pattern 5x5 --sparsity 0.5 -o a'; do
    script -qec "$command" /dev/null >.out 2>&1 </dev/null
    hides "$(printf '\033]')"
    shows '\\x1b]0;x\\x07'
done

# names that hold line ends: no line of output begins within one
pith import line_ends.onnx -q -o ends.pith
for command in 'info' 'info --plan' 'check' 'run --output none -o a' 'run -d x.npy -o a' \
    'bench --per-layer --time 0.01' 'compare good.onnx' 'compare line_ends.onnx --layers' 'plan -o a' 'decode --to npy -o a' \
    'prune --sparsity 0.5 -o a' 'cluster --bits 2 -o a' 'quantize -d none -o a'; do
    for net in line_ends.onnx ends.pith; do
        # shellcheck disable=SC2086
        pith ${command%% *} $net ${command#"${command%% *}"} >.out 2>&1 </dev/null
        hides '^BROKEN'
        hides "$(printf '\033')"
        rm -rf a
    done
done
pith check line_ends_open.onnx >.out 2>&1
hides '^BROKEN'
shows 'width\\nBROKEN\\x1b'
finish
