#!/bin/sh
# SPDX-License-Identifier: MIT
# `make site`: every page is there, a broken link is an error, and no page loads anything from elsewhere.
build=$(dirname "$PITH_O")
${MAKE:-make} -s site BUILD="$build" >"$build/site.log" 2>&1 || {
    [ -x "$build/site-venv/bin/mkdocs" ] || { echo "no mkdocs-material from PyPI"; exit 77; }
    cat "$build/site.log"
    exit 1
}
status=0
for page in README.md python/README.md docs/*.md docs/tutorial/*.md docs/results/*.md; do
    html=$(echo "$page" | sed 's/README\.md$/index.md/; s/md$/html/')
    [ -s "$build/site/$html" ] || { echo "no $html"; status=1; }
done
grep -lE '<(script|img|iframe)[^>]*src="?https?:|<link[^>]*rel="?stylesheet"?[^>]*href="?https?:' -r "$build/site" --include='*.html' &&
    { echo "these load from elsewhere"; status=1; }
echo '[gone](gone.md)' >>"$build/pages/src/README.md"
"$build/site-venv/bin/mkdocs" build --strict -f "$build/pages/mkdocs.yml" -d "$build/site" >"$build/site.log" 2>&1 &&
    { echo "a broken link is not reported"; status=1; }
grep -q gone.md "$build/site.log" || { cat "$build/site.log"; status=1; }
exit $status
