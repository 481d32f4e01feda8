//! Interpreters and tools as programs: arguments, input, exit status, in pipes and by `#!`.

use std::time::Duration;

use dormouse::sandboxes::CommandLine;
use dormouse_tests::sandbox;

use super::{failure, in_a_sandbox, output};

#[test]
fn python_is_started_as_from_any_shell() {
    in_a_sandbox(|kept| {
        let script = "import sys, os\nprint(__name__, sys.argv, sys.stdin.read().strip(), os.environ.get('A'), os.getcwd())\nsys.exit(5)";
        output(kept, &format!("cat > s.py <<'EOF'\n{script}\nEOF"));
        assert_eq!(
            output(kept, "echo in | A=b python3 s.py x 'y z' || echo status $?"),
            "__main__ ['s.py', 'x', 'y z'] in b /workspace\nstatus 5\n"
        );
        assert_eq!(output(kept, "python -c 'import sys; print(sys.argv)' -c d"), "['-c', '-c', 'd']\n");
        assert_eq!(output(kept, "echo 'print(40 + 2)' | python3 -"), "42\n");
        assert_eq!(output(kept, "python3 <<< 'print(6 * 7)'"), "42\n");
        assert_eq!(output(kept, "echo '{\"a\": [1]}' | python3 -m json.tool --compact"), "{\"a\":[1]}\n");
        assert!(output(kept, "python3 --version").starts_with("Python 3.14"));
        let (status, errors) = failure(kept, "python3 -c 'def f(): return 1 / 0\nf()'");
        assert_eq!(status, 1);
        assert!(
            errors
                .starts_with("Traceback (most recent call last):\n  File \"<string>\", line 2, in <module>"),
            "{errors}"
        );
        assert!(errors.ends_with("ZeroDivisionError: division by zero\n") && !errors.contains("dormouse"));
        assert_eq!(failure(kept, "python3 none.py").0, 2);
        assert_eq!(failure(kept, "python3 --strange").0, 2);
        assert_eq!(
            output(kept, "mkdir p; echo 'print(\"pkg\", __name__)' > p/__main__.py; python3 p; python3 -m p"),
            "pkg __main__\npkg __main__\n"
        );
        output(kept, "echo 'x = 7' > mod.py; echo 'import mod; print(mod.x)' > use.py");
        assert_eq!(output(kept, "cd /tmp && python3 /workspace/use.py"), "7\n");
        assert_eq!(
            output(kept, "python3 -c 'import atexit; atexit.register(print, \"last\"); print(\"first\")'"),
            "first\nlast\n"
        );
    });
}

#[test]
fn node_and_php_are_too() {
    in_a_sandbox(|kept| {
        output(
            kept,
            "cd /workspace; echo 'console.log(process.argv.slice(2), require.main === module, __filename)' > s.js",
        );
        assert_eq!(output(kept, "node s.js a b"), "[ 'a', 'b' ] true /workspace/s.js\n");
        assert_eq!(output(kept, "node -p '1 + 1'; node -e 'console.log(process.argv.length)' x"), "2\n2\n");
        assert_eq!(output(kept, "echo 'export const x = 3; console.log(x)' > m.mjs; node m.mjs"), "3\n");
        let files = "echo 'import { b } from \"./b.js\"; export let a = 1; a = 2; console.log(b())' > a.js\n\
            echo 'import { a } from \"./a.js\"; export const b = () => a' > b.js";
        assert_eq!(output(kept, &format!("{files}\nnode a.js")), "2\n");
        let (status, errors) = failure(kept, "node -e 'throw new TypeError(\"bad\")'");
        assert!(status == 1 && errors.contains("TypeError: bad"), "{errors}");
        assert_eq!(failure(kept, "node -e 'process.exit(7)'").0, 7);
        assert_eq!(failure(kept, "python3 -c 'import os; os._exit(7)'").0, 7);
        output(kept, "echo '<?php echo implode(\",\", $argv), PHP_EOL; exit(4);' > s.php");
        assert_eq!(output(kept, "php s.php a b || echo status $?"), "/workspace/s.php,a,b\nstatus 4\n");
        assert_eq!(output(kept, "php -r 'echo 6 * 7;'; echo '<?php echo 1;' | php"), "421");
        let (status, errors) = failure(kept, "php -r 'throw new Exception(\"bad\");'");
        assert!(status == 255 && errors.contains("Uncaught"), "{errors}");
    });
}

