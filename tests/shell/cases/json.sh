# JSON: jq, and Python where agents take it.

## pretty
# files: users.json
jq '.[0]' users.json; jq -c '.[1]' users.json

## field-raw
# files: package.json
jq -r .version package.json; jq '.name' package.json; jq -r '.scripts | keys[]' package.json

## select-map
# files: users.json
jq -r '.[] | select(.active) | .name' users.json; jq 'map(.id)' -c users.json; jq '[.[] | select(.tags | index("dev"))] | length' users.json

## nested-and-default
# files: users.json
jq -r '.[] | "\(.name): \(.address.city) \(.score // "none")"' users.json; jq '.[0].missing' users.json; jq '.[0].a.b.c?' users.json

## group-by
# files: users.json
jq -c 'group_by(.address.city) | map({city: .[0].address.city, n: length})' users.json

## sort-and-minmax
# files: users.json
jq -r 'sort_by(-.id) | .[].name' users.json; jq -c '[.[].score | numbers] | min, max, add' users.json; jq 'max_by(.id).name' users.json

## to-csv-tsv
# files: users.json
jq -r '.[] | [.id, .name, .active] | @csv' users.json; jq -r '.[] | [.id, .name] | @tsv' users.json

## keys-and-entries
# files: package.json
jq -r '.dependencies | to_entries[] | "\(.key)=\(.value)"' package.json; jq -c '.scripts | keys' package.json; jq -c '.devDependencies | with_entries(.value |= ltrimstr("^"))' package.json

## update
# files: package.json
jq '.version = "2.0.0" | .scripts.start = "node ." | del(.private)' package.json > p2.json; jq -c '[.version, .scripts.start, has("private")]' p2.json

## arguments
jq -n --arg name 'A "B"' --argjson n 3 '{name: $name, n: ($n + 1)}'; jq -n -c '$ARGS.positional' --args a b; jq -n -r --arg x 1 '$x | type'

## slurp
# files: events.jsonl
jq -s 'length' events.jsonl; jq -s -c 'map(.type) | unique' events.jsonl; jq -c 'select(.type == "error") | .detail' events.jsonl

## count-by-type
# files: events.jsonl
jq -r .type events.jsonl | sort | uniq -c | sort -k1,1nr -k2; jq -s -c 'reduce .[] as $e ({}; .[$e.user] += 1)' events.jsonl

## build-from-lines
# files: words.txt
jq -R . words.txt | jq -s -c .; jq -R -s -c 'split("\n") | map(select(length > 0))' words.txt; jq -Rn '[inputs]' -c words.txt

## exit-status
echo '{"ok": false}' | jq -e .ok; echo $?; echo '{"a": null}' | jq -e .a > /dev/null; echo $?; echo '{' | jq . 2>/dev/null; echo $?

## bad-filter
echo '{}' | jq '.a |' ; echo $?

## type-error
echo '"x"' | jq '.a'; echo $?

## conditionals
jq -n -r 'range(5) | if . % 2 == 0 then "\(.) even" elif . == 3 then "three" else "odd" end'

## string-functions
jq -n -r '"a,b,c" | split(",") | join("-")'; jq -n '"abc" | test("b"), length, ascii_upcase, .[1:]'; jq -n -r '"2025-03-12" | sub("-"; "/"), gsub("-"; "/")'; jq -n -c '"foo123" | capture("(?<w>[a-z]+)(?<n>\\d+)")'

## paths-and-walk
# files: package.json
jq -c '[paths(scalars)] | length' package.json; jq -c 'walk(if type == "string" then length else . end) | .scripts' package.json; jq -r '[leaf_paths | map(tostring) | join(".")][0:3][]' package.json

## flatten-unique-any
jq -n -c '[[1,[2]],[3]] | flatten, flatten(1)'; jq -n -c '[3,1,3] | unique, (any(. > 2)), (all(. > 2)), add'; jq -n -c '[1,2,3,4] | .[1:3], .[-1:], first, last'

