# SPDX-License-Identifier: MIT
"""Writes the Python package as a wheel: wheel.py PROGRAM LIBRARY FOLDER. The same inputs give the same bytes.

PROGRAM is the command, LIBRARY libpith-runtime.so.0. The tag of the platform is the newest glibc that they call."""
import base64
import glob
import hashlib
import os
import re
import subprocess
import sys
import zipfile

program, library, folder = sys.argv[1:]
root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
header = open(os.path.join(root, "runtime/pith_runtime.h")).read()
version = ".".join(re.findall(r"#define PITH_VERSION_\w+ (\d+)", header))

symbols = subprocess.run(["readelf", "-W", "--dyn-syms", program, library], capture_output=True, text=True,
                         check=True).stdout
glibc = max(tuple(map(int, v)) for v in re.findall(r"@GLIBC_(\d+)\.(\d+)", symbols))
machine = os.uname().machine
tag = f"py3-none-manylinux_{glibc[0]}_{glibc[1]}_{machine}"

about = f"pith_compress-{version}.dist-info"
metadata = f"""Metadata-Version: 2.1
Name: pith-compress
Version: {version}
Summary: Compress neural networks and run them
License: MIT
Requires-Python: >=3.8
Requires-Dist: numpy
Classifier: License :: OSI Approved :: MIT License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: Scientific/Engineering :: Artificial Intelligence
Description-Content-Type: text/markdown

"""
# Libraries that are part of the program ask that their licences come with it.
licences = "".join(f"{name}\n\n{open(path, errors='replace').read()}\n" for name in
                   ("libarchive-dev", "libbz2-dev", "libjansson-dev", "libjpeg62-turbo-dev", "libjpeg-turbo8-dev",
                    "liblzma-dev", "libpng-dev", "libprotobuf-c-dev", "libzstd-dev", "nettle-dev", "zlib1g-dev") for path in [f"/usr/share/doc/{name}/copyright"] if os.path.exists(path))


def read(path):
    with open(path, "rb") as file:
        return file.read()


files = {"pith/" + os.path.basename(path): (read(path), 0o644)
         for path in sorted(glob.glob(os.path.join(root, "python/pith/*.py")))}
files["pith/py.typed"] = b"", 0o644
files["pith/pith"] = read(program), 0o755
files["pith/libpith-runtime.so.0"] = read(library), 0o755
files[about + "/METADATA"] = metadata.encode() + read(os.path.join(root, "python/README.md")), 0o644
files[about + "/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: pith\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(), 0o644
files[about + "/entry_points.txt"] = b"[console_scripts]\npith = pith:main\n", 0o644
files[about + "/LICENSE"] = read(os.path.join(root, "LICENSE")), 0o644
files[about + "/LICENSES-of-libraries"] = licences.encode(), 0o644
record = "".join(f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},"
                 f"{len(data)}\n" for name, (data, _) in files.items())
files[about + "/RECORD"] = (record + about + "/RECORD,,\n").encode(), 0o644

os.makedirs(folder, exist_ok=True)
path = os.path.join(folder, f"pith_compress-{version}-{tag}.whl")
with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
    for name, (data, mode) in files.items():
        entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        entry.external_attr, entry.compress_type = (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED
        wheel.writestr(entry, data)
print(path)
