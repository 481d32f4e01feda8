# 20 commands over big.log, in one pipeline: which paths of the busiest clients are slow, as a small report.
cat big.log |
  grep -v favicon |
  grep -E ' (200|404|500|503) ' |
  sed 's/\[//; s/\]//' |
  tr -d '"' |
  tr 'A-Z' 'a-z' |
  cut -d' ' -f1,3,4,5,6,7,8,9 |
  sed -E 's/([0-9]+)ms$/\1/' |
  awk '$6 != 301 { print $1, $4, $5, $6, $7, $8 }' |
  grep -vw delete |
  tee slow.tmp |
  awk '$6 > 100' |
  sort -k3,3 -k6,6nr |
  cut -d' ' -f2,3,4,6 |
  awk '{ n[$1 " " $2]++; t[$1 " " $2] += $4 } END { for (k in n) printf "%s %d %.1f\n", k, n[k], t[k] / n[k] }' |
  sort -k3,3nr -k1,2 |
  nl -w2 -s' ' |
  head -n 12 |
  column -t |
  tail -n +1
wc -l slow.tmp
rm slow.tmp
