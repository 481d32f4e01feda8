# Parameter expansion and strings.

## defaults
unset u; e=; echo "${u:-d}" "${e:-d}" "[${e-d}]" "${u:=set}" "$u" "${u:+alt}" "[${e:+alt}]"

## required
(: "${NAME:?is needed}") 2>/dev/null; echo $?; f() { echo "${1:?no argument}"; }; (f) 2>/dev/null; echo "s=$?"

## prefixes-and-suffixes
p=/home/user/file.tar.gz; echo "${p##*/}" "${p%/*}" "${p%%.*}" "${p#*.}" "${p%.gz}" "${p##*.}"

## replace
s='foo bar foo'; echo "${s/foo/x}" "${s//foo/x}" "${s/#foo/x}" "${s/%foo/x}" "${s// /_}" "${s//[aeiou]/}" "${s/bar}"

## case
s='Hello World'; echo "${s^^}" "${s,,}" "${s,}" "${s~~}"; t=abc; echo "${t^}" "${t^^[ab]}"

## length-and-substring
s=abcdefg; echo ${#s} "${s:2}" "${s:2:3}" "${s: -3}" "${s: -3:2}" "${s:1:-2}"; u=añb; echo "${#u} ${u:1:1}"

## indirect
name=v; v=value; echo "${!name}"; pre_a=1 pre_b=2; echo "${!pre_@}"; declare -n r=v; r=new; echo "$v"

## patterns
f=report-2025-03.txt; case $f in *-20[0-9][0-9]-*) echo dated;; esac; [[ $f == report-*.txt ]] && echo match; [[ $f =~ ([0-9]{4})-([0-9]{2}) ]] && echo "${BASH_REMATCH[1]}/${BASH_REMATCH[2]}"; [[ abc == a?c ]] && echo q

## extglob
shopt -s extglob; s='aaabbb'; echo "${s##+(a)}" "${s/+(b)/X}"; [[ foo.jpg == *.@(jpg|png) ]] && echo image; [[ x == !(y|z) ]] && echo not; v='  trim me  '; v="${v##*( )}"; echo "[${v%%*( )}]"

## trim
s='  a b  '; s="${s#"${s%%[![:space:]]*}"}"; s="${s%"${s##*[![:space:]]}"}"; echo "[$s]"; echo '  x  ' | xargs

## repeat-and-pad
printf '=%.0s' {1..10}; echo; printf '%-10s|%5s|%05d\n' ab cd 42; printf '%*s\n' 6 x; s=$(printf '%20s' ''); echo "${s// /-}"

## concatenate
a=x; a+=y; a="${a}z"; echo "$a" "$a"'lit'"$a"; b=$a$a; echo ${b}_suffix $b

## split-on-delimiter
s='a,b,c'; IFS=, read -ra p <<< "$s"; echo "${p[1]}"; while [[ $s == *,* ]]; do echo "${s%%,*}"; s=${s#*,}; done; echo "$s"

## character-loop
s='héy'; for ((i = 0; i < ${#s}; i++)); do echo -n "[${s:i:1}]"; done; echo; echo abc | grep -o . | paste -sd-

## compare
[[ abc < abd ]] && echo lt; [[ a == "a" ]] && [ a = a ] && echo eq; [[ -z '' && -n x ]] && echo zn; [ "a" != "b" ] && echo ne; [[ B < a ]] && echo bytewise

## ansi-c-quotes
echo $'tab\there' $'nl\\n' $'\x41\u00e9\101' $'it\'s'; s=$'a\nb'; echo "${#s}"

## quote-removal-and-q
s='a "b" $c'; printf '%q\n' "$s"; eval "t=$(printf '%q' "$s")"; [ "$s" = "$t" ] && echo round; echo "${s@Q}"

## word-splitting
s='a  b   c'; echo $s; echo "$s"; set -- $s; echo $#; IFS=:; s='x::y'; set -- $s; echo $# "[$2]"; unset IFS

## nested-expansion
d=default; unset x; echo "${x:-${d^^}}" "${x:-$(echo sub)}" "${x:-"a b"}"; p=/a/b/c; echo "${p/${p%/*}/new}"

## reverse-and-palindrome
s=level; r=$(echo $s | rev); [ $s = $r ] && echo palindrome; echo "${s}" | fold -w1 | tac | paste -sd ''

## contains-startswith
s='the quick fox'; [[ $s == *quick* ]] && echo contains; [[ $s == the* ]] && echo starts; case $s in *fox) echo ends;; esac; [[ ! $s =~ dog ]] && echo none

## slug
t='Hello, World! Ünï 2'; echo "$t" | tr '[:upper:]' '[:lower:]' | sed -E 's/[^a-z0-9]+/-/g; s/^-|-$//g'; t=${t,,}; t=${t//[^a-z0-9]/_}; echo "$t"

## count-occurrences
s='banana'; t=${s//[^a]/}; echo ${#t}; grep -o a <<< "$s" | wc -l; awk -F a '{ print NF - 1 }' <<< "$s"

## url-decode
u='a%20b%2Fc+d'; u=${u//+/ }; printf '%b\n' "${u//%/\\x}"

## hex-and-char
printf '%d\n' "'A"; printf '%x %X %o\n' 255 255 8; printf "\\$(printf '%03o' 65)\n"; printf '%s' A | od -An -tx1 | tr -d ' \n'; echo

## version-compare
v() { printf '%s\n%s\n' "$1" "$2" | sort -V | head -1; }; v 1.10.0 1.9.9; [ "$(v 2.0 10.0)" = 2.0 ] && echo ok

## positional
set -- a b c; echo "$1 $# $*"; shift; echo "$@"; shift 2; echo "$#"; set -- {1..12}; echo "${10} $10"; for x; do echo -n "$x,"; done; echo

## at-and-star
set -- 'a b' c; for x in "$@"; do echo "<$x>"; done; for x in "$*"; do echo "<$x>"; done; for x in $*; do echo "<$x>"; done; IFS=+; echo "$*"

## tilde-and-assignments
HOME=/h; echo ~ ~/x "~"; p=~/bin; echo "$p"

## literal-dollar-and-braces
echo "\$x" '${y}' "a\\b" \$z "{a,b}" {a,b}c '`x`' "cost: \$5"