#[test]
fn programs_stand_wherever_commands_stand() {
    in_a_sandbox(|kept| {
        output(kept, "for n in 1 2 3; do echo \"line $n\" > f$n.txt; done");
        assert_eq!(
            output(kept, "ls *.txt | python3 -c 'import sys; print(len(sys.stdin.readlines()))'"),
            "3\n"
        );
        assert_eq!(output(kept, "x=$(python3 -c 'print(\"sub\")'); echo [$x]"), "[sub]\n");
        assert_eq!(
            output(kept, "ls *.txt | xargs python3 -c 'import sys; print(sys.argv[1:])'"),
            "['f1.txt', 'f2.txt', 'f3.txt']\n"
        );
        assert_eq!(
            output(kept, "find . -name 'f*.txt' -exec node -e 'console.log(process.argv.length)' {} + "),
            "4\n"
        );
        assert_eq!(output(kept, "python3 -c 'print(1)' > out.txt 2>&1 && cat out.txt"), "1\n");
        output(
            kept,
            "printf '#!/usr/bin/env python3\\nimport sys\\nprint(\"run\", sys.argv[1])\\n' > tool; chmod +x tool",
        );
        assert_eq!(output(kept, "./tool arg; PATH=$PWD:$PATH tool other"), "run arg\nrun other\n");
        assert_eq!(
            output(kept, "if python3 -c 'raise SystemExit(1)'; then echo yes; else echo no; fi"),
            "no\n"
        );
        assert_eq!(
            output(kept, "type -t python3; command -v node php"),
            "file\n/usr/bin/node\n/usr/bin/php\n"
        );
        assert_eq!(
            output(kept, "python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(256)))' | wc -c"),
            "256\n"
        );
    });
}

/// What a program writes is where it goes as soon as it is written, so a time limit takes nothing of it.
#[test]
fn what_a_program_has_written_stays_at_a_time_limit() {
    in_a_sandbox(|kept| {
        let program = "import sys, time\nfor n in range(99):\n    print(n, flush=True)\n    print('e', n, file=sys.stderr)\n    time.sleep(.1)\n";
        sandbox::wait(kept.write("/workspace/w.py", program)).unwrap();
        let stopped = |text: &str| {
            let mut line = CommandLine::new(text);
            line.wall = Duration::from_secs(3);
            let outcome = sandbox::wait(kept.exec_line(line)).unwrap().outcome;
            assert_eq!(outcome.exit_code(), 124, "`{text}`: {}", outcome.stderr.text);
            outcome
        };
        let outcome = stopped("echo before; python3 w.py");
        assert!(outcome.stdout.text.starts_with("before\n0\n1\n2\n"), "{}", outcome.stdout.text);
        assert!(outcome.stderr.text.starts_with("e 0\ne 1\ne 2\n"), "{}", outcome.stderr.text);
        for (line, file, wanted) in [
            ("python3 w.py > log", "log", "0\n1\n2\n"),
            ("echo first > more; python3 w.py >> more", "more", "first\n0\n1\n2\n"),
            ("python3 w.py > both 2>&1", "both", "0\ne 0\n1\ne 1\n"),
            ("python3 w.py &> all", "all", "0\ne 0\n1\ne 1\n"),
            ("cd /tmp; python3 /workspace/w.py 2> errors", "/tmp/errors", "e 0\ne 1\n"),
        ] {
            stopped(line);
            let read = output(kept, &format!("cat {file}"));
            assert!(read.starts_with(wanted), "`{line}`: {read}");
        }
        let told = "timeout 2 python3 w.py > log; echo status $?; head -n 3 log";
        assert_eq!(output(kept, told), "status 124\n0\n1\n2\n");
    });
}

