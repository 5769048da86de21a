#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks pages of pith report: report_page.py PAGE... [--layout]

Always: tags that close, ids that are unique and links that lead to one, nothing from outside, no script that runs, at
most 500 KB, JSON of finite numbers. --layout: in headless Chromium, 360 and 1600 pixels wide and with every <details>
open, no horizontal scroll, no two texts in one place, nothing outside of its chart, no request and no console message.
"""
import html
import html.parser
import json
import os
import re
import subprocess
import sys
import tempfile

VOID = {"meta", "link", "br", "img", "input"}
MEASURE = """<script>
addEventListener('load', () => {
  document.querySelectorAll('details').forEach(d => d.open = true);
  const bad = [], root = document.documentElement;
  if (root.scrollWidth > innerWidth) bad.push('scrolls: ' + root.scrollWidth + ' of ' + innerWidth);
  for (const svg of document.querySelectorAll('svg')) {
    const frame = svg.getBoundingClientRect(), seen = [];
    for (const text of svg.querySelectorAll('text')) {
      const b = text.getBoundingClientRect();
      if (!b.width) continue;
      const name = (svg.parentNode.id || svg.getAttribute('aria-label')) + ': "' + text.textContent + '"';
      if (b.left < frame.left - 1 || b.right > frame.right + 1 || b.top < frame.top - 1 || b.bottom > frame.bottom + 1)
        bad.push('outside: ' + name);
      /* a glyph box is higher than its letters: rows may touch by a fifth */
      const h = b.height * 0.2;
      for (const o of seen)
        if (b.left < o.right - 0.5 && o.left < b.right - 0.5 && b.top + h < o.bottom - h && o.top + h < b.bottom - h)
          bad.push('overlap: ' + name);
      seen.push(b);
    }
  }
  for (const e of document.querySelectorAll('h1,h2,h3,p,b,td,th,dd,dt,figcaption,summary,label,pre'))
    if (e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display != 'inline') bad.push('cut: ' + e.textContent);
  if (performance.getEntriesByType('resource').length) bad.push('a request');
  parent.postMessage([innerWidth, bad.slice(0, 20)], '*');
});
</script></head>"""
# Chromium's own windows are 500 pixels wide at least.
FRAME = """<!doctype html><script>onmessage = e => document.body.textContent = 'checked ' + JSON.stringify(e.data)</script>
<iframe src="page.html" width="%d" height="900" style="border:0"></iframe>"""


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links, self.bad, self.json, self.in_json = [], [], [], [], "", False

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if "id" in attrs:
            self.ids.append(attrs["id"])
        for key, value in attrs.items():
            if key in ("href", "src", "xlink:href", "action", "srcset"):
                if value.startswith("#"):
                    self.links.append(value[1:])
                elif not value.startswith("data:"):
                    self.bad.append(f"{key}={value}")
            if key.startswith("on"):
                self.bad.append(f"{tag} has {key}")
        if tag == "script" and attrs != {"type": "application/json", "id": "pith"}:
            self.bad.append(f"script {attrs}")
        self.in_json = tag == "script"
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.bad.append(f"</{tag}> closes nothing")
        self.in_json = False

    def handle_data(self, data):
        if self.in_json:
            self.json += data


def refuse(text):
    raise ValueError(text)


def check(name):
    with open(name, encoding="utf-8") as f:
        text = f.read()
    page = Page()
    page.feed(text)
    bad = page.bad + [f"<{tag}> stays open" for tag in page.open]
    bad += [f"id {i} twice" for i in set(page.ids) if page.ids.count(i) > 1]
    bad += [f"#{link} leads nowhere" for link in page.links if link not in page.ids]
    if len(text.encode()) > 500000:
        bad.append(f"{len(text.encode())} bytes")
    if re.search(r"url\(|@import|\bNaN\b|\bnan\b|\binf\b", re.sub(r'base64,[^"]*', "", text).replace(page.json, "")):
        bad.append("url(), nan or inf")
    try:
        numbers = json.loads(page.json, parse_constant=refuse)
        if numbers["pith"] != 1 or "layers" not in numbers or numbers["after"]["bytes"] <= 0:
            bad.append("JSON lacks keys")
    except (ValueError, KeyError) as e:
        bad.append(f"JSON: {e}")
    return [f"{name}: {b}" for b in bad]


def layout(name):
    bad = []
    with open(name, encoding="utf-8") as f:
        text = f.read()
    with tempfile.TemporaryDirectory() as home:
        copy = os.path.join(home, "page.html")
        with open(copy, "w", encoding="utf-8") as f:
            f.write(text.replace("</head>", MEASURE, 1))
        for width in (360, 1600):
            with open(os.path.join(home, "frame.html"), "w", encoding="utf-8") as f:
                f.write(FRAME % width)
            done = subprocess.run(
                ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=100000000",
                 "--enable-logging=stderr", "--window-size=1700,1000", "--dump-dom", f"file://{home}/frame.html"],
                capture_output=True, text=True, env={**os.environ, "HOME": home}, timeout=180)
            found = re.search(r"checked (\[.*\])", html.unescape(done.stdout))
            measured, wrong = json.loads(found.group(1)) if found else (0, [])
            if measured != width:
                bad.append(f"{name}: Chromium measured a page {measured} pixels wide, not {width}")
            bad += [f"{name} at {width}: {b}" for b in wrong]
            bad += [f"{name}: {line}" for line in done.stderr.splitlines() if "CONSOLE" in line]
    return bad


def main():
    names = [a for a in sys.argv[1:] if not a.startswith("--")]
    bad = []
    for name in names:
        bad += check(name) + (layout(name) if "--layout" in sys.argv else [])
    for line in bad:
        print(line)
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
