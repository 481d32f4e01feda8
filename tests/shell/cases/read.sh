# read, mapfile and loops over input.

## lines
printf 'a b\n  c\\d \n' > f; while read -r l; do echo "<$l>"; done < f; while IFS= read -r l; do echo "<$l>"; done < f; while read l; do echo "<$l>"; done < f

## last-line-without-newline
printf 'a\nb' | while IFS= read -r l || [ -n "$l" ]; do echo "$l"; done; printf 'x\ny' | while read -r l; do echo $l; done

## fields
echo 'a b c d' | { read -r x y rest; echo "$rest|$y|$x"; }; IFS=: read -r u _ uid _ <<< 'root:x:0:0'; echo "$u $uid"; echo '  lead  trail  ' | { read -r x; echo "[$x]"; }; IFS=, read -r a b c <<< 'x,,z'; echo "$a-$b-$c"

## options
read -r -n 3 x <<< abcdef; echo $x; read -r -d ';' x <<< 'one;two'; echo $x; read -r -a w <<< 'p q r'; echo "${w[2]} ${#w[@]}"; read -r -N 4 y <<< 'ab cd'; echo "[$y]"; read -rp 'prompt ' z <<< v; echo $z

## status-at-end
read -r x < /dev/null; echo $?; read -r x <<< ''; echo $?; printf 'a' | { read -r x; echo "$? $x"; }; read -t 0.1 x < <(sleep 0.5; echo late); echo $(( $? > 128 ))

## reply
echo 'whole line' | { read -r; echo "$REPLY"; }; while read -r; do echo "[$REPLY]"; done <<< $'  sp\nx'

## two-files-in-step
printf '1\n2\n' > a; printf 'x\ny\n' > b; while read -r p <&3 && read -r q <&4; do echo "$p$q"; done 3< a 4< b; paste -d= a b

## nested-reads
printf '1\n2\n' | while read -r o; do printf 'a\nb\n' | while read -r i; do echo "$o$i"; done; done

## skip-header-and-comments
printf '# c\nname\n\nx\n' | while IFS= read -r l; do [[ -z $l || $l == \#* ]] && continue; echo "$l"; done; { read -r header; while read -r l; do echo "row $l of $header"; done; } <<< $'h\n1\n2'

## numbered
n=0; while IFS= read -r l; do printf '%3d %s\n' $((++n)) "$l"; done <<< $'a\nb'; i=0; for l in x y; do echo "$((i++)):$l"; done

## key-value-file
# files: config.ini
section=; while IFS= read -r l; do case $l in \[*\]) section=${l:1:-1};; *=*) k=${l%% =*}; v=${l#*= }; echo "$section.$k -> $v";; esac; done < config.ini

## null-separated
printf 'a b\0c\nd\0' | while IFS= read -r -d '' x; do printf '<%s>\n' "$x"; done; mapfile -d '' -t z < <(printf 'x\0y z\0'); echo "${#z[@]} ${z[1]}"

## accumulate
t=0; while IFS=$'\t' read -r id user item n price; do (( t += n )); done < <(printf '1\tu\ti\t3\t1.0\n2\tu\tj\t4\t2.0\n'); echo $t; s=; while read -r l; do s+="$l,"; done < <(seq 3); echo "${s%,}"

## mapfile-callback-less
mapfile -t a < <(seq 5); for ((i = ${#a[@]} - 1; i >= 0; i--)); do echo -n "${a[i]} "; done; echo; mapfile a <<< $'x\ny'; printf '[%s]' "${a[@]}"; echo; mapfile -t -O 2 b <<< z; echo "${!b[@]}"

## input-consumed-by-command
printf '1\n2\n3\n' | { head -n 1 > /dev/null; cat; } | wc -l > /dev/null; printf '1\n2\n' | while read -r l; do echo "l $l" < /dev/null; done; printf 'y\n' | (read -r a; [ "$a" = y ] && echo confirmed)

## ifs-whitespace-and-mixed
IFS=' ,' read -r a b c <<< 'x , y,z'; echo "$a|$b|$c"; IFS= read -r l <<< '  keep  '; echo "[$l]"; x='a:b'; IFS=: ; set -- $x; echo $1 $2

## descriptor-with-records
printf 'a\0b\0' > f; while IFS= read -r -d '' x <&3; do echo "<$x>"; done 3< f; printf 'a\nb' > g; exec 4< g; read -r -u4 a; read -r -u4 b; echo "$? $a $b"; { head -n2 <&3; echo -; } 3< <(seq 10)
