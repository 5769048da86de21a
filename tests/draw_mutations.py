# SPDX-License-Identifier: MIT
"""Small changes by rule, drawn at random: what plant_mutations.py --draw plants.

Rules work on the text of functions, laid out as `make format` does: binary operators have blanks on both
sides, a body stands between lines "{" and "}". Comments, texts, preprocessor lines and assertions stay as
they are.
"""
import os
import random
import re

ROOMS = ["base", "calibrate", "compress", "data", "huffman", "layers", "load", "measure", "model", "numeric", "onnx", "pack",
         "prune", "quantize", "rd", "runtime/decode", "runtime/host", "runtime/op_interface", "runtime/ops", "runtime/plan",
         "runtime/products", "runtime/validate", "train"]
NULLS = "build/null_arguments"  # the calls of tests/build/null_arguments.sh as a program, for every room
COMMUTATIVE = re.compile(r"\w*alloc|\w*take|fmax|fmin")  # in their last two arguments: a count and a size
COMPARES = {"memcmp", "strcmp", "strncmp"}  # with 0: in their first two
KEYWORDS = {"if", "while", "for", "switch", "return", "sizeof", "do", "else"}
RELEASES = r"\b(?:free|close|fclose|munmap|unlink|\w+_free|\w+_close)\("


class Drawn:
    """A change of one place; the interface of plant_mutations.Mutation."""
    reason = None

    def __init__(self, path, function, text, begin, end, new, rule):
        self.path, self.function, self.rule = path, function, rule
        self.line = text.count("\n", 0, begin) + 1
        old = text[begin:end]
        new += "\n" * (old.count("\n") - new.count("\n"))  # assertions know their line
        self.changed = text[:begin] + new + text[end:]
        self.old, self.new = " ".join(old.split()), " ".join(new.split())

    def apply(self, _):
        return self.changed, None

    def name(self):
        return "%s:%d %s: %s => %s" % (self.path, self.line, self.rule, self.old, self.new or "(nothing)")


def blanked(text):
    """The text with blanks for comments and _ for strings, every character in its place."""
    def blank(found):
        return re.sub(r"[^\n]", "_" if found[0][0] in "\"'" else " ", found[0])
    text = re.sub(r"(?s)/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", blank, text)
    text = re.sub(r"(?m)^#(?:.*\\\n)*.*$", blank, text)
    return re.sub(r"(?s)\b(?:static_)?assert\(.*?\);", blank, text)