/// What the shell and programs write stands in the order in which it was written, and goes where it is meant to go.
#[test]
fn output_of_programs_keeps_its_order_and_its_destination() {
    in_a_sandbox(|kept| {
        output(kept, "p() { python3 -c \"import sys; print('$1'); print('e$1', file=sys.stderr)\"; }");
        assert_eq!(output(kept, "echo a; p 1; echo b; p 2; echo c"), "a\n1\nb\n2\nc\n");
        assert_eq!(output(kept, "for n in 1 2; do echo $n; p x; done | tr '\\n' ,"), "1,x,2,x,");
        assert_eq!(output(kept, "{ echo a; p 1; echo b; } > g 2>&1; cat g"), "a\n1\ne1\nb\n");
        assert_eq!(output(kept, "x=$(p 1 2>&1); echo \"[$x]\"; p 2 2>&1 | wc -l"), "[1\ne1]\n2\n");
        let one = "python3 -c \"import sys; print('o'); print('e', file=sys.stderr)\"";
        for (redirections, wanted) in [
            ("> f 2> g", "f: o\ng: e\n"),
            ("> f 2> /dev/null", "f: o\ng: \n"),
            ("2>&1 > f", "e\nf: o\ng: \n"),
            (">&2 2> g", "f: \ng: e\n"),
            ("> >(cat > f) 2> g", "f: o\ng: e\n"),
        ] {
            let line = format!(": > f; : > g; {one} {redirections}; echo f: $(cat f); echo g: $(cat g)");
            assert_eq!(output(kept, &line).replace(": \n", ":\n"), wanted.replace(": \n", ":\n"), "{line}");
        }
        assert_eq!(output(kept, "exec 3> f; python3 -c 'print(1)' >&3; exec 3>&-; cat f"), "1\n");
        assert_eq!(output(kept, "exec > f; echo a; python3 -c 'print(1)'; echo b; exec > /dev/null"), "");
        assert_eq!(output(kept, "cat f"), "a\n1\nb\n");
        assert_eq!(failure(kept, "set -C; : > f; python3 -c 'print(1)' > f").0, 1);
        assert_eq!(failure(kept, "python3 -c 'print(1)' > none/f").0, 1);
        let (status, errors) = failure(kept, "set -x; python3 -c 'import sys; print(1, file=sys.stderr)'");
        assert!(status == 0 && errors.starts_with("+ python3 -c ") && errors.ends_with("\n1\n"), "{errors}");
        // Past the most that is kept, it is counted.
        let mut line = CommandLine::new("echo begin; python3 -c 'print(\"x\" * 5000)'; echo end");
        line.output = 1000;
        let stdout = sandbox::wait(kept.exec_line(line)).unwrap().outcome.stdout;
        assert_eq!((stdout.text.len(), stdout.total_bytes, stdout.dropped_bytes), (1000, 5011, 4011));
    });
}

/// A file that finds no room fails the program's own write, as a file that it has opened itself.
#[test]
fn a_redirection_that_finds_no_room_is_the_programs_error() {
    in_a_sandbox(|kept| {
        let program = "import sys\ntry:\n    for n in range(40):\n        sys.stdout.write('x' * (8 << 20))\n        sys.stdout.flush()\nexcept OSError as error:\n    print(error.strerror, file=sys.stderr)\n";
        sandbox::wait(kept.write("/workspace/w.py", program)).unwrap();
        assert_eq!(failure(kept, "python3 w.py > big").1, "No space left on device\n");
        assert_eq!(output(kept, "rm big; python3 -c 'print(1)' > f; cat f"), "1\n");
    });
}

