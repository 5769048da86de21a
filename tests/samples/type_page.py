#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Types the blocks of a page, in order, in one shell: type_page.py PAGE ROOT [HEADING...] leaves sections out.

    ```sh               is typed
    ```c title="NAME"   becomes the file NAME, of any language
    ```text             is output: each line must have been printed by then, but for numbers and blanks
    any other           is shown only

`make` in a block runs the targets install, wheel and those of samples/mcu in the tree ROOT; of any other target it
only sees that there is one."""
import os
import re
import subprocess
import sys
import tempfile

MAKE = r'''
make() {
    case " $* " in
    *samples/mcu*) command ${REAL_MAKE:-make} -s -C "$ROOT/samples/mcu" $(shift_folder "$@") ;;
    *" install "* | *" wheel "*) command ${REAL_MAKE:-make} -s -C "$ROOT" BUILD="$BUILD" "$@" ;;
    *) command ${REAL_MAKE:-make} -n -C "$ROOT" "$@" >/dev/null ;;
    esac
}
shift_folder() { shift 2; printf '%s\n' "$@"; }
'''


def blocks(text, left_out):
    """(language, title or None, lines) of each fenced block."""
    heading, fence = "", None
    for line in text.split("\n"):
        if fence is None and line.startswith("#"):
            heading = line.lstrip("# ")
        if not line.startswith("```"):
            if fence is not None:
                lines.append(line)
        elif fence is None:
            fence, lines = line[3:], []
        else:
            title = re.search(r'title="([^"]+)"', fence)
            if heading not in left_out:
                yield fence.split(" ")[0], title and title.group(1), lines
            fence = None


def plain(line):
    line = re.sub(r"\d[\d.,]*", "#", line)
    # Whether the last samples rejected a file, and so were used, depends on the search.
    line = re.sub(r"held-out samples \(used neither.*|test samples, also used for selection.*", "OTHER SAMPLES", line)
    return re.sub(r"\b(trellis|adaptive|huffman|rans|plain)\b", "CODE", re.sub(r"\s+", " ", line)).strip()


def main(page, root, *left_out):
    with open(page) as f:
        parts = list(blocks(f.read(), left_out))
    script, expected = [MAKE, "set -e"], []
    for i, (language, title, lines) in enumerate(parts):
        if title:
            script += [f"cat >{title} <<'END_OF_{i}'", *lines, f"END_OF_{i}"]
        elif language == "sh":
            script += lines
        elif language == "text":
            expected.append((i, lines))
            script.append(f"echo END_OF_{i}")
    with tempfile.TemporaryFile("w+") as out:
        done = subprocess.run(["sh", "-c", "\n".join(script)], stdin=subprocess.DEVNULL, stdout=out,
                              stderr=subprocess.STDOUT, check=False, env={**os.environ, "ROOT": root})
        out.seek(0)
        printed = out.read()
    if done.returncode:
        sys.exit(f"{page}: exit {done.returncode}\n{printed[-3000:]}")
    for i, lines in expected:
        known = {plain(line) for line in printed.split(f"END_OF_{i}\n")[0].split("\n")}
        for line in lines:
            if plain(line) not in known:
                sys.exit(f"{page}: not printed: {line}\n{printed[-3000:]}")
    print(printed)


if __name__ == "__main__":
    main(*sys.argv[1:])
