#!/bin/sh
# SPDX-License-Identifier: MIT
# docs/options.md has a row for each key of the option tables, of its stage, that says what it is for, and no other. A
# page with one of each fault is checked first.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
cd "$(dirname "$0")/../.." || exit 1

# STAGE KEY of each row of the tables
for file in train/train_rows.c compress/stage/stage_rows_*.c; do
    stage=$(basename "$file" .c | sed 's/^stage_rows_//; s/_rows$//')
    tr -s '\n ' ' ' <"$file" | grep -oE '(PITH_ROW\([A-Z]+, |PITH_OWN_ROW\( ?|\.key = )"[a-z0-9_]+"' |
        sed -E "s/.*\"(.*)\"/$stage \1/"
done | sort >"$work/keys"
[ "$(wc -l <"$work/keys")" -gt 60 ] || { echo "the tables were not read"; exit 1; }

check() { # PAGE; prints the faults
    awk -F'|' -v keys="$work/keys" '
        BEGIN { while ((getline line <keys) > 0) known[line] = 1 }
        /^## / { stage = substr($0, 4) }
        /^\| `[a-z0-9_]+` \|/ {
            gsub(/[` ]/, "", $2)
            row = stage " " $2
            if (!(row in known)) print row ": no such key"
            if (row in found) print row ": two rows"
            found[row] = 1
            if (NF != 5) print row ": not 3 columns"
            for (i = 3; i <= 4; i++) if ($i !~ /[^ ]/ || $i ~ /nothing/) print row ": column " i - 1 " says nothing"
        }
        END { for (row in known) if (!(row in found)) print row ": no row" }' "$1"
}
sed '0,/^| `epochs`/s//| `epoch`/; 0,/^| `batch` | [^|]*/s//| `batch` | nothing /; /^| `lr`/s/$/ more |/' \
    docs/options.md >"$work/page"
check "$work/page" | sort >"$work/found"
printf '%s\n' 'train batch: column 2 says nothing' 'train epoch: no such key' 'train epochs: no row' \
    'train lr: not 3 columns' | cmp -s - "$work/found" || { echo "a planted fault is missed:"; cat "$work/found"; exit 1; }
check docs/options.md >"$work/faults"
cat "$work/faults"
[ ! -s "$work/faults" ]