#[test]
fn scripts_of_a_package_are_run_by_the_shell() {
    in_a_sandbox(|kept| {
        let package = r#"{"name": "p", "version": "1.2.3", "scripts": {"pretest": "echo before", "test": "node t.js", "lint": "echo lint"}}"#;
        output(
            kept,
            &format!(
                "cat > package.json <<'EOF'\n{package}\nEOF\necho 'console.log(\"ok\", process.argv[2]); process.exit(2)' > t.js"
            ),
        );
        let outcome = sandbox::wait(kept.exec("npm test -- arg")).unwrap().outcome;
        assert_eq!(outcome.exit_code(), 2, "{}", outcome.stderr.text);
        assert_eq!(outcome.stdout.text, "\n> p@1.2.3 test\n> node t.js\n\nbefore\nok arg\n");
        assert_eq!(output(kept, "npm run -s lint"), "lint\n");
        assert_eq!(failure(kept, "npm run none").0, 1);
        assert_eq!(failure(kept, "npx none").0, 127);
        assert_eq!(failure(kept, "mkdir d; cd d; npm test").0, 254);
        let (status, said) = failure(kept, "printf '{\\n  \"name\": x\\n}' > package.json; npm test");
        assert_eq!(status, 1, "{said}");
        assert!(
            said.starts_with("npm error code EJSONPARSE\nnpm error path /workspace/d/package.json\n"),
            "{said}"
        );
        assert!(said.contains("npm error JSON.parse expected value at line 2 "), "{said}");
        sandbox::wait(kept.write("/workspace/d/package.json", "\u{feff}{}")).unwrap();
        assert_eq!(output(kept, "npm run"), "");
    });
}

#[test]
fn without_an_index_packages_say_what_turns_them_on() {
    in_a_sandbox(|kept| {
        // Nobody has offered `pip` here: it is a command that is not there.
        let executed = sandbox::wait(kept.exec("pip install requests")).unwrap();
        assert_eq!(
            (executed.outcome.exit_code(), executed.missing.as_slice()),
            (127, ["pip".to_owned()].as_slice())
        );
        // The same program by another name.
        let executed = sandbox::wait(kept.exec("python3 -m pip install requests")).unwrap();
        assert_eq!(executed.outcome.stderr.text, "python3: No module named pip\n");
        assert_eq!((executed.outcome.exit_code(), executed.missing), (1, vec!["pip".to_owned()]));
    });
}

