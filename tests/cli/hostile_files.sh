#!/bin/sh
# SPDX-License-Identifier: MIT
# A small file cannot cost much: whatever it holds, info, check and import take or refuse a file of n
# bytes within 1 s and 1 us a byte (of processor time; the test allows three times as much) and within
# 64 MB and 20 bytes a byte; pictures, packed arrays and archives likewise. A device is no file. What is refused for its size is exit 6 and says what
# allows it. Quantizing takes a time by the number of layers, not by its square.
. "$(dirname "$0")/sandbox.inc"
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 - <<'EOP' || status=1
import bz2, lzma, os, struct, subprocess, sys, zlib
from make_inputs import attr_int, field, value, varint

TABLE = []
for c in range(256):
    for _ in range(8):
        c = c >> 1 ^ (0x82F63B78 if c & 1 else 0)
    TABLE.append(c)

def crc32c(data):
    c = 0xffffffff
    for b in data:
        c = c >> 8 ^ TABLE[(c ^ b) & 255]
    return c ^ 0xffffffff

files = {}

# ---- .pith: docs/format.md ----
def compact(name, graph):
    data = b"\xb9\x53\x01" + varint(len(graph)) + b"\x7f" + graph
    files[name] = data + struct.pack("<I", crc32c(data))

MATMUL, RELU = bytes([3]), bytes([8])
def split(outputs, base):  # of value 0
    return bytes([25 | 0x80]) + varint(1) + varint(outputs) + varint(base + 1)
def input_row(n):
    return b"\x00\x02\x01" + varint(n)
def gaps_of_nothing(*dims):  # a tensor of zeros in no bytes at all
    return bytes([10 << 3 | len(dims)]) + b"".join(map(varint, dims)) + varint(0)
compact("nodes.pith", b"\x00\x01\x03\x00" + RELU * 65536)
compact("values.pith", input_row(65535) + b"\x00" + b"".join(split(65535, 1 + 65535 * i) for i in range(3)))
compact("zeros.pith", input_row(1 << 14) + b"\x01" + gaps_of_nothing(1 << 14, 1 << 14) + MATMUL)
compact("most_zeros.pith", input_row(1 << 11) + b"\x01" + gaps_of_nothing(1 << 11, 1 << 11) + MATMUL)
compact("zero_row.pith", b"\x00\x01" + varint(1 << 26) + b"\x01" + gaps_of_nothing(1 << 26) + bytes([4]))
# ---- ONNX ----
def node(op, ins, out, attribute=b""):
    return field(1, b"".join(field(1, i) for i in ins) + field(2, out) + field(4, op) + attribute)
def ints(name, *values, scalar=False):
    shape = b"" if scalar else field(1, len(values))
    return field(5, shape + field(2, 7) + field(8, name) + field(9, struct.pack("<%dq" % len(values), *values)))
def floats(name, dims, raw):
    return field(5, b"".join(field(1, d) for d in dims) + field(2, 1) + field(8, name) + field(9, raw))
ONE = struct.pack("<f", 1)
def onnx(name, graph, width):
    files[name] = field(1, 8) + field(8, field(2, 13)) + field(7, graph + value(11, "x", [1]) + value(12, "y", [width]))
ADD = node("Add", ["x", "c"], "y")
N = 1 << 28
onnx("constant.onnx", node("ConstantOfShape", ["s"], "c") + ADD + ints("s", N), N)
onnx("expand.onnx", node("Expand", ["k", "s"], "c") + ADD + ints("s", N) + floats("k", [1], ONE), N)
onnx("tile.onnx", node("Tile", ["k", "s"], "c") + ADD + ints("s", N) + floats("k", [1], ONE), N)
onnx("range.onnx", node("Range", ["a", "b", "d"], "r") + node("Cast", ["r"], "c", attr_int("to", 1)) + ADD +
     ints("a", 0, scalar=True) + ints("b", N, scalar=True) + ints("d", 1, scalar=True), N)
onnx("doubled.onnx", b"".join(node("Concat", ["c%d" % i, "c%d" % i], "c%d" % (i + 1) if i < 27 else "c", attr_int("axis", 0))
                              for i in range(28)) + ADD + floats("c0", [1], ONE), N)
