"""Runs every command that takes a model on every network of make_zoo.py, in the current folder: what it ends
with is the answer or a sentence. Usage: zoo.py KIND..."""
import os
import re
import shutil
import subprocess
import sys

# %m: the model; %d: samples for all of its inputs; %s: for the first one; %o: a file that is made.
COMMANDS = {
    "info": ["%m --bytes --ranges --history", "%m --json"],
    "check": ["%m", "%m %d"],
    "compare": ["%m %m --tol snr>30dB", "%m %m %d --layers"],
    "sense": ["%m %d --bits 4", "%m %d --prune 0.5"],
    "import": ["%m -o %o"],
    "init": ["%m -o %o"],
    "prune": ["%m --sparsity 50% -o %o", "%m --pattern 2:4 -o %o"],
    "cluster": ["%m --bits 3 -o %o"],
    "calibrate": ["%m %d -o %o"],
    "quantize": ["%m %d -o %o", "%m -d none --weights 4 -o %o", "%m %d --to fixed:8 -o %o"],
    "train": ["%m %s --epochs 1 --batch 8 -o %o", "%m %s --labels labels.csv --epochs 1 --batch 8 -o %o",
              "%m %s --teacher %m --epochs 1 --batch 8 -o %o"],
    "encode": ["%m -o %o", "%m --lossless --coder rans -o %o"],
    "compress": ["%m --sparsity 50% --bits 4 -o %o", "%m --lossless -o %o", "%m %d -o %o",
                 "%m %s --labels labels.csv --max-drop 5% -o %o", "%m %d --min-snr 25 --run int8 -o %o",
                 "%m %d --max-size 900 -o %o", "%m %d --pattern 2:4 --max-drop 5% -o %o"],
    "sweep": ["spec.json %m %s --labels labels.csv"],
    "run": ["%m", "%m %d --top 2", "%m %d --profile"],
    "plan": ["%m -o %o"],
    "tune": ["%m --time 100ms -o %o"],
    "eval": ["%m %s --labels labels.csv"],
    "bench": ["%m --time 10ms", "%m --time 10ms --per-layer"],
    "generate": ["%m --ids prompt.npy -n 2"],
    "decode": ["%m -o %o", "%m --to onnx -o %o"],
    "export": ["%m --c %c", "%m --c %c --input u8 --target cortex-m0"],
    "recipe": ["show %m"],
    "report": ["%m -o %o", "%m %d -o %o", "%m --vs %m -o %o", "%m %m %s --labels labels.csv -o %o", "%m --vs %m %d -o %o"],
    "weights": ["%m -o weights.png -f", "%m --layer none -o weights.npy"],
}
WITHOUT_MODEL = {"ops", "help", "completion", "version", "serve"}  # serve does not end by itself: tests/cli/serve.sh
# What stages work on: of these networks there is none, and of all others there is.
WITHOUT_FLOAT_WEIGHTS = {"qdq", "qoperator", "own", "no_weights"}
NEED_FLOAT_WEIGHTS = {"prune", "cluster", "quantize"}
# Of a piece that is made inside, of a check behind the last one, of work that was none.
NO_SENTENCE = re.compile(r"shapes or attributes do not fit|cannot pack|inputs and 0 outputs|internal|\bnan\b|"
                         r"\b0 of 0\b|\b0 weights in")


def names_of_commands():
    """By the table that help prints: a command without a row above is found."""
    text = subprocess.run(["pith", "completion", "bash"], capture_output=True, text=True, check=True).stdout
    return set(re.search(r'commands="([^"]*)"', text).group(1).split())


def words_of(kind, line):
    model = kind if kind.endswith(".pith") else kind + ".onnx"
    base = kind.split(".")[0]
    data = ["-d", base + ".npy"]
    if base == "states":
        data = ["-d", "x=states.npy", "-d", "token=token.npy", "--state", "next=state"]
    single = ["-d", base + ".npy"]
    words = []
    for word in line.split():
        words += {"%m": [model], "%d": data, "%s": single, "%o": ["out.file", "-f"], "%c": ["out.c"]}.get(word, [word])
    return words


def wanted_exit(command, kind, line):
    """None: any of those that an answer has."""
    if command not in NEED_FLOAT_WEIGHTS or "none" in line.split():
        return None
    return 5 if kind.split(".")[0] in WITHOUT_FLOAT_WEIGHTS else 0


def complain(words, why, text):
    print(" ".join(words) + ": " + why + "\n" + text)
    return 1


def run(command, kind, line):
    words = ["pith", command] + words_of(kind, line)
    if os.path.exists("out.file"):
        os.remove("out.file")
    shutil.rmtree("out.c", ignore_errors=True)
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=60,
                          stdin=subprocess.DEVNULL)
    if os.environ.get("ZOO_SHOW"):
        print(done.returncode, " ".join(words), "|", done.stderr.strip().replace("\n", " / ")[-200:])
    if done.returncode not in (0, 1, 2, 3, 5):
        return complain(words, f"exit {done.returncode}", done.stderr)
    wanted = wanted_exit(command, kind, line)
    if wanted not in (None, done.returncode):
        return complain(words, f"exit {done.returncode}, not {wanted}", done.stderr)
    if done.returncode and not done.stderr.strip():
        return complain(words, f"exit {done.returncode} without a word", "")
    if NO_SENTENCE.search(done.stderr + done.stdout):
        return complain(words, "is no sentence for its user", done.stderr + done.stdout)
    if "%o" in line and os.path.exists("out.file") != (done.returncode == 0):
        return complain(words, f"exit {done.returncode} and a file, or 0 and none", done.stderr)
    if "%c" in line and os.path.exists("out.c") != (done.returncode == 0):
        return complain(words, f"exit {done.returncode} and a folder, or 0 and none", done.stderr)
    return 0


def main():
    missing = names_of_commands() - WITHOUT_MODEL - set(COMMANDS)
    if missing:
        sys.exit(f"no line of zoo.py runs pith {', '.join(sorted(missing))}")
    bad = n = 0
    for kind in sys.argv[1:]:
        for command, lines in COMMANDS.items():
            for line in lines:
                bad += run(command, kind, line)
                n += 1
    print(f"{n} runs, {bad} of them wrong", file=sys.stderr)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
