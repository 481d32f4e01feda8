# sed: editing lines and files.

## replace-all
echo 'a.b.c' | sed 's/\./-/g'; echo 'aaa' | sed 's/a/b/2'; echo 'aaaa' | sed 's/a/b/2g'

## in-place
# files: config.ini
sed -i 's/^port = .*/port = 9090/' config.ini && grep port config.ini

## in-place-backup
# files: words.txt
sed -i.bak '1d' words.txt; head -1 words.txt; head -1 words.txt.bak

## print-range
# files: words.txt
sed -n '2,4p' words.txt; sed -n '$p' words.txt; sed -n '2~2p' words.txt; sed -n '2,+1p' words.txt

## delete-lines
# files: config.ini
sed '/^;/d; /^$/d' config.ini; sed '1,3d' config.ini | head -1; sed '$!d' config.ini

## between-patterns
# files: config.ini
sed -n '/^\[server\]/,/^$/p' config.ini; sed -n '/\[database\]/,$p' config.ini

## groups
echo 'Doe, John' | sed -E 's/(\w+), (\w+)/\2 \1/'; echo 'key=value' | sed 's/\(.*\)=\(.*\)/\2=\1/'; echo abc | sed 's/b/[&]/'

## other-delimiters
echo /usr/local/bin | sed 's|/usr/local|/opt|'; echo /a/b | sed 's#/#:#g'

## case-conversion
echo 'hello world' | sed 's/\b\(.\)/\u\1/g'; echo 'Hello' | sed 's/.*/\U&/'; echo 'ABC def' | sed -E 's/(\w+) (\w+)/\L\1\E \U\2/'

## append-insert-change
# files: words.txt
sed '2a after' words.txt | head -4; sed '1i before' words.txt | head -2; sed '/gamma/c changed' words.txt | sed -n 3p

## append-multiline
printf 'a\nb\n' | sed '1a\
one\
two'

## quit
seq 100 | sed 3q; seq 5 | sed -n '2{p;q}'; seq 3 | sed '2q5'; echo $?

## several-expressions
echo 'a b c' | sed -e 's/a/1/' -e 's/b/2/' -e 's/c/3/'

## script-file
printf 's/one/1/\ns/two/2/\n' > s.sed; echo 'one two' | sed -f s.sed

## line-numbers
# files: words.txt
sed = words.txt | sed 'N;s/\n/: /' | head -2; sed -n '/gamma/=' words.txt

## join-lines
printf 'a\nb\nc\n' | sed ':a;N;$!ba;s/\n/,/g'; printf 'a \\\nb\n' | sed -e :a -e '/\\$/N; s/\\\n//; ta'

## hold-space
# files: words.txt
sed -n '1!G;h;$p' words.txt; printf 'a\nb\n' | sed G | cat -A

## transliterate
echo 'hello' | sed 'y/abcdefgh/ABCDEFGH/'

## last-line
printf 'a\nb' | sed '$s/$/!/'; echo; printf 'x' | sed 's/x/y/' | od -c | head -1

## write-file
# files: words.txt
sed -n '/a$/w out.txt' words.txt; cat out.txt; sed 's/alpha/A/w changed.txt' words.txt > /dev/null; cat changed.txt

## read-file
echo insert > i.txt; printf '1\n2\n' | sed '1r i.txt'

## branches
printf 'aab\nab\n' | sed ':x;s/a\(.*\)b/<\1>/;tx'; echo yes | sed '/yes/b;s/e/X/'

## negated-address
# files: words.txt
sed '/beta/!s/^/# /' words.txt

## trim-space
printf '  a b  \n' | sed 's/^[[:space:]]*//;s/[[:space:]]*$//' | cat -A

## print-and-substitute
# files: people.csv
sed -n 's/^\([0-9]\),\([^,]*\),.*/\1=\2/p' people.csv

## ignoring-case
echo 'Hello hello' | sed 's/hello/x/Ig'

## empty-regex-reuse
echo 'foo bar' | sed '/foo/s//baz/'

## zero-address
printf 'x\nx\n' | sed '0,/x/s//y/'

## newline-in-replacement
echo 'a,b,c' | sed 's/,/\n/g'; echo 'a;b' | sed 's/;/\t/' | cat -A

## variables-in-script
name=beta new='B/C'
printf 'alpha\nbeta\n' | sed "s|$name|$new|"

## insert-after-match-in-place
# files: src/app.py
sed -i '/^import sys/a import json' src/app.py && sed -n '1,5p' src/app.py

## list-unambiguously
printf 'a\tb\\\n' | sed -n l

## several-files-separate
# files: words.txt
echo only > w2; sed -s -n '$p' words.txt w2; sed -n '$p' words.txt w2

## comment-out-block
# files: config.ini
sed '/^\[database\]/,$ s/^\([^[]\)/#\1/' config.ini

## delete-up-to-newline
printf 'a\nb\nc\nd\n' | sed 'N;P;D' | paste -sd' '; printf '1\n2\n3\n' | sed -n '$!{h;d};H;x;p'

## unknown-command
echo x | sed 'k' ; echo $?
