//! Command lines: the wrapper that a shell runs around one, and the marks by which the wrapper says how it goes.
//!
//! The line is an argument of the wrapper, never part of its text. The wrapper says on standard error, before the line, which
//! session it is, and after it, with which status it ended; the marks carry a random number, and are taken out again. Both
//! count how often the kernel killed a process of this container for want of memory. A line that replaces its shell
//! (`exec`) leaves no second mark; its status is then asked of the engine.
//!
//! The session is read, since an engine may start a program below one of its own; where it cannot be it is the shell's.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// What begins a mark, besides the random number.
const BEGIN: u8 = 0x1e;
/// Longest mark, in bytes.
const MAX_MARK: usize = 256;
/// Where a shell's folder and variables lie between its lines.
pub(crate) const STATE: &str = "/tmp/.dormouse";

/// `$1` the line, `$2` the mark, `$3` a folder for this line alone or nothing, `$4` whether what it changes is kept.
///
/// Where memory is short the kernel is to kill what a line runs rather than what keeps the container.
/// Descriptor 9 is standard error as it was: a line may redirect its own. The counter of kills is read by builtins alone, in
/// control groups of version 1 or 2.
///
/// A process that is started costs more than all the rest, so the end starts one, `mv`. What lasts is one file, whose
/// variable `__dm_dir` is the folder; each shell has its own, because none reads another's. `cd .` sets `PWD` right, which a line may have assigned to.
/// `command`: a line may have made a function of that name, which lasts.
const WRAPPER: &str = r#"
__dm_kills() {
  __dm_n=-1
  for __dm_f in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
    if [ -r "$__dm_f" ]; then
      while read -r __dm_k __dm_v; do [ "$__dm_k" = oom_kill ] && __dm_n=$__dm_v; done < "$__dm_f"
    fi
  done
}
__dm_end() {
  __dm_code=$?
  set +eu
  trap - EXIT
  if [ "$__dm_keep" = 1 ]; then
    umask 077
    if [ -z "$__dm_own" ]; then command cd .; __dm_dir=$PWD; fi
    [ -d /tmp/.dormouse ] || command mkdir -p /tmp/.dormouse
    { __DM_SAVE__; } > /tmp/.dormouse/__DM_SHELL__.new && command mv -f /tmp/.dormouse/__DM_SHELL__.new /tmp/.dormouse/__DM_SHELL__
  fi
  __dm_kills
  printf '\036%s end %s %s\n' "$__dm_mark" "$__dm_code" "$__dm_n" >&9
  exit "$__dm_code"
}
exec 9>&2
{ echo 1000 > /proc/self/oom_score_adj; } 2>/dev/null
__dm_mark=$2
__dm_kills
__dm_v=$$
{ read -r __dm_k __dm_k __dm_k __dm_k __dm_k __dm_v __dm_k < "/proc/$$/stat"; } 2>/dev/null
printf '\036%s begin %s %s\n' "$__dm_mark" "$__dm_v" "$__dm_n" >&9
__dm_dir=$PWD
if [ -r /tmp/.dormouse/__DM_SHELL__ ]; then
  { . /tmp/.dormouse/__DM_SHELL__; } >/dev/null 2>&1
fi
__dm_line=$1 __dm_mark=$2 __dm_own=$3 __dm_keep=$4
if [ -n "$__dm_own" ]; then command cd -- "$__dm_own"; else command cd -- "$__dm_dir" 2>/dev/null; fi
if [ $? != 0 ] && [ -n "$__dm_own" ]; then exit 1; fi
trap '{ __dm_end; } 2>/dev/null' EXIT
set --
eval "$__dm_line"
"#;

/// The wrapper for a shell, and that shell.
///
/// In bash variables, arrays and functions last; in other shells variables.
pub(crate) fn argv(bash: bool, line: &str, mark: &str, folder: Option<&str>, keep: bool) -> Vec<String> {
    let (shell, save) = match bash {
        true => ("bash", "declare -p; declare -f"),
        false => ("sh", "set; export -p"),
    };
    let wrapper = WRAPPER.replace("__DM_SAVE__", save).replace("__DM_SHELL__", shell);
    let keep = if keep { "1" } else { "0" };
    [shell, "-c", &wrapper, "dormouse", line, mark, folder.unwrap_or_default(), keep]
        .map(str::to_owned)
        .into()
}

