# awk: fields, sums, reports.

## sum-column
# files: orders.tsv
awk '{ s += $5 } END { print s; printf "%.2f\n", s / NR }' orders.tsv

## group-by
# files: orders.tsv
awk -F'\t' '{ n[$3] += $4; t[$3] += $4 * $5 } END { for (k in n) printf "%-8s %3d %8.2f\n", k, n[k], t[k] }' orders.tsv | sort

## filter-and-format
# files: people.csv
awk -F, 'NR > 1 && $4 > 40 { printf "%s (%d)\n", $2, $4 }' people.csv

## begin-and-separators
# files: orders.tsv
awk 'BEGIN { FS = "\t"; OFS = "," } { $1 = $1; print }' orders.tsv | head -2; awk -v OFS=- '{ print $1, $3 }' orders.tsv | tail -1

## nr-fnr
printf 'a\nb\n' > x; printf 'c\n' > y; awk '{ print FILENAME, NR, FNR, $0 }' x y

## lookup-join
# files: people.csv orders.tsv
awk -F'[,\t]' 'NR == FNR { name[$1] = $2; next } $2 in name { print $1, name[$2] } !($2 in name) { print $1, "unknown" }' people.csv orders.tsv

## last-field
echo 'a b c d' | awk '{ print $NF, $(NF-1), NF }'; echo 'a b c' | awk '{ $2 = ""; print }'; echo a:b:c | awk -F: '{ NF = 2; print }'

## functions
awk 'function fact(n) { return n <= 1 ? 1 : n * fact(n - 1) } BEGIN { print fact(10); print length("hello"), substr("hello", 2, 3), index("hello", "l"), toupper("abc") tolower("DEF") }'

## split-and-gsub
awk 'BEGIN { n = split("a,b,c", p, ","); for (i = n; i > 0; i--) printf "%s ", p[i]; print ""; s = "x.y.z"; c = gsub(/\./, "-", s); print c, s; t = "aaa"; sub(/a/, "[&]", t); print t }'

## match-rstart
echo 'order id=1234 ok' | awk 'match($0, /[0-9]+/) { print RSTART, RLENGTH, substr($0, RSTART, RLENGTH) }'

## match-groups
echo 'k1=v1' | awk 'match($0, /([a-z0-9]+)=([a-z0-9]+)/, m) { print m[2], m[1] }'

## printf-formats
awk 'BEGIN { printf "%5d|%-5s|%05.1f|%x|%o|%e|%c|%%|%s\n", 42, "ab", 3.14159, 255, 8, 12345.678, 65, "z" }'

## print-large-numbers
awk 'BEGIN { print 2^31, 2^53, 1e6, 100000 * 100000, 0.1 + 0.2, 1 / 3, 1e20, -3 % 2 }'

## ranges
# files: config.ini
awk '/^\[server\]/,/^$/' config.ini; awk '/database/ { f = 1; next } f' config.ini

## associative-in
awk 'BEGIN { a["x"] = 1; if ("x" in a) print "in"; if (!("y" in a)) print "out"; delete a["x"]; print length(a) }'

## multi-key
awk 'BEGIN { a[1, 2] = 3; for (k in a) { split(k, p, SUBSEP); print p[1], p[2], a[k] } if ((1, 2) in a) print "yes" }'

## getline-from-file
# files: words.txt
awk 'BEGIN { while ((getline line < "words.txt") > 0) n++; print n; "echo cmd" | getline x; print x }'

## pipe-and-redirect-from-awk
# files: orders.tsv
awk '{ print $3 > ($3 ".txt") } END { close("books.txt"); print "z\na" | "sort" }' orders.tsv; wc -l < books.txt

## while-do-break
awk 'BEGIN { i = 0; while (1) { if (++i > 5) break; if (i % 2) continue; print i } do { i-- } while (i > 3); print i }'

## environment-and-arguments
X=hello awk -v n=3 'BEGIN { print ENVIRON["X"], n, ARGC, ARGV[1] }' arg

## paragraphs
printf 'a b\nc\n\nd\ne f\n' | awk 'BEGIN { RS = ""; FS = "\n" } { print NR ": " $1 " (" NF ")" }'

