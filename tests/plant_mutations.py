#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The work of mutate.sh: reads tests/mutations.txt, plants its changes, says which tests notice.

    plant_mutations.py --check                 every change applies to exactly one place
    plant_mutations.py --tree COPY [options]   copies the tree there, plants them in the copy
    plant_mutations.py --tree COPY --draw N --seed S [PATH...]   the same with N changes that draw_mutations.py draws

The list:

    [FILE] TEST ...        a section: tests that should notice, likely ones first; MODULE/* is all
                           programs of that module
    FUNCTION: OLD => NEW   OLD occurs once in FUNCTION of FILE (white space matches any white space);
                           an empty NEW removes OLD
    ~ REASON               the change above survives because of this
"""
import argparse
import concurrent.futures
import filecmp
import glob
import itertools
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import threading
import time

import draw_mutations

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# The cheapest code that still runs the long tests in time; whatever a test checks holds at any level.
CFLAGS = "-O1 -fPIC -fvisibility=default -fno-semantic-interposition -w"
# With AddressSanitizer, which notices a byte read behind a buffer and leaked memory; called_functions.c says who calls what.
SANITIZED = " -fsanitize=address"
INSTRUMENTED = SANITIZED + " -finstrument-functions"
# But not what is compiled for one instruction set: kernels, of which the compiler makes minutes.
PLAIN_KERNELS = "ISA_base=-fno-sanitize=all -fno-instrument-functions"
# A drawn change has to be C that compiles without warnings, and to make another program.
STRICT = " -Werror=incompatible-pointer-types -Werror=int-conversion -Werror=return-type -Werror=implicit-function-declaration"
SAME = " -O2 -fno-sanitize=all -fno-instrument-functions"
NONE = ("DOES NOT COMPILE", "SAME OBJECT")  # drawn again
DRAWN_SHARE = 0.85  # of drawn changes that tests have to notice
LONG_SECONDS = 20   # of a processor: programs that take more are not near
QUICK_SECONDS = 2   # of a processor: of the near ones, those that take no more run first
NEAR_SECONDS = 30  # of a processor: those behind the first that take so much together are not, either
MEMORY_LIMIT = 6 << 30  # a size that a change made absurd is a failed allocation, not a full machine


class Mutation:
    def __init__(self, line, path, tests, function, old, new):
        self.line, self.path, self.tests = line, path, tests
        self.function, self.old, self.new = function, old, new
        self.reason = None

    def apply(self, root):
        return apply(self, root)

    def name(self):
        return "%s %s: %s => %s" % (self.path, self.function, self.old, self.new or "(nothing)")


def read_list(path):
    mutations, section, tests = [], None, []
    with open(path, encoding="utf-8") as f:
        for number, text in enumerate(f, 1):
            text = text.rstrip("\n")
            if not text.strip() or text.startswith("#"):
                continue
            if text.startswith("["):
                section, rest = text[1:].split("]", 1)
                tests = rest.split()
            elif text.startswith("~"):
                mutations[-1].reason = text[1:].strip()
            else:
                found = re.fullmatch(r"(\w+): (.+?) =>(.*)", text)
                if not found or not section or not tests:
                    sys.exit("%s:%d: not 'FUNCTION: OLD => NEW' in a section" % (path, number))
                mutations.append(Mutation(number, section, tests, found[1], found[2].strip(),
                                          found[3].strip()))
    return mutations


def function_spans(text, name):
    """Where functions or initialised tables of this name are defined."""
    spans = []
    for found in re.finditer(r"(?m)^(?![#/ *}]).*\b%s\b(?=[ ([]|$)" % re.escape(name), text):
        head = re.compile(r"[;{]").search(text, found.end())
        if not head or head[0] == ";":
            continue  # a declaration
        end = re.compile(r"(?m)^\};?$").search(text, head.start())
        if end:
            spans.append((found.start(), end.end()))
    return spans


def apply(m, root):
    """The changed text of the file, or None and what is wrong."""
    with open(os.path.join(root, m.path), encoding="utf-8") as f:
        text = f.read()
    pattern = re.compile(r"\s+".join(re.escape(w) for w in m.old.split()))
    hits = []
    for begin, end in function_spans(text, m.function):
        hits += [h.span() for h in pattern.finditer(text, begin, end)]
    if len(hits) != 1:
        return None, "NOT APPLICABLE (%d places)" % len(hits)
    begin, end = hits[0]
    return text[:begin] + m.new + text[end:], None


def check(mutations):
    bad = 0
    for m in mutations:
        text, wrong = apply(m, TOP)
        if wrong:
            print("tests/mutations.txt:%d: %s: %s" % (m.line, wrong, m.name()))
            bad += 1
    first = {}
    for m in mutations:
        key = (m.path, m.function, m.old, m.new)
        if key in first:
            print("tests/mutations.txt:%d: as in line %d" % (m.line, first[key]))
            bad += 1
        first[key] = m.line
        for t in m.tests:
            if not glob.glob(os.path.join(TOP, "tests", t + ".c")):
                print("tests/mutations.txt:%d: no test '%s'" % (m.line, t))
                bad += 1
    print("%d changes, %d wrong" % (len(mutations), bad))
    return bad == 0


def copy_tree(tree):
    """The sources, those that differ: object files stay newer than what they were made of. What the tree no longer has
    is removed from an older copy."""
    listed = subprocess.run(["git", "-C", TOP, "ls-files", "-co", "--exclude-standard"],
                            capture_output=True, text=True)
    names = listed.stdout.split("\n")[:-1]
    if listed.returncode:
        names = [os.path.relpath(os.path.join(d, f), TOP) for d, _, files in os.walk(TOP)
                 if not os.path.relpath(d, TOP).startswith("build") for f in files]
    names = {n for n in names if os.path.isfile(os.path.join(TOP, n))}
    for folder, below, files in os.walk(tree):
        if folder == tree:
            below[:] = [b for b in below if b != "build"]
        for f in files:
            if os.path.relpath(os.path.join(folder, f), tree) not in names:
                os.remove(os.path.join(folder, f))
    for name in sorted(names):
        source, target = os.path.join(TOP, name), os.path.join(tree, name)
        if os.path.exists(target) and filecmp.cmp(source, target, shallow=False):
            continue
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(source, target)


class Study:
    def __init__(self, tree, mutations, jobs, sanitized, wanted=""):
        self.tree, self.jobs, self.sanitized = tree, jobs, sanitized
        self.variant = "mutate-asan" if sanitized else "mutate"
        self.cflags = CFLAGS + (INSTRUMENTED if sanitized else "")
        self.out = os.path.join(tree, "build", self.variant)
        self.cc = os.environ.get("CC", "gcc").split()
        quick = ["-fuse-ld=lld"] if shutil.which("ld.lld") else []
        self.linker = [self.cc[-1], *quick] + (SANITIZED.split() if sanitized else [])
        self.wanted = wanted
        self.tests = self.expand(mutations)
        self.seconds, self.linked = {}, set()
        self.times = os.path.join(self.out, "seconds.json")  # of earlier runs: what is long is left out at once
        self.before = {}
        if os.path.exists(self.times):
            with open(self.times, encoding="utf-8") as f:
                self.before = json.load(f)
        self.longest = LONG_SECONDS if sanitized else 50
        self.calls, self.kills, self.optimized = None, {}, {}
        self.unchanged = os.path.join(self.out, "unchanged")
        self.rooms = [os.path.join(self.out, "room%d" % i) for i in range(jobs)]
        self.free = list(self.rooms)
        self.lock = threading.Lock()

    def make(self, *args):
        """Without kernels for GPUs, which no test here runs: they take longer than all the rest."""
        kernels = [PLAIN_KERNELS] if self.sanitized else []
        return ["make", "-C", self.tree, "--no-print-directory", "CC=" + " ".join(self.cc),
                "BUILD=build", "VARIANT=" + self.variant, "CFLAGS=" + self.cflags, "NVCC=", *kernels, *args]

    def expand(self, mutations):
        """{pattern: test programs}; of drawn changes all but those of devices, which replace their driver."""
        tests, self.nulls = {}, []
        if self.sanitized:
            self.nulls = [draw_mutations.NULLS]
            devices = any(m.path.startswith("cuda/") for m in mutations)
            patterns = {n + "/*" for n in os.listdir(os.path.join(self.tree, "tests")) if n != "cuda" or devices}
        else:
            patterns = {t for m in mutations for t in m.tests}
        for pattern in patterns:
            files = sorted(glob.glob(os.path.join(self.tree, "tests", pattern + ".c")))
            names = [os.path.relpath(f, os.path.join(self.tree, "tests"))[:-2] for f in files]
            tests[pattern] = [n for n in names if "/test_" in n and re.search(self.wanted, n)]
            if not tests[pattern] and not self.sanitized:
                sys.exit("no program for '%s': its changes would all survive" % pattern)
        self.programs = sorted({n for names in tests.values() for n in names})
        self.read_replaced()
        return tests

    def read_replaced(self):
        """What test programs are linked with besides, and the functions that they replace so."""
        with open(os.path.join(self.tree, "tests/module.mk"), encoding="utf-8") as f:
            names = [n for n in re.findall(r"(?m)^TEST_LDFLAGS_(\w+) = ", f.read())
                     if "test_" + n in {os.path.basename(p) for p in self.programs}]
        self.link_with = {"test_" + n: self.make_words("TEST_LDFLAGS_" + n) for n in names}
        self.replaced = {w.split("=")[1] for flags in self.link_with.values() for w in flags
                         if w.startswith("-Wl,--wrap=")}

    def make_words(self, variable):
        """The words of a variable of the Makefile."""
        run = self.make("--eval", "pith-words: ; @echo $(%s)" % variable, "pith-words")
        return subprocess.run(run, check=True, capture_output=True, text=True).stdout.split()

    def build(self):
        base = "build/%s/" % self.variant
        modules = sorted({n.split("/")[0] for n in self.programs})
        libraries = self.make_words("sort $(foreach m,%s,$(call visible_to_tests,$(m)))" % " ".join(modules))
        goals = [base + "lib/%s.a" % m for m in libraries]
        goals += [base + "tests/%s.o" % n for n in self.programs]
        goals += sorted({o for flags in self.link_with.values() for o in flags if o.endswith(".o")})
        subprocess.run(self.make("-s", "-j%d" % self.jobs, *goals), check=True)
        self.compile_lines = {}
        self.objects = []
        for lib in libraries:
            names = subprocess.run(["ar", "t", os.path.join(self.out, "lib", lib + ".a")],
                                   check=True, capture_output=True, text=True).stdout.split()
            listed = self.make_words("call objs," + lib)
            assert len(listed) == len(names), lib
            self.objects += listed
        self.libs = self.make_words("sort $(foreach m,%s,$(call link_libs,$(m)))" % " ".join(libraries))
        if self.sanitized:
            writer = os.path.join(self.out, "called_functions.o")
            assert self.quiet([self.cc[-1], "-O1", "-fPIC", "-c", "tests/called_functions.c", "-o", writer])
            self.objects.append(writer)
        for room in self.rooms + [self.unchanged]:
            os.makedirs(room, exist_ok=True)
        self.make_replaceable()
        self.link(self.unchanged, {})
        if self.nulls:
            self.make_null_arguments(libraries)
        if self.sanitized:
            self.calls = Calls(self)

    def make_null_arguments(self, libraries):
        """The calls of tests/build/null_arguments.sh, of the headers of what is linked."""
        program = os.path.join(self.out, "tests", draw_mutations.NULLS)
        headers = [h for h in self.make_words("HEADERS") if h.split("/")[0] in libraries]
        self.put(os.path.join(self.out, "nulls", "all_headers.h"), "".join('#include "%s"\n' % os.path.basename(h) for h in headers))
        calls = subprocess.run([sys.executable, "tests/build/null_arguments.py", *headers], cwd=self.tree, check=True,
                               capture_output=True, text=True).stdout
        self.put(program + ".c", calls)
        includes = ["-I" + d for d in (os.path.join(self.out, "include/pith"), os.path.join(self.out, "nulls"), "tests/build")]
        assert self.quiet([*self.linker, "-std=gnu11", *includes, "-c", program + ".c", "-o", program + ".o"])

    def make_replaceable(self):
        """What the linker's --wrap replaces in a program, of ours or of the C library, is replaced in the
        shared object by a jump to the function itself, which the program's own replacement overrides."""
        path = os.path.join(self.unchanged, "replaced.s")
        jump = {"x86_64": "jmp", "aarch64": "b"}[os.uname().machine]
        with open(path, "w", encoding="utf-8") as f:
            for name in sorted(self.replaced):
                f.write(".text\n.weak __wrap_%s\n.type __wrap_%s,@function\n__wrap_%s: %s __real_%s%s\n" %
                        (name, name, name, jump, name, "@PLT" if jump == "jmp" else ""))
            f.write('.section .note.GNU-stack,"",@progbits\n')
        self.replacing = ["-Wl,--wrap=" + name for name in sorted(self.replaced)] + [path]

    def sources_of(self, path):
        """A source itself; of a header all that include it, by the dependency files."""
        if path.endswith(".c"):
            return [path]
        sources = []
        for listed in glob.glob(os.path.join(self.out, "**/*.d"), recursive=True):
            name = os.path.relpath(listed, self.out)[:-2] + ".c"
            with open(listed, encoding="utf-8") as f:
                used = f.read().split()
            if not name.startswith("tests/") and any(
                    w == path or w.endswith("/include/pith/" + os.path.basename(path)) for w in used):
                sources.append(name)
        return sorted(sources)

    def compile_line(self, path):
        target = "build/%s/%s.o" % (self.variant, path[:-2])
        out = subprocess.run(self.make("-n", "-W", path, target), check=True, capture_output=True,
                             text=True).stdout
        lines = [l for l in out.replace("\\\n", " ").split("\n") if " -c " in l and path in l]
        assert len(lines) == 1, out
        return path, lines[0], target

    def link(self, room, changed):
        """The shared object of a room; changed: {target: object in its place}. Its symbols may be
        replaced by those of a test program, as tests do that stand in for the reader."""
        objects = [changed.get(o, o) for o in self.objects]
        with open(os.path.join(room, "objects"), "w", encoding="utf-8") as f:
            f.write("\n".join(objects))
        return self.quiet([*self.linker, "-shared", "@" + os.path.join(room, "objects"),
                           *self.replacing, *self.libs, "-lm", "-lpthread", "-o", os.path.join(room, "libpithall.so")])

    def quiet(self, command, **how):
        done = subprocess.run(command, cwd=self.tree, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", **how)
        if done.returncode and not how:
            print(done.stdout)
        return done.returncode == 0

    def link_program(self, name):
        """When it is run first: many are not."""
        program = os.path.join(self.out, "tests", name)
        if name in self.linked:
            return
        more = self.link_with.get(os.path.basename(name), [])
        assert self.quiet([*self.linker, program + ".o", *more, "-L" + self.unchanged, "-lpithall", "-lcmocka",
                           *self.libs, "-lm", "-lpthread", "-o", program]), name
        self.linked.add(name)

    def environment(self, room, more):
        asan = "intercept_tls_get_addr=0:allocator_may_return_null=1:max_allocation_size_mb=%d" % (MEMORY_LIMIT >> 20)
        return dict(os.environ, LD_LIBRARY_PATH=room, CMOCKA_MESSAGE_OUTPUT="TAP", CMOCKA_TEST_ABORT="1", ASAN_OPTIONS=asan, **more)

    def run_program(self, name, room, limit, **more):
        """Whether it passes, and the processor's seconds that it takes: others may use the machine."""
        def limits():
            if not self.sanitized:  # AddressSanitizer maps terabytes
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 1, int(limit) + 1))
        with self.lock:
            self.link_program(name)
        with subprocess.Popen([os.path.join(self.out, "tests", name)], cwd=self.tree, env=self.environment(room, more),
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=limits) as p:
            alarm = threading.Timer(20 * limit, p.kill)
            alarm.start()
            _, status, use = os.wait4(p.pid, 0)
            alarm.cancel()
            p.returncode = os.waitstatus_to_exitcode(status)
        return p.returncode == 0, use.ru_utime + use.ru_stime

    def is_long(self, name):
        return self.seconds.get(name, self.before.get(name, 0)) > self.longest

    def notices(self, name, room):
        """A program is believed when it is known to pass without any change."""
        known = self.seconds.get(name)
        ok, seconds = self.run_program(name, room, self.longest if known is None else 10 + 5 * known)
        if not ok and known is None:
            passes, seconds = self.run_program(name, self.unchanged, self.longest)
            if not passes:
                print("%s: left out, for it fails without any change, or takes too long" % name, flush=True)
                seconds = self.longest + 1
        if known is None:
            self.remember(name, seconds)
        return not ok and not self.is_long(name)

    def remember(self, name, seconds):
        with self.lock:
            self.seconds[name] = self.before[name] = seconds
            with open(self.times, "w", encoding="utf-8") as f:
                json.dump(self.before, f)

    def order(self, m):
        """The programs of a change: as listed, those of a pattern by the words they share with the file, then
        by the time they take. Of a drawn change those that call its function, the quick ones first, then those that
        noticed most changes of its module."""
        if self.sanitized:
            module = m.path.split("/")[0]
            return sorted((n for n in self.calls.programs(m) if not self.is_long(n)), key=lambda n: (
                self.before.get(n, 0) > QUICK_SECONDS, -self.kills.get((module, n), 0), n.split("/")[0] != module,
                self.before.get(n, 0)))
        words = set(os.path.basename(m.path).split(".")[0].split("_"))
        programs = []
        for pattern in m.tests:
            for n in sorted(self.tests[pattern], key=lambda n: (
                    -len(words & set(os.path.basename(n).split("_"))), self.before.get(n, 1))):
                if n not in programs and not self.is_long(n):
                    programs.append(n)
        return programs

    def try_one(self, m):
        text, wrong = m.apply(self.tree)
        if wrong:
            return m, wrong
        with self.lock:
            room = self.free.pop()
        try:
            return m, self.try_change(m, text, room)
        finally:
            with self.lock:
                self.free.append(room)

    def try_change(self, m, text, room):
        src = os.path.join(room, "src")
        shutil.rmtree(src, ignore_errors=True)
        self.put(os.path.join(src, m.path), text)
        if m.path.endswith(".h"):  # its neighbours include it without a path
            for header in glob.glob(os.path.join(self.tree, os.path.dirname(m.path), "*.h")):
                if os.path.basename(header) != os.path.basename(m.path):
                    shutil.copy(header, os.path.dirname(os.path.join(src, m.path)))
        changed, same = {}, self.sanitized  # a header that nothing near includes changes no object
        if m.path not in self.compile_lines:
            self.compile_lines[m.path] = [self.compile_line(source) for source in self.sources_of(m.path)]
        for path, line, target in self.compile_lines[m.path]:
            source = os.path.join(src, path)
            if path != m.path:
                with open(os.path.join(self.tree, path), encoding="utf-8") as f:
                    self.put(source, f.read())
            made = os.path.join(room, "changed%d.o" % len(changed))
            # Includes look beside the source first, then among the changed files, then as ever and
            # beside the original.
            line = line.replace(" -", " -iquote %s -iquote %s -I%s/runtime -" % (
                src, os.path.dirname(os.path.join(src, m.path)), src), 1)
            line = line.replace(" -c " + path, " -iquote %s -c %s" % (os.path.dirname(path) or ".", source))
            line = line.replace("-o " + target, "-o " + made).replace("-MMD -MP ", "")
            if self.sanitized:
                line = line.replace(" -w ", " ").replace(" -c ", STRICT + " -c ", 1)
                same = same and self.same_object(m, line, text, room)
            if not same and not self.quiet(line, shell=True):
                return "DOES NOT COMPILE"
            if not same:
                changed[target] = made
        if same:
            return "SAME OBJECT"
        if not self.link(room, changed):
            return "DOES NOT COMPILE"
        left = NEAR_SECONDS if self.sanitized else float("inf")
        near = self.order(m)
        if not near:
            return "SURVIVED, not called"
        for name in near:
            if left > 0 and self.notices(name, room):
                key = m.path.split("/")[0], name
                with self.lock:
                    self.kills[key] = self.kills.get(key, 0) + 1
                return "killed by " + name
            left -= self.seconds.get(name, 0)
        return "SURVIVED"

    def same_object(self, m, line, text, room):
        """Whether an optimizing compiler makes the same of the original and of the changed text."""
        target, source = os.path.join(room, "same.o"), os.path.join(room, "src", m.path)

        def made_of(version):
            self.put(source, version)
            if not self.quiet(re.sub(r"-o \S+", "-o " + target, line).replace(" -c ", SAME + " -c ", 1), shell=True):
                return None
            with open(target, "rb") as f:
                return f.read()
        if line not in self.optimized:
            with open(os.path.join(self.tree, m.path), encoding="utf-8") as f:
                self.optimized[line] = made_of(f.read())
        return made_of(text) == self.optimized[line]

    def put(self, path, text):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)

    def run(self, mutations):
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            tried = [pool.submit(self.try_one, m) for m in mutations]
            for m, m.result in (t.result() for t in concurrent.futures.as_completed(tried)):
                if m.result not in NONE:
                    print("%-40s %s" % (m.result, m.name()), flush=True)
                if m.reason:
                    print("%-40s   %s" % ("", m.reason), flush=True)

    def run_drawn(self, changes, n):
        """The first n of the changes that are C and no other way to write the same."""
        tried = []
        while len(tried) < n:
            batch = list(itertools.islice(changes, n - len(tried)))
            if not batch:
                break
            self.run(batch)
            tried += [m for m in batch if m.result not in NONE]
        return tried


