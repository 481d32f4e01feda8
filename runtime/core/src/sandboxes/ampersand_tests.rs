//! Which lines are taken apart, and where.

use super::*;

#[track_caller]
fn apart(line: &str, wanted: [&str; 3]) {
    let [before, beside, after] = wanted;
    all_apart(line, &[(before, beside)], after);
}

#[track_caller]
fn all_apart(line: &str, steps: &[(&str, &str)], after: &str) {
    let steps =
        steps.iter().map(|(before, beside)| Step { before: (*before).into(), beside: (*beside).into() });
    assert_eq!(parts(line, false), Some(Parts { steps: steps.collect(), after: after.into() }), "{line}");
}

#[test]
fn what_is_started_with_an_ampersand_is_found() {
    apart("sleep 5 &", ["", "sleep 5", ""]);
    apart("sleep 5 & echo started", ["", "sleep 5", "echo started"]);
    apart("cd app; npm start > log 2>&1 &", ["cd app", "npm start > log 2>&1", ""]);
    apart("cd app && npm start &", ["", "cd app && npm start", ""]);
    apart("mkdir -p a\nnohup python3 a.py &> log &\n", ["mkdir -p a", "nohup python3 a.py &> log", ""]);
    apart("nohup a.py & disown\necho on", ["", "nohup a.py", "echo on"]);
    apart("a & disown -a", ["", "a", ""]);
    apart("a & disown; b & disown; echo c", ["", "a &\nb", "echo c"]);
    apart("echo x\na & disown\nnohup b & disown %2\nc &", ["echo x", "a &\nnohup b &\nc", ""]);
    apart("nohup a > log 2>&1 & echo $! > pid", ["", "nohup a > log 2>&1", "echo $! > pid"]);
    let after = parts("a & echo \"${!}\" $!", false).unwrap().after;
    assert_eq!(with_id(&after, "job-1"), "echo \"job-1\" job-1");
    apart("a & b & echo c", ["", "a &\nb", "echo c"]);
    apart(
        "(while true; do date >> log; sleep 0.1; done) &",
        ["", "(while true; do date >> log; sleep 0.1; done)", ""],
    );
    apart("while true; do date & sleep 1; done &", ["", "while true; do date & sleep 1; done", ""]);
    apart("{ a; b; } & c", ["", "{ a; b; }", "c"]);
    apart("f() { sleep 1; }; f &", ["f() { sleep 1; }", "f", ""]);
    apart("echo \"a & b; c\" 'd & e' f\\& & g", ["", "echo \"a & b; c\" 'd & e' f\\&", "g"]);
    apart("x=$(a & b) y=${z:-\")\"} w | v & u", ["", "x=$(a & b) y=${z:-\")\"} w | v", "u"]);
    apart("if true; then a & fi; b &", ["if true; then a & fi", "b", ""]);
    apart("a &&\n  b &\n# what follows\nc", ["", "a &&\n  b", "c"]);
    apart("a | b |& c & d", ["", "a | b |& c", "d"]);
    apart("a <<< 'x & y' & b >| f", ["", "a <<< 'x & y'", "b >| f"]);
    apart("(a) && b & c", ["", "(a) && b", "c"]);
}

#[test]
fn several_that_are_started_with_others_between_them_are_found() {
    all_apart("a & b; c & d", &[("", "a"), ("b", "c")], "d");
    all_apart("a & b & c; d & e &\nf; g", &[("", "a &\nb"), ("c", "d &\ne")], "f\ng");
    all_apart("a & disown; b; c & disown", &[("", "a"), ("b", "c")], "");
    all_apart("a; b & echo $!; c $! & exit", &[("a", "b"), ("echo $!", "c $!")], "exit");
}

#[test]
fn files_that_are_opened_before_stay_open() {
    apart("exec 3> log; a >&3 &", ["exec 3> log", "a >&3", ""]);
    apart("exec 3>&1 4>&2 5>&-; a >&3 &", ["exec 3>&1 4>&2 5>&-", "a >&3", ""]);
    apart("exec 3>>log 4< /tmp/in.txt 5<>x\na & b", ["exec 3>>log 4< /tmp/in.txt 5<>x", "a", "b"]);
}

