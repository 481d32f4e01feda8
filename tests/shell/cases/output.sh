# printf, echo and date with fixed input.

## printf-formats
printf '%d %5d %-5d| %05d %+d %x %o %c %s\n' 1 2 3 4 5 255 8 xyz str; printf '%.2f %8.3f %e %g\n' 3.14159 2.5 1234.5 0.0001; printf '%s\n' a b c; printf '%s=%d\n' x 1 y 2

## printf-escapes
printf 'a\tb\n'; printf '%b\n' 'x\ty\\z'; printf '\x41\101\u00e9\n'; printf '%%|%5.2s|\n' abc; printf 'no newline'; echo; printf '%s\n'; printf '[%5s][%-5s]\n' é é

## printf-bad-number
printf '%d\n' abc; echo $?; printf '%d %s\n' 5; printf '%i\n' 0x1F

## printf-v-and-q
printf -v v '%03d' 7; echo "$v"; printf '%q ' 'a b' "it's" '$x' ''; echo; printf '%(%Y-%m-%d)T\n' 0

## echo-options
echo -n a; echo b; echo -e 'x\ty\n\tz'; echo -E 'a\tb'; echo 'a\tb'; echo -e '\x41\0101\c'; echo; echo -- x; echo -nn x; echo; echo "-e"

## date-fixed
date -u -d '2025-03-12 10:20:30' '+%Y-%m-%d %H:%M:%S'; date -u -d @0 +%FT%TZ; date -u -d '2025-03-12' '+%A %d %B %y, %j, week %V, day %u'

## date-arithmetic
date -u -d '2025-03-01 -1 day' +%F; date -u -d '2025-01-31 + 1 month' +%F; date -u -d '2024-02-28 +2 days' +%F; date -u -d '2025-03-12 10:00 UTC + 90 minutes' +%H:%M

## date-epoch
date -u -d '2025-03-12T10:00:00Z' +%s; date -u -d '@1741773600'; date -u -d @1741773600 -Iseconds; date -u -d @1741773600 -R; date -u -d @1741773600 --iso-8601

## date-difference
a=$(date -u -d 2025-03-12 +%s); b=$(date -u -d 2025-01-01 +%s); echo $(( (a - b) / 86400 )) days

## date-words
date -u -d '1 Jan 2025' +%a; date -u -d 'Mar 5 2025' +%F; date -u -d '12/25/2024' +%F; date -u -d '20250312' +%F; date -u -d '2025-03-12 3pm' +%R

## date-formats
date -u -d @3661 '+%H:%M:%S %I %p %s %% %e %k %b %-d %-m'; date -u -d @0 '+%D %T %N' ; date -u -d 'not a date' 2>/dev/null; echo $?

## date-zone
TZ=America/New_York date -d @0 '+%F %T %Z'; TZ=UTC date -d @0 +%z

## date-from-file
echo '2025-02-03' > d; date -u -f d +%d; date -u -r d +%Y > /dev/null && echo ok

## cal-free-table
printf '%-10s|%6s|\n' name n alpha 1 beta 22; printf '%s\n' --- | tr - =; printf '%.3s\n' abcdef

## seq-printf
printf '%02d ' $(seq 1 5); echo; printf '%s, ' a b c | sed 's/, $/\n/'; echo {a,b}{1,2} | tr ' ' '\n' | column -c 20

## thousands
echo 1234567 | sed ':a;s/\B[0-9]\{3\}\>/,&/;ta'; printf "%'d\n" 1234567; numfmt --grouping 1234

## progress-bar
for i in 1 2 3; do printf '\r[%-3s]' "$(printf '#%.0s' $(seq $i))"; done | tr '\r' '\n'; echo

## colors
printf '\033[31mred\033[0m\n'; echo -e '\e[1mbold\e[0m' | cat -v

## tput-less-width
printf '%s\n' "${COLUMNS:-unset}" > /dev/null; echo ok
