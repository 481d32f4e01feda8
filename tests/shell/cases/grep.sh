# grep: searching text and trees.

## count
# files: logs/app.log
grep -c ERROR logs/app.log

## with-line-numbers
# files: logs/app.log
grep -n 'WARN' logs/app.log | head -2

## recursive
# files: src/app.py src/index.js src/util/math.py
grep -rn TODO src | sort

## recursive-include
# files: src/app.py src/index.js src/util/math.py
grep -rn --include='*.py' 'def ' . | sort; grep -rl --exclude='*.py' TODO src; grep -rL TODO src | sort

## recursive-exclude-folder
# files: src/app.py src/util/math.py
grep -rln --exclude-dir=util def src

## only-matching
# files: docs/guide.md
grep -oE 'https?://[^ )>]+' docs/guide.md; grep -o 'o' docs/guide.md | wc -l

## perl-lookaround
echo 'price: 42 EUR, price: 7 USD' | grep -oP 'price: \K\d+(?= EUR)'

## perl-classes
# files: logs/app.log
grep -oP '\[\Kworker-\d+' logs/app.log | sort | uniq -c

## context
# files: docs/guide.md
grep -A1 -B1 '^## ' docs/guide.md; echo ====; grep -C1 -n 'npm' docs/guide.md

## inverted
# files: config.ini
grep -vE '^\s*(;|$)' config.ini

## quiet-status
# files: words.txt
grep -q beta words.txt && echo yes; grep -q omega words.txt; echo $?; grep x no-such-file 2>/dev/null; echo $?

## words-and-lines
printf 'cat\ncatalog\nthe cat sat\n' | grep -w cat; printf 'cat\ncatalog\n' | grep -x cat; printf 'Cat\n' | grep -ic CAT

## fixed-strings
printf 'a.b\naxb\n$HOME\n' | grep -F 'a.b'; printf 'a.b\n$HOME\n' | grep -F '$HOME'

## patterns-from-file
# files: words.txt
printf 'alpha\ndelta\n' > p; grep -f p words.txt; grep -e beta -e gamma words.txt; grep -vf p words.txt | wc -l

## stop-after
# files: logs/access.log
grep -m 2 -c GET logs/access.log; grep -m1 POST logs/access.log | cut -d'"' -f2

## file-names
# files: src/app.py src/util/math.py
grep -H def src/util/math.py | head -1; grep -h def src/app.py src/util/math.py; grep -c def src/app.py src/util/math.py; grep -l mean src/app.py src/util/math.py

## extended-alternatives
# files: logs/app.log
grep -E '(ERROR|WARN) +\[worker-[12]\]' logs/app.log | wc -l; grep 'ERROR\|DEBUG' logs/app.log | wc -l

## basic-groups-and-repeats
printf 'abab\nab\naaa\n' | grep '\(ab\)\1'; printf 'aa\naaa\naaaa\n' | grep -x 'a\{3\}'; printf 'a+b\n' | grep 'a+b'

## classes
printf 'abc\n123\n a b\n\t\n' | grep -c '[[:space:]]'; printf 'x1\n__\n' | grep '^[[:alpha:]_][[:alnum:]_]*$'

## byte-offset-and-zero
printf 'aXbX\n' | grep -ob X; printf 'a\0b\0' | grep -z b | tr '\0' '\n'

## binary-file
printf 'a\0match\n' > b; grep -c match b; grep -a match b | tr '\0' '.'; grep -l match b

## color-off-and-null-names
# files: words.txt
grep --color=never -n alpha words.txt; grep -lZ alpha words.txt | tr '\0' '!'; echo

## zgrep-free-pipe
# files: logs/app.log
gzip -c logs/app.log | gunzip | grep -c INFO

## invalid-pattern
echo x | grep '[' ; echo $?

## many-files-no-match
mkdir d; touch d/a d/b; grep -r needle d; echo $?

## egrep-word-boundaries
printf 'foo bar\nfoobar\n' | grep '\bbar\b'; printf 'foo bar\nfoobar\n' | grep '\<foo\>'

## unicode-dot
printf 'é\nab\n' | grep -x '.'; printf 'Straße\n' | grep -o 'ß'

## first-match-of-each-file
# files: src/app.py src/util/math.py
for f in src/app.py src/util/math.py; do grep -nm1 '^def' "$f"; done

## empty-pattern
printf 'a\n\nb\n' | grep -c ''; printf 'a\n\nb\n' | grep -c '^$'; printf '' | grep -c ''

## grep-in-condition
# files: package.json
if grep -q '"express"' package.json; then echo has express; fi; version=$(grep -oP '"version": "\K[^"]+' package.json); echo "$version"
