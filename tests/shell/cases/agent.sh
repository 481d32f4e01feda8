# What agents write when they work in a project: look around, edit, generate, check.

## look-around
# files: package.json src/app.py src/index.js src/util/math.py docs/guide.md
ls; find . -type f | sort | head -20; wc -l $(find . -name '*.py' | sort)

## head-of-files
# files: src/app.py config.ini
for f in src/app.py config.ini; do echo "=== $f ==="; head -3 "$f"; done; sed -n '5,9p' src/app.py; cat -n src/app.py | sed -n '1,3p'

## create-project
mkdir -p app/{api,models,tests} && touch app/__init__.py app/{api,models,tests}/__init__.py && cat > app/models/user.py <<'EOF'
from dataclasses import dataclass


@dataclass
class User:
    name: str
    age: int = 0
EOF
find app -type f | sort && python3 -c "from app.models.user import User; print(User('a', 3))"; find . -name __pycache__ -prune -exec rm -rf {} +

## todo-report
# files: src/app.py src/index.js src/util/math.py
grep -rnE '(TODO|FIXME)' src | sort | awk -F: '{ printf "%-20s %4d %s\n", $1, $2, $3 }'

## rename-identifier
# files: src/app.py src/util/math.py
grep -rlw add src | sort | while read -r f; do sed -i 's/\badd\b/add_all/g' "$f"; done; grep -rn add_all src | sort

## bump-version
# files: package.json src/app.py
old=$(jq -r .version package.json); new=$(awk -F. -v OFS=. '{ $NF++; print }' <<< "$old"); sed -i "s/\"version\": \"$old\"/\"version\": \"$new\"/" package.json; sed -i "s/VERSION = \"$old\"/VERSION = \"$new\"/" src/app.py; grep -h -i version package.json src/app.py

## run-and-capture
# files: src/app.py src/util/math.py
cat > fail.py <<'EOF'
import sys
print("starting")
sys.stderr.write("boom\n")
sys.exit(3)
EOF
python3 -u fail.py > out.log 2>&1; code=$?; echo "exit $code"; cat out.log; [ $code -ne 0 ] && tail -1 out.log

## test-loop
cat > m.py <<'EOF'
def double(x):
    return x + x + 1
EOF
cat > t.py <<'EOF'
from m import double
assert double(2) == 4, f"double(2) is {double(2)}"
print("ok")
EOF
python3 -B t.py 2>&1 | tail -1; sed -i 's/ + 1$//' m.py; python3 -B t.py

## summarize-log
# files: logs/app.log
echo "lines: $(wc -l < logs/app.log)"; for l in ERROR WARN INFO DEBUG; do printf '%-6s %d\n' $l "$(grep -c " $l " logs/app.log)"; done; grep ERROR logs/app.log | sed -E 's/^[^ ]+ +[A-Z]+ +\[[^]]+\] //' | sed -E 's/[0-9]+/N/g' | sort | uniq -c | sort -k1,1nr -k2

## requests-per-minute
# files: logs/access.log
awk -F'[:[]' '{ print $3 ":" $4 }' logs/access.log | sort | uniq -c | awk '$1 >= 6 { print $2, $1 }' | head -3

## slowest-paths
# files: logs/access.log
awk '$9 >= 400 { bad[$7]++ } { all[$7]++ } END { for (p in all) printf "%.2f %s %d\n", bad[p] / all[p], p, all[p] }' logs/access.log | sort -k1,1nr -k2 | head -3

## config-edit
# files: config.ini
awk -v section=database -v key=pool_size -v value=20 '/^\[/ { s = $0 } s == "[" section "]" && $1 == key { $0 = key " = " value } { print }' config.ini > config.tmp && mv config.tmp config.ini && diff <(grep pool config.ini) <(echo 'pool_size = 20') && echo updated

## env-file-to-json
# files: .env.example
grep -vE '^(#|$)' .env.example | sed 's/"//g' | jq -R -s -c 'split("\n") | map(select(. != "") | capture("(?<k>[^=]+)=(?<v>.*)")) | from_entries? // (map({(.k): .v}) | add)'

## backup-and-restore
# files: words.txt config.ini
mkdir -p backup; for f in words.txt config.ini; do cp "$f" "backup/$f.bak"; done; echo broken > words.txt; cp backup/words.txt.bak words.txt; cmp words.txt backup/words.txt.bak && ls backup

## markdown-outline
# files: docs/guide.md
awk '/^```/ { code = !code } !code && /^#+ / { n = match($0, /[^#]/) - 1; sub(/^#+ /, ""); printf "%*s- %s\n", 2 * (n - 1), "", $0 }' docs/guide.md; grep -oP '\[[^]]*\]\(\K[^)]+' docs/guide.md

## extract-code-block
# files: docs/guide.md
sed -n '/^```sh/,/^```$/p' docs/guide.md | sed '1d;$d'

## replace-block
# files: docs/guide.md
python3 - <<'EOF'
import re, pathlib
p = pathlib.Path("docs/guide.md")
p.write_text(re.sub(r"(?s)## Use.*?(?=\n- one)", "## Use\n\nRun it.\n", p.read_text()))
EOF
sed -n '/^## Use/,$p' docs/guide.md

