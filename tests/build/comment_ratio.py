# SPDX-License-Identifier: MIT
"""Lines of comment for each line of code, by module: comment_ratio.py MODULE[:LEAST]...

A line is code where something stands on it beside comments and white space, comment where letters
of one stand on it; a line may be both. Licence lines count as neither. Ends with 1 where a module has
less than its least.
"""

import os
import re
import sys

TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'', re.S)


def lines_of(text):
    """(code, comment) of one file."""
    comment = set()

    def blank(match):
        token = match.group(0)
        if token[0] in "\"'":
            return token
        first = text.count("\n", 0, match.start())
        for i, line in enumerate(token.split("\n")):
            if re.search(r"[A-Za-z0-9]", line) and "SPDX" not in line:
                comment.add(first + i)
        return re.sub(r"[^\n]", " ", token)

    code = TOKEN.sub(blank, text)
    return sum(bool(line.strip()) for line in code.split("\n")), len(comment)


def main():
    short = 0
    for asked in sys.argv[1:]:
        module, _, least = asked.partition(":")
        code = comment = 0
        for folder, _, names in os.walk(module):
            for name in names:
                if name.endswith((".c", ".h")):
                    with open(os.path.join(folder, name), encoding="utf-8") as f:
                        a, b = lines_of(f.read())
                    code, comment = code + a, comment + b
        ratio = comment / code
        print(f"{module:10} {comment:6} / {code:6} = {ratio:.3f}")
        short |= bool(least) and ratio < float(least)
    return short


sys.exit(main())