/// Says its session as a line does, and becomes the program that follows the mark.
const KEPT: &str = r#"{ echo 1000 > /proc/self/oom_score_adj; } 2>/dev/null
session=$$
{ read -r a a a a a session a < "/proc/$$/stat"; } 2>/dev/null
printf '\036%s begin %s -1\n' "$1" "$session" >&2; shift; exec "$@""#;

/// A program that is to live on.
pub(crate) fn kept(mark: &str, argv: Vec<String>) -> Vec<String> {
    let mut all: Vec<String> = ["sh", "-c", KEPT, "dormouse", mark].map(str::to_owned).into();
    all.extend(argv);
    all
}

/// What the first mark says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Begin {
    /// The session of the line: all its processes are in it, unless they left it.
    pub(crate) session: u32,
    /// How many processes the kernel had killed for want of memory; below 0 it is not known.
    pub(crate) kills: i64,
}

/// What the second mark says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// The exit status.
    pub(crate) code: i64,
    /// As in [`Begin`].
    pub(crate) kills: i64,
}

/// Takes the marks out of a stream.
#[derive(Clone, Debug)]
pub struct Marks {
    number: String,
    pending: Vec<u8>,
    pub(crate) begin: Option<Begin>,
    pub(crate) end: Option<End>,
    /// Where the session is told as soon as it is known.
    session: Arc<AtomicU32>,
}

impl Marks {
    pub(crate) fn new(number: String, session: Arc<AtomicU32>) -> Self {
        Self { number, pending: Vec::new(), begin: None, end: None, session }
    }

