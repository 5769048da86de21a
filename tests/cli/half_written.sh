#!/bin/sh
# SPDX-License-Identifier: MIT
# A process ended while its output lies in a temporary file: whatever signal did it, nothing stays
# behind and the status is the signal's. Where files can be without a name, kill -9 leaves nothing
# either; where they cannot, the next writer removes what it left. A limit of file size is an error of writing. Of processes that
# write one new name, one does and the others say so, on file systems without rename-if-new and without
# links, too.
. "$(dirname "$0")/sandbox.inc"
nm -u "$PITH" | grep -q __asan_init && exit 77 # must be the first library
${CC:-cc} -O1 -shared -fPIC "$here/held_sync.c" -o held_sync.so || exit 77
expect 0 pith import good.onnx -q -o good.pith
python3 - <<'EOP' || status=1
import glob, os, resource, signal, subprocess, sys, time

for s in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):  # a process started with &, or by nohup, has them ignored
    signal.signal(s, signal.SIG_DFL)
failed = False
def check(what, ok, detail=""):
    global failed
    if not ok:
        print(what, detail)
        failed = True

def wait_for(pattern, n=1):
    end = time.time() + 60
    while len(glob.glob(pattern)) < n:
        if time.time() > end:
            sys.exit(f"{pattern} did not appear")
        time.sleep(0.005)

def clear():
    for name in glob.glob("mark.*") + glob.glob("go") + glob.glob("new.pith*"):
        os.unlink(name)

nameless = False  # can the file system have files without a name, and does it do so?
def start(*more, setup=None, **env):
    env = dict(env) if nameless else dict(env, NO_TMPFILE="1")
    env = dict(os.environ, LD_PRELOAD="./held_sync.so", SYNC_MARK="mark", SYNC_GO="go", **env)
    command = ["pith", "prune", "good.pith", "--sparsity", "0.5", "-q", "-o", "new.pith", *more]
    return subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, preexec_fn=setup)

def left():
    return glob.glob("new.pith.*")

no_core = lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
requests = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU}
not_ending = {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, signal.SIGCONT, signal.SIGTSTP, signal.SIGTTIN,
              signal.SIGTTOU, signal.SIGURG, signal.SIGWINCH, signal.SIGPIPE, signal.SIGXFSZ}
every = set(signal.valid_signals()) - not_ending
check("signals known", len(every) > 20, every)
for force in ([], ["-f"]):
    for sig in sorted(every):
        clear()
        if force:
            open("new.pith", "w").write("old content")
        p = start(*force, setup=no_core)
        wait_for("mark.*")
        check(sig, len(left()) == 1, f"nothing to leave behind: {left()}")
        p.send_signal(sig)
        if sig in requests:  # the first only requests: the file is whole soon
            time.sleep(0.05)
            check(sig, p.poll() is None, f"ended by the first: {p.returncode}")
            end = time.time() + 20  # one that comes before the first was taken is lost
            while p.poll() is None and time.time() < end:
                p.send_signal(sig)
                time.sleep(0.05)
        p.communicate(timeout=20)
        check(sig, p.returncode in (-sig, 128 + sig), f"status {p.returncode}")
        check(sig, not left(), f"left behind: {left()}")
        check(sig, os.path.exists("new.pith") == bool(force), "new.pith is there" if not force else "lost")
        if force:
            check(sig, open("new.pith", "rb").read() == b"old content", "old content lost")

# without a name
try:
    os.close(os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600))
    nameless = True
except OSError as e:
    print("files without names are not tested here:", e)
for force in ([], ["-f"]):
    clear()
    if force:
        open("new.pith", "w").write("old content")
    p = start(*force)
    wait_for("mark.*")
    check("nameless", bool(left()) != nameless, left())
    if not nameless:
        p.kill()
        clear()
        break
    p.send_signal(signal.SIGKILL)
    p.communicate(timeout=20)
    check("killed", not left(), left())
    check("killed", os.path.exists("new.pith") == bool(force), "new.pith")
    open("go", "w")
    p = start(*force)
    _, err = p.communicate(timeout=20)
    check("nameless", p.returncode == 0 and not left(), f"{p.returncode} {err} {left()}")
    check("nameless", subprocess.run(["pith", "info", "new.pith"], stdout=subprocess.DEVNULL).returncode == 0, "not whole")