class Calls:
    """Which test programs call which functions of the shared object: each runs once, and again when it, or the
    object of a function that none is known to call, is newer than what is known."""

    def __init__(self, study):
        self.study = study
        self.folder = os.path.join(study.out, "calls")
        self.names, file = {}, ""
        listed = subprocess.run(["readelf", "-sW", os.path.join(study.unchanged, "libpithall.so")], check=True,
                                capture_output=True, text=True).stdout
        for words in (line.split() for line in listed.splitlines()):
            if len(words) >= 7 and words[3] == "FILE":
                file = words[7] if len(words) > 7 else ""
            elif len(words) > 7 and words[3] == "FUNC" and words[6] != "UND":
                self.names[int(words[1], 16)] = (file if words[4] == "LOCAL" else "", words[7].split(".")[0])
        self.lock = threading.Lock()
        self.of_program = {}

    def programs(self, m):
        """Those that call the function of a change. One in a header, or by the name of a macro, has the name in any
        file: a name that is no function's stands for all of the files that include it."""
        with self.lock:
            sources = self.study.sources_of(m.path)
            named = {(f, n) for f, n in self.names.values()
                     if n == m.function and (not f or m.path.endswith(".h") or f == os.path.basename(m.path))}
            if not named:
                files = {os.path.basename(s) for s in sources}
                named = {(f, n) for f, n in self.names.values() if f in files}
            made = [os.path.join(self.study.out, s[:-2] + ".o") for s in sources]
            calling = self.calling(named, 0)
            return calling or self.calling(named, max(map(os.path.getmtime, made), default=0))

    def calling(self, named, made):
        old = [n for n in self.study.programs + self.study.nulls if self.is_old(n, made)]
        with concurrent.futures.ThreadPoolExecutor(self.study.jobs) as pool:
            list(pool.map(self.run, old))
        for n in self.study.programs + self.study.nulls:
            if n not in self.of_program:
                with open(self.record(n), encoding="utf-8") as f:
                    self.of_program[n] = {tuple(line.rstrip("\n").split(" ")) for line in f}
        return [n for n, called in self.of_program.items() if called & named]

    def record(self, name):
        return os.path.join(self.folder, name)

    def is_old(self, name, made):
        record = self.record(name)
        program = os.path.join(self.study.out, "tests", name + ".o")
        return not os.path.exists(record) or os.path.getmtime(record) < max(made, os.path.getmtime(program))

    def run(self, name):
        addresses = self.record(name) + ".addresses"
        os.makedirs(os.path.dirname(addresses), exist_ok=True)
        passes, seconds = self.study.run_program(name, self.study.unchanged, self.study.longest, PITH_CALLED=addresses)
        if not passes:
            print("%s: left out, for it fails without any change, or takes too long" % name, flush=True)
            seconds = self.study.longest + 1
        self.study.remember(name, seconds)
        called = set()
        if os.path.exists(addresses):
            with open(addresses, encoding="utf-8") as f:
                called = {self.names[int(line, 16)] for line in f if int(line, 16) in self.names}
            os.remove(addresses)
        self.of_program.pop(name, None)
        with open(self.record(name), "w", encoding="utf-8") as f:
            f.writelines("%s %s\n" % c for c in sorted(called))