onnx("eye.onnx", node("EyeLike", ["c0"], "c") + node("ReduceSum", ["c"], "e") + node("Add", ["x", "e"], "y") +
     node("ConstantOfShape", ["s"], "c0") + ints("s", 1 << 14, 1 << 14), 1)

files["nodes.onnx"] = field(1, 8) + field(8, field(2, 13)) + field(7, value(11, "v0", [1]) + value(12, "v65000", [1]) + b"".join(
    node("Relu", ["v%d" % i], "v%d" % (i + 1)) for i in range(65000)))

def layers(n):
    graph = b""
    for i in range(n):
        w = struct.pack("<16f", *[((i * 16 + k) * 2654435761 % 1000 - 500) / 700 for k in range(16)])
        graph += node("Gemm", ["v%d" % i, "w%d" % i], "v%d" % (i + 1)) + floats("w%d" % i, [4, 4], w)
    graph += value(11, "v0", [1, 4]) + value(12, "v%d" % n, [1, 4])
    return field(1, 8) + field(8, field(2, 13)) + field(7, graph)
files["layers.onnx"] = layers(5000)

# ---- pictures ----
def chunk(tag, data):
    return struct.pack(">I", len(data)) + tag + data + struct.pack(">I", zlib.crc32(tag + data))
text = chunk(b"zTXt", b"k\0\0" + zlib.compress(b"a" * 7900000, 9))
files["texts.png"] = (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 28, 28, 8, 0, 0, 0, 0)) + text * 88 +
                      chunk(b"IDAT", zlib.compress(b"\0" * 29 * 28)) + chunk(b"IEND", b""))

class Bits:
    def __init__(self):
        self.value, self.n, self.out = 0, 0, bytearray()
    def put(self, value, n):
        self.value, self.n = self.value << n | value, self.n + n
        while self.n >= 8:
            byte = self.value >> self.n - 8 & 255
            self.out += bytes([byte, 0] if byte == 255 else [byte])
            self.n -= 8
            self.value &= (1 << self.n) - 1
    def end(self):
        if self.n:
            self.put((1 << 8 - self.n) - 1, 8 - self.n)
        return bytes(self.out)

def jpeg(side, scans):
    """A grey progressive picture whose scans say that all is 0: 14 scans a coefficient at most."""
    def segment(marker, data):
        return b"\xff" + bytes([marker]) + struct.pack(">H", len(data) + 2) + data
    blocks = (side // 8) ** 2
    runs = [14] + [r for r in range(13, -1, -1)]  # EOBn; the first has a code of 1 bit, the others 5
    code = {14: (0, 1), **{r: (16 + i, 5) for i, r in enumerate(range(13, -1, -1))}}
    out = b"\xff\xd8" + segment(0xdb, b"\0" + bytes([1] * 64))
    out += segment(0xc2, struct.pack(">BHHB", 8, side, side, 1) + b"\x01\x11\x00")
    out += segment(0xc4, b"\x00" + bytes([1] + [0] * 15) + b"\x00")
    out += segment(0xc4, b"\x10" + bytes([1, 0, 0, 0, 14] + [0] * 11) + bytes(r << 4 for r in runs))
    dc = Bits()
    for _ in range(blocks):
        dc.put(0, 1)
    out += segment(0xda, b"\x01\x01\x00\x00\x00\x00") + dc.end()
    ac, left = Bits(), blocks
    while left:
        r = min(14, left.bit_length() - 1)
        n = min(left, (1 << r + 1) - 1)
        ac.put(*code[r])
        ac.put(n - (1 << r), r)
        left -= n
    ac = ac.end()
    for i in range(scans - 1):
        k, low = 1 + i // 14, 13 - i % 14
        out += segment(0xda, b"\x01\x01\x00" + bytes([k, k, low if i % 14 == 0 else low + 1 << 4 | low])) + ac
    return out + b"\xff\xd9"
files["scans.jpg"] = jpeg(4096, 883)
files["many_scans.jpg"] = jpeg(64, 101)
files["few_scans.jpg"] = jpeg(64, 100)

def picture(data, side=28, interlaced=0, colours=0):
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, colours, 0, 0, interlaced)) +
            chunk(b"IDAT", data) + chunk(b"IEND", b""))
