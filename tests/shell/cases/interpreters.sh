# Pipes into and out of python3, node and php.

## python-c
python3 -c 'print(1 + 1)'; python3 -c 'import sys; print(sys.argv[1:])' a 'b c'; python3 -c 'import sys; sys.exit(3)'; echo $?

## python-stdin
echo 'hello' | python3 -c 'import sys; print(sys.stdin.read().strip().upper())'; seq 5 | python3 -c 'import sys; print(sum(int(l) for l in sys.stdin))'

## python-heredoc
python3 - <<'EOF'
from collections import Counter
words = "a b a c b a".split()
for w, n in sorted(Counter(words).items()):
    print(f"{w}: {n}")
EOF

## python-heredoc-expanded
name=World n=3
python3 <<EOF
for i in range($n):
    print("$name", i)
EOF

## python-heredoc-arguments
python3 - one two <<'EOF'
import sys
print(sys.argv)
EOF

## python-script-file
cat > s.py <<'EOF'
import sys
for line in sys.stdin:
    k, v = line.split()
    print(v, k)
EOF
printf 'a 1\nb 2\n' | python3 s.py | sort -r

## python-module-of-the-folder
# files: src/app.py src/util/math.py src/util/__init__.py
cat > calc.py <<'EOF'
def area(w, h):
    return w * h
EOF
python3 -c 'from calc import area; print(area(3, 4))'

## python-exception
python3 -c 'raise ValueError("bad")' 2> err.txt; echo $?; tail -1 err.txt; rm err.txt

## python-reads-and-writes-files
# files: people.csv
python3 -c "
data = open('people.csv', encoding='utf-8').read().splitlines()
open('names.txt', 'w', encoding='utf-8').write('\n'.join(l.split(',')[1] for l in data[1:]) + '\n')
"
head -3 names.txt; wc -l < names.txt

## python-environment
export COLOR=red; python3 -c 'import os; print(os.environ["COLOR"])'; SIZE=5 python3 -c 'import os; print(os.environ.get("SIZE"), os.environ.get("UNSET"))'

## python-json-pretty
echo '{"b": [1, 2], "a": null}' | python3 -m json.tool; echo '{bad' | python3 -m json.tool 2>/dev/null; echo $?

## python-in-substitution
total=$(python3 -c 'print(sum(range(101)))'); echo "total=$total"; for x in $(python3 -c 'print(*range(3))'); do echo "x$x"; done

## python-stderr-and-status
python3 -c 'import sys; print("out"); print("err", file=sys.stderr); sys.exit(2)' > o 2> e; echo "$? $(cat o) $(cat e)"

## python-in-condition
if python3 -c 'import sys; sys.exit(0 if 2 > 1 else 1)'; then echo yes; fi; python3 -c 'import nosuchmodule_x' 2>/dev/null || echo 'not installed'

## python-unittest
cat > test_calc.py <<'EOF'
import unittest

class T(unittest.TestCase):
    def test_add(self):
        self.assertEqual(1 + 1, 2)

    def test_bad(self):
        self.assertEqual(1, 2)

if __name__ == "__main__":
    unittest.main()
EOF
python3 -m unittest test_calc > out.txt 2>&1; echo $?; grep -E '^(FAIL|Ran|FAILED)' out.txt | sed 's/ in .*//'; rm -rf out.txt __pycache__

## python-compile-check
echo 'def f(:' > bad.py; python3 -m py_compile bad.py 2>/dev/null; echo $?; echo 'x = 1' > good.py; python3 -c 'import ast; ast.parse(open("good.py").read()); print("ok")'

## python-bytes
python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(256)))' | wc -c; python3 -c 'import sys; sys.stdout.buffer.write(b"\x00\xff\x80")' | od -An -tx1; printf '\xff\x00' | python3 -c 'import sys; print(sys.stdin.buffer.read())'

## python-to-python
python3 -c 'import json; print(json.dumps([3, 1, 2]))' | python3 -c 'import json, sys; print(sorted(json.load(sys.stdin)))'

