# Arithmetic: $(( )), (( )), let, bc.

## operators
echo $((7 / 2)) $((7 % 3)) $((-7 / 2)) $((-7 % 3)) $((2 ** 10)) $((1 << 4)) $((0xff & 15)) $((5 ^ 3)) $((~0)) $((!5)) $((5 > 3)) $((3 == 3 && 2 != 2))

## bases
echo $((0x1f)) $((017)) $((2#1011)) $((36#z)) $((16#ff))

## assignment
x=5; (( x += 3 )); (( x *= 2 )); echo $x; (( y = x > 10 ? 1 : 2 )); echo $y; echo $((x++)) $((++x)) $((x--)) $x; let z=x+1; echo $z; let 'q = 2 * 3' 'q += 1'; echo $q

## status
(( 0 )); echo $?; (( 5 )); echo $?; let x=0; echo $?; if (( 3 > 2 )); then echo gt; fi

## division-by-zero
echo $((1 / 0)); echo "after $?"

## division-by-zero-in-command
(( x = 1 / 0 )); echo "status $?"

## overflow
echo $((9223372036854775807 + 1)) $((9223372036854775807)) $((-9223372036854775808))

## unset-and-strings
unset u; echo $((u + 1)); v=w; w=7; echo $((v)); echo $((  ( 1 + 2 ) * 3 )); s=' 4 '; echo $((s + 1))

## octal-trap
n=08; echo $((n + 1)) 2>/dev/null; echo "s=$?"; echo $((10#08 + 1))

## loops
for ((i = 0, j = 10; i < 3; i++, j -= 2)); do echo "$i $j"; done; i=3; while (( i-- > 0 )); do echo -n "$i "; done; echo; s=0; for n in {1..100}; do (( s += n )); done; echo $s

## declare-integer
declare -i n=5; n+=3; echo $n; n='2 * 4'; echo $n; n=abc; echo $n

## bc-decimals
echo '10 / 3' | bc; echo 'scale=4; 10 / 3' | bc; echo '2 ^ 64' | bc; echo 'scale=2; (1.5 + 2.25) * 2' | bc; echo '5 > 3' | bc

## bc-functions
echo 'scale=5; sqrt(2)' | bc; echo 'scale=4; s(1)' | bc -l; echo 'define f(x) { return x * x; } f(7)' | bc; echo 'for (i = 0; i < 3; i++) i' | bc; echo 'obase=16; 255' | bc; echo 'ibase=2; 1010' | bc

## bc-variables-and-strings
bc <<'EOF'
a = 3
b = a * 2.5
print "b is ", b, "\n"
if (b > 7) print "big\n"
length(12345)
EOF

## bc-negative-and-leading-zero
echo '0.5 - 1' | bc; echo '.1 + .2' | bc; echo 'scale=2; 1/3' | bc; echo '-7 % 3' | bc; echo 'scale=3; 2/3 * 3' | bc

## percent-with-awk-and-printf
printf '%.1f%%\n' "$(echo '100 * 7 / 9' | bc -l)"; awk 'BEGIN { printf "%.2f\n", 22 / 7 }'; printf '%d\n' $((22 * 100 / 7))

## compare-decimals
if (( $(echo '1.5 > 1.25' | bc -l) )); then echo more; fi; awk 'BEGIN { exit !(1.5 > 2) }' || echo less

## random-range-shape
r=$((RANDOM % 10)); [[ $r -ge 0 && $r -lt 10 ]] && echo in range; RANDOM=42; a=$RANDOM; RANDOM=42; [ "$a" = "$RANDOM" ] && echo repeatable

## ternary-and-comma
echo $((1 ? 2 : 3)) $((a = 2, a * 3)) $((1 ? 0 ? 1 : 2 : 3)); echo $(( (5 > 3) + (2 > 1) ))

## nested-in-index-and-substring
s=abcdef; n=2; echo "${s:n:n+1}" "${s: -n}" "${s:$((n + 1)):1}"

## gcd-and-fibonacci
gcd() { (( $2 == 0 )) && echo "$1" || gcd "$2" $(( $1 % $2 )); }; gcd 48 36; a=0 b=1; for ((i = 0; i < 10; i++)); do echo -n "$a "; (( t = a + b, a = b, b = t )); done; echo

## syntax-error
echo $((1 +)); echo "after"

## test-compare
[ 5 -gt 3 ] && echo gt; [[ 10 -lt 9 ]] || echo no; [ a -eq 1 ] 2>/dev/null; echo $?; test 3 -le 3 && echo le; [[ 2#11 -eq 3 ]] && echo base

## primes
for ((n = 2; n < 30; n++)); do p=1; for ((d = 2; d * d <= n; d++)); do (( n % d == 0 )) && { p=0; break; }; done; (( p )) && echo -n "$n "; done; echo

## seconds-and-large-loop
n=0; for ((i = 0; i < 20000; i++)); do (( n += i )); done; echo $n
