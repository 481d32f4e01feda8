# Text: cut, paste, join, comm, tr, sort, uniq, wc, head, tail, seq, nl, fold, column, rev, tac, split.

## cut-fields
# files: orders.tsv
cut -f1,3 orders.tsv

## cut-delimiter-range
# files: people.csv
cut -d, -f2- people.csv | head -3

## cut-characters
# files: words.txt
cut -c1-3 words.txt; cut -c2- words.txt | head -1; cut -b1 words.txt | tr -d '\n'; echo

## cut-complement
# files: orders.tsv
cut --complement -f2 orders.tsv | head -2
cut -f1,5 --output-delimiter=' | ' orders.tsv | tail -1

## cut-lines-without-delimiter
printf 'a:b\nplain\nc:d\n' | cut -d: -f2
printf 'a:b\nplain\nc:d\n' | cut -s -d: -f2

## sort-numeric-reverse
# files: orders.tsv
sort -t$'\t' -k5,5nr orders.tsv | head -3

## sort-two-keys
# files: orders.tsv
sort -t$'\t' -k3,3 -k4,4n orders.tsv

## sort-unique
# files: orders.tsv
cut -f3 orders.tsv | sort -u

## sort-human
printf '10K\n2M\n512\n1G\n3K\n' | sort -h

## sort-version
printf 'v1.10\nv1.2\nv1.9\nv2.0-rc1\nv1.2.1\n' | sort -V

## sort-fold-case-stable
printf 'b\nA\na\nB\n' | sort -f; echo --; printf 'b 2\na 1\nb 1\na 2\n' | sort -s -k1,1

## sort-check
printf '1\n2\n3\n' | sort -c && echo sorted
printf '3\n1\n' | sort -c 2>/dev/null || echo "not sorted: $?"

## sort-output-to-its-input
# files: words.txt
sort -r -o words.txt words.txt && cat words.txt

## sort-zero-ended
printf 'b\0a\0c\0' | sort -z | tr '\0' ','; echo

## sort-month-and-general
printf 'Mar\nJan\nDec\n' | sort -M; printf '1e3\n2.5\n-1\n' | sort -g

## sort-merge
printf '1\n3\n' > a; printf '2\n4\n' > b; sort -m a b | tr '\n' ' '; echo

## sort-key-with-characters
printf 'ax9\nby1\ncz5\n' | sort -k1.3,1.3n

## uniq-counts
# files: orders.tsv
cut -f3 orders.tsv | sort | uniq -c | sort -k1,1nr -k2

## uniq-only-duplicates
printf 'a\na\nb\nc\nc\n' | uniq -d; echo --; printf 'a\na\nb\n' | uniq -u

## uniq-ignoring-case-and-fields
printf 'A\na\nB\n' | uniq -i; printf '1 x\n2 x\n3 y\n' | uniq -f1; printf 'abX\nabY\n' | uniq -w2

## tr-upper
echo 'Hello, World' | tr a-z A-Z; echo 'Hello' | tr '[:upper:][:lower:]' '[:lower:][:upper:]'

## tr-squeeze-delete
echo 'a   b    c' | tr -s ' '; echo 'a1b2c3' | tr -d '0-9'; echo 'a1b2' | tr -cd '[:digit:]'; echo

## tr-rot13
echo 'Why did the chicken' | tr 'A-Za-z' 'N-ZA-Mn-za-m'

## tr-newlines-to-commas
# files: words.txt
tr '\n' ',' < words.txt | sed 's/,$/\n/'

## words-by-frequency
# files: docs/guide.md
tr -cs '[:alpha:]' '\n' < docs/guide.md | tr A-Z a-z | sort | uniq -c | sort -rn -k1,1 -k2 | head -5

## paste-columns
# files: words.txt
seq 5 | paste - words.txt; paste -d: words.txt words.txt | head -1

## paste-serial
# files: words.txt
paste -sd, words.txt; seq 6 | paste -d' ' - - -; seq 4 | paste -sd+ | bc

## join-on-first-field
printf '1 a\n2 b\n3 c\n' > l; printf '1 x\n3 y\n4 z\n' > r; join l r; echo --; join -a1 -a2 -e NONE -o 0,1.2,2.2 l r

## join-by-other-fields
# files: people.csv orders.tsv
tail -n +2 people.csv | grep -v '"' | sort -t, -k1,1 | cut -d, -f1,2 > p
sort -k2,2 orders.tsv | cut -f2,3 | tr '\t' , > o
join -t, p o; join -t, -v1 p o | head -2

## comm-three-columns
printf 'a\nb\nc\n' > x; printf 'b\nc\nd\n' > y; comm x y; comm -12 x y; comm -23 x y; comm -13 x y

## wc-counts
# files: docs/guide.md words.txt
wc docs/guide.md words.txt; wc -l < words.txt; wc -w docs/guide.md; wc -c < words.txt; printf 'äö' | wc -m; printf 'äö' | wc -c