## python-xargs
printf '1\n2\n3\n' | xargs -I{} python3 -c 'print({} ** 2)'; find . -name nothing | xargs -r python3 -c 'print("never")'

## python-find-exec
mkdir t; echo 'print("a")' > t/a.py; echo 'print("b")' > t/b.py; find t -name '*.py' | sort | while read -r f; do python3 "$f"; done; find t -name 'a.py' -exec python3 {} \;

## python-shebang
printf '#!/usr/bin/env python3\nimport sys\nprint("args", len(sys.argv) - 1)\n' > tool; chmod +x tool; ./tool x y

## python-missing-file
python3 no-such.py 2>/dev/null; echo $?

## python-head-closes
python3 -c 'for i in range(5): print(i)' | head -2

## node-e
node -e 'console.log(1 + 1)'; node -p '[1, 2, 3].map(x => x * 2).join()'; node -e 'process.exit(4)'; echo $?

## node-arguments
node -e 'console.log(process.argv.slice(1))' a b; node -p 'process.argv.length' x

## node-heredoc
node <<'EOF'
const words = "b a c".split(" ").sort();
console.log(words.join("-"));
EOF

## node-stdin
echo '{"a": [1, 2]}' | node -e '
let s = ""; process.stdin.on("data", d => s += d).on("end", () => console.log(JSON.parse(s).a.length));'

## node-script-and-require
# files: package.json
cat > m.js <<'EOF'
const fs = require('fs');
const p = JSON.parse(fs.readFileSync('package.json', 'utf8'));
console.log(p.name, Object.keys(p.dependencies).length);
EOF
node m.js

## node-exception
node -e 'throw new Error("x")' 2>/dev/null; echo $?

## node-writes-file
node -e 'require("fs").writeFileSync("o.json", JSON.stringify({ok: true}, null, 2) + "\n")' && cat o.json

## node-environment
GREETING=hi node -e 'console.log(process.env.GREETING)'; node -e 'console.error("e"); console.log("o")' 2>/dev/null

## node-module
cat > x.mjs <<'EOF'
import { readFileSync } from 'node:fs';
export const n = readFileSync('x.mjs', 'utf8').split('\n').length;
console.log(n);
EOF
node x.mjs

## node-shebang
printf '#!/usr/bin/env node\nconsole.log("tool", process.argv.length - 2);\n' > t.js; chmod +x t.js; ./t.js a

## php-r
php -r 'echo 1 + 1, "\n";'; php -r 'echo strtoupper("abc"), PHP_EOL; exit(3);'; echo $?

## php-stdin-and-file
echo '<?php echo "from file\n";' > f.php; php f.php; echo 'a,b' | php -r 'print_r(str_getcsv(trim(fgets(STDIN))));'

## mixed-pipeline
seq 3 | python3 -c 'import sys; [print(int(l) * 10) for l in sys.stdin]' | node -e 'let s = ""; process.stdin.on("data", d => s += d).on("end", () => console.log(s.trim().split("\n").reverse().join(" ")));' | tr ' ' '\n' | sort -n | paste -sd+ | bc

## python-time-bounded
timeout 10 python3 -c 'print("in time")'; echo $?

## python-kill-by-timeout
timeout 1 python3 -c 'while True: pass'; echo $?

## bash-c-python
bash -c 'python3 -c "print(\"nested \$0\")"'; sh -c "python3 -c 'print(\"deep\")'"

## python-one-liner-over-lines
# files: words.txt
python3 -c "
import sys
print(max(sys.stdin, key=len).strip())" < words.txt; cat words.txt | python3 -c "import sys; print(''.join(sorted(l[0] for l in sys.stdin)))"

## scripts-from-stdin-by-name
echo 'import sys; print(len(sys.argv), sys.argv[1:])' | python3 /dev/stdin a b; echo '<?php echo $argc, "\n";' | php /dev/stdin a
