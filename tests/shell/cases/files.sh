# Files and folders: ls, stat, cp, mv, rm, mkdir, touch, ln, chmod, du, truncate, dd, install.

## ls-one-per-line
mkdir d; touch b a d/x .hidden; ls; ls -1 d; ls -A; ls -a

## ls-long-shape
printf 12345 > f; chmod 644 f; mkdir d; chmod 755 d; ls -l f | awk '{ print $1, $2, $5, $NF }'; ls -ld d | cut -c1-10

## ls-total-and-columns
printf 12345 > f; chmod 640 f; ls -la | head -1 | grep -c '^total [0-9]*$'; ls -la | awk 'NR > 1 { print NF }' | sort -u; ls -la | awk 'NR > 1 { print $NF }'

## ls-owner-less
printf 12345 > f; ls -go f | awk '{ print NF, $3 }'

## ls-sorts
printf 1 > a; printf 333 > b; printf 22 > c; ls -S; ls -r; ls -Sr; touch -d 2020-01-01 a; touch -d 2021-01-01 b; touch -d 2019-01-01 c; ls -t; ls -tr

## ls-several
mkdir d e; touch d/1 e/2 f; ls d e f; ls -d */; ls -R d

## ls-classify
mkdir d; touch f; ln -s f l; chmod -x f; ls -F; ls -p; ls -m; ls --group-directories-first

## ls-missing
touch f; ls f no-such 2>/dev/null; echo $?

## ls-human-and-inode-free
truncate -s 1536 f; ls -lh f | awk '{ print $5 }'; truncate -s 3M g; ls -lh g | awk '{ print $5 }'; ls -sk f > /dev/null && echo ok

## ls-full-time
touch -d '2024-02-03 04:05:06' f; ls -l --time-style=long-iso f | awk '{ print $6, $7 }'; ls -l --time-style=+%Y f | awk '{ print $6 }'; ls -l --full-time f | awk '{ print $6, $7, $8 }'

## ls-old-date
touch -d '2020-02-03 04:05:06' f; ls -l f | awk '{ print $6, $7, $8 }'

## ls-quoting
touch 'a b' "it's"; ls; ls | cat; ls -1Q

