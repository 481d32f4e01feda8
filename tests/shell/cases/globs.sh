# Globs, braces and shell options.

## basics
touch a.txt b.txt c.md .h; echo *.txt; echo *; echo .*h; echo ?.md; echo [ab].txt; echo [!a].txt; echo [a-b]*; echo no*match

## in-folders
mkdir -p x/y; touch x/1 x/y/2; echo x/*; echo */*; echo x/*/; ls -d x/*/

## globstar
mkdir -p a/b/c; touch a/1.py a/b/2.py a/b/c/3.py; shopt -s globstar; echo **/*.py; for f in **/*.py; do basename "$f"; done; echo a/**

## nullglob-failglob-dotglob
touch .x y; shopt -s nullglob; echo none*; for f in q*; do echo never; done; shopt -u nullglob; shopt -s dotglob; echo *; shopt -u dotglob; (shopt -s failglob; echo zzz*) 2>/dev/null; echo $?

## extended
shopt -s extglob
touch a.c b.h c.txt aa.c; echo !(*.c); echo *.@(c|h); echo +(a).c; echo ?(b).h; rm !(c.txt); ls

## nocase
touch README Readme.md; shopt -s nocaseglob; echo readme*; shopt -s nocasematch; [[ ABC == abc ]] && echo same; case X in x) echo case;; esac

## quoted-not-expanded
touch f1; echo '*' "*" \*; x='*'; echo "$x"; echo $x; set -f; echo *; set +f; echo *

## braces
echo {a,b,c} pre{1,2}post {1..3}{x,y} {,un}do a{b,{c,d}}e {a..c}; echo {1} {a,} "{a,b}" {a b}; echo file{01..03}.txt; touch x; mv x{,.old}; ls

## spaces-in-names
touch 'a b' c; for f in *; do echo "<$f>"; done; ls *b*; rm "a b"; ls; touch $'n\tt'; ls | od -c | head -1

## character-classes
touch a1 B2 _3; echo [[:upper:]]*; echo [[:lower:]]*; echo *[[:digit:]]; echo [^[:alpha:]]*

## many-files
for i in {001..250}; do echo $i > "f$i"; done; ls | wc -l; echo f* | wc -w; cat f* | tail -1; ls f00? | head -2; rm f1*; ls | wc -l

## sorted-order
touch b a C 1 _x; echo *; ls; printf '%s\n' * | head -2

## hidden-and-parents
mkdir d; touch d/.hid d/v; echo d/*; echo d/.[!.]*; ls -A d; cd d; echo ../*

## glob-in-test-and-loop
touch x.log; for f in *.log *.none; do [ -e "$f" ] || continue; echo "$f"; done; [[ -e x.log ]] && echo exists; compgen -G '*.log' > /dev/null && echo any; files=$(ls *.none 2>/dev/null | wc -l); echo $files

## glob-with-variables
d=sub; mkdir $d; touch $d/{1,2}.txt; p=txt; ls "$d"/*.$p; echo "$d"/*.$p; echo "$d/*.$p"; a=("$d"/*); echo ${#a[@]}

## case-patterns-with-variables
p='a*'; case abc in $p) echo pattern;; esac; case abc in "$p") echo literal;; *) echo no;; esac; [[ abc == $p ]] && echo m; [[ abc == "$p" ]] || echo q

## names-with-control-characters
touch "$(printf 'a\tb')" "$(printf 'a\nc')" "$(printf 'x\001y')" d; ls | cat; find . -type f | wc -l; for f in *; do printf '%q\n' "$f"; done; rm a*; ls | cat; mv x* z; du -a . | wc -l; echo ok > "$(printf 'e\tf')"; cat e*; ls
