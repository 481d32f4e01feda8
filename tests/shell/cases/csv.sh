# CSV and tables.

## header-to-lines
# files: people.csv
head -1 people.csv | tr , '\n' | nl -ba

## average-of-column
# files: people.csv
python3 - <<'EOF'
import csv
rows = list(csv.DictReader(open('people.csv')))
print(len(rows), sum(float(r['salary']) for r in rows) / len(rows))
EOF

## group-with-awk
# files: people.csv
tail -n +2 people.csv | grep -v '"' | awk -F, '{ s[$3] += $5; c[$3]++ } END { for (k in s) printf "%s,%d,%.2f\n", k, c[k], s[k] / c[k] }' | sort

## sort-keeping-header
# files: people.csv
(head -n 1 people.csv; tail -n +2 people.csv | grep -v '"' | sort -t, -k4,4n -k2,2)

## csv-to-json
# files: people.csv
python3 -c "
import csv, json, sys
print(json.dumps(list(csv.DictReader(sys.stdin))[:2], ensure_ascii=False))" < people.csv

## csv-to-json-with-jq
# files: people.csv
grep -v '"' people.csv | jq -R -s -c 'split("\n")[1:] | map(select(. != "") | split(",") | {name: .[1], age: (.[3] | tonumber)}) | .[0:2]'

## read-fields
# files: people.csv
while IFS=, read -r id name city age salary; do [[ $id == id ]] && continue; (( id > 3 )) && break; echo "$name lives in $city"; done < people.csv

## tsv-to-csv
# files: orders.tsv
tr '\t' ',' < orders.tsv | head -2; sed 's/\t/","/g; s/^/"/; s/$/"/' orders.tsv | tail -1

## add-column
# files: orders.tsv
awk -F'\t' -v OFS='\t' '{ print $0, $4 * $5 }' orders.tsv

## align
# files: people.csv
grep -v '"' people.csv | column -s, -t | head -3

## unique-values-of-column
# files: people.csv
cut -d, -f3 people.csv | tail -n +2 | sort | uniq -c | sort -k1,1nr -k2 | head -2

## pivot
# files: orders.tsv
awk '{ q[$3, $2] += $4; r[$3]; c[$2] } END { for (x in r) { line = x; for (y = 1; y <= 4; y++) line = line "\t" q[x, y] + 0; print line } }' orders.tsv | sort

## quoted-field-python
# files: people.csv
python3 -c 'import csv; [print(r[1]) for r in csv.reader(open("people.csv")) if "," in r[1]]'

## filter-to-file
# files: people.csv
awk -F, 'NR == 1 || $3 == "Berlin"' people.csv > berlin.csv && wc -l < berlin.csv && cat berlin.csv

## markdown-table
# files: orders.tsv
awk -F'\t' 'BEGIN { print "| id | item |"; print "|---|---|" } { printf "| %s | %s |\n", $1, $3 }' orders.tsv | head -4

## running-total
# files: orders.tsv
awk '{ t += $5; printf "%s %.2f\n", $1, t }' orders.tsv | tail -2

## missing-values
printf 'a,b,c\n1,,3\n,2,\n' | awk -F, -v OFS=, '{ for (i = 1; i <= NF; i++) if ($i == "") $i = "NA"; print }'

## join-two-files
# files: people.csv orders.tsv
join -t, -1 1 -2 2 -o 2.1,1.2,2.3 <(tail -n +2 people.csv | grep -v '"' | sort -t, -k1,1) <(tr '\t' , < orders.tsv | sort -t, -k2,2)