## line-edit-by-number
# files: src/app.py
n=$(grep -n 'FIXME' src/app.py | cut -d: -f1); sed -i "${n}d" src/app.py; sed -i "$((n))i\\    if len(argv) < 2:\\n        return 1" src/app.py; sed -n "$((n - 1)),$((n + 2))p" src/app.py

## dependency-list
# files: package.json
jq -r '(.dependencies + .devDependencies) | keys[]' package.json | while read -r d; do v=$(jq -r --arg d "$d" '(.dependencies[$d] // .devDependencies[$d])' package.json); echo "$d@${v#^}"; done

## imports-of-python
# files: src/app.py src/util/math.py
grep -rhE '^(import|from) ' src | awk '{ print $2 }' | sort -u; python3 - <<'EOF'
import ast
t = ast.parse(open("src/util/math.py").read())
print([n.name for n in ast.walk(t) if isinstance(n, (ast.FunctionDef, ast.ClassDef))])
EOF

## loc-by-language
# files: src/app.py src/index.js src/util/math.py docs/guide.md
for e in py js md; do n=$(find . -name "*.$e" -exec cat {} + | grep -cv '^[[:space:]]*$'); echo "$e $n"; done | sort -k2,2nr | column -t

## generate-fixtures
for i in $(seq -w 1 12); do echo "{\"id\": $((10#$i)), \"name\": \"item$i\"}" > "item_$i.json"; done; jq -s -c 'map(.id) | add' item_*.json; ls item_*.json | wc -l; cat item_07.json

## split-and-merge
seq 25 > all; split -l 10 -d --additional-suffix=.part all p; for f in p*.part; do echo "$f $(wc -l < "$f")"; done; cat p*.part | cmp - all && echo whole; rm p*.part

## csv-report
# files: people.csv
python3 -c "
import csv
from collections import defaultdict
t = defaultdict(list)
for r in csv.DictReader(open('people.csv', encoding='utf-8')):
    t[r['city']].append(float(r['salary']))
for c, s in sorted(t.items()):
    print(f'{c:10} {len(s):3} {sum(s) / len(s):10.2f}')
" | tee report.txt; wc -l < report.txt

## batch-rename-with-counter
touch IMG_{7,3,11}.jpg; n=1; for f in $(ls IMG_*.jpg | sort -V); do mv "$f" "$(printf 'photo-%03d.jpg' $n)"; ((n++)); done; ls

## find-duplicates
echo same > a; echo same > b; echo other > c; md5sum a b c | sort | awk '{ if ($1 == p) print $2 " equals " f; else { p = $1; f = $2 } }'

## wait-for-file
(sleep 0.1; echo ready > flag) & for i in $(seq 50); do [ -f flag ] && break; sleep 0.05; done; wait; cat flag

## check-tools
for t in bash python3 node jq awk sed grep find xargs tar; do command -v "$t" > /dev/null 2>&1 && printf '%s ok\n' "$t" || printf '%s missing\n' "$t"; done

## guarded-script
cat > build.sh <<'EOF'
#!/usr/bin/env bash
set -euo pipefail
trap 'echo "failed at line $LINENO" >&2' ERR
readonly OUT=${1:?usage: build.sh OUT}
mkdir -p "$OUT"
for src in *.txt; do
  sed 's/^/> /' "$src" > "$OUT/${src%.txt}.md"
done
echo "built $(ls "$OUT" | wc -l) files"
EOF
echo hello > a.txt; echo world > b.txt; chmod +x build.sh; ./build.sh out; cat out/a.md; ./build.sh 2>/dev/null; echo $?

## apply-patch
# files: src/app.py
cat > fix.patch <<'EOF'
--- a/src/app.py
+++ b/src/app.py
@@ -6,5 +6,5 @@
 
 # TODO: read the configuration
-VERSION = "1.4.2"
+VERSION = "1.5.0"
 
 
EOF
patch -p1 < fix.patch; grep VERSION src/app.py

## http-less-json-report
# files: events.jsonl
jq -s -r 'group_by(.user)[] | [.[0].user, length, (map(.type) | unique | join("/"))] | @tsv' events.jsonl | column -t

## tail-errors-with-context
# files: logs/app.log
grep -n ERROR logs/app.log | tail -2 | cut -d: -f1 | while read -r n; do sed -n "$((n > 1 ? n - 1 : 1)),${n}p" logs/app.log; echo --; done

## compare-versions-of-json
# files: package.json
jq -S . package.json > a; jq -S '.version = "9.9.9"' package.json > b; diff a b; [ "$(jq -S . package.json | sha256sum)" = "$(cat a | sha256sum)" ] && echo stable

## safe-temporary-work
tmp=$(mktemp -d -p "$PWD"); trap 'rm -rf "$tmp"' EXIT; (cd "$tmp" && echo x > f && tar cf ../t.tar f); tar tf t.tar; rm t.tar

## ls-and-python-chain
printf 'print(42)\nprint("x1")\n' > script.py; ls -la > /dev/null && python3 script.py | grep x > out.txt; cat out.txt
