#!/bin/sh
# SPDX-License-Identifier: MIT
# Help fits a screen: where there are more options, -h shows those most used and says where the others
# are. Every option is in the whole help and in a manual page that mandoc accepts; starting is quick.
. "$(dirname "$0")/sandbox.inc"
commands=$(pith help --man | sed -n 's/^pith-//p')
[ "$(echo "$commands" | wc -l)" -ge 16 ] || complain "only these commands: $commands"
option='^  \(-., \|    \)' # what stands before the name of one
for c in $commands; do
    pith "$c" -h >short.txt
    [ "$(wc -l <short.txt)" -le 24 ] || complain "pith $c -h is longer than 24 lines"
    pith "$c" --help >long.txt
    shown=$(grep -c "$option--" short.txt)
    all=$(sed '/^Common:/,$d' long.txt | grep -c "$option--")
    grep -q "more options: pith help $c" short.txt
    [ $? -eq "$([ "$shown" -lt "$all" ]; echo $?)" ] ||
        complain "pith $c -h shows $shown of $all options and says: $(tail -1 short.txt)"
    sed '/^Common:/,$d' long.txt >own.txt
    grep "$option--" short.txt | grep -vxFf own.txt && complain "pith $c -h has what --help lacks"
    pith help "$c" | cmp -s - long.txt || complain "pith help $c and pith $c --help differ"
    awk 'length > 100' short.txt long.txt | grep . && complain "pith $c: help is wider than 100 columns"
    pith help --man "pith-$c" >"pith-$c.1"
    sed -n "s/$option--\([a-z-]*\).*/\2/p" long.txt | sort -u | while read -r name; do
        tr -d '\\' <"pith-$c.1" | grep -q -e "Fl -$name" || echo "pith-$c.1 lacks --$name"
    done | grep . && status=1
    pith help "$c-advanced" >advanced.txt 2>/dev/null || continue
    awk 'length > 100' advanced.txt | grep . && complain "pith $c: the advanced page is wider than 100 columns"
    sed -n "s/^  \([a-z_0-9]*\)=.*/\1/p" advanced.txt | while read -r key; do
        grep -q "^.It $key=" "pith-$c.1" || echo "pith-$c.1 lacks $key"
    done | grep . && status=1
done
# What people use of the largest commands fits a screen; the rest has its own page, and how it is set.
for c in train quantize compress; do
    lines=$(pith help "$c" | wc -l)
    [ "$lines" -le 40 ] || complain "pith help $c has $lines lines"
    [ "$c" = compress ] || pith help "$c" | grep -q -- "--set KEY=VALUE .*pith help $c-advanced" || complain "pith help $c does not name --set"
done
pith help train-advanced | grep -q '^  first_step=' || complain "first_step is not on the advanced page"
expect 2 pith train net.pith -d data --first-step 0.5
grep -q -- '--set first_step=' "$work/.err" || complain "--first-step is refused without naming --set"
expect 2 pith help nothing-advanced
pith help options | grep -q -- '--threads' || complain "pith help options lacks --threads"
pith help | awk 'END { exit NR > 24 }' || complain "pith help is longer than 24 lines"
pith help --man pith >pith.1
expect 2 pith help --man pith-nothing
expect 2 pith help nothing
if command -v mandoc >/dev/null; then
    for page in *.1; do
        mandoc -T lint -W warning "$page" || complain "mandoc finds fault with $page"
        mandoc -T ascii "$page" >/dev/null || complain "mandoc cannot show $page"
    done
fi

# the fastest of 20 starts, so that a busy machine does not fail the test; sanitizers take their time
[ "${PITH_O##*/}" != release ] || python3 - <<'EOF' || complain "pith version takes 10 ms or more"
import subprocess, sys, time
def start():
    t = time.perf_counter()
    subprocess.run(["pith", "version"], stdout=subprocess.DEVNULL)
    return time.perf_counter() - t
sys.exit(min(start() for _ in range(20)) >= 0.010)
EOF
finish
