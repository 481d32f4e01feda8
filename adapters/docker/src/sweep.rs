//! The end of what a line left running.
//!
//! Everything that is run in a container has a session of its own, because the engine starts it so. A session cannot be
//! joined from outside: what a line started is in its session or in a newer one, never in that of a program that is to
//! live on. So whatever is in none of the sessions to be kept is killed, except that an interpreter is kept with the relay
//! that is its parent: no process can choose its parent either. Where nothing is to be kept, `kill -9 -1` does it at once,
//! which no process outruns by forking.

/// `$1` the sessions to keep, with spaces around each, or nothing.
///
/// Only builtins: where the limit of processes is reached, nothing else can be started. The whole of `stat` is read, and what
/// follows its last `)`, because a process chooses its own name.
const SWEEP: &str = r#"
keep=$1
me=$$
[ -z "$keep" ] && { kill -9 -1; exit 0; }
for round in 1 2 3 4 5 6 7 8 9 10; do
  table=' '
  for file in /proc/[0-9]*/stat; do
    pid=${file#/proc/}
    pid=${pid%/stat}
    [ "$pid" = "$me" ] && continue
    all=
    { while IFS= read -r part || [ -n "$part" ]; do all="$all $part"; done < "$file"; } 2>/dev/null
    [ -z "$all" ] && continue
    set -- ${all##*)}
    [ "$1" = Z ] || table="$table$pid:$4:$2 "
  done
  kept=$keep
  for entry in $table; do
    pid=${entry%%:*} session=${entry#*:} parent=${entry##*:}
    session=${session%:*}
    [ "$pid" = "$session" ] || continue
    rest=${table#*" $parent:"}
    case "$keep" in *" ${rest%%:*} "*) kept="$kept $pid " ;; esac
  done
  found=0
  for entry in $table; do
    session=${entry#*:}
    case "$kept" in *" ${session%:*} "*) continue ;; esac
    kill -9 "${entry%%:*}" 2>/dev/null && found=1
  done
  [ "$found" = 0 ] && exit 0
done
kill -9 -1
"#;

/// The program that kills all but some sessions.
pub(crate) fn argv(keep: &[u32]) -> Vec<String> {
    let mut sessions = String::new();
    for session in keep {
        sessions.push_str(&format!(" {session} "));
    }
    ["sh", "-c", SWEEP, "dormouse", &sessions].map(str::to_owned).into()
}
