#!/bin/sh
# SPDX-License-Identifier: MIT
# Links of the documents lead somewhere, and files and folders that they name with a path are there.
# (docs/add-a-stage.md speaks of a stage that is not.)
status=0
complain() { echo "$1"; status=1; }
for file in *.md $(find docs -name '*.md'); do
    for link in $(grep -oE '\]\([^)# ]+|^\[[^]]+\]: [^# ]+' "$file" | sed -E 's/^.*(\]\(|\]: )//' | grep -v '^https*:'); do
        [ -e "$(dirname "$file")/$link" ] || complain "$file: no $link"
    done
    [ "$file" = docs/add-a-stage.md ] && continue
    for path in $(grep -oE '`[a-z][A-Za-z0-9_/.-]*/[A-Za-z0-9_.-]+\.(c|h|py|sh|md|txt|inc|mk|patch)`' "$file" | tr -d '`'); do
        case $path in
        build/*) ;;
        *) [ -e "$path" ] || [ -e "runtime/$path" ] || grep -qF "b/$path" tests/build/*.patch || complain "$file: no $path" ;;
        esac
    done
done
exit $status