def zeros(n, head=b"", wbits=15):  # deflated: in pieces, for all of it may be large
    c = zlib.compressobj(6, zlib.DEFLATED, wbits)
    out = [c.compress(head)] + [c.compress(bytes(min(1 << 20, n - at))) for at in range(0, n, 1 << 20)]
    return b"".join(out) + c.flush()
passes = [(4, 4), (4, 4), (7, 4), (7, 7), (14, 7), (14, 14), (28, 14)]  # width and height, of 28 x 28
woven = sum((w + 1) * h for w, h in passes)
files["behind.png"] = picture(zeros(200 << 20))  # 28 rows, and what is behind them
files["woven_behind.png"] = picture(zeros(200 << 20), interlaced=1)
files["woven.png"] = picture(zeros(woven), interlaced=1)
files["short.png"] = picture(zeros(29 * 27))  # one row less, in good order
files["woven_short.png"] = picture(zeros(woven - 29), interlaced=1)
files["white.png"] = picture(zeros((3 * 8192 + 1) * 8192), 8192, 0, 2)
files["large.jpg"] = jpeg(8192, 2)

# ---- arrays and what is packed ----
def npy(shape, type="<f4"):
    text = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (type, shape)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()
ROWS, ROW = 100000, 28 * 28 * 4  # 314 MB in 300 KB
GZIP = 31
files["rows.npy.gz"] = zeros(ROWS * ROW, npy((ROWS, 1, 28, 28)), GZIP)
files["few.npy.gz"] = zeros(10 * ROW, npy((10, 1, 28, 28)), GZIP)
files["behind.npy.gz"] = zeros(200 << 20, npy((10, 1, 28, 28)), GZIP)
files["zeros.npy.gz"] = zeros(200 << 20, b"", GZIP)
files["idx.gz"] = zeros(200 << 20, struct.pack(">4B3I", 0, 0, 8, 3, (200 << 20) // 784, 28, 28), GZIP)
wave = b"RIFF\xff\xff\xff\xffWAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 16000, 32000, 2, 16) + b"data\xff\xff\xff\xff"
files["wave.gz"] = zeros(200 << 20, wave, GZIP)
entry = bytearray(512)
entry[:5], entry[124:136], entry[148:156] = b"a.png", b"%011o\0" % (200 << 20), b" " * 8
entry[148:156] = b"%06o\0 " % sum(entry)
files["tar.gz"] = zeros(200 << 20, bytes(entry), GZIP)
def packed(c, n, head):  # by xz or bzip2
    out = [c.compress(head)] + [c.compress(bytes(1 << 20)) for _ in range(n >> 20)]
    return b"".join(out) + c.flush()
files["rows.npy.xz"] = packed(lzma.LZMACompressor(preset=0), 200 << 20, npy((ROWS, 1, 28, 28)))
files["tar.xz"] = packed(lzma.LZMACompressor(preset=0), 200 << 20, bytes(entry))
files["tar.bz2"] = packed(bz2.BZ2Compressor(1), 200 << 20, bytes(entry))
def member(name, data, n, crc):
    tail = struct.pack("<5H3I2H", 20, 0, 8, 0, 0, crc, len(data), n, len(name), 0)
    local = b"PK\3\4" + tail + name + data
    central = b"PK\1\2" + struct.pack("<H", 20) + tail + struct.pack("<3H2I", 0, 0, 0, 0, 0) + name
    return local + central + b"PK\5\6" + struct.pack("<4H2IH", 0, 0, 1, 1, len(central), len(local), 0)
crc = zlib.crc32(npy((ROWS, 1, 28, 28)))
for at in range(0, ROWS * ROW, 1 << 20):
    crc = zlib.crc32(bytes(min(1 << 20, ROWS * ROW - at)), crc)
files["pictures.zip"] = member(b"a.png", zeros(200 << 20, b"", -15), 200 << 20, 0)
files["rows.npz"] = member(b"x.npy", zeros(ROWS * ROW, npy((ROWS, 1, 28, 28)), -15), len(npy((ROWS, 1, 28, 28))) + ROWS * ROW, crc)

for name, data in files.items():
    with open(name, "wb") as f:
        f.write(data)
    files[name] = len(data)  # the memory of this process counts as its children's
del text

# ---- what each takes ----
def built_with(symbols):
    return subprocess.run(f"nm $PITH | grep -qE '{symbols}'", shell=True).returncode == 0
def peak(command):
    p = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    return os.wait4(p.pid, 0)[2].ru_maxrss << 10
# Neither times nor memory are the product's own where memory has a shadow. Of UndefinedBehaviorSanitizer, the
# code and tables come on top of what is allocated: at most what the refusal of an empty file takes in all.
shadowed = built_with("__(asan|tsan|msan)_init")
checked = built_with("__ubsan_handle")
open("empty.pith", "wb").close()
own = peak(["pith", "check", "empty.pith"]) if checked else 0
failed = False
def take(rc, said, *command, room=0):
    """Seconds, when the command ended with rc, said that, and stayed within the bounds of its file."""
    global failed
    n = os.path.getsize(next(a for a in (w.rsplit(":")[-1] for w in command) if a in files or a == "coded.pith"))
    p = subprocess.Popen(["pith", *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    out = p.stdout.read().decode()
    _, status, use = os.wait4(p.pid, 0)
    seconds, memory = use.ru_utime + use.ru_stime, use.ru_maxrss << 10
    wrong = []
    if os.waitstatus_to_exitcode(status) != rc or said not in out:
        wrong.append(f"exit {os.waitstatus_to_exitcode(status)}, expected {rc} and '{said}'")
    if not shadowed and seconds > 3 * (1 + 1e-6 * n):
        wrong.append(f"{seconds:.2f} s")
    if not shadowed and memory > (64 << 20) + own + 20 * n + room:
        wrong.append(f"{memory / 1e6:.1f} MB")
    if wrong:
        print(" ".join(command), "of", n, "bytes:", ", ".join(wrong), "|", out.strip()[-200:])
        failed = True
    print(f"{' '.join(command):40} {n:8} bytes, exit {rc}: {seconds:.2f} s, {memory / 1e6:.0f} MB", file=sys.stderr)
    return seconds

limit = {"zeros.pith": "41943", "zero_row.pith": "41943", "doubled.onnx": "4198", "constant.onnx": "4194",
         "expand.onnx": "4194", "tile.onnx": "4194", "range.onnx": "4194", "eye.onnx": "4194"}
for name in files:
    if name.endswith((".pith", ".onnx")):
        rc, said = (6, limit[name]) if name in limit else (0, "")
        undecoded = name == "zeros.pith"  # whose weight has two axes: nothing is decoded for its size
        take(0 if undecoded else rc, "2,147,4" if undecoded else said, "info", name)
        take(rc, said, "check", name)
        take(rc, said, "import", name, "-q", "-f", "-o", "out.pith")
take(0, "", "import", "most_zeros.pith", "--max-memory", "100M", "-q", "-f", "-o", "out.pith")
take(6, "--max-memory", "check", "most_zeros.pith", "--max-memory", "1M")

# what one stream may stand for: 2^22 equal weights in some bytes, with each code
def head(k, n):
    return varint(k << 3 | 2) + varint(n)
raw = 4 << 22
tensor = field(1, 2048) + field(1, 2048) + field(2, 1) + field(8, "w") + head(9, raw)
graph = node("MatMul", ["x", "w"], "y") + value(11, "x", [1, 2048]) + value(12, "y", [1, 2048]) + head(5, len(tensor) + raw)
with open("equal.onnx", "wb") as f:
    f.write(field(1, 8) + field(8, field(2, 13)) + head(7, len(graph) + len(tensor) + raw) + graph + tensor)
    for _ in range(raw >> 16):
        f.write(struct.pack("<f", 0.5) * (1 << 14))
subprocess.run(["pith", "cluster", "equal.onnx", "--bits", "4", "-q", "-o", "equal.pith"], check=True)
for coder in ("huffman", "rans", "adaptive"):
    subprocess.run(["pith", "encode", "equal.pith", "--coder", coder, "-q", "-f", "-o", "coded.pith"], check=True)
    for command in ("info", "check"):
        take(0, "", command, "coded.pith")
    take(0, "", "import", "coded.pith", "-q", "-f", "-o", "out.pith")

small = ["--preprocess", "unit,resize=28,crop=28"]
take(6, "scans", "run", "digits.onnx", "scans.jpg", *small)
take(6, "101 scans", "run", "digits.onnx", "many_scans.jpg", *small)
take(0, "", "run", "digits.onnx", "few_scans.jpg", *small)
take(0, "", "run", "digits.onnx", "texts.png", *small)
for name in ("behind.png", "woven_behind.png", "woven.png"):
    take(0, "", "run", "digits.onnx", name, *small)
for name in ("short.png", "woven_short.png"):
    take(4, name + ": broken PNG: ", "run", "digits.onnx", name, *small)
for name in ("white.png", "large.jpg"):
    take(6, "--max-memory", "run", "digits.onnx", name, *small)
more = ["--max-memory", "500M"]
for name in ("rows.npy.gz", "idx.gz", "wav:784:784:wave.gz", "raw:u8:784:zeros.npy.gz", "tar.gz", "rows.npz", "rows.npy.xz", "pictures.zip"):
    for command in (["run"], ["check"], ["eval", "--labels", "few.npy.gz"], ["compare", "digits.onnx"], ["calibrate", "-o", "c.pith"],
                    ["quantize", "-o", "c.pith"], ["compress", "-o", "c.pith"], ["train", "-o", "c.pith"], ["sense"]):
        take(6, "--max-memory", command[0], "digits.onnx", *command[1:], "-d", name)
        if command[0] == "check" and name == "rows.npy.gz" and not shadowed:
            p = subprocess.run(["pith", "check", "digits.onnx", "-d", name, "--range", "0:10", *more], capture_output=True, text=True)
            if p.returncode or "10 samples fit" not in p.stdout:
                print("--max-memory does not allow more:", p)
                failed = True
for name in ("tar.xz", "tar.bz2"):  # which do not declare their size: unpacked up to the bound
    take(6, "--max-memory", "run", "digits.onnx", "-d", name, room=80 * files[name] + (20 << 20))
take(4, "the file has more", "run", "digits.onnx", "-d", "behind.npy.gz")
take(4, "zeros.npy.gz: not IDX", "run", "digits.onnx", "-d", "zeros.npy.gz")
take(6, "--max-memory", "eval", "digits.onnx", "--labels", "zeros.npy.gz", "-d", "few.npy.gz")
take(6, "--max-memory", "eval", "digits.onnx", "--labels", "rows.npz", "-d", "few.npy.gz")
take(6, "--max-memory", "run", "digits.onnx", "rows.npy.gz")
take(6, "--max-memory", "run", "digits.onnx", "-d", "few.npy.gz", "--max-memory", "30K")
take(0, "", "run", "digits.onnx", "-d", "few.npy.gz")
for command in (["info", "/dev/zero"], ["check", "/dev/zero"], ["run", "digits.onnx", "/dev/zero"],
                ["run", "digits.onnx", "-d", "/dev/zero"], ["eval", "digits.onnx", "-d", "few.npy.gz", "--labels", "/dev/zero"],
                ["import", "digits.onnx", "--class-names", "/dev/zero", "-o", "c.pith"], ["recipe", "show", "/dev/zero"],
                ["run", "digits.onnx", "-"]):
    with open("/dev/zero") as zero:
        p = subprocess.run(["pith", *command], stdin=zero, capture_output=True, text=True, timeout=60)
    if p.returncode != 5 or "is a device" not in p.stderr:
        print(*command, "exit", p.returncode, p.stderr)
        failed = True

# ---- quantize: four times the layers, at most six times the time ----
seconds = {}
for n in (1250, 5000):
    with open("net.onnx", "wb") as f:
        f.write(layers(n))
    p = subprocess.Popen(["pith", "quantize", "net.onnx", "-d", "none", "-T", "1", "-q", "-f", "-o", "out.pith"])
    _, status, use = os.wait4(p.pid, 0)
    failed |= status != 0
    seconds[n] = use.ru_utime + use.ru_stime
print(f"quantize: {seconds}", file=sys.stderr)
if seconds[5000] > 6 * seconds[1250] + 0.5:
    print(f"quantize takes {seconds[1250]:.2f} s for 1,250 layers, {seconds[5000]:.2f} s for 5,000")
    failed = True
sys.exit(failed)
EOP
finish
