# Indexed and associative arrays.

## basics
a=(one two 'three four'); echo "${a[0]}" "${a[2]}" "${#a[@]}" "${#a[2]}"; echo "${a[@]}"; printf '<%s>' "${a[@]}"; echo; printf '<%s>' "${a[*]}"; echo

## append-and-unset
a=(1 2 3); a+=(4 5); unset 'a[1]'; echo "${a[@]}" "${!a[@]}" "${#a[@]}"; a[10]=x; echo "${!a[@]}"; echo "${a[-1]}"

## slices
a=(a b c d e); echo "${a[@]:1:3}" "${a[@]: -2}" "${a[@]:3}"; set -- x y z; echo "${@:2}" "${*:1:2}"

## loops
a=(x y); for v in "${a[@]}"; do echo "v=$v"; done; for i in "${!a[@]}"; do echo "$i:${a[$i]}"; done; for ((i = 0; i < ${#a[@]}; i++)); do echo -n "${a[i]} "; done; echo

## associative
declare -A m=([one]=1 [two]=2); m[three]=3; for k in $(printf '%s\n' "${!m[@]}" | sort); do echo "$k=${m[$k]}"; done; echo "${#m[@]}"; unset 'm[one]'; [[ -v m[one] ]] || echo gone; [[ -n ${m[two]+x} ]] && echo there

## count-words
declare -A n; for w in a b a c a b; do (( n[$w]++ )); done; for k in "${!n[@]}"; do echo "$k ${n[$k]}"; done | sort

## keys-with-spaces
declare -A m; m["a b"]='x y'; m[$'t\tb']=2; echo "${m["a b"]}"; for k in "${!m[@]}"; do printf '%q\n' "$k"; done | sort

## join-with-ifs
a=(a b c); IFS=,; echo "${a[*]}"; unset IFS; (IFS=-; echo "${a[*]}"); printf -v s '%s;' "${a[@]}"; echo "${s%;}"

## split-to-array
IFS=, read -ra p <<< 'a,b c,d'; echo "${#p[@]} ${p[1]}"; s='x:y:z'; IFS=: read -r f rest <<< "$s"; echo "$f $rest"; w=($(echo 1 2 3)); echo ${#w[@]}

## mapfile
mapfile -t l < <(printf 'a b\nc\n'); echo "${#l[@]} ${l[0]}"; readarray -t -n 2 l <<< $'1\n2\n3'; echo "${l[@]}"; mapfile -t -d, p < <(printf 'x,y,z'); echo "${p[2]}"; mapfile -s1 -t l <<< $'h\nr'; echo "${l[@]}"

## patterns-over-elements
a=(one.txt two.txt); echo "${a[@]%.txt}" "${a[@]/o/0}" "${a[@]^^}" "${a[@]#*.}"

## sort-array
a=(c a b); s=($(printf '%s\n' "${a[@]}" | sort)); echo "${s[@]}"; readarray -t r < <(printf '%s\n' "${a[@]}" | sort -r); echo "${r[*]}"

## contains
a=(x y z); [[ " ${a[*]} " == *" y "* ]] && echo has; has() { local e; for e in "${@:2}"; do [[ $e == "$1" ]] && return 0; done; return 1; }; has z "${a[@]}" && echo z; has q "${a[@]}" || echo no

## empty-array
a=(); echo "${#a[@]}" "[${a[*]}]"; for x in "${a[@]}"; do echo never; done; set -u; echo "${a[@]}" ok; echo "${a[@]:-default}"

## copy-and-reverse
a=(1 2 3); b=("${a[@]}"); b[0]=9; echo "${a[@]} ${b[@]}"; r=(); for ((i = ${#a[@]} - 1; i >= 0; i--)); do r+=("${a[i]}"); done; echo "${r[@]}"

## declare-p
a=(1 'b c'); declare -p a; declare -A m=([k]=v); declare -p m; x=5; declare -p x; declare -r y=6; declare -p y; declare -i z=7; declare -p z; export e=1; declare -p e

## nameref
f() { local -n ref=$1; ref+=(new); echo "${#ref[@]}"; }; a=(1); f a; echo "${a[@]}"; declare -n r=a; echo "${r[1]}"

## sparse-and-negative
a=([2]=x [5]=y); echo "${!a[@]}"; a+=(z); echo "${!a[@]}"; a[-1]=w; echo "${a[@]}"; unset 'a[-1]'; echo "${a[@]}"

## arguments-array
f() { local args=("$@"); echo "${#args[@]}: ${args[-1]}"; }; f a 'b c' d; cmd=(printf '%s,' 1 2); "${cmd[@]}"; echo

## expression-index
a=(0 1 2 3); i=1; echo "${a[i+1]} ${a[$((i * 3))]} ${a[i]}"; (( a[i] += 10 )); echo "${a[1]}"; a[i++]=z; echo "${a[1]} $i"

## from-glob
touch 1.log 2.log; f=(*.log); echo "${#f[@]} ${f[0]}"; shopt -s nullglob; g=(*.none); echo "${#g[@]}"

## associative-from-file
# files: .env.example
declare -A env; while IFS='=' read -r k v; do [[ -z $k || $k == \#* ]] && continue; env[$k]=$v; done < .env.example; echo "${env[DB_PORT]} ${#env[@]} [${env[EMPTY]}]"

## transform-op
a=(1 'b c'); echo "${a[@]@Q}"; x=$'a\nb'; echo "${x@Q}"; declare -A m=([k]=v); echo "${m[@]@K}"; echo "${x@E}" | wc -l; y=abc; echo "${y@U} ${y@u}"

## two-dimensional
declare -A g; for r in 0 1; do for c in 0 1; do g[$r,$c]=$((r * 2 + c)); done; done; echo "${g[1,0]} ${g[1,1]}"

## bash-rematch
[[ 'v1.22.3' =~ ^v([0-9]+)\.([0-9]+) ]] && echo "${BASH_REMATCH[1]} ${BASH_REMATCH[2]} ${#BASH_REMATCH[@]}"

## pipestatus
true | false | (exit 3); echo "${PIPESTATUS[@]}"; echo x | cat; echo "${PIPESTATUS[0]} ${#PIPESTATUS[@]}"

## bad-subscript
a=(1); echo "${a[5]:-unset}"; a[-5]=x; echo $?