def closing(code, at):
    """The place of the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(code)):
        depth += (code[i] in "([{") - (code[i] in ")]}")
        if depth == 0:
            return i
    return len(code)


def split(code, begin, end, pattern):
    """Where what lies between outermost matches of the pattern begins and ends."""
    parts, at, i, matcher = [], begin, begin, re.compile(pattern)
    while i < end:
        if code[i] in "([{":
            i = closing(code, i)
        found = matcher.match(code, i, end)
        if found:
            parts.append((at, i))
            at = i = found.end()
        else:
            i += 1
    return parts + [(at, end)]


def without_operand(code, begin, end):
    """Each operand of the outermost || or, without one, && left out."""
    for operator in (r"\|\|", "&&"):
        parts = split(code, begin, end, operator)
        if len(parts) > 1:
            yield parts[0][0], parts[1][0], ""
            for (_, before), (_, after) in zip(parts, parts[1:]):
                yield before, after, ""
            return


def conditions(code, begin, end):
    for found in re.finditer(r"\bif \(", code[begin:end]):
        a = begin + found.end()
        b = closing(code, a - 1)
        parts = list(without_operand(code, a, b))
        yield from parts or [(a, b, "0")]
    for found in re.finditer(r"\breturn ([^;]*);|\bwhile (?=\()", code[begin:end]):
        a, b = (begin + x for x in found.span(1)) if found[1] else (
            begin + found.end() + 1, closing(code, begin + found.end()))
        if not split(code, a, b, r"\?")[1:]:
            yield from without_operand(code, a, b)


# Whether a comparison chooses between its own operands, where equal ones are the same.
def is_least_or_greatest(code, begin, end):
    a, b = re.search(r"[\w.>\[\]-]*$", code[begin - 60:begin])[0], re.match(r"[\w.>\[\]-]*", code[end:end + 60])[0]
    pair = "(?:{0} {2} {1}|{1} {2} {0})".format(re.escape(a), re.escape(b), "%s")
    return a and b and re.match(r" \? %s\b|\)\s*\{?\s*%s;\s*\}" % (pair % (":", ":"), pair % ("=", "=")), code[end + len(b):end + 200])


def bounds(code, begin, end):
    relaxed = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
    for found in re.finditer(r" (<=?|>=?) ", code[begin:end]):
        if not is_least_or_greatest(code, begin + found.start(), begin + found.end()):
            yield begin + found.start(1), begin + found.end(1), relaxed[found[1]]
    for found in re.finditer(r" [+-] 1\b(?![.x])", code[begin:end]):
        yield begin + found.start(), begin + found.end(), ""


def arguments(code, begin, end):
    for found in re.finditer(r"\b(\w+)\(", code[begin:end]):
        if found[1] in KEYWORDS:
            continue
        a = begin + found.end()
        parts = split(code, a, closing(code, a - 1), r",\s*")
        for i, ((a, b), (c, d)) in enumerate(zip(parts, parts[1:])):
            same = COMMUTATIVE.fullmatch(found[1]) and i == len(parts) - 2 or found[1] in COMPARES and i == 0
            if code[a:b] != code[c:d] and not same:
                yield a, d, (a, b, c, d)


def results(code, begin, end):
    for found in re.finditer(r"(?<=[;{}\n])\s*((?:enum pith_status )?(?:st|status|ok) = )\w+\([^;]*;", code[begin:end]):
        if not found[1].startswith("enum"):
            yield begin + found.start(1), begin + found.end(1), "(void)"
    for found in re.finditer(r"\breturn (PITH_ERR_\w+|false)(?=;)", code[begin:end]):
        yield begin + found.start(1), begin + found.end(1), "true" if found[1] == "false" else "PITH_OK"
    for found in re.finditer(r"(?<=[;{}\n)])\s*((?:\(void\))?%s[^;]*)(?=;)" % RELEASES, code[begin:end]):
        yield begin + found.start(1), begin + found.end(1), "(void)0"


def signs(code, begin, end):
    other = {"+": "-", "-": "+", "*": "/", "/": "*", "<<": ">>", ">>": "<<"}
    for found in re.finditer(r" (\+|-|\*|/|<<|>>)=? ", code[begin:end]):
        yield begin + found.start(1), begin + found.end(1), other[found[1]]
    for found in re.finditer(r" \* sizeof(?: [^;,)]+|\([^)]*\))| [*/] (?:8|1000|1024)\b| (?:<<|>>) (?:3|10|20|30)\b",
                             code[begin:end]):
        yield begin + found.start(), begin + found.end(), ""
    for found in re.finditer(r"(?<=[(=&|,?:] )(?:!|-)(?=\w)|(?<=\()(?:!|-)(?=\w)", code[begin:end]):
        yield begin + found.start(), begin + found.end(), ""


RULES = {"condition": conditions, "bound": bounds, "arguments": arguments, "result": results, "sign": signs}


def places(path, text):
    """{rule: [(path, function, begin, end, new)]} of a file."""
    code = blanked(text)
    found = {rule: [] for rule in RULES}
    for body in re.finditer(r"(?ms)^(\w[^;{}=]*?)^\{$.*?^\}$", code):
        name = re.search(r"\b(?!__attribute__)(\w+)\(", body[1])
        for rule, walk in RULES.items():
            for begin, end, new in walk(code, body.end(1), body.end()):
                if not isinstance(new, str):
                    a, b, c, d = new
                    new = text[c:d] + text[b:c] + text[a:b]
                found[rule].append((path, name[1] if name else "", begin, end, new))
    return found


def room_of(path):
    return max((r for r in ROOMS if path.startswith(r + "/")), key=len, default=os.path.dirname(path))


def draw(top, paths, seed):
    """Endless: changes in files under `paths`, each path and each rule as likely as any other."""
    texts, found = {}, {}
    for p in paths:
        full = os.path.join(top, p)
        walked = [os.path.join(d, f) for d, _, names in os.walk(full) for f in names] if os.path.isdir(full) else [full]
        for path in sorted(os.path.relpath(f, top) for f in walked):
            if re.search(r"\.[ch]$", path) and not os.path.basename(path).startswith("test_"):
                with open(os.path.join(top, path), encoding="utf-8") as f:
                    texts[path] = f.read()
                for rule, of_file in places(path, texts[path]).items():
                    found.setdefault(p, {}).setdefault(rule, []).extend(of_file)
    chance = random.Random(seed)
    for rules in found.values():
        for of_rule in rules.values():
            chance.shuffle(of_rule)
    while True:
        rules = found[chance.choice(sorted(found))]
        rule = chance.choice(list(RULES))
        if rules[rule]:
            path, function, begin, end, new = rules[rule].pop()
            yield Drawn(path, function, texts[path], begin, end, new, rule)
        elif not any(rules.values()):
            return
