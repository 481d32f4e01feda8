# Quoting traps, Unicode and binary data.

## mixed
echo 'single $x `y` \n' "double $(echo cmd) \$x \"in\"" back\ slash; echo "it's" 'say "hi"' 'can'\''t'; echo "a'b"'c"d'

## empty-words
f() { echo $#; }; f "" '' x; f $undefined; f "$undefined"; e=; f $e "$e" ${e:-}; a=("" x); f "${a[@]}"

## backslashes
echo a\\b 'a\\b' "a\\b" "a\nb" a\nb "\a" '\'; printf '%s\n' "C:\dir\file" 'C:\dir'

## newline-in-quotes
echo "line 1
line 2"; x='a
b'; echo "$x" | wc -l; echo $x

## quotes-in-substitution
x="$(echo "a b" 'c d' "$(echo "e \"f\" g")")"; echo "$x"; echo "${x:-"default value"}"; y='a"b'; echo "${y//\"/\'}"

## dollar-forms
echo "$" "$ x" '$' \$ "a$" "$%"; x=1; echo "$x$x" "${x}y" "$x.y" "$x-z" "$x/y"

## special-parameters
set -- a b; echo "$#" "$@" "$*" "$?" "${#@}"; set -o | grep -c .  > /dev/null; echo $-| grep -c h; true; _=x; echo "${0##*/}"

## quoting-for-sh-c
sh -c 'echo "$1" "$0"' zero 'one two'; bash -c "echo \"\$((1 + 1))\" '\$x'"; cmd="echo 'a b'"; $cmd; eval $cmd; bash -c 'echo "$@"' _ x 'y z'

## json-in-strings
n='O"Brien'; echo "{\"name\": \"x\", \"n\": $((1 + 1))}" | jq -c .; jq -nc --arg n "$n" '{$n}'; printf '{"a":"%s"}\n' 'b' | jq -r .a; echo '{"k":"it'"'"'s"}' | jq -r .k

## history-characters
echo "hello!" 'wow!!' a!b; echo "a#b" a #c

## equals-and-options
a=b=c; echo $a; env X=1=2 sh -c 'echo $X'; echo --flag=-x -n- -; echo "-n"

## unicode
s='日本語テキスト'; echo ${#s} "${s:2:1}" "${s/本/x}"; echo "$s" | wc -m; echo "$s" | cut -c1-2 | wc -c; printf '%s\n' "ñ" "Ω" | sort; echo 'ÄÖÜ' | tr A-Z a-z; echo 'naïve café' | sed 's/é/e/'

## unicode-names
mkdir 'ordner ä'; echo x > 'ordner ä/ß.txt'; ls; cat ordner\ ä/*; find . -name '*.txt'; for f in */*; do echo "$f"; done

## emoji
e='👍🏽'; echo "$e" | wc -c; echo "${#e}"; echo "a${e}b" | grep -c '👍'; printf '%s' "$e" | od -An -tx1 | head -1

## case-of-unicode
s='éÀ'; echo "${s^^}" "${s,,}"; echo éà | sed 's/./\U&/g'; python3 -c 'print("é".upper())'; echo "Größe" | awk '{ print toupper($0), length($0) }'

## binary-through-pipes
printf '\x00\x01\xff\xfe' | wc -c; printf '\x00\x01\xff\xfe' > b; cat b | od -An -tx1; cp b c; cmp b c && echo same; cat b b | wc -c; printf 'a\0b\0' | tr '\0' '\n'; head -c 2 b | od -An -tx1

## binary-round
head -c 4096 /dev/urandom > r; base64 r | base64 -d | cmp - r && echo b64; gzip -c r | gzip -dc | cmp - r && echo gz; xxd -p r | xxd -r -p | cmp - r && echo xxd; tail -c 100 r | wc -c; split -b 1000 r p_; cat p_* | cmp - r && echo split; rm r p_*

## invalid-utf8
printf 'caf\xe9\n' > l; wc -c < l; cat l | od -c | head -1; iconv -f latin1 -t utf-8 l; grep -c caf l; sed 's/caf/CAF/' l | od -An -tx1; sort l | wc -c; while read -r x; do printf '%s' "$x" | wc -c; done < l

## nul-in-variable
x=$(printf 'a\0b') 2>/dev/null; echo "${#x}"

## bom-and-crlf
printf '\xef\xbb\xbfid,name\r\n1,a\r\n' > f; sed -i '1s/^\xef\xbb\xbf//; s/\r$//' f; cat -A f; file=$(head -c 2 f); echo "$file"

## iconv-forms
echo 'Grüße' | iconv -f utf-8 -t latin1 | od -An -tx1; echo 'é' | iconv -f utf-8 -t ascii//TRANSLIT 2>/dev/null | wc -l; echo a | iconv -t utf-16le | od -An -tx1

## long-line
x=$(printf 'x%.0s' {1..5000}); echo ${#x}; echo "$x" | cut -c4990- ; echo "$x" | fold -w 1000 | wc -l

## control-characters
printf 'a\bb\x1b[0m\x7f\n' | cat -v; printf 'x\ry\n' | tr '\r' '|'; echo -e 'bell\a' | od -c | head -1

## many-arguments
echo $(seq 2000) | wc -w; f() { echo $#; }; f {1..3000}; printf '%s\n' {1..5000} | tail -1

## glob-characters-in-data
x='a*b?c[d]'; echo "$x"; y=$(echo '*'); echo "$y"; for w in "a * b"; do echo "$w"; done; read -r l <<< '* ? \n'; echo "$l"