## wc-longest-line
# files: words.txt
wc -L words.txt; wc -l words.txt | cut -d' ' -f1

## head-and-tail
# files: logs/app.log
head -n 2 logs/app.log; tail -n 1 logs/app.log; head -c 10 logs/app.log; echo; tail -c 5 logs/app.log | od -c | head -1

## tail-from-line
# files: words.txt
tail -n +3 words.txt; head -n -3 words.txt; seq 10 | head -n -8; seq 10 | tail -c +18

## head-several-files
printf '1\n2\n' > a; printf '3\n4\n' > b; head -n1 a b; tail -qn1 a b

## seq-forms
seq 3; seq 2 4; seq 0 5 20 | tr '\n' ' '; echo; seq -s, 1 5; seq -w 8 11; seq 5 -2 1 | paste -sd' '; seq -f 'item-%02g' 2; seq 0 0.25 1

## nl-numbers
# files: words.txt
nl words.txt | head -2; printf 'a\n\nb\n' | nl -ba; printf 'x\ny\n' | nl -w2 -s') ' -v10

## cat-numbers
printf 'a\n\nb\n' | cat -n; printf 'a\n\n\n\nb\n' | cat -s; printf 'a\tb\r\n' | cat -A; printf 'a\n\nb\n' | cat -b

## tac-rev
# files: words.txt
tac words.txt | head -2; rev words.txt | head -1; echo 'añb' | rev

## fold-width
echo 'the quick brown fox jumps over' | fold -w 10; echo 'the quick brown fox jumps over' | fold -s -w 12

## fmt-paragraph
echo 'one two three four five six seven eight nine ten' | fmt -w 20

## column-table
printf 'name value\nalpha 1\nbb 22\n' | column -t; printf 'a,b\nccc,d\n' | column -t -s,

## expand-tabs
printf 'a\tb\n' | expand -t4; printf '        x\n' | unexpand | od -c | head -1

## split-by-lines
seq 7 | split -l 3 - part_; ls part_*; cat part_ac

## csplit-free-split-numeric
seq 4 > n; split -n l/2 n s. && wc -l < s.aa; split -b 2 -d n b. ; ls b.* | wc -l

## shuf-of-one
echo only | shuf; shuf -n 0 <<< x; shuf -i 5-5

## tsort-order
printf 'a b\nb c\n' | tsort

## numfmt-units
numfmt --to=iec 1048576 2048 500; numfmt --from=iec 1K; echo 1500000 | numfmt --to=si

## strip-carriage-returns
# files: dos.txt
tr -d '\r' < dos.txt | cat -A; file=$(cat dos.txt | tr -d '\r' | head -1); echo "[$file]"

## top-addresses
# files: logs/access.log
awk '{print $1}' logs/access.log | sort | uniq -c | sort -rn | head -3

## status-counts
# files: logs/access.log
grep -oE '" [0-9]{3} ' logs/access.log | tr -d '" ' | sort | uniq -c | awk '{printf "%s: %d\n", $2, $1}'

## longest-line
# files: docs/guide.md
awk 'length > max { max = length; line = $0 } END { print max ": " line }' docs/guide.md

## od-bytes
printf 'AB\n\001' | od -c; printf 'AB' | od -An -tx1; printf 'abcd' | od -A d -t u1

## xxd-dump
printf 'Hello\n' | xxd; printf 'Hi' | xxd -p; echo 48690a | xxd -r -p

## hexdump-canonical
printf 'Hello, world!\n12' | hexdump -C

## base-n
echo -n 'dormouse' | base64; echo ZG9ybW91c2U= | base64 -d; echo; seq 30 | base64 -w 20 | head -2; printf 'hi' | base32

## basename-dirname
basename /a/b/c.txt; basename /a/b/c.txt .txt; dirname /a/b/c.txt; dirname c.txt; basename -s .py a/x.py b/y.py; basename -a a/x b/y

## expr-words
expr 3 + 4; expr length hello; expr substr hello 2 3; expr hello : 'h\(.*\)o'; expr 1 \> 2; echo "status $?"

## yes-and-head
yes | head -n 3; yes no | head -2 | tr '\n' ' '; echo

## factor-numbers
factor 12 97 360

## split-joined-options
seq 10 > f; split -l3 f; wc -l x* | head -4; rm x*; split -b4 f q; cat q* | wc -c; rm q*; split -n3 -a3 f; ls x*; rm x*; split -d -l4 f y; ls y*; split -4 f; ls x*; split -C5 f c; head -3 ca?

## split-many-and-in-turn
seq 700 | split -l1 - q; ls q* | sed -n '648,656p'; rm q*; seq 200 | split -d -l1 - q; ls q* | sed -n '88,93p;199,200p'; seq 10 > g; split -n l/3 -d -a3 g; head x*; rm x*; split -n r/3 g; head x*; split -n l/2/3 g; split none 2>/dev/null; echo $?; split -a1 -l1 <(seq 30) 2>/dev/null; echo $?