def report(mutations, seconds):
    killed = [m for m in mutations if m.result.startswith("killed")]
    survived = [m for m in mutations if m.result.startswith("SURVIVED")]
    broken = [m for m in mutations if m not in killed and m not in survived]
    unexplained = [m for m in survived if not m.reason]
    outdated = [m for m in killed if m.reason]
    print("%d planted, %d killed, %d survived (%d unexplained), %d not applicable, %d s" %
          (len(mutations), len(killed), len(survived), len(unexplained), len(broken), seconds))
    for m in outdated:
        print("explained, but killed: " + m.name())
    return not broken and not unexplained and not outdated and len(survived) * 20 <= len(mutations)


def noticed(m):
    return m.result.startswith("killed")


def report_drawn(mutations, seconds):
    """The share that tests notice, of each room and of all."""
    rooms = {}
    for m in mutations:
        rooms.setdefault(draw_mutations.room_of(m.path), []).append(noticed(m))
    for room, of_room in sorted(rooms.items()):
        print("%-20s %3d of %3d noticed" % (room, sum(of_room), len(of_room)))
    share = sum(map(noticed, mutations)) / max(len(mutations), 1)
    print("%d drawn, %.1f %% noticed, %d s" % (len(mutations), 100 * share, seconds))
    return share >= DRAWN_SHARE


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--tree")
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--draw", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", default="")
    parser.add_argument("path", nargs="*", default=draw_mutations.ROOMS)
    args = parser.parse_args()
    mutations = read_list(os.path.join(TOP, "tests/mutations.txt"))
    if args.check:
        sys.exit(0 if check(mutations) else 1)
    begin = time.monotonic()
    if args.draw:
        changes = draw_mutations.draw(TOP, [os.path.normpath(p) for p in args.path], args.seed)
        # More than the first are needed for those that are no change.
        mutations = list(itertools.islice(changes, 4 * args.draw))
    else:
        mutations = [m for m in mutations if re.search(args.only, m.name())]
    if not args.tree or not mutations:
        sys.exit("nothing to plant")
    copy_tree(args.tree)
    study = Study(args.tree, mutations, args.jobs, bool(args.draw), args.tests)
    study.build()
    if args.draw:
        mutations = study.run_drawn((m for m in mutations if re.search(args.only, m.name())), args.draw)
        sys.exit(0 if report_drawn(mutations, time.monotonic() - begin) else 1)
    study.run(mutations)
    sys.exit(0 if report(mutations, time.monotonic() - begin) else 1)


main()