## record-separator-regex
printf 'a;b|c' | awk 'BEGIN { RS = "[;|]" } { print NR, $0 }'; printf 'one,two' | awk -v RS=, '{ print }'

## dedupe
printf 'b\na\nb\nc\na\n' | awk '!seen[$0]++'

## max-min
# files: people.csv
awk -F, 'NR == 2 || (NR > 2 && $4 > max) { max = $4 } END { print max + 0 }' people.csv

## string-comparison
printf '10\n9\nabc\n' | awk '$1 > 5 { print $1 }'; awk 'BEGIN { print ("10" < "9"), (10 < 9), "a" < "b" }'

## ternary-and-concat
awk 'BEGIN { x = 5; print (x > 3 ? "big" : "small") "-" x; y = x++ + ++x; print y, x; x ^= 2; print x }'

## regex-dynamic
# files: words.txt
awk -v pat='^[ab]' '$0 ~ pat' words.txt; awk '$0 !~ /a/' words.txt; awk 'BEGIN { IGNORECASE = 1 } /ALPHA/' words.txt

## gensub-and-strftime
echo 'a-b' | awk '{ print gensub(/(.)-(.)/, "\\2-\\1", "g") }'; awk 'BEGIN { print strftime("%Y-%m-%d %H:%M:%S", 0, 1) }'

## asort
awk 'BEGIN { split("c a b", a); n = asort(a); for (i = 1; i <= n; i++) printf "%s ", a[i]; print "" }'

## sorted-traversal
awk 'BEGIN { a["z"] = 1; a["y"] = 2; PROCINFO["sorted_in"] = "@ind_str_asc"; for (k in a) print k, a[k] }'

## histogram
# files: people.csv
awk -F, 'NR > 1 { c[int($4 / 10) * 10]++ } END { for (d in c) { s = ""; for (i = 0; i < c[d]; i++) s = s "*"; print d, s } }' people.csv | sort -n

## transpose
printf '1 2 3\n4 5 6\n' | awk '{ for (i = 1; i <= NF; i++) m[i] = m[i] (NR > 1 ? " " : "") $i } END { for (i = 1; i <= NF; i++) print m[i] }'

## exit-status
echo x | awk '{ exit 3 } END { print "end" }'; echo $?; awk 'BEGIN { exit }'; echo $?

## uninitialized
awk 'BEGIN { print x + 0, "[" x "]", length(x); if (!x) print "false" }'

## field-width-unicode
echo 'añb' | awk '{ print length($0), substr($0, 2, 1), toupper($0) }'

## math
awk 'BEGIN { printf "%.4f %.4f %.4f %.4f %d %.3f\n", sin(1), cos(1), atan2(1, 1), exp(1), int(-3.7), log(10) }'; awk 'BEGIN { print sqrt(2) }'

## script-from-file
printf '#!/usr/bin/awk -f\n# comment\n{ n++ }\nEND { print n \" lines\" }\n' | tr -d '\\' > s.awk; seq 4 | awk -f s.awk

## log-durations
# files: logs/app.log
awk '/took/ { gsub(/[^0-9]/, "", $6); print $6 }' logs/app.log | sort -n | tail -1; awk '{ c[$2]++ } END { for (l in c) print l, c[l] }' logs/app.log | sort

## percentages
# files: logs/access.log
awk '{ s[$9]++ } END { for (c in s) printf "%s %5.1f%%\n", c, 100 * s[c] / NR }' logs/access.log | sort

## fixed-columns
printf 'abcdef\n' | awk 'BEGIN { FIELDWIDTHS = "2 3 1" } { print $2 }'; echo '"a,b",c' | awk -v FPAT='[^,]+|"[^"]+"' '{ print $1 }'

## syntax-error
awk 'BEGIN { print ( }' 2>/dev/null; echo $?

## division-by-zero
awk 'BEGIN { print 1 / 0 }' ; echo $?

## print-to-stderr
awk 'BEGIN { print "warn" > "/dev/stderr"; print "out" }'

## system-call
awk 'BEGIN { r = system("exit 3"); print r; system("echo from shell") }'

## string-repeat-and-substr-edges
awk 'BEGIN { print substr("hello", 0, 2), substr("hello", -1), substr("hello", 4, 100) "|"; printf "%s %s\n", "a", "b" }'
