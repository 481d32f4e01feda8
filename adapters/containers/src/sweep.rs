//! The end of what a line left running.
//!
//! Everything that is run in a container has a session of its own, because the engine starts it so. A session cannot be
//! joined from outside: what a line started is in its session or in a newer one, never in that of a program that is to
//! live on. So whatever is in none of the sessions to be kept is killed, except that an interpreter is kept with the relay
//! that is its parent: no process can choose its parent either. Where nothing is to be kept, `kill -9 -1` does it at once,
//! which no process outruns by forking.

/// A shell function that looks at all processes: `table` are those that go on, each as `pid:session:parent` with a space
/// around, and `kept` the sessions `$keep` with those of the interpreters that relays of them began. `dying` is 1 where the
/// container's main process has one to reap.
///
/// Only builtins: where the limit of processes is reached, nothing else can be started. The whole of `stat` is read, and what
/// follows its last `)`, because a process chooses its own name.
pub(crate) const LOOK: &str = r#"
look() {
  table=' ' dying=0
  for file in /proc/[0-9]*/stat; do
    pid=${file#/proc/}
    pid=${pid%/stat}
    [ "$pid" = "$$" ] && continue
    all=
    { while IFS= read -r part || [ -n "$part" ]; do all="$all $part"; done < "$file"; } 2>/dev/null
    [ -z "$all" ] && continue
    set -- ${all##*)}
    case "$1$2" in Z1) dying=1 ;; Z*) ;; *) table="$table$pid:$4:$2 " ;; esac
  done
  kept=$keep
  for entry in $table; do
    pid=${entry%%:*} session=${entry#*:} parent=${entry##*:}
    session=${session%:*}
    [ "$pid" = "$session" ] || continue
    rest=${table#*" $parent:"}
    case "$keep" in *" ${rest%%:*} "*) kept="$kept $pid " ;; esac
  done
}
"#;

/// `$1` the sessions to keep, with spaces around each, or nothing; `$2` the one of the container's own main process, or nothing: what is
/// in it goes on, and begins no session that is kept.
///
/// A process that was killed can be seen for as long as the machine has no time for its end: it counts once. Where new ones come
/// in every round, nothing is kept.
///
/// What was killed counts against the limit of processes until it is reaped, which a busy machine takes its time for: that is
/// waited for, since the next line could start nothing, but not for ever.
const SWEEP: &str = r#"
keep=$1 main=$2
settle() {
  rounds=200
  while [ "$rounds" -gt 0 ]; do
    look
    for entry in $table; do
      pid=${entry%%:*} session=${entry#*:}
      [ "$pid" = 1 ] || [ "${session%:*}" = "$main" ] && continue
      case "$kept" in *" ${session%:*} "*) continue ;; esac
      kill -0 "$pid" 2>/dev/null && dying=1
    done
    [ "$dying" = 0 ] && return
    rounds=$((rounds - 1))
  done
}
[ -z "$keep$main" ] && { kill -9 -1 2>/dev/null && settle; exit 0; }
killed=' '
for round in 1 2 3 4 5 6 7 8 9 10; do
  look
  found=0
  for entry in $table; do
    pid=${entry%%:*} session=${entry#*:}
    [ "${session%:*}" = "$main" ] && continue
    case "$kept" in *" ${session%:*} "*) continue ;; esac
    kill -9 "$pid" 2>/dev/null || continue
    case "$killed" in *" $pid "*) ;; *) killed="$killed$pid " found=1 ;; esac
  done
  [ "$killed" = ' ' ] && exit 0
  [ "$found" = 0 ] && { settle; exit 0; }
done
kill -9 -1
settle
"#;

/// The program that kills all but some sessions, and that of the container's own main process, where the sandbox's user runs it.
pub fn argv(keep: &[u32], main: Option<u32>) -> Vec<String> {
    let main = main.map(|main| main.to_string()).unwrap_or_default();
    ["sh", "-c", &format!("{LOOK}{SWEEP}"), "dormouse", &spaced(keep), &main].map(str::to_owned).into()
}

/// Sessions with spaces around each, as the programs take them.
pub(crate) fn spaced(sessions: &[u32]) -> String {
    sessions.iter().map(|session| format!(" {session} ")).collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Processes that were killed and are still to be seen are no reason to end what is to be kept.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "the shell is what is tested")]
    fn what_dies_slowly_does_not_end_what_is_kept() {
        let says = r#"
kill() { echo "$*"; }
looks=0
look() {
  looks=$((looks + 1)) dying=0 table=' 1:1:0 7:7:1 8:7:7 ' kept=$keep
  [ "$looks" -gt 3 ] && table=' 1:1:0 ' dying=1
  [ "$looks" -gt 4 ] && dying=0
  :
}
"#;
        let ran = Command::new("sh")
            .args(["-c", &format!("{says}{SWEEP}"), "dormouse", &spaced(&[1]), ""])
            .output()
            .expect("a shell");
        assert_eq!(String::from_utf8_lossy(&ran.stdout), "-9 7\n-9 8\n-9 7\n-9 8\n-0 7\n-0 8\n");
        assert!(ran.status.success());
    }
}
