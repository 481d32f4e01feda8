# diff, patch, cmp.

## unified
printf 'a\nb\nc\n' > x; printf 'a\nB\nc\n' > y; diff -u --label x --label y x y; echo $?

## normal
printf 'a\nb\nc\n' > x; printf 'a\nc\nd\n' > y; diff x y; diff x x; echo $?

## brief
echo 1 > x; echo 2 > y; diff -q x y; diff -q x x; echo $?; diff -s x x

## recursive
mkdir a b; echo 1 > a/f; echo 2 > b/f; touch a/only b/new; diff -rq a b; diff -r a b | head -3

## ignoring
printf 'a b\nC\n' > x; printf 'a  b\nc\n' > y; diff -w -i x y; echo $?; printf 'a\n\nb\n' > p; printf 'a\nb\n' > q; diff -B p q; echo $?; diff -b x y | wc -l

## process-substitution
diff <(printf '1\n2\n') <(printf '1\n3\n'); diff <(seq 3) <(seq 3) && echo same

## side-by-side
printf 'a\nb\n' > x; printf 'a\nc\n' > y; diff -y -W 30 x y; diff --suppress-common-lines -y -W 30 x y

## context-lines
seq 20 > x; sed 's/^10$/ten/' x > y; diff -U1 --label a --label b x y; diff -c x y | tail -n +3 | wc -l

## patch-apply-reverse
printf 'a\nb\nc\n' > f; cp f g; sed -i s/b/B/ g; diff -u --label f --label g f g > p; patch f < p; cat f; patch -R f < p; cat f

## patch-p1
mkdir -p a b src; printf '1\n2\n' > a/f; printf '1\n3\n' > b/f; diff -u --label a/f --label b/f a/f b/f > p; cp a/f src/f; (cd src && patch -p1 -s < ../p); cat src/f

## patch-dry-run-and-failure
printf 'x\n' > f; cat > p <<'EOF'
--- f
+++ f
@@ -1 +1 @@
-y
+z
EOF
patch --dry-run f < p > /dev/null 2>&1; echo $?; cat f; ls

## patch-new-file
patch -s -p0 <<'EOF'
--- /dev/null
+++ new.txt
@@ -0,0 +1,2 @@
+line one
+line two
EOF
cat new.txt

## no-newline-at-end
printf 'a' > x; printf 'a\n' > y; diff x y; echo $?; diff -u --label x --label y x y

## missing-file
echo 1 > x; diff x none 2>/dev/null; echo $?; diff -N x none | head -2

## cmp-output
printf 'abc\n' > x; printf 'abd\n' > y; cmp x y; echo $?; cmp -l x y; cmp -n 2 x y && echo prefix

## comm-sets
comm -12 <(printf 'a\nb\nc\n') <(printf 'b\nc\nd\n') | paste -sd,; comm -3 <(seq 3) <(seq 2 4) | cat -A

## stdin-against-file
echo x > f; echo x | diff - f && echo same; echo y | diff f -; echo $?

## diffstat-by-hand
seq 5 > x; { seq 2 5; echo 6; } > y; diff x y | grep -c '^>'; diff x y | grep -c '^<'; diff --unchanged-line-format= --old-line-format='-%L' --new-line-format='+%L' x y