nameless = False

# what a killed process left under a name: gone with the next writer, where it is old and unused
clear()
p = start()
wait_for("mark.*")
killed = left()
p.send_signal(signal.SIGKILL)
p.communicate(timeout=20)
check("killed with a name", left() == killed and len(killed) == 1, left())
alive = f"new.pith.pith-{os.getpid()}-aaaaaa"
young = killed[0][:-6] + "bbbbbb"
other = killed[0] + "c"
for name in (alive, young, other):
    open(name, "w")
for name in (killed[0], alive, other):
    os.utime(name, (time.time() - 7200, time.time() - 7200))
open("go", "w")
p = start()
_, err = p.communicate(timeout=20)
check("swept", p.returncode == 0 and sorted(left()) == sorted([alive, young, other]), f"{p.returncode} {err} {left()}")
for name in left():
    os.unlink(name)

# nohup
clear()
p = start(setup=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
wait_for("mark.*")
p.send_signal(signal.SIGHUP)
p.send_signal(signal.SIGHUP)
open("go", "w")
_, err = p.communicate(timeout=20)
check("SIGHUP ignored by the caller", p.returncode == 0 and os.path.exists("new.pith"), f"{p.returncode} {err}")

# the size of files is limited
clear()
open("go", "w")
p = start(setup=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
_, err = p.communicate(timeout=20)
check("limit of file size", p.returncode == 3 and "new.pith" in err and "File too large" in err, f"{p.returncode} {err}")
check("limit of file size", not glob.glob("new.pith*"), glob.glob("new.pith*"))

# one new name, many writers
for env in ({"nameless": True}, {}, {"NO_NOREPLACE": "1"}, {"NO_NOREPLACE": "1", "NO_LINK": "1"}):
    env = dict(env)
    nameless = env.pop("nameless", False)
    clear()
    p = start(**env)
    wait_for("mark.*")
    open("new.pith", "w").write("the other's")
    open("go", "w")
    _, err = p.communicate(timeout=20)
    check(env, p.returncode == 3 and "new.pith" in err and "another process" in err, f"{p.returncode} {err}")
    check(env, open("new.pith", "rb").read() == b"the other's", "overwritten")
    check(env, not left(), left())

    clear()
    several = [start(**env) for _ in range(4)]
    wait_for("mark.*", 4)
    open("go", "w")
    errors = [q.communicate(timeout=20)[1] for q in several]
    codes = sorted(q.returncode for q in several)
    check(env, codes == [0, 3, 3, 3], f"{codes} {errors}")
    check(env, sum("another process" in e for e in errors) == 3, errors)
    check(env, subprocess.run(["pith", "info", "new.pith"], stdout=subprocess.DEVNULL).returncode == 0, "not whole")
    check(env, not left(), left())

    clear()  # -f is the last one
    several = [start("-f", **env) for _ in range(3)]
    wait_for("mark.*", 3)
    open("go", "w")
    for q in several:
        q.communicate(timeout=20)
    check(env, [q.returncode for q in several] == [0, 0, 0], [q.returncode for q in several])
    check(env, not left(), left())

# a link to nothing is not replaced unasked
nameless = False
clear()
os.symlink("nowhere", "new.pith")
p = start()
_, err = p.communicate(timeout=20)
check("dangling link", p.returncode == 2 and "exists" in err, f"{p.returncode} {err}")
sys.exit(failed)
EOP

# through a link, to a file or to none yet, its target is written and the link stays
ln -s behind.pith link
for i in 1 2; do
    expect 0 pith import good.onnx -q -f -o link
    [ -L link ] && [ -s behind.pith ] || complain "link $i: $(ls -l link behind.pith)"
    echo old >behind.pith
done
# a failed write is reported once, with its own reason
pith import good.onnx -q -o - >/dev/full 2>.err
[ "$(cat .err)" = "pith import: cannot write to standard output: No space left on device" ] || complain "full: $(cat .err)"
# what would be read twice is no pipe
mkfifo pipe
expect 2 pith train good.onnx -d pipe --hold 0::2 -o held.pith
grep -q -- '--hold reads -d and --labels twice' .err || complain "hold of a pipe: $(cat .err)"
finish
