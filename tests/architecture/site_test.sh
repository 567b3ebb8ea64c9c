#!/usr/bin/env bash
# The documentation builds as a site, and a link that leads nowhere stops it.
set -euo pipefail
root=$(cd -- "$(dirname -- "$0")/../.." && pwd)
command -v mkdocs >/dev/null || { echo "skipped: no mkdocs"; exit 77; }
git -C "$root" rev-parse --git-dir >/dev/null 2>&1 || { echo "skipped: not a checkout"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$root/docs/site.py" "$scratch/site"
for page in index docs/tutorial docs/concepts/memory tools/commands/simulate; do
  [ -s "$scratch/site/$page.html" ] || { echo "the site has no $page.html"; exit 1; }
done
grep -q 'href="docs/tutorial.html"' "$scratch/site/index.html" || { echo "the first page does not link to the tutorial"; exit 1; }

mkdir "$scratch/tree"
git -C "$root" ls-files -z --cached --others --exclude-standard | (cd "$root" && xargs -0 cp --parents -t "$scratch/tree" 2>/dev/null) || true
git init -q "$scratch/tree"
echo '[gone](nowhere.md)' >>"$scratch/tree/docs/tutorial.md"
if "$scratch/tree/docs/site.py" "$scratch/broken" 2>"$scratch/said"; then echo "a broken link did not stop the site"; exit 1; fi
grep -q "docs/tutorial.md.*nowhere.md" "$scratch/said" || { echo "the broken link is not named:"; cat "$scratch/said"; exit 1; }
[ "$(grep -c WARNING "$scratch/said")" = 1 ] || { echo "other links are broken, too:"; cat "$scratch/said"; exit 1; }
