# Scripts, shebangs, options, environment.

## bash-script
printf '#!/bin/bash\nset -e\necho "args $#: $*"\nexit 4\n' > s.sh; chmod +x s.sh; ./s.sh a b; echo $?; bash s.sh x; sh ./s.sh; echo "$?"

## env-shebang
printf '#!/usr/bin/env bash\necho "bash ${BASH_VERSION%%%%.*}"\n' > s; chmod +x s; ./s

## sh-shebang
printf '#!/bin/sh\n[ "$1" = yes ] && echo agreed\n' > s; chmod 755 s; ./s yes; ./s no; echo $?

## no-shebang
echo 'echo "plain $1"' > s; chmod +x s; ./s x

## script-with-python-and-bash
cat > run.sh <<'EOF'
#!/usr/bin/env bash
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
cd "$here"
python3 tool.py "$@" | sort
EOF
printf 'import sys\nfor a in sys.argv[1:]:\n    print(a[::-1])\n' > tool.py
chmod +x run.sh; mkdir sub; cd sub; ../run.sh xyz abc

## dollar-zero-and-source
echo 'echo "${0##*/} ${BASH_SOURCE[0]##*/}"' > s.sh; bash s.sh; bash ./s.sh; . ./s.sh

## path-lookup
mkdir bin; printf '#!/bin/sh\necho mine\n' > bin/mytool; chmod +x bin/mytool; PATH="$PWD/bin:$PATH"; mytool; command -v mytool; type -t mytool

## environment-passing
export A=1; B=2; bash -c 'echo "$A [$B]"'; B=3 bash -c 'echo $B'; echo $B; env A=9 bash -c 'echo $A'; env -u A bash -c 'echo "[${A-unset}]"'; env -i X=1 /usr/bin/env | grep X; export -n A; bash -c 'echo "[$A]"'

## env-listing
export ZED=1 ZETA='a b'; env | grep '^ZE' | sort; printenv ZED; printenv NONE; echo $?; export -p | grep -c ZETA

## dotenv
# files: .env.example
set -a; . ./.env.example; set +a; echo "$API_KEY $QUOTED"; bash -c 'echo $DB_HOST'; export $(grep -v '^#' .env.example | grep DB_ | xargs); echo $DB_PORT

## subshell-level-and-exit
bash -c 'bash -c "exit 3"; echo $?; exit 5'; echo $?; (bash -c 'echo in; kill -15 $$'; echo "$?")

## set-options
set -- -a b; echo $1; set -e +e; set -o | grep -E '^(errexit|pipefail)' | tr -s ' \t' ' '; shopt -q extglob; echo $?; shopt -s extglob; shopt extglob | tr -s ' \t' ' '

## getopts-script
cat > opt.sh <<'EOF'
#!/bin/bash
usage() { echo "usage: ${0##*/} [-v] [-n NUM] FILE" >&2; exit 2; }
verbose=0 num=1
while getopts 'vn:h' opt; do
  case "$opt" in
    v) verbose=1 ;;
    n) num=$OPTARG ;;
    *) usage ;;
  esac
done
shift $((OPTIND - 1))
[ $# -eq 1 ] || usage
echo "verbose=$verbose num=$num file=$1"
EOF
chmod +x opt.sh; ./opt.sh -v -n 5 data; ./opt.sh -vn3 x; ./opt.sh; echo $?; ./opt.sh -z 2>/dev/null; echo $?

## exit-trap-in-script
printf '#!/bin/bash\ntrap "echo bye" EXIT\necho hi\nfalse\n' > s; chmod +x s; ./s; echo $?

## stdin-script
echo 'echo "from stdin $1"' | bash -s arg; bash <<< 'echo here'; bash <<'EOF'
x=1
echo "doc $x"
EOF

## script-reading-stdin
printf '#!/bin/bash\nwhile read -r l; do echo "<$l>"; done\n' > s; chmod +x s; printf 'a\nb\n' | ./s; ./s <<< z | cat

## command-substitution-of-script
echo 'echo "$((RANDOM > -1)) $1"' > s.sh; v=$(bash s.sh q); echo "$v"; bash -c 'echo $0 $1' zero one; bash -euc 'echo $-' | grep -c e

## which-and-type
which bash > /dev/null && echo found; type cd | head -1; type -t python3; which no_such_xyz; echo $?; command -v if; command -v python3 > /dev/null && echo py

## version-and-identity
[ "${BASH_VERSINFO[0]}" -ge 5 ] && echo five; [ -n "$BASH_VERSION" ] && echo bash; [ -n "$PWD" ] && echo pwd; cd /; echo "$OLDPWD" | grep -c .; uname > /dev/null && echo uname

## sleep-and-seconds
s=$SECONDS; sleep 0.01; (( SECONDS - s < 5 )) && echo fast; : $EPOCHSECONDS && echo epoch

## makefile-less-task-runner
cat > task <<'EOF'
#!/usr/bin/env bash
build() { echo "building ${1:-all}"; }
test() { build quiet; echo "testing"; }
"$@"
EOF
chmod +x task; ./task build x; ./task test

## nohup-and-nice
nice -n 5 echo nice; nohup echo up 2>/dev/null; setsid true; echo $?

## umask-time-less-ulimit
umask > /dev/null; ulimit -n > /dev/null; echo $?; times > /dev/null; echo ok

## python-and-bash-status
cat > check.sh <<'EOF'
if python3 -c 'import sys; sys.exit(int(sys.argv[1]))' "$1"; then echo pass; else echo "fail $?"; fi
EOF
for c in 0 1 3; do bash check.sh $c; done