/// A package's programs are programs in every `node_modules/.bin`, and found from the folders below.
#[test]
fn programs_of_packages_are_found_from_the_nearest_folder_up() {
    in_a_sandbox(|kept| {
        let program = |folder: &str, name: &str| {
            let text = format!("#!/usr/bin/env node\nconsole.log('{name}');\n");
            let path = format!("/workspace/{folder}node_modules/.bin/{name}");
            sandbox::wait(kept.write(&path, text.into_bytes())).unwrap();
        };
        program("", "outer");
        program("web/", "inner");
        output(kept, r#"echo '{"scripts": {"both": "inner && outer"}}' > web/package.json; mkdir web/src"#);
        assert_eq!(
            output(kept, "cd web; npx inner; npx outer; npm run -s both"),
            "inner\nouter\ninner\nouter\n"
        );
        assert_eq!(output(kept, "cd src; npx inner; npx outer"), "inner\nouter\n");
        assert_eq!(failure(kept, "cd /workspace; npx inner").0, 127);
    });
}

/// Pytest is told, before what its command line says, what there is not: descriptors that can be doubled, a null device.
#[test]
fn pytest_is_asked_for_what_works_here() {
    in_a_sandbox(|kept| {
        output(
            kept,
            "mkdir pytest; echo 'import os; print(os.environ[\"PYTEST_ADDOPTS\"])' > pytest/__main__.py",
        );
        let own = "--capture=sys -p no:faulthandler --basetemp=/tmp/pytest";
        assert_eq!(output(kept, "python3 -m pytest"), format!("{own}\n"));
        assert_eq!(output(kept, "PYTEST_ADDOPTS=-q python3 -m pytest"), format!("{own} -q\n"));
        assert_eq!(output(kept, "echo ${PYTEST_ADDOPTS:-none}"), "none\n");
        assert_eq!(output(kept, "python3 -c 'import os; print(os.umask(7), os.umask(0))'"), "18 7\n");
    });
}

/// How much there is, what time it is, and as many bytes as were asked for.
#[test]
fn the_room_the_zone_and_devices_are_told_right() {
    in_a_sandbox(|kept| {
        output(kept, "head -c 2097152 /dev/zero > f");
        assert_eq!(
            output(
                kept,
                "df /workspace | awk 'NR == 2 { print ($2 == $3 + $4), ($3 >= 2048), $NF }'; df -P . | wc -l"
            ),
            "1 1 /\n2\n"
        );
        assert_eq!(failure(kept, "df none"), (1, "df: none: No such file or directory\n".into()));
        assert_eq!(
            output(kept, "TZ=Europe/Berlin date -d @1750000000 '+%F %T %Z %z'"),
            "2025-06-15 17:06:40 CEST +0200\n"
        );
        assert_eq!(
            output(kept, "export TZ=Asia/Kolkata; date -d @0 +%H:%M; printf '%(%H:%M)T\\n' 0"),
            "05:30\n05:30\n"
        );
        output(kept, "touch -d @1750000000 f; export TZ=America/New_York");
        assert_eq!(output(kept, "stat -c %y f"), "2025-06-15 11:06:40.000000000 -0400\n");
        assert!(output(kept, "ls -l --full-time f").contains(" 2025-06-15 11:06:40.000000000 -0400 f"));
        assert_eq!(output(kept, "TZ=Nowhere/Else date -d @0 +%H; unset TZ; date -d @0 +%H"), "00\n00\n");
        for line in [
            "head -c 3000000 /dev/zero",
            "head -c 3000000 /dev/urandom",
            "dd if=/dev/urandom bs=1M count=3 status=none",
        ] {
            let count = if line.starts_with("dd") { 3 << 20 } else { 3_000_000 };
            assert_eq!(output(kept, &format!("{line} | wc -c")), format!("{count}\n"), "{line}");
        }
    });
}

#[test]
fn what_a_command_cannot_write_fails_that_command_alone() {
    in_a_sandbox(|kept| {
        for command in
            ["echo hi | tee /nosuch/x > f", "tar cf /nosuch/x.tar s", "split s /nosuch/x", "tee d < s > f"]
        {
            let line = format!("mkdir -p d; echo 1 > s; {command}; echo $?; {command} || echo next");
            let outcome = sandbox::wait(kept.exec(&line)).unwrap().outcome;
            let (said, errors) = (outcome.stdout.text, outcome.stderr.text);
            assert!(said.ends_with("next\n") && !said.starts_with("0\n"), "`{command}`: {said} {errors}");
            assert!(errors.contains("directory") && !errors.contains("io error"), "`{command}`: {errors}");
            assert!(!errors.contains("line 1: line 1"), "`{command}`: {errors}");
        }
    });
}

/// What cannot be held is refused by the command, and what was printed before is kept whatever comes.
#[test]
fn sizes_that_do_not_fit_are_refused_in_words() {
    in_a_sandbox(|kept| {
        let said = |line: &str| {
            let executed = sandbox::wait(kept.exec(line)).unwrap();
            let outcome = executed.outcome;
            assert_eq!(outcome.stdout.text.lines().next(), Some("before"), "{line}: {}", outcome.stderr.text);
            (outcome.exit_code(), outcome.stderr.text)
        };
        for line in ["head -c 600M /dev/zero > f", "dd if=/dev/zero of=f bs=600M count=1"] {
            let (status, errors) = said(&format!("x=1; printf 'before\\nand' ; {line}"));
            assert_eq!(status, 1, "{line}: {errors}");
            assert!(errors.contains("error reading '/dev/zero': Cannot allocate memory"), "{line}: {errors}");
        }
        let (status, errors) = said("echo before; head -c 600M /dev/zero | wc -c");
        assert!(status == 0 && errors.starts_with("head: error reading '/dev/zero'"), "{errors}");
        for size in ["5G", "100G"] {
            let (status, errors) = said(&format!("echo before; truncate -s {size} z"));
            assert!(status == 1 && errors.contains("No space left on device"), "{size}: {errors}");
        }
        assert_eq!(
            output(
                kept,
                "stat -c %s z; truncate -s 50M z; stat -c %s z; truncate -s -1M z; stat -c %s z; rm z"
            ),
            "0\n52428800\n51380224\n"
        );
        let (status, errors) = said("echo before; yes | head -c 600M | wc -c");
        assert_eq!(status, 137, "{errors}");
        assert!(errors.contains("reads its input whole"), "{errors}");
        assert_eq!(output(kept, "echo $x; yes | head -c 20M | wc -c"), "1\n20971520\n");
    });
}

/// The host takes so many bytes of one call; more would end the line, and the shell would be as before it.
#[test]
fn what_is_more_than_a_program_can_be_given_is_refused_by_it_alone() {
    in_a_sandbox(|kept| {
        let most = "the 33554432 that one program can be given";
        for program in ["python3 -c 'print(1)'", "node -e 'console.log(1)'", "php -r 'echo 1;'"] {
            let line = format!("x=kept; head -c 40M /dev/zero | {program}; echo status $? $x");
            let outcome = sandbox::wait(kept.exec(&line)).unwrap().outcome;
            assert_eq!(
                (outcome.exit_code(), outcome.stdout.text.as_str()),
                (0, "status 126 kept\n"),
                "{line}"
            );
            let name = program.split(' ').next().unwrap();
            assert_eq!(outcome.stderr.text, format!("{name}: input of 41943040 bytes is more than {most}\n"));
        }
        let line = "python3 -c 'print(1)' \"$(yes | head -c 34M)\"; echo status $?";
        let outcome = sandbox::wait(kept.exec(line)).unwrap().outcome;
        assert_eq!(outcome.stdout.text, "status 126\n", "{}", outcome.stderr.text);
        let said = outcome.stderr.text;
        assert!(
            said.starts_with("python3: arguments and environment of 3565") && said.contains(most),
            "{said}"
        );
        assert_eq!(output(kept, "echo $x"), "kept\n");
        let length = "import sys; print(len(sys.stdin.buffer.read()))";
        assert_eq!(output(kept, &format!("head -c 31M /dev/zero | python3 -c '{length}'")), "32505856\n");
    });
}

/// What is disowned ends with its command line, which is told; what has ended before is not.
#[test]
fn a_disowned_job_that_is_ended_is_told() {
    in_a_sandbox(|kept| {
        let said = |line: &str| {
            let outcome = sandbox::wait(kept.exec(line)).unwrap().outcome;
            assert_eq!((outcome.exit_code(), outcome.stdout.text.as_str()), (0, "on\n"), "{line}");
            outcome.stderr.text
        };
        for line in ["sleep 30 & disown; echo on", "nohup sleep 30 > /dev/null 2>&1 & disown -a\necho on"] {
            let told = said(line);
            assert!(
                told.contains("bash: warning: `") && told.contains("was ended with its command line"),
                "{told}"
            );
        }
        assert_eq!(said("sleep 0.05 & disown; sleep 0.3; echo on"), "");
        assert_eq!(said("sleep 0.05 & echo on"), "", "it is waited for");
    });
}
