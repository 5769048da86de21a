# SPDX-License-Identifier: MIT
"""Lays the pages of the site: site.py FOLDER. The documents keep their places, and what they link to comes along, so
that every link leads somewhere; mkdocs.yml goes beside them."""
import os
import re
import shutil
import sys

folder = sys.argv[1]
root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
pages = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "python/README.md"]
for where, _, names in os.walk(os.path.join(root, "docs")):
    pages += [os.path.relpath(os.path.join(where, name), root) for name in names]
shutil.rmtree(folder, ignore_errors=True)
todo, laid = pages, set()
while todo:
    page = todo.pop()
    if page in laid:
        continue
    laid.add(page)
    to = os.path.join(folder, "src", page)
    os.makedirs(os.path.dirname(to), exist_ok=True)
    if not page.endswith(".md"):
        shutil.copyfile(os.path.join(root, page), to)
        continue
    with open(os.path.join(root, page)) as f:
        text = f.read()
    for link in re.findall(r"\]\(([^)# ]+)|^\[[^]]+\]: ([^# \n]+)|<img src=\"([^\"]+)", text, re.M):
        target = os.path.normpath(os.path.join(os.path.dirname(page), "".join(link)))
        if os.path.isfile(os.path.join(root, target)):
            todo.append(target)
    with open(to, "w") as f:
        f.write(text)
shutil.copyfile(os.path.join(root, "packages/mkdocs.yml"), os.path.join(folder, "mkdocs.yml"))
