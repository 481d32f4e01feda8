# Functions, local variables, recursion, sourcing.

## arguments-and-return
add() { echo $(($1 + $2)); }; r=$(add 2 3); echo "$r"; ok() { return 0; }; bad() { return 7; }; ok && echo ok; bad; echo $?

## local
x=1; f() { local x=2; g; echo "f $x"; }; g() { echo "g $x"; x=3; }; f; echo "out $x"

## recursion
fact() { if (( $1 <= 1 )); then echo 1; else echo $(($1 * $(fact $(($1 - 1))))); fi; }; fact 10; count() { (( $1 > 0 )) || return 0; echo -n "$1 "; count $(($1 - 1)); }; count 20; echo

## function-keyword
function hello { echo "hello $1"; }; hello world; function two() ( cd /; x=9; ); x=1; two; echo $x

## return-last-status
f() { false; }; f; echo $?; g() { true; return; }; g; echo $?; h() { (exit 4); return $?; }; h; echo $?

## output-by-reference
set_it() { printf -v "$1" '%s' "$2"; }; set_it v 'a b'; echo "$v"

## pipes-through-functions
upper() { tr a-z A-Z; }; echo abc | upper; lines() { while read -r l; do echo "> $l"; done; }; printf '1\n2\n' | lines | upper

## shift-and-options
f() { while [ $# -gt 0 ]; do case $1 in -v|--verbose) v=1;; -o) o=$2; shift;; --name=*) n=${1#*=};; --) shift; break;; *) r+=("$1");; esac; shift; done; echo "$v $o $n ${r[*]} rest:$*"; }; f -v x -o out --name=N y -- z

## getopts
f() { local OPTIND o a= b=; while getopts ':ab:' o; do case $o in a) a=1;; b) b=$OPTARG;; :) echo "needs $OPTARG";; \?) echo "unknown $OPTARG";; esac; done; shift $((OPTIND - 1)); echo "$a $b $*"; }; f -a -b val rest; f -b; f -x; f -ab joined

## defined-check
f() { :; }; type -t f; type -t echo; type -t if; type -t no_such; declare -F f; unset -f f; type -t f || echo gone; command -v echo; command -v cat > /dev/null && echo found

## declare-f
f() { echo hi; }; declare -f f

## source-file
cat > lib.sh <<'EOF'
LIB=1
lib_fn() { echo "lib $1"; }
return 3
echo never
EOF
source ./lib.sh; echo "$? $LIB"; lib_fn x; . ./lib.sh; echo $?

## source-with-arguments
echo 'echo "got $1 of $#"' > l.sh; set -- outer; source ./l.sh inner x; echo "$1"

## export-function
f() { echo "exported $1"; }; export -f f; bash -c 'f x'

## command-and-builtin
echo() { builtin echo "wrapped: $*"; }; echo hi; command echo plain; unset -f echo; echo normal; cd() { builtin cd "$@" && pwd; }; mkdir d; cd d

## variable-scope-in-pipe
n=0; seq 3 | while read -r x; do (( n += x )); done; echo $n; n=0; while read -r x; do (( n += x )); done < <(seq 3); echo $n; shopt -s lastpipe; seq 3 | { read -r y; }; echo "[$y]"

## caller-names
outer() { inner; }; inner() { echo "${FUNCNAME[0]} ${FUNCNAME[1]}"; }; outer

## deep-recursion
f() { (( $1 == 0 )) && { echo bottom; return; }; f $(($1 - 1)); }; f 90

## redirected-function
f() { echo out; echo err >&2; } > o.txt 2> e.txt; f; cat o.txt e.txt

## functions-in-conditions
is_even() { (( $1 % 2 == 0 )); }; for i in 1 2 3 4; do is_even $i && echo $i; done; if ! is_even 3; then echo odd; fi

## default-arguments
greet() { local name=${1:-World} greeting=${2:-Hello}; echo "$greeting, $name!"; }; greet; greet Ann; greet Ann Hi; f() { echo "${@:-none}"; }; f

## memo
declare -A memo; fib() { local n=$1; (( n < 2 )) && { R=$n; return; }; [[ ${memo[$n]} ]] && { R=${memo[$n]}; return; }; fib $((n - 1)); local a=$R; fib $((n - 2)); R=$((a + R)); memo[$n]=$R; }; fib 40; echo $R

## alias-use
shopt -s expand_aliases
alias ll='ls -1'
touch a b
ll
