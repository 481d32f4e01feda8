# find and xargs.

## by-name
# files: src/app.py src/index.js src/util/math.py src/util/__init__.py
find . -name '*.py' | sort; find src -type f -not -name '*.py'; find . -iname 'APP.*'

## by-type-depth
# files: src/app.py src/util/math.py docs/guide.md
find . -maxdepth 1 -type d | sort; find . -mindepth 2 -type f | sort; find src -maxdepth 1 | sort

## prune
# files: src/app.py src/util/math.py docs/guide.md
find . -path ./src -prune -o -type f -print; find . -type f -not -path './docs/*' | sort

## by-size
head -c 2000 /dev/zero > big; : > empty; echo x > small; find . -type f -size +1k | sort; find . -type f -empty | sort; find . -type f -size -10c | sort; find . -size 2000c

## exec
# files: src/app.py src/util/math.py
find src -name '*.py' -exec wc -l {} \; | sort; find src -name '*.py' -exec grep -l TODO {} + | sort; find src -type f -exec sh -c 'echo "${1##*/}"' _ {} \; | sort

## exec-batch-count
touch a b c; find . -type f -exec echo {} + | wc -l; find . -type f -exec echo {} \; | wc -l

## delete
touch a.tmp b.tmp c.txt; find . -name '*.tmp' -delete; ls; mkdir -p x/y; find x -type d -empty -delete; ls

## printf
printf 123 > f; mkdir d; touch d/g; find . -type f -printf '%s %f %h %P\n' | sort; find . -printf '%p %y %m\n' | sort | head -1 | cut -d' ' -f2

## or-and-groups
touch a.c b.h c.txt; find . \( -name '*.c' -o -name '*.h' \) -print | sort; find . -type f ! -name '*.txt' -a -name 'a*'

## newer
touch -d 2020-01-01 old; touch -d 2022-01-01 new; touch -d 2021-01-01 ref; find . -newer ref -type f; find . -type f ! -newer ref | sort; find . -newermt 2021-06-01 -type f

## regex
touch a1.log b22.log c.log; find . -regex '.*/[a-z][0-9]+\.log' | sort; find . -regextype posix-extended -regex '.*/(a|c).*' | sort

## perm
touch x y; chmod 755 x; chmod 644 y; find . -type f -perm 755; find . -type f -perm -u+x; find . -type f -perm /111

## print0-xargs
touch 'a b.txt' 'c d.txt'; find . -name '*.txt' -print0 | sort -z | xargs -0 -n1 basename; find . -name '*.txt' -print0 | xargs -0 ls | wc -l

## quit-and-missing
touch a b; find . -type f -name a -print -quit; find none 2>/dev/null; echo $?

## links
touch f; ln -s f l; ln -s none broken; find . -type l | sort; find . -xtype l; find -L . -type f | sort

## xargs-basics
echo 1 2 3 | xargs; echo 1 2 3 | xargs -n1 echo item; printf 'a\nb\n' | xargs -I{} echo '<{}>'; seq 5 | xargs -n2

## xargs-replace-many
printf 'a\nb\n' | xargs -I% sh -c 'echo %1; echo %2'; printf 'x y\nz\n' | xargs -L1 echo line; printf 'x,y' | xargs -d, -n1 echo

## xargs-empty
printf '' | xargs echo run; printf '' | xargs -r echo never; echo end

## xargs-status
printf '1\n2\n' | xargs -n1 sh -c 'exit $0'; echo $?; echo x | xargs false; echo $?; echo x | xargs no-such-command-xyz 2>/dev/null; echo $?

## xargs-quotes
echo "'a b' c" | xargs -n1 echo; echo 'a\ b c' | xargs -n1 echo; printf '%s\n' "it's" | xargs -d '\n' echo

## xargs-touch-rm
seq -f 'f%g.txt' 3 | xargs touch; ls; ls | xargs rm; ls | wc -l

## xargs-verbose-and-parallel
seq 3 | xargs -P2 -n1 echo | sort; echo a b | xargs -t echo 2>/dev/null

## count-lines-by-extension
# files: src/app.py src/util/math.py src/index.js
find . -type f -name '*.*' | sed 's/.*\.//' | sort | uniq -c | awk '{ print $2, $1 }'; find . -name '*.py' | sort | xargs wc -l | tail -1

## while-read-over-find
# files: src/app.py src/util/math.py
find . -name '*.py' | sort | while IFS= read -r f; do printf '%s %s\n' "$(basename "$f" .py)" "$(wc -l < "$f")"; done

## rename-all
touch a.jpeg b.jpeg; for f in *.jpeg; do mv -- "$f" "${f%.jpeg}.jpg"; done; ls

## largest-files
head -c 300 /dev/zero > a; head -c 100 /dev/zero > b; head -c 200 /dev/zero > c; find . -type f -printf '%s\t%p\n' | sort -rn | head -2

## replace-in-many
# files: src/app.py src/util/math.py
grep -rl TODO src | sort | xargs sed -i 's/TODO/DONE/'; grep -rc DONE src | sort

## exec-dir-and-ok
mkdir d; echo 1 > d/f; find . -name f -execdir pwd \; | sed 's|.*/||'; find d -type f -exec cat {} \; -exec echo after {} \;

## depth-first
mkdir -p a/b; touch a/b/c; find a -depth; find a -name b -o -name c | sort

## unknown-test
find . -nosuchtest 2>/dev/null; echo $?
