#!/bin/bash
# Usage: fixture.sh DIR
# Makes DIR/data, DIR/repo, DIR/shop.db and DIR/servers.json, the same on every machine.
set -euo pipefail
[ $# = 1 ] || { echo "usage: $0 DIR" >&2; exit 2; }
mkdir -p "$1"
D=$(cd "$1" && pwd -P)
rm -rf "$D/data" "$D/repo" "$D/shop.db" "$D/servers.json" "$D/memory.jsonl"
mkdir -p "$D"/data/{notes,csv,json,logs,scratch,tree/a/b,tree/c}
cd "$D/data"

printf 'Dormouse test data.\nFolders: notes, csv, json, logs, tree.\nScratch files go into scratch.\n' > README.txt
printf '# Meeting 1\n\nDate: 2024-01-10\nPresent: Ada, Bob\n\n- [x] choose a database\n- [ ] write the importer\n- [ ] ask Bob about prices\n' > notes/meeting1.md
printf '# Meeting 2\n\nDate: 2024-01-17\nPresent: Ada, Cleo, Dan\n\n- [x] write the importer\n- [ ] review the importer\n' > notes/meeting2.md
printf '# Meeting 3\n\nDate: 2024-01-24\nPresent: Bob, Cleo\n\n- [x] review the importer\n- [x] ask Bob about prices\n- [ ] ship version 1.0\n- [ ] plan version 1.1\n' > notes/meeting3.md
printf 'The quick brown fox jumps over the lazy dog.\nThe dog sleeps; the fox does not.\nA fox is quick, and a dog is lazy.\n' > notes/fox.txt
printf 'Name: caf\xc3\xa9 \xe2\x80\x94 na\xc3\xafve \xe2\x98\x95\nZ\xc3\xbcrich, \xc3\x85rhus, \xe6\x9d\xb1\xe4\xba\xac\n' > notes/unicode.txt

cat > csv/products.csv <<'X'
sku,name,category,price
P1,Lamp,home,19.50
P2,Desk,office,149.00
P3,Chair,office,89.90
P4,Mug,kitchen,7.25
P5,Kettle,kitchen,34.00
P6,Rug,home,59.00
P7,Pen,office,1.20
X
cat > csv/stock.csv <<'X'
sku,warehouse,quantity
P1,north,12
P1,south,3
P2,north,0
P3,south,7
P4,north,150
P4,south,42
P5,south,9
P6,north,1
P8,north,5
X
cat > csv/temperatures.csv <<'X'
day,city,celsius
2024-03-01,Oslo,-3
2024-03-01,Rome,14
2024-03-02,Oslo,-1
2024-03-02,Rome,15
2024-03-03,Oslo,2
2024-03-03,Rome,
2024-03-04,Oslo,4
2024-03-04,Rome,17
X
for i in 1 2 3 4; do
  { echo "id,value"; for j in 1 2 3 4 5; do echo "$(( (i - 1) * 5 + j )),$(( (i * 7 + j * 3) % 11 ))"; done; } > csv/page$i.csv
done

cat > json/people.json <<'X'
[
  {"id": 1, "name": "Ada", "team": "core", "manager": null, "skills": ["rust", "sql"]},
  {"id": 2, "name": "Bob", "team": "core", "manager": 1, "skills": ["python"]},
  {"id": 3, "name": "Cleo", "team": "web", "manager": 1, "skills": ["javascript", "css"]},
  {"id": 4, "name": "Dan", "team": "web", "manager": 3, "skills": ["javascript", "python"]},
  {"id": 5, "name": "Eve", "team": "ops", "manager": 1, "skills": ["bash", "sql", "python"]}
]
X
cat > json/config.json <<'X'
{
  "service": {"name": "shop", "port": 8080, "tls": {"enabled": true, "min": "1.2"}},
  "features": {"search": true, "reviews": false, "wishlist": true},
  "limits": {"rate": 100, "burst": 250},
  "tags": ["prod", "eu"]
}
X
cat > json/override.json <<'X'
{
  "service": {"port": 9090, "tls": {"min": "1.3"}},
  "features": {"reviews": true},
  "limits": {"burst": null}
}
X
cat > json/events.jsonl <<'X'
{"t": 1, "user": "ada", "kind": "login"}
{"t": 2, "user": "bob", "kind": "login"}
{"t": 4, "user": "ada", "kind": "buy", "amount": 20}
{"t": 5, "user": "bob", "kind": "logout"}
{"t": 7, "user": "ada", "kind": "buy", "amount": 5}
not json at all
{"t": 9, "user": "cleo", "kind": "login"}
{"t": 11, "user": "ada", "kind": "logout"}
{"t": 15, "user": "cleo", "kind": "buy", "amount": 42}
X
echo '{"broken": [1, 2,' > json/broken.json

cat > logs/app.log <<'X'
2024-05-01T10:00:00Z INFO web request path=/ status=200 ms=12
2024-05-01T10:00:01Z INFO web request path=/cart status=200 ms=48
2024-05-01T10:00:02Z WARN db slow query ms=950
2024-05-01T10:00:03Z ERROR web request path=/pay status=500 ms=1004
2024-05-01T10:00:04Z INFO web request path=/ status=304 ms=3
2024-05-01T10:00:09Z ERROR db connection lost
2024-05-01T10:00:10Z INFO db connection restored
2024-05-01T10:00:11Z INFO web request path=/pay status=200 ms=210
2024-05-01T10:00:12Z WARN web rate limit user=bob
2024-05-01T10:00:15Z INFO web request path=/cart status=404 ms=7
X
cat > logs/worker.log <<'X'
2024-05-01T10:00:00Z INFO job start id=1
2024-05-01T10:00:02Z INFO job start id=2
2024-05-01T10:00:03Z INFO job done id=1
2024-05-01T10:00:05Z INFO job start id=3
2024-05-01T10:00:06Z ERROR job failed id=2 reason=timeout
2024-05-01T10:00:09Z INFO job done id=3
X

printf 'root leaf\n' > tree/leaf.txt
printf 'a one\na two\n' > tree/a/one.txt
printf 'deep\n' > tree/a/b/deep.txt
printf 'deeper and longer text\n' > tree/a/b/deeper.md
printf 'c\n' > tree/c/c.txt
printf 'keep\n' > scratch/keep.txt

# The repository: 6 commits whose hashes are the same everywhere.
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_CONFIG_NOSYSTEM=1
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_TEMPLATE_DIR || true
git init -q -b main --template= --object-format=sha1 "$D/repo"
cd "$D/repo"
git config user.name Fixture
git config user.email fixture@example.com
git config commit.gpgsign false
git config core.autocrlf false
git config core.filemode true
git config gc.auto 0
umask 022
commit() { # NAME DATE MESSAGE
  git add -A
  chmod -R u+rwX,go+rX .
  GIT_AUTHOR_NAME="$1" GIT_AUTHOR_EMAIL="$(echo "$1" | tr 'A-Z' 'a-z')@example.com" GIT_AUTHOR_DATE="$2" \
  GIT_COMMITTER_NAME=Fixture GIT_COMMITTER_EMAIL=fixture@example.com GIT_COMMITTER_DATE="$2" \
  git commit -q -m "$3"
}
printf '# Shop\n\nA small shop.\n' > README.md
commit Ada '2024-01-01T09:00:00+0000' 'docs: start the readme'
mkdir src; printf 'def price(sku):\n    return 1\n' > src/price.py
commit Ada '2024-01-02T10:30:00+0000' 'feat: add prices'
printf 'def stock(sku):\n    return 0\n' > src/stock.py
commit Bob '2024-01-03T11:00:00+0000' 'feat: add stock (#12)'
printf 'def price(sku):\n    return {"P1": 19.5}.get(sku, 0)\n' > src/price.py
commit Cleo '2024-02-01T08:15:00+0000' 'fix: prices of unknown products (#15)'
git branch -q old
mkdir tests; printf 'from src.price import price\n\nassert price("P1") == 19.5\n' > tests/test_price.py
commit Bob '2024-02-10T16:45:00+0000' 'test: check the price of P1'
printf '# Shop\n\nA small shop.\n\n## Products\n\nLamp, desk, chair.\n' > README.md
commit Ada '2024-02-11T12:00:00+0000' 'docs: list products'
git tag v0.1 HEAD~3
git update-index -q --refresh

python3 - "$D/shop.db" <<'X'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.executescript("""
create table customers (id integer primary key, name text not null, country text not null);
create table orders (id integer primary key, customer integer not null references customers(id), sku text not null, quantity integer not null, day text not null);
""")
db.executemany("insert into customers values (?, ?, ?)", [
    (1, "Ada", "UK"), (2, "Bob", "US"), (3, "Cleo", "FR"), (4, "Dan", "US"), (5, "Zoe", "GR")])
db.executemany("insert into orders values (?, ?, ?, ?, ?)", [
    (1, 1, "P1", 2, "2024-01-03"), (2, 1, "P4", 6, "2024-01-05"), (3, 2, "P2", 1, "2024-01-09"),
    (4, 3, "P3", 4, "2024-02-02"), (5, 2, "P4", 1, "2024-02-03"), (6, 4, "P7", 100, "2024-02-14"),
    (7, 3, "P5", 1, "2024-02-20"), (8, 1, "P6", 1, "2024-03-01"), (9, 4, "P2", 2, "2024-03-02"),
    (10, 2, "P9", 3, "2024-03-05"), (11, 1, "P3", 2, "2024-03-09"), (12, 4, "P1", 1, "2024-03-10")])
db.commit(); db.close()
X

cat > "$D/servers.json" <<'X'
{
  "mcpServers": {
    "everything": {"command": "${EVERYTHING}"},
    "files": {"command": "${FILESYSTEM}", "args": ["${FIXTURE}/data"]},
    "memory": {"command": "${MEMORY}", "env": {"MEMORY_FILE_PATH": "${FIXTURE}/memory.jsonl"}},
    "time": {"command": "${TIME}", "args": ["--local-timezone", "UTC"]},
    "git": {"command": "${GIT}", "args": ["--repository", "${FIXTURE}/repo"]},
    "sqlite": {"command": "${SQLITE}", "args": ["--db-path", "${FIXTURE}/shop.db"]}
  },
  "dormouse": {"rules": {"*": "allow"}}
}
X
