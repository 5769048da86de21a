#!/bin/sh
# SPDX-License-Identifier: MIT
# Help fits a screen; every option is in the help and in a manual page that mandoc accepts; starting
# is quick.
. "$(dirname "$0")/sandbox.inc"
commands=$(pith help --man | sed -n 's/^pith-//p')
[ "$(echo "$commands" | wc -l)" -ge 16 ] || complain "only these commands: $commands"
for c in $commands; do
    pith "$c" -h >short.txt
    [ "$(wc -l <short.txt)" -le 24 ] || complain "pith $c -h is longer than 24 lines"
    pith "$c" --help >long.txt
    pith help "$c" | cmp -s - long.txt || complain "pith help $c and pith $c --help differ"
    awk 'length > 100' short.txt long.txt | grep . && complain "pith $c: help is wider than 100 columns"
    pith help --man "pith-$c" >"pith-$c.1"
    sed -n 's/^ .*--\([a-z-]*\).*/\1/p' long.txt | sort -u | while read -r option; do
        tr -d '\\' <"pith-$c.1" | grep -q -e "Fl -$option" || echo "pith-$c.1 lacks --$option"
    done | grep . && status=1
done
pith help --man pith >pith.1
expect 2 pith help --man pith-nothing
expect 2 pith help nothing
if command -v mandoc >/dev/null; then
    for page in *.1; do
        mandoc -T lint -W warning "$page" || complain "mandoc finds fault with $page"
        mandoc -T ascii "$page" >/dev/null || complain "mandoc cannot show $page"
    done
fi

# the fastest of 20 starts, so that a busy machine does not fail the test
python3 - <<'EOF' || complain "pith version takes 10 ms or more"
import subprocess, sys, time
def start():
    t = time.perf_counter()
    subprocess.run(["pith", "version"], stdout=subprocess.DEVNULL)
    return time.perf_counter() - t
sys.exit(min(start() for _ in range(20)) >= 0.010)
EOF
finish