#[test]
fn here_documents_belong_to_their_command() {
    apart(
        "cat > w.py << 'EOF'\nexit() & return\nEOF\npython3 w.py &",
        ["cat > w.py << 'EOF'\nexit() & return\nEOF", "python3 w.py", ""],
    );
    apart(
        "cat <<-A <<\"B C\" | d\n\tx\n\tA\ny\nB C\ne & f\n",
        ["cat <<-A <<\"B C\" | d\n\tx\n\tA\ny\nB C", "e", "f"],
    );
    apart(
        "python3 - <<'EOF' > log 2>&1 & \nimport os\nEOF\necho on",
        ["", "python3 - <<'EOF' > log 2>&1\nimport os\nEOF", "echo on"],
    );
    apart("a << E & \nx\nE\nb &\nc << E\ny\nE\n", ["", "a << E &\nx\nE\nb", "c << E\ny\nE"]);
    apart("for i in 1 2; do cat << E\n$i\nE\ndone\na &", ["for i in 1 2; do cat << E\n$i\nE\ndone", "a", ""]);
}

#[test]
fn a_line_that_its_parts_would_not_do_stays_whole() {
    for line in [
        "",
        "echo a && b || c",
        "echo a 2>&1 >&2 &> f",
        "echo 'a & b'",
        "echo a \\& b",
        "echo a # & b",
        "(a & b)",
        "for i in 1 2; do a & done",
        "for i in 1 2; do a & done; wait",
        "a & wait",
        "a & b & wait",
        "a & p=$!; kill $p",
        "a & echo '$!'",
        "a & echo \\$!",
        "a & kill %1",
        "a & b; c & wait",
        "a & b; exit 1; c &",
        "a & b; c $! '$!' &",
        "exec > log; a &",
        "exec 3<&0; a &",
        "exec 3>&file; a &",
        "exec 1>&3; a &",
        "exec 3> log b; a &",
        "exec 1> log; a &",
        "exec 3> $(b); a &",
        "a & disown && b",
        "disown; a & b; disown",
        "cd app || exit 1; a &",
        "set -e; a &",
        "cat << EOF; c\na & b\nEOF\nb &",
        "cat << EOF & c\na & b\nEOF",
        "cat << EOF\na & b\nEO\nb &",
        "cat << EOF\na & b\\\nEOF\nb &",
        "cat << $END\na\n$END\nb &",
        "b & cat << EOF\n$!\nEOF",
        "(cat << EOF\na\nEOF\n) & b",
        "case a in a) b & ;; esac",
        "a & case b in b) c;; esac",
        "echo \"a & b",
        "a & )",
        "a & (b",
        "& a",
        "a & & b",
        "a && & b",
        "a; } & b",
        "if a; then b & c",
        "((i = 1 & 2)) & b",
    ] {
        assert_eq!(parts(line, false), None, "{line}");
    }
    assert_eq!(parts("cd a; b &", true), None, "a folder for the line alone");
    assert!(parts("cat a; b &", true).is_some());
}

#[test]
fn a_hint_is_given_where_something_is_started() {
    for (line, wanted) in [
        ("a & wait", true),
        ("a &", true),
        ("a && b", false),
        ("a &> f", false),
        ("a 2>&1", false),
        ("&", true),
        ("", false),
    ] {
        assert_eq!(starts_any(line), wanted, "{line}");
    }
}

#[test]
fn no_text_is_too_much_for_it() {
    for line in [
        "<<E\n",
        "<<",
        "<<-'",
        "(",
        "$(",
        "${",
        "\"$(",
        "`",
        "'",
        "\\",
        "a &(",
        "&&",
        "|",
        "é & \u{1f994}",
        "a &\u{0} b",
    ] {
        for times in [1, 2, 10_000] {
            let _ = parts(&line.repeat(times), false);
            let _ = parts(&format!("a & {}", line.repeat(times)), false);
        }
    }
}