    /// What of these bytes is the line's own. What may be the beginning of a mark is kept back.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut all = std::mem::take(&mut self.pending);
        all.extend_from_slice(bytes);
        let (mut own, mut rest) = (Vec::new(), all.as_slice());
        while let Some(at) = rest.iter().position(|byte| *byte == BEGIN) {
            let (before, begun) = rest.split_at(at);
            own.extend_from_slice(before);
            // No further than a mark is long: a stream of nothing but beginnings takes no longer than any other.
            let near = if self.may_be(&begun[1..]) { begun.get(..=MAX_MARK).unwrap_or(begun) } else { &[] };
            match near.iter().position(|byte| *byte == b'\n') {
                Some(end) if self.mark(&begun[1..end]) => rest = &begun[end + 1..],
                None if near.len() == begun.len() && near.len() <= MAX_MARK => {
                    self.pending = begun.to_vec();
                    return own;
                }
                _ => {
                    own.push(BEGIN);
                    rest = &begun[1..];
                }
            }
        }
        own.extend_from_slice(rest);
        own
    }

    /// What was kept back, when nothing follows.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.pending)
    }

    /// Whether this can still become a mark.
    fn may_be(&self, seen: &[u8]) -> bool {
        let number = self.number.as_bytes();
        let shared = seen.len().min(number.len());
        seen.get(..shared) == number.get(..shared)
    }

    /// Reads a mark, if it is one.
    fn mark(&mut self, text: &[u8]) -> bool {
        let Ok(text) = std::str::from_utf8(text) else { return false };
        let words: Vec<&str> = text.split(' ').collect();
        let [number, word, first, kills] = words.as_slice() else { return false };
        if *number != self.number {
            return false;
        }
        let kills = kills.parse().unwrap_or(-1);
        match *word {
            "begin" => {
                let Ok(session) = first.parse() else { return false };
                self.session.store(session, Ordering::Release);
                self.begin = Some(Begin { session, kills });
            }
            "end" => {
                let Ok(code) = first.parse() else { return false };
                self.end = Some(End { code, kills });
            }
            _ => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a line says on standard output and standard error, with what lasts kept in `state`.
    #[expect(clippy::disallowed_methods, reason = "the shell is what is tested")]
    fn said(bash: bool, line: &str, folder: Option<&str>, state: &std::path::Path) -> (String, String) {
        let argv = argv(bash, line, "abc", folder, true);
        let here = state.to_str().unwrap();
        let ran = std::process::Command::new(&argv[0])
            .args(argv[1..].iter().map(|word| word.replace(STATE, here)))
            .output()
            .expect("a shell");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut marks = Marks::new("abc".into(), Arc::default());
        let own = marks.read(&ran.stderr);
        assert!(marks.begin.is_some() && marks.end.is_some(), "{line}: {}", text(&ran.stderr));
        (text(&ran.stdout), text(&own))
    }

    #[test]
    fn folder_and_variables_last_from_line_to_line_whatever_a_line_sets() {
        for bash in [true, false] {
            let place = tempfile::tempdir().unwrap();
            let state = place.path().join("state");
            let output = |line: &str, folder: Option<&str>| said(bash, line, folder, &state).0;
            assert_eq!(output("cd /usr; x='a  \"b'; export y=2; set -eu", None), "");
            assert_eq!(output("pwd; echo \"$x$y\"; PWD=/nowhere; umask 0", None), "/usr\na  \"b2\n");
            assert_eq!(output("pwd", Some("/var")), "/var\n");
            assert_eq!(output("pwd; exit 3", None), "/usr\n", "a folder for one line is its alone");
            assert_eq!(
                output("mkdir gone; cd gone; rmdir ../gone", Some(place.path().to_str().unwrap())),
                ""
            );
            assert_eq!(output("pwd; set -e; false; pwd", None), "/usr\n");
            let talks = "cd() { echo mine; command cd \"$@\"; }; mv() { echo mine; }; mkdir() { echo mine; }";
            assert_eq!(output(&format!("{talks}; z=1"), None), "");
            assert_eq!(output("pwd; echo $z", None), "/usr\n1\n", "functions of a line are not ours");
        }
    }

    #[test]
    fn a_line_runs_whatever_another_shell_has_left() {
        let place = tempfile::tempdir().unwrap();
        for bash in [true, false, true] {
            let here = format!("echo hello; list=(1 2); x={bash}");
            let line = if bash { here.as_str() } else { "echo hello; f() { echo f; }" };
            assert_eq!(said(bash, line, None, &place.path().join("state")).0, "hello\n");
        }
    }

    #[test]
    fn a_line_that_traces_its_commands_shows_its_own_alone() {
        for bash in [true, false] {
            let place = tempfile::tempdir().unwrap();
            let complaint = said(bash, "set -x; echo q", None, &place.path().join("state")).1;
            assert_eq!(complaint.trim_start_matches('+'), " echo q\n");
        }
    }

    #[test]
    fn marks_are_taken_out_wherever_the_stream_is_cut() {
        let stream = b"\x1eabc begin 42 0\nwarn\x1e\x1eab\n\x1eabd x\n\x1eabc end 3 1\n";
        for size in 1..stream.len() {
            let mut marks = Marks::new("abc".into(), Arc::default());
            let mut own: Vec<u8> = stream.chunks(size).flat_map(|piece| marks.read(piece)).collect();
            own.extend(marks.rest());
            assert_eq!(String::from_utf8_lossy(&own), "warn\x1e\x1eab\n\x1eabd x\n", "{size}");
            assert_eq!(marks.begin, Some(Begin { session: 42, kills: 0 }));
            assert_eq!(marks.end, Some(End { code: 3, kills: 1 }));
        }
    }

    #[test]
    fn a_stream_of_beginnings_takes_no_longer_than_any_other() {
        let mut marks = Marks::new("abc".into(), Arc::default());
        let begun = std::time::Instant::now();
        let said = [vec![BEGIN; 1 << 20], b"\n".to_vec()].concat();
        assert_eq!(marks.read(&said), said);
        assert!(begun.elapsed() < std::time::Duration::from_secs(60), "{:?}", begun.elapsed());
    }

    #[test]
    fn what_only_looks_like_a_mark_is_not_kept_back_for_ever() {
        let mut marks = Marks::new("abc".into(), Arc::default());
        assert!(marks.read(b"\x1eabc ").is_empty());
        let own = marks.read(&[b'x'; 1000]);
        assert_eq!(own.len(), 1005);
    }
}
