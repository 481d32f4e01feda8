# if, case, for, while, until, select, break, continue, logic.

## case-forms
for x in a.txt b 12 '' Yes; do case "$x" in *.txt) echo text;; [0-9]*) echo number;; '') echo empty;; [Yy]es|[Yy]) echo yes;; *) echo "other $x";; esac; done

## case-fall-through
case a in a) echo 1;& b) echo 2;; c) echo 3;; esac; case ab in a*) echo x;;& *b) echo y;; *) echo z;; esac

## nested-loops-break
for i in 1 2 3; do for j in 1 2 3; do (( j == 2 )) && continue 2; (( i == 3 )) && break 2; echo "$i$j"; done; done; echo end

## while-until
i=0; while (( i < 3 )); do (( i++ )); echo -n "$i "; done; until [ $i -le 0 ]; do (( i-- )); done; echo $i

## for-over-command
for w in $(echo c a b | tr ' ' '\n' | sort); do echo -n "$w "; done; echo; for f in $(seq 3); do echo "n$f"; done | paste -sd,

## for-ranges
echo {1..5} {5..1} {a..e} {01..03} {0..10..5} {z..w..2} x{1,2}{a,b} {-2..2}; for i in {1..3}; do echo -n $i; done; echo

## elif
grade() { if (( $1 >= 90 )); then echo A; elif (( $1 >= 80 )); then echo B; else echo C; fi; }; grade 95; grade 85; grade 10

## logic
true && echo a || echo b; false && echo a || echo b; true || echo c; [ 1 = 1 -a 2 = 2 ] && echo and; [ 1 = 2 -o 2 = 2 ] && echo or; [[ 1 == 1 && ( 2 == 3 || 3 == 3 ) ]] && echo nested; ! false && echo neg

## select-from-input
printf '2\nq\n' | { PS3='? '; select x in one two; do echo "picked $x"; [ -z "$x" ] && break; done; } 2>/dev/null

## infinite-with-break
n=0; while :; do (( ++n > 4 )) && break; (( n % 2 )) && continue; echo $n; done; for ((;;)); do echo once; break; done

## groups-and-subshells
x=1; { x=2; }; echo $x; (x=3); echo $x; { echo a; echo b; } | tac; (echo c; exit 2); echo $?

## loop-redirects
for i in 1 2 3; do echo "$i"; done > out.txt; while read -r l; do echo "got $l"; done < out.txt; { read -r a; read -r b; } < out.txt; echo "$a$b"

## loop-in-pipe-and-sort
for k in b c a; do echo "$k $((RANDOM * 0))"; done | sort | while read -r k v; do echo "$k=$v"; done

## test-forms
[ -n "" ] || echo empty; [ x ] && echo single; [ ! -e none ] && echo not; test -d . && echo dir; [[ -o errexit ]] || echo off; [[ a =~ ^[a-z]$ ]] && echo re; [ "x y" = "x y" ] && echo quoted

## colon-and-true
: ignored "$(echo x > made)"; ls; if :; then echo ok; fi; while false; do :; done; echo $?

## one-line-if-chain
x=5; [ $x -gt 3 ] && [ $x -lt 10 ] && echo between; [[ $x -eq 5 ]] && { echo five; echo more; }; (( x > 3 && x < 10 )) && echo arith

## c-style-countdown
for ((i = 3; i; i--)); do printf '%d… ' $i; done; echo go

## process-list
for pair in a:1 b:2; do IFS=: read -r k v <<< "$pair"; echo "$k -> $v"; done; for pair in "x y" "z w"; do set -- $pair; echo "$2 $1"; done

## fizzbuzz
for i in {1..15}; do if (( i % 15 == 0 )); then echo FizzBuzz; elif (( i % 5 == 0 )); then echo Buzz; elif (( i % 3 == 0 )); then echo Fizz; else echo $i; fi; done | paste -sd' '

## eval-use
cmd='echo "a  b"'; eval "$cmd"; for i in 1 2; do eval "v$i=$((i * 10))"; done; echo $v1 $v2; eval 'f() { echo made; }'; f

## comments-and-continuations
echo one \
  two # comment
# whole line
echo 'a # b' a#b; true && # comment after
echo next

## let-loops-with-printf
for i in $(seq 1 3); do for j in $(seq 1 3); do printf '%3d' $((i * j)); done; echo; done
