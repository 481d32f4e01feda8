# tar, gzip, checksums, encodings.

## tar-create-list-extract
mkdir d; echo 1 > d/a; echo 2 > d/b; tar cf t.tar d; tar tf t.tar | sort; rm -r d; tar xf t.tar; cat d/a d/b; rm t.tar

## tar-gzip
mkdir -p p/q; seq 100 > p/q/n; tar -czf p.tgz p; rm -r p; tar -xzf p.tgz && tail -1 p/q/n; tar -tzf p.tgz | sort; rm p.tgz

## tar-to-folder-and-strip
mkdir -p top/sub out; echo x > top/sub/f; tar -cf t.tar top; tar -xf t.tar -C out --strip-components=1; find out -type f; rm t.tar

## tar-through-pipe
mkdir a b; echo 1 > a/f; tar -C a -cf - . | tar -C b -xf -; cat b/f; tar cf - a | tar tf - | sort

## tar-selected-and-excluded
mkdir d; touch d/a.py d/b.log d/c.py; tar cf t.tar --exclude='*.log' d; tar tf t.tar | sort; tar xOf t.tar d/a.py | wc -c; rm t.tar

## tar-append-and-verbose
echo 1 > a; echo 2 > b; tar cf t.tar a; tar rf t.tar b; tar tf t.tar; tar cvf u.tar a b; rm t.tar u.tar; tar xf none.tar 2>/dev/null; echo $?

## gzip-round
seq 1000 > f; gzip f; ls; gunzip f.gz; tail -1 f; gzip -k f; ls; gzip -dc f.gz | wc -l; rm f.gz

## gzip-pipe
echo hello | gzip | gzip -d; echo hello | gzip -c | zcat; printf 'a\nb\n' | gzip -9 > x.gz; zcat x.gz | wc -l; gzip -t x.gz; echo $?; rm x.gz

## bzip2-xz
echo data | bzip2 | bunzip2; echo data | xz | unxz

## zip-unzip
mkdir d; echo 1 > d/f; zip -qr a.zip d; rm -r d; unzip -q a.zip; cat d/f; rm a.zip

## md5-and-sha
printf hello > f; md5sum f; sha1sum f; sha256sum < f; sha512sum f | cut -c1-16; printf hello | md5sum | cut -d' ' -f1

## sha-check
echo 1 > a; echo 2 > b; sha256sum a b > sums; sha256sum -c sums; echo 3 > b; sha256sum -c sums 2>/dev/null; echo $?; sha256sum --quiet -c sums 2>/dev/null; sha256sum --status -c sums; echo $?

## cksum-sum
printf hello | cksum; printf 'hello\n' > f; cksum f; b2sum f | cut -c1-16; sum f

## base64-files
seq 3 > f; base64 f > f.b64; base64 -d f.b64 | cmp - f && echo same; base64 -w0 f; echo; echo '!!!' | base64 -d 2>/dev/null; echo $?

## hash-tree
mkdir d; echo 1 > d/a; echo 2 > d/b; find d -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum | cut -c1-12

## python-zipfile
python3 - <<'EOF'
import zipfile
with zipfile.ZipFile('a.zip', 'w') as z:
    z.writestr('x.txt', 'inside')
EOF
unzip -p a.zip x.txt; echo; unzip -l a.zip | tail -1 | awk '{ print $2 }'; rm a.zip

## random-bytes-through-gzip
head -c 1000 /dev/zero | tr '\0' 'x' | gzip -n | gunzip | wc -c; head -c 300 /dev/urandom > r; gzip -c r | gunzip | cmp - r && echo same; rm r

## uuencode-free-hex
printf '\x00\x01\xfe\xff' | xxd -p; printf '%s' 00ff10 | xxd -r -p | od -An -tx1; od -An -v -tx1 <<< hi | tr -d ' \n'; echo

## tar-keeps-modes-and-links
mkdir d; echo '#!/bin/sh' > d/run; chmod 755 d/run; ln -s run d/l; tar cf t.tar d; rm -r d; tar xpf t.tar; stat -c %a d/run; readlink d/l; rm t.tar

## tar-lists-modes-and-links
mkdir d; echo 1 > d/a; chmod 600 d/a; ln -s a d/l; ln -s nowhere d/m; tar czf t.tgz d; tar tvzf t.tgz | awk 'NR > 1 {print $1, $3, $6, $7, $8}' | sort; rm -r d; tar xvf t.tgz | sort; stat -c '%a %n' d/a; readlink d/l d/m; rm t.tgz

## tar-long-names-and-times
p=$(printf 'long%.0s' $(seq 40)); mkdir -p $p/$p; echo hi > $p/$p/f; touch -d '2020-01-02 03:04:05' $p/$p/f; tar cf t.tar $p; rm -r $p; tar xf t.tar; cat $p/$p/f; stat -c %Y $p/$p/f; rm t.tar

## tar-what-leads-out
mkdir a b; echo 1 > a/f; cd a; tar cf ../t.tar ../b f 2>/dev/null; tar tf ../t.tar; cd ..; echo 1 > g; tar cf u.tar g; echo 2 > g; tar xkf u.tar 2>/dev/null; echo $?; cat g; ln -s b g2; rm g; ln -s b/kept g; echo keep > b/kept; tar xf u.tar; cat g b/kept; rm t.tar u.tar

## tar-errors
tar cf t.tar none 2>/dev/null; echo $?; tar cf x.tar 2>/dev/null; echo $?; echo junk > j; tar tf j 2>/dev/null; echo $?; echo 1 > a; tar czf a.tgz a; tar tf a.tgz nope 2>/dev/null; echo $?; tar rf a.tgz a 2>/dev/null; echo $?; rm -f t.tar a.tgz

## tar-names-on-one-line
printf 'x\ny' > n; touch $'a\nb' $'t\tab\x01' 'b\c'; tar cf t.tar a* b* t?ab*; tar tf t.tar; ln -s "$(cat n)" l; tar cf l.tar l; tar tvf l.tar | cut -d'>' -f2; mkdir d; tar xvf t.tar -C d; cmp a* d/a*; tar cf u.tar $'no\nne' 2>&1 | head -1; rm -rf d *.tar a* t?ab* l

## tar-folder-that-is-none
echo 1 > f; tar cf t.tar f; tar xf t.tar -C /nope 2>&1; echo $?; tar tf t.tar -C f 2>&1; echo $?; tar cf u.tar -C /nope f g 2>&1; rm -f t.tar u.tar

## tar-empty-file
: > e; tar tf e 2>&1; echo $?; tar xf e 2>&1; echo $?; echo 1 > f; tar rf e f; tar tf e; rm e

## zip-names-on-one-line
touch $'a\nb'; zip a.zip a* | tr -d '()' | cut -d' ' -f1-4; unzip -l a.zip | awk 'NR == 4 {print $NF}'; rm a.zip a*

## unzip-name-that-fits-nothing
echo 1 > f; zip -q a.zip f; unzip -p a.zip none; echo $?; unzip -qo a.zip f none; echo $?; rm a.zip
