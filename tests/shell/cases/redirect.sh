# Redirections, descriptors, tee, process substitution, subshells.

## out-and-append
echo a > f; echo b >> f; cat f; echo c > f; cat f; > f; wc -c < f

## stderr-forms
ls none 2> e; [ -s e ] && echo said; ls none > both 2>&1; [ -s both ] && echo both; ls none &> both2; [ -s both2 ] && echo both2; ls none &>> both2; wc -l < both2

## stderr-into-pipe
ls none 2>&1 | grep -c none; ls none |& grep -c none; { echo o; echo e >&2; } 2>&1 >/dev/null | cat; (echo e >&2) 2>/dev/null; echo end

## swap-streams
{ echo out; echo err >&2; } 3>&1 1>&2 2>&3 3>&- 2>/dev/null | sed 's/^/piped: /'

## custom-descriptors
exec 3> f; echo one >&3; echo two >&3; exec 3>&-; cat f; exec 4< f; read -r a <&4; read -r b <&4; exec 4<&-; echo "$b $a"

## named-descriptors
exec {fd}> f; echo x >&$fd; exec {fd}>&-; cat f; exec 5<> g; echo rw >&5; exec 5>&-; cat g

## exec-redirects-all
exec > log.txt; echo hidden; exec > /dev/stderr 2>/dev/null; cat log.txt

## save-and-restore-stdout
exec 6>&1 > f; echo into; exec 1>&6 6>&-; echo shown; cat f

## tee
echo x | tee a b; cat a b; echo y | tee -a a > /dev/null; cat a; echo z | tee /dev/stderr 2>/dev/null; seq 3 | tee n | wc -l; cat n

## process-substitution
cat <(echo a) <(echo b); paste <(seq 2) <(seq 3 4); while read -r x; do echo "got $x"; done < <(seq 2); comm -12 <(seq 3) <(seq 2 5)

## output-process-substitution
echo data | tee >(tr a-z A-Z > up) > /dev/null; sleep 0.1; cat up; seq 3 > >(wc -l); sleep 0.1

## input-from-file-in-loop
printf '1\n2\n' > f; while read -r x; do echo "$x"; cat > /dev/null; done < f; for f in a; do cat; done <<< in; cat - <<< dash

## null-and-closed
cat < /dev/null; echo x > /dev/null; echo "s $?"; echo closed >&- 2>/dev/null; echo $?; read -r x < /dev/null; echo $?

## group-redirect
{ echo a; echo b; } > f; (echo c) >> f; cat f; { cat; echo end; } < f; if true; then echo if; fi > g; cat g

## subshell-state
x=1; (x=2; cd /; echo "in $x"); echo "out $x"; mkdir d; (cd d && touch f); ls d; (exit 3); echo $?; y=$(x=5; echo $x); echo "$y $x"

## substitution-forms
echo "$(echo a; echo b)" `echo c`; x=$(printf 'line\n\n\n'); echo "[$x]"; echo "$(echo "$(echo nested "quotes")")"; y=$(< /dev/null); echo "[$y]"; printf 'f\n' > f; echo "$(<f)"

## pipes-of-many
seq 1000 | grep 7 | sort -rn | head -5 | tail -2 | tr '\n' ',' | sed 's/,$//' | cat; echo

## order-of-redirects
ls none > f 2>&1; wc -l < f; ls none 2>&1 > g | wc -l; wc -c < g; < f wc -l; > h echo first; cat h

## pipe-status-and-negation
! echo x | grep -q y; echo $?; echo a | { cat; exit 3; } | cat; echo "${PIPESTATUS[*]}"

## heredoc-and-file-together
cat <<EOF > f
in file
EOF
cat f; cat <<EOF - >> f
more
EOF
wc -l < f

## dev-stdin
echo piped | cat /dev/stdin; echo fd | cat /dev/fd/0; cat /dev/stdin <<< here; echo x | wc -l - | tr -s ' '

## coproc
coproc C { while read -r l; do echo "re:$l"; done; }; echo hi >&"${C[1]}"; read -r r <&"${C[0]}"; echo "$r"

## named-pipe
mkfifo p; echo through > p & cat p; wait; rm p

## read-only-file-overwrite
echo a > f; cat f > g; cat f f > h; wc -l < h; sort f -o f; cp f f 2>/dev/null; echo $?; cat f >> f 2>/dev/null; echo $?

## large-output-into-file
seq 100000 > f; wc -l < f; tail -1 f; sort -rn f | head -1; md5sum < f | cut -c1-8; rm f

## broken-pipe
yes | head -1; seq 1000000 | head -2 | tail -1; (while true; do echo x; done) | head -1

## stdout-of-function-and-commands
log() { echo "[log] $*" >&2; }; v=$(log note; echo value) 2> l; echo "$v"; { log one; } 2> l; cat l

## descriptor-of-a-folder-that-is-gone
mkdir d; exec 6> d/out; echo one >&6; rm -r d; echo two >&6; echo "after $?"

## swap-streams-captured
out=$( { echo out; echo err >&2; } 3>&1 1>&2 2>&3 ) 2>/dev/null; echo "[$out]"; f() { echo o; echo e >&2; }; x=$(f 3>&1 1>&2 2>&3) 2>/dev/null; echo "[$x]"; ls none 3>&1 1>&2 2>&3 3>&- | sed 's/.*none/E: none/'

## errors-alone-through-pipe
{ { echo out; echo err >&2; } 2>&1 1>&3 | sed 's/^/E: /'; } 3>f; cat f; { err=$( { echo out; echo err >&2; } 2>&1 1>&3 ); } 3>g; echo "$err"; cat g; s=$( { { { { false; echo $? >&3; } | cat >&4; } 3>&1; } 4>&1; } ); echo "$s"

## descriptors-at-several-levels
{ { echo a >&3; echo b >&4; echo c; } 4>g; echo d >&3; } 3>f; cat f g; { echo y >&3; { echo x >&3; } 3>g; echo z >&3; } 3>f; cat f g; { echo shown; echo three >&3; } 3>&1 >/dev/null

## descriptors-that-bodies-read
printf '1\n2\n3\n' > f; while read -r x <&3; do echo "$x"; done 3< f; f() { read -r a <&3; read -r b <&3; echo "$a-$b"; }; f 3< f; f 3<<< $'p\nq'; { read -r a <&3; cat <&3; } 3< f; echo in | while read -r x <&3; do echo "$x"; cat; done 3< f

## descriptors-of-process-substitutions
while read -r x <&3; do echo "g $x"; done 3< <(seq 3); exec 3< <(seq 4 9); read -r a <&3; (read -r b <&3; echo "$a $b"); cat <&3; exec 3<&-

## copies-of-descriptors
seq 5 > f; exec 5< f; { read -r x <&4; echo "$x"; } 4<&5; read -r y <&5; echo "$y"; exec 5<&-; echo in | { while read -r x <&3; do echo "$x"; done 3<&0; }; while read -r x <&3; do :; done 3< none; echo $?

## descriptors-as-files
seq 3 > f; cat /dev/fd/3 3< f; echo x | tee /dev/fd/3 3> g; cat g; exec 4> h; echo y | tee /dev/fd/4 | tr y z; exec 4>&-; cat h; cat /dev/fd/9 2>/dev/null; echo $?

## scripts-of-descriptors
echo 'echo "hi $1"' | bash /dev/stdin a; echo 'x=5' > s; source /dev/stdin < s; echo $x; bash /dev/fd/3 3< s; . /dev/stdin <<< 'y=6'; echo $y
