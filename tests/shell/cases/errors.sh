# Error handling: set -euo pipefail, traps, exit statuses.

## errexit
set -e; echo before; false; echo after

## errexit-in-conditions
set -e; if false; then :; fi; false || echo or; ! true; while false; do :; done; f() { false; echo "in f"; }; f && echo and; echo end

## errexit-subshell
set -e; (false; echo inner) || echo "caught $?"; x=$(false; echo y) || true; echo "[$x]"; v=$(false); echo never

## nounset
set -u; echo "${x:-ok}"; echo "$x"; echo never

## pipefail
false | true; echo $?; set -o pipefail; false | true; echo $?; (exit 3) | (exit 4) | true; echo $?

## strict-mode
set -euo pipefail
IFS=$'\n\t'
for x in a b; do echo "$x"; done
grep nothing /dev/null | wc -l || echo "grep failed: $?"
cat no-such-file | wc -l
echo never

## trap-exit
trap 'echo cleanup $?' EXIT; echo work; exit 3

## trap-exit-removes
t=$(mktemp -p .); trap 'rm -f "$t"' EXIT; echo x > "$t"; wc -c < "$t"; false

## trap-err
trap 'echo "error $? line $LINENO"' ERR; true; false; echo next; (exit 5); ! true; false || true; echo end

## trap-err-with-set-e
set -e; trap 'echo "failed: $BASH_COMMAND"' ERR; trap 'echo bye' EXIT; ls no-such 2>/dev/null; echo never

## errtrace
set -E; trap 'echo trapped' ERR; f() { false; true; }; f; echo done

## trap-return-debug
f() { trap 'echo leaving' RETURN; echo in; }; f; trap - RETURN; n=0; trap '(( n++ ))' DEBUG; true; true; trap - DEBUG; (( n >= 2 )) && echo debugged

## trap-signal
trap 'echo got usr1' USR1; kill -USR1 $$; echo after; trap - USR1; trap 'echo int' INT; trap -p INT | cut -c1-20; trap '' TERM; kill -TERM $$; echo alive

## trap-in-subshell
trap 'echo outer' EXIT; (trap 'echo inner' EXIT; echo sub); (echo plain); echo main

## exit-codes
(exit 300); echo $?; (exit -1); echo $?; bash -c 'exit 42'; echo $?; true; echo $?; false; echo $?; ! false; echo $?

## command-not-found
no_such_command_xyz 2>/dev/null; echo $?; ./no-such 2>/dev/null; echo $?

## not-executable
echo 'echo hi' > s.sh; chmod 644 s.sh; ./s.sh 2>/dev/null; echo $?; mkdir d; ./d 2>/dev/null; echo $?

## killed-by-signal
bash -c 'kill -9 $$'; echo $?; (kill -TERM $BASHPID); echo $?

## or-die
die() { echo "error: $*" >&2; exit "${code:-1}"; }; [ -f none ] || code=4 die "no file"; echo never

## retry
n=0; until (( ++n == 3 )); do echo "try $n"; done; echo "ok after $n"; attempt() { (( ++k >= 3 )); }; k=0; for i in 1 2 3 4; do attempt && { echo "worked at $i"; break; }; done

## try-catch
{ echo try; false; } || { echo caught; }; if ! out=$(ls no-such 2>&1); then [[ $out == *no-such* ]] && echo "named"; fi

## exit-in-function-and-pipe
f() { exit 9; }; (f); echo $?; echo x | { read -r y; exit 2; }; echo $?; { echo grouped; }; echo $?

## errexit-function-in-condition
set -e; f() { false; echo survived; }; if f; then echo yes; fi; f || true; g() { false; }; g || echo g; echo end

## errexit-and-arithmetic
set -e; n=1; (( n++ )); echo $n; (( 0 )) || true; let m=5; echo $m; (( zero = 0 )); echo never

## errexit-local-masks
set -e; f() { local v=$(false); echo "masked"; }; f; export E=$(false); echo here; v=$(exit 6); echo never

## status-of-assignments
x=$(exit 5); echo $?; y=1; echo $?; local_test() { local z=$(exit 5); echo $?; }; local_test

## pipefail-with-head
set -o pipefail; seq 10 | head -1; echo "s=$?"; printf 'a\nb\n' | grep -q a; echo $?

## unbound-in-array-and-default
set -u; a=(1); echo "${a[0]}"; echo "${b[0]:-none}"; f() { echo "${1-}"; }; f; echo "$#"; (echo "$undefined_x") 2>/dev/null || echo "status $?"

## error-message-names
cat no-such-file; cd /no/such/dir; echo end

## syntax-error
eval 'if then' 2>/dev/null; echo $?; bash -c 'for do' 2>/dev/null; echo $?; bash -n -c 'echo ok'; echo $?

## readonly
readonly R=1; (R=2) 2>/dev/null; echo $?; echo $R; declare -r S=x; (unset S) 2>/dev/null; echo "$S"

## redirect-to-missing-folder
echo x > no/such/file; echo $?; cat < none; echo $?; : > ok && echo created

## timeout-status
timeout 0.2 sleep 5; echo $?; timeout 5 true; echo $?; timeout 5 sh -c 'exit 9'; echo $?; timeout -s KILL 0.2 sleep 5; echo $?

## noclobber
set -o noclobber; echo 1 > f; echo 2 > f 2>/dev/null; echo $?; echo 3 >| f; cat f

## xtrace
set -x; x=1; echo "$x" 'a b'; set +x; echo off

## message-to-stderr-only
echo "warning" >&2; printf 'e\n' 1>&2; echo out

## exit-without-value
false; (exit); echo $?; f() { false; return; }; f; echo $?; trap 'true' EXIT; (exit 7); exit

## wait-and-background
(exit 3) & wait $!; echo $?; sleep 0.05 & p=$!; kill -0 $p && echo running; wait $p; echo $?; { echo bg > f; } & wait; cat f

## parallel-jobs-collected
for i in 1 2 3; do (echo "job $i" > "o$i") & done; wait; cat o1 o2 o3

## wait-each
pids=(); for i in 0 1 2; do (exit $i) & pids+=($!); done; for p in "${pids[@]}"; do wait "$p"; echo -n "$? "; done; echo

## check-command-exists
for c in cat no_such_tool; do if command -v "$c" > /dev/null 2>&1; then echo "$c yes"; else echo "$c no"; fi; done; hash no_such_tool 2>/dev/null || echo "not hashed"

## trap-err-that-exits
(set -E; trap 'echo trapped; exit 3' ERR; f() { false; echo in; }; f; echo after); echo $?; (trap 'exit 4' ERR; true; false; echo never); echo $?; f() { trap 'echo E; return 7' ERR; false; echo no; }; f; echo $?

## trap-err-that-exits-not-in-conditions
set -E; trap 'exit 9' ERR; f() { false; true; }; if f; then echo yes; fi; f || echo no; ! f; echo end