## ls-to-pipe-count
mkdir m; for i in 1 2 3; do touch m/$i.txt; done; ls m/*.txt | wc -l; ls m | head -1

## stat-format
printf 12345 > f; chmod 640 f; stat -c '%s %a %A %F %n' f; mkdir d; stat -c '%F' d; ln -s f l; stat -c '%N %F' l; stat -L -c %F l

## stat-times
touch -d @86400 f; stat -c %Y f; stat -c '%y' f; stat --format=%s f; stat --printf='%s\n' f; date -u -r f +%F

## stat-missing
stat -c %s no-such; echo $?

## touch-and-compare
touch -d 2020-01-01 old; touch -d 2021-01-01 new; [ new -nt old ] && echo newer; [ old -ot new ] && echo older; touch -r old ref; stat -c %Y ref; touch -c none; ls none 2>/dev/null || echo none

## mkdir-forms
mkdir -p a/b/c && mkdir -p a/b/c && find a | sort; mkdir a 2>/dev/null; echo $?; mkdir -m 700 p; stat -c %a p; mkdir -v q; mkdir x/y; echo $?

## braces-and-mkdir
mkdir -p proj/{src/{core,cli},tests,docs}; find proj -type d | sort

## cp-forms
echo 1 > a; cp a b; mkdir d; cp a b d; cp -r d e; cp -v a c; cp -n b a; find . -type f | sort; cp d x 2>/dev/null; echo $?

## cp-trees
mkdir -p s/t; echo x > s/t/f; cp -r s new; mkdir there; cp -r s there; cp -a s/. copy; find new there copy -type f | sort; cp --parents s/t/f there; cat there/s/t/f

## cp-links
echo 1 > f; ln -s f l; cp l plain; cp -P l kept; cp -a l also; for x in plain kept also; do [ -L $x ] && echo "$x link" || echo "$x file"; done

## mv-forms
echo 1 > a; mv a b; mkdir d; mv b d/; mv d e; ls e; echo 2 > c; mv -t e c; ls e; mv -v e/b e/z; mv none x 2>/dev/null; echo $?

## mv-no-clobber
echo old > t; echo new > s; mv -n s t; cat t; mv -f s t; cat t; echo b > u; cp -b u t 2>/dev/null; ls t*

## rm-forms
mkdir -p d/e; touch d/e/f g h; rm g; rm -rf d none; rm none 2>/dev/null; echo $?; ls; mkdir k; rm k 2>/dev/null; echo $?; rm -r k; rm -v h; rmdir none 2>/dev/null; echo $?

## rmdir-parents
mkdir -p a/b/c; rmdir -p a/b/c; ls; mkdir x; touch x/f; rmdir x 2>/dev/null; echo $?

## links
echo data > f; ln -s f s; cat s; readlink s; ln f h; echo more >> h; cat f; ln -sf g s; readlink s; ls -l s | awk '{ print $(NF-2), $(NF-1), $NF }'

## dangling-link
ln -s nowhere l; [ -e l ] || echo absent; [ -L l ] && echo link; cat l 2>/dev/null; echo $?; rm l; ls

## link-to-folder
mkdir d; echo 1 > d/f; ln -s d l; cat l/f; ls l; ls l/; (cd l && pwd); (cd l && pwd -P); rm l; ls

## relative-links
mkdir -p a/b; echo x > a/t; ln -s ../t a/b/l; cat a/b/l; readlink -f a/b/l; realpath a/b/l; realpath --relative-to=a/b a/t; realpath -m x/../y

## chmod-modes
touch f; chmod 755 f; stat -c %a f; chmod u-x,go= f; stat -c %a f; chmod +x f; stat -c %a f; chmod a=r f; stat -c %A f; mkdir d; touch d/g; chmod -R 700 d; stat -c %a d/g

## test-operators
echo x > f; : > e; mkdir d; for t in -e -f -d -s -r -x -L; do for p in f e d none; do [ $t $p ] && printf '%s %s;' $t $p; done; done; echo

## truncate-and-sizes
truncate -s 10 f; stat -c %s f; truncate -s 4 f; wc -c < f; truncate -s +2 f; wc -c f; : > f; wc -c < f; fallocate -l 0 x 2>/dev/null; true

## du-apparent
mkdir d; head -c 5000 /dev/zero > d/f; du -b d/f; du -sb d/f | cut -f1; du -a --apparent-size -b d/f

## dd-blocks
printf 'abcdefgh' > f; dd if=f of=g bs=2 skip=1 count=2 2>/dev/null; cat g; echo; dd if=f bs=4 count=1 status=none; echo; printf XX | dd of=f bs=1 seek=3 conv=notrunc status=none; cat f; echo

## tree-by-find
mkdir -p a/b; touch a/1 a/b/2; find . | sort | sed -e 's/[^/]*\//|  /g'

## tree-command-less
mkdir -p p/q; touch p/f p/q/g; find p -printf '%y %d %p\n' | sort

## mktemp-names
t=$(mktemp -d -p .); [ -d "$t" ] && echo folder; rmdir "$t"; f=$(mktemp ./x.XXXXXX); [ -f "$f" ] && echo "${#f}"; rm "$f"; mktemp -u ./abc.XXX | wc -c

## install-command
echo x > s; install -D -m 755 s a/b/t; stat -c %a a/b/t; install -d n/m; ls n

## file-with-dash
touch -- -f; ls; rm -- -f; echo a > ./-x; cat ./-x; cat -- -x; rm ./-x; ls | wc -l

## pushd-popd
mkdir -p a b; pushd a > /dev/null; basename "$PWD"; pushd ../b > /dev/null; dirs | wc -w; popd > /dev/null; basename "$PWD"; popd > /dev/null; cd a; cd - > /dev/null; basename "$PWD"

## cd-errors
cd none; echo $?; cd a b 2>/dev/null; echo $?; mkdir d && cd d && cd .. && ls

## compare-files
echo a > x; echo a > y; echo b > z; cmp x y && echo same; cmp x z; echo $?; cmp -s x z || echo differs

## disk-free-shape
df . > /dev/null; echo $?; df -P . | wc -l

## umask-and-modes
umask 022; touch f; mkdir d; stat -c %a f d; umask; umask 077; touch g; stat -c %a g
