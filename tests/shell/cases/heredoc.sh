# Here-documents and here-strings.

## expanded
x=5; cat <<EOF
x is $x, sum is $((x + 1)), cmd is $(echo hi)
literal \$x and \\ and "quotes"
EOF

## quoted
x=5; cat <<'EOF'
no $x here, no $(cmd), a \ stays
EOF

## tabs-stripped
cat <<-EOF
	one
		two
	three
	EOF

## to-file
cat > config.yml <<EOF
name: demo
items:
  - a
EOF
cat >> config.yml <<'EOF'
  - b
EOF
cat config.yml

## into-pipe
cat <<EOF | sort | head -1
c
a
b
EOF

## two-at-once
cat <<A; cat <<B
first
A
second
B

## in-function
usage() {
  cat <<EOF
Usage: $1 [-h]
EOF
}
usage tool

## in-loop
for i in 1 2; do cat <<EOF
item $i
EOF
done

## here-string
cat <<< "hello $((1 + 1))"; read -r a b <<< "one two three"; echo "$b|$a"; wc -c <<< abc; tr a-z A-Z <<< 'x y'

## to-variable
text=$(cat <<'EOF'
line 1
  line "2"
EOF
)
echo "$text"; echo "${#text}"

## read-multiline
read -r -d '' text <<'EOF'
a
b
EOF
echo "status $?"; printf '%s|' "$text"; echo

## while-read
while read -r k v; do echo "$v=$k"; done <<EOF
a 1
b 2
EOF

## on-other-descriptor
cat 3<<EOF <&3
three
EOF

## special-characters
cat <<'EOF'
`backticks` $dollar "double" 'single' \n * ? [a] {b} ! #
EOF
cat <<EOF
`echo ticks` \`kept\` "a" 'b' * ~
EOF

## empty
cat <<EOF
EOF
echo "end $?"

## nested-in-substitution
out=$(tr a-z A-Z <<EOF
from $(echo inner)
EOF
); echo "$out"

## with-arguments-after
sort -r <<EOF && echo done
1
2
EOF

## delimiter-with-quotes-and-spaces
cat <<"END OF TEXT"
$x
END OF TEXT

## write-script-and-run
cat > run.sh <<'EOF'
#!/bin/bash
echo "args: $*"
echo "count: $#"
EOF
chmod +x run.sh && ./run.sh a 'b c'
bash run.sh

## generate-code
for n in add sub; do
cat > "$n.py" <<EOF
def $n(a, b):
    """$n of two numbers"""
    return a $( [ $n = add ] && echo + || echo - ) b
EOF
done
cat add.py; python3 -c 'from sub import sub; print(sub(5, 3))'; rm -rf __pycache__

## continued-lines
cat <<EOF
one \
two
EOF

## tee-from-heredoc
tee a b > /dev/null <<EOF
both
EOF
cat a b

## patch-from-heredoc
printf 'one\ntwo\n' > f
patch -s f <<'EOF'
--- f
+++ f
@@ -1,2 +1,2 @@
 one
-two
+TWO
EOF
cat f
