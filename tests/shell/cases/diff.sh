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

## patch-with-offset
seq 20 > a; sed 's/^10$/ten/' a > b; diff -u --label a --label a a b > p; (echo x; echo y; seq 20) > a; patch a p; sed -n 12p a; seq 3 20 > a; patch -p0 < p; sed -n 8p a; ls

## patch-with-fuzz
seq 20 > a; sed 's/^10$/ten/' a > b; diff -u --label a --label a a b > p; seq 20 | sed 's/^7$/seven/' > a; patch a < p; sed -n 7,10p a; patch -R a p; patch -N a p; patch -N a p; echo $?

## patch-that-fails
seq 20 > a; sed 's/^10$/ten/;s/^18/eighteen/' a > b; diff -u --label a --label a a b > p; seq 20 | sed 's/^10$/TEN/' > a; patch a p; echo $?; grep -v '^[-+][-+]' a.rej; sed -n 18p a; patch --dry-run a p > /dev/null; echo $?; echo junk | patch 2>/dev/null; echo $?

## patch-makes-and-removes
printf -- '--- /dev/null\n+++ b/n/new\n@@ -0,0 +1 @@\n+x\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-g\n' > q; echo g > gone; patch -p1 < q; ls; cat n/new; patch -p1 -R < q; ls; cat gone; printf -- '--- a/none\n+++ b/none\n@@ -1 +1 @@\n-a\n+b\n' | patch -p1; echo $?

## patch-begin-and-end
seq 5 > a; (echo 0; seq 5) > b; diff -u --label a --label a a b > p; (echo q; seq 5) > c; patch c p; cat c; (seq 5; echo 6) > b; diff -u --label a --label a a b > p; (seq 5; echo z) > c; patch c p; cat c; printf 'a\nb' > f; printf 'a\nc' > g; diff -u --label f --label f f g > p; patch f p; cat f