## date-functions
jq -n -r '0 | todate'; jq -n '"2025-03-12T10:00:00Z" | fromdate'; jq -n -r '1741773600 | strftime("%Y-%m-%d %H")'

## numbers
jq -n -c '[1.0, 1.5, 1e3, 100000000000000000000, 3.14, -0, 10/3, 7%3]'; echo '[1.10, 2]' | jq -c .; jq -n '(1e1000 | tostring | length > 0), (5 | floor), (2.5 | round), pow(2;10)'

## indent-and-sort-keys
echo '{"b":1,"a":{"d":[1,{}],"c":[]}}' | jq -S .; echo '{"b":[1,2]}' | jq --indent 4 .; echo '{"a":1}' | jq --tab . | cat -A

## raw-and-join-output
echo '["a","b"]' | jq -j '.[]'; echo; echo '"é\u00e9\n"' | jq .; echo '"é"' | jq -a .; echo '"tab\there"' | jq -r .

## encodings
jq -n -r '"a b&c" | @uri'; jq -n -r '"hi" | @base64, (@base64 | @base64d)'; jq -n -r '[1,"x y"] | @sh, @json, @html'

## env-and-input
A=1 jq -n -r 'env.A, $ENV.A'; printf '1\n2\n3\n' | jq -n '[inputs] | add'; printf '1 2' | jq -c '[., input]'

## functions-and-recursion
jq -n 'def f(x): if x <= 1 then 1 else x * f(x - 1) end; f(5)'; jq -n -c '[recurse(if . < 3 then . + 1 else empty end; . < 10)] ' ; echo 1 | jq -c '[limit(3; recurse(. * 2))]'; echo '{"a":[{"a":1}]}' | jq -c '[.. | numbers]'

## try-and-alternative
echo '[1,"x",null]' | jq -c 'map(try tonumber catch "bad")'; jq -n -c '[.[]?]'; jq -n 'try error("boom") catch .'; jq -n 'error("x")'; echo $?

## merge-files
echo '{"a":1,"b":{"c":1}}' > x.json; echo '{"b":{"d":2}}' > y.json; jq -s -c '.[0] * .[1]' x.json y.json; jq -s -c 'add' x.json y.json; jq -c --slurpfile y y.json '. + $y[0]' x.json

## in-place-with-temporary
# files: package.json
tmp=$(mktemp -p .) && jq '.version |= (split(".") | .[2] = (.[2] | tonumber + 1 | tostring) | join("."))' package.json > "$tmp" && mv "$tmp" package.json && jq -r .version package.json

## python-json-tool
# files: events.jsonl
head -1 events.jsonl | python3 -m json.tool

## python-load
# files: users.json
python3 -c "import json; d = json.load(open('users.json')); print(sum(u['score'] or 0 for u in d))"

## shell-to-json
jq -n --arg a "$(printf 'line1\nline2')" '{text: $a}'; printf '%s\n' a b c | jq -R . | jq -cs '{items: .}'

## loop-over-objects
# files: users.json
jq -c '.[]' users.json | while read -r u; do n=$(echo "$u" | jq -r .name); t=$(jq -r '.tags | join("/")' <<< "$u"); echo "$n [$t]"; done

## transpose-and-index
jq -n -c '[[1,2],[3,4]] | transpose'; jq -n -c '[{"id":"a","v":1},{"id":"b","v":2}] | INDEX(.id) | map_values(.v)'; jq -n -c '"a-b-a" | indices("a"), ltrimstr("a-"), endswith("a")'

## limits-and-foreach
jq -n -c '[foreach range(4) as $i (0; . + $i)]'; jq -n -c '[limit(2; range(10))], [range(0; 10; 3)], [first(range(5))], (label $out | 1, break $out, 2)'

## object-shorthand
# files: users.json
jq -c '.[0] | {id, name, city: .address.city, "k\(.id)": 1}' users.json; jq -c '.[0] | {(.name): .id}' users.json; jq -c '.[0] | to_entries | map(.key)' users.json
