//! The shell: bombs, nesting, the host's places, quotas, bytes that are no text, programs that do not exist or never end.

use std::sync::Once;
use std::time::{Duration, Instant};

use dormouse::sandbox::{Executed, Name, Owner, SandboxSpec, SpecMount};
use dormouse::sandboxes::{Asked, CommandLine, Rules};
use dormouse::{Access, Dormouse, ErrorCode, GuestPath, PersistentSandbox};
use dormouse_tests::case::case;
use dormouse_tests::lasting::{close, named, open, sandboxes};
use dormouse_tests::levels::{Levels, Watch};
use dormouse_tests::{NOISE, PROMISE, PYTHON, canary, sandbox};

/// A command line with a limit in milliseconds.
fn line(kept: &PersistentSandbox, text: &str, limit: u64) -> Executed {
    let mut line = CommandLine::new(text);
    line.wall = Duration::from_millis(limit);
    let begin = Instant::now();
    let executed = sandbox::wait(kept.exec_line(line)).expect("the call is taken");
    let late = begin.elapsed().saturating_sub(Duration::from_millis(limit));
    assert!(late < PROMISE + NOISE, "`{text}` took {late:?} more than its limit");
    executed
}

/// How it ended: its exit status, and the code of the limit that ended it.
fn ended(executed: &Executed) -> (i32, Option<ErrorCode>) {
    (executed.outcome.exit_code(), executed.outcome.stopped().map(dormouse::Error::code))
}

fn output(kept: &PersistentSandbox, text: &str) -> String {
    line(kept, text, 10_000).outcome.stdout.text
}

static WARM: Once = Once::new();

/// Brings everything that stays for the life of the process into being: places of the pool that shells have filled.
fn warm_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let dormouse = open(folder.path());
    let kept = named(&dormouse, "warm");
    let big = "x=xxxxxxxx; for i in {1..23}; do x=$x$x; done; sleep 60";
    for _ in 0..16 {
        line(&kept, big, 1_500);
    }
    drop(kept);
    close(dormouse);
}

/// A case over one sandbox, whose shell works afterwards as before.
fn shell(body: impl FnOnce(&Dormouse, &PersistentSandbox)) {
    WARM.call_once(warm_up);
    case(&[PYTHON], || {
        let folder = tempfile::tempdir().unwrap();
        let dormouse = open(folder.path());
        // Small enough for what the host's allocator does not give back at once.
        let spec = SandboxSpec { memory: 192 << 20, disk: 64 << 20, ..SandboxSpec::default() };
        let asked = Asked { name: Some(Name::parse("box").unwrap()), spec: Some(spec), ..Asked::default() };
        sandbox::wait(sandboxes(&dormouse).create(&Owner::local(), asked)).unwrap();
        let kept = named(&dormouse, "box");
        assert_eq!(output(&kept, "cd /tmp; before=kept; echo ready"), "ready\n");
        body(&dormouse, &kept);
        assert_eq!(output(&kept, "pwd; echo $before"), "/tmp\nkept\n", "the shell is as it was before");
        drop(kept);
        close(dormouse);
    });
}

#[test]
fn shl_01_bombs_and_endless_loops_end_with_their_limit() {
    shell(|_, kept| {
        for bomb in [
            ":(){ :|:& };:",
            "while true; do :; done",
            "until false; do sleep 0.01; done",
            "sleep 1000",
            "for ((;;)); do x=$(echo $((RANDOM))); done",
            "f() { f & f; }; f; wait",
            "trap 'while :; do :; done' EXIT; exit",
            "read -t 1000 < <(sleep 1000)",
        ] {
            let executed = line(kept, bomb, 700);
            let (status, code) = ended(&executed);
            // A bomb may also meet one of the shell's own bounds before its time is over.
            assert!(
                (status, code) == (124, Some(ErrorCode::LimitTime))
                    || (status == 137 && code != Some(ErrorCode::Internal)),
                "`{bomb}`: {status} {code:?} {}",
                executed.outcome.stderr.text
            );
        }
    });
}

#[test]
fn shl_02_depth_and_width_of_a_command_line_are_bounded() {
    shell(|_, kept| {
        let nested = |open: &str, close: &str, depth: usize| {
            format!("{}echo x{}", open.repeat(depth), close.repeat(depth))
        };
        let words = (0..100_000).map(|n| format!("w{n} ")).collect::<String>();
        for text in [
            nested("$(", ")", 5_000),
            nested("(", ")", 5_000),
            nested("{ ", "; }", 5_000),
            nested("if true; then ", "; fi", 2_000),
            "f() { f; }; f".to_owned(),
            "echo {1..1000000} | wc -w".to_owned(),
            "echo {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b} | wc -w".to_owned(),
            format!("echo {words} | wc -w"),
            format!("x={}; echo ${{#x}}", "y".repeat(900_000)),
            format!("echo $(({}1))", "1+".repeat(20_000)),
        ] {
            let executed = line(kept, &text, 20_000);
            let (_, code) = ended(&executed);
            let named = [None, Some(ErrorCode::LimitTime), Some(ErrorCode::LimitMemory), Some(ErrorCode::LimitStack), Some(ErrorCode::GuestTrap)];
            assert!(named.contains(&code), "{}...: {code:?}", &text[..text.len().min(40)]);
        }
        // A million names in one folder are more than a sandbox may have; what there is can be listed.
        assert_eq!(
            output(
                kept,
                "mkdir g; cd g; for i in $(seq 3000); do : > f$i; done; echo * | wc -w; cd ..; rm -r g"
            ),
            "3000\n"
        );
    });
}

#[test]
fn shl_03_nothing_of_the_host_is_there() {
    shell(|_, kept| {
        let song = canary::path().display().to_string();
        for text in [
            format!("cat {song}"),
            format!("cat ../../../../../../..{song}"),
            format!("ln -s {song} l; cat l"),
            "cat /etc/shadow".to_owned(),
            "cat /proc/1/environ".to_owned(),
            "cat < /dev/tcp/127.0.0.1/80".to_owned(),
            "echo x > /dev/udp/127.0.0.1/53".to_owned(),
            "ls /home /var /sys /mnt".to_owned(),
            "cat /dev/sda /dev/mem".to_owned(),
            "mount; chroot /; sudo id; su".to_owned(),
            "kill -9 -1; kill -9 1; echo alive; false".to_owned(),
            "curl http://127.0.0.1/".to_owned(),
        ] {
            let executed = line(kept, &text, 5_000);
            assert_ne!(ended(&executed).0, 0, "`{text}`: {}", executed.outcome.stdout.text);
            assert!(!executed.outcome.stdout.text.contains(canary::SONG));
        }
        // What there is of a system is made up, and says so.
        assert!(!output(kept, "cat /etc/passwd").contains("root:x:0:0"));
        assert_eq!(output(kept, "hostname; whoami"), "dormouse\nsandbox\n");
    });
}

#[test]
fn shl_04_a_read_only_mount_stays_as_it_is() {
    case(&[PYTHON], || {
        let (folder, mounted) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(mounted.path().join("f"), "before").unwrap();
        let dormouse = open(folder.path());
        let target = GuestPath::parse("/mnt").unwrap();
        let mounts = vec![SpecMount { source: mounted.path().into(), target, access: Access::ReadOnly }];
        let spec = SandboxSpec { mounts, ..SandboxSpec::default() };
        let asked = Asked { name: Some(Name::parse("box").unwrap()), spec: Some(spec), ..Asked::default() };
        sandbox::wait(sandboxes(&dormouse).create(&Owner::local(), asked)).unwrap();
        let kept = named(&dormouse, "box");
        assert_eq!(output(&kept, "cat /mnt/f"), "before");
        for text in [
            "echo after > /mnt/f",
            "echo after >> /mnt/f",
            "rm -f /mnt/f; test ! -e /mnt/f",
            "mv /mnt/f /tmp/",
            "touch /mnt/new",
            "mkdir /mnt/d",
            "ln -s f /mnt/l",
            "sed -i s/before/after/ /mnt/f",
            "tee /mnt/f < /dev/null > /dev/null",
            "cp /dev/null /mnt/f",
            "truncate -s 0 /mnt/f",
            "python3 -c 'open(\"/mnt/f\", \"w\")'",
        ] {
            let executed = line(&kept, text, 5_000);
            assert_ne!(ended(&executed).0, 0, "`{text}`");
        }
        assert_eq!(std::fs::read_to_string(mounted.path().join("f")).unwrap(), "before");
        assert_eq!(std::fs::read_dir(mounted.path()).unwrap().count(), 1);
        drop(kept);
        close(dormouse);
    });
}

#[test]
fn shl_05_files_are_bounded_and_what_does_not_fit_is_told() {
    shell(|_, kept| {
        for text in [
            "head -c 1M /dev/zero > /tmp/seed; for i in $(seq 300); do cat /tmp/seed >> big || exit 1; done",
            "while cat /tmp/seed >> grows; do cp grows seed; done",
            "for i in $(seq 30000); do : > n$i || exit 1; done",
        ] {
            line(kept, "echo seedseedseedseed > /tmp/seed", 5_000);
            let executed = line(kept, text, 30_000);
            assert_ne!(ended(&executed).0, 0, "`{text}`");
            assert_eq!(output(kept, "rm -rf big grows n* seed; echo room > room; cat room"), "room\n");
        }
        // What does not fit is told, and the other files are as they were.
        let text = "head -c 1M /dev/zero > s; echo old > kept; for i in $(seq 300); do cat s >> fill 2> /dev/null || break; done; cat s s s s > more 2> /dev/null || echo full; cat kept; rm fill s more";
        assert_eq!(output(kept, text), "full\nold\n");
    });
}

#[test]
fn shl_06_memory_bombs_end_the_command_line_alone() {
    shell(|_, kept| {
        let before = Levels::now();
        let watch = Watch::begin();
        for text in [
            "x=xxxxxxxx; while :; do x=$x$x; done",
            "a=(); while :; do a+=(\"${a[@]}\" x x x x); done",
            "x=$(yes)",
            "cat /dev/zero | tr '\\0' x | sort",
            "awk 'BEGIN { x = \"x\"; while (1) x = x x }'",
            "jq -n '[limit(1e9; repeat(\"xxxxxxxx\"))]'",
            "mapfile -t a < <(yes | head -n 100000); unset a",
            "printf '%01000000000d' 1 | wc -c",
        ] {
            let (status, code) = ended(&line(kept, text, 5_000));
            assert!(code != Some(ErrorCode::Internal), "`{text}`: {status} {code:?}");
        }
        let peak = watch.end();
        // Instances of the sandbox's 192 MiB, its state before the call, and copies.
        assert!(peak.memory < before.memory + (1024 << 10), "before {before:?}, at the peak {peak:?}");
    });
}

#[test]
fn shl_07_bytes_that_are_no_text_pass_through_pipes_unchanged() {
    shell(|_, kept| {
        sandbox::wait(kept.write("/tmp/bytes", (0..=255u8).cycle().take(70_000).collect::<Vec<u8>>()))
            .unwrap();
        let same = "cat bytes | cat | tee t2 | head -c 70000 > t3; cmp bytes t2 && cmp bytes t3 && echo same";
        assert_eq!(output(kept, same), "same\n");
        let through = "python3 -c 'import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())' < bytes > t4; cmp bytes t4 && echo same";
        assert_eq!(output(kept, through), "same\n");
        let mut given = CommandLine::new("od -An -tx1 | head -n 1");
        given.stdin = vec![0, 0xff, 0xfe, b'\n', 0xc3];
        let executed = sandbox::wait(kept.exec_line(given)).unwrap();
        assert_eq!(executed.outcome.stdout.text.trim(), "00 ff fe 0a c3");
        for text in
            ["cat bytes", "echo $'\\xff\\xfe'", "printf '\\0'", "ls $'\\xff'", "echo \"$(cat bytes)\""]
        {
            assert!(ended(&line(kept, text, 5_000)).1.is_none(), "`{text}`");
        }
    });
}

#[test]
fn shl_08_a_command_that_does_not_exist_is_named() {
    shell(|_, kept| {
        let executed = line(kept, "gcc x.c; docker ps; apt-get install x; gcc y.c; echo $?", 5_000);
        assert_eq!(executed.missing, ["apt-get", "docker", "gcc"]);
        assert_eq!((ended(&executed).0, executed.outcome.stdout.text.as_str()), (0, "127\n"));
        let many: String = (0..100).map(|n| format!("no-{n};")).collect();
        assert_eq!(line(kept, &many, 5_000).missing.len(), 16);
        let long = line(kept, &"x".repeat(100_000), 5_000);
        assert_eq!((ended(&long).0, long.missing.len()), (127, 0));
    });
}

#[test]
fn shl_09_programs_share_the_limits_of_their_command_line() {
    shell(|_, kept| {
        for text in [
            "python3 -c 'while True: pass'",
            "node -e 'for (;;);'",
            "php -r 'while (true);'",
            "while :; do python3 -c 'import time; time.sleep(100)'; done",
            "echo x | python3 -c 'import time; time.sleep(100)' | cat",
            "find / -name '*' -exec python3 -c 'while True: pass' \\;",
        ] {
            assert_eq!(ended(&line(kept, text, 1_000)), (124, Some(ErrorCode::LimitTime)), "`{text}`");
        }
        // A limit within the command line ends the program alone.
        assert_eq!(output(kept, "timeout 0.3 python3 -c 'while True: pass'; echo $?"), "124\n");
        assert_eq!(output(kept, "timeout 5 timeout 0.3 sleep 10; echo $?"), "124\n");
        let memory =
            line(kept, "python3 -c 'x = bytearray(1 << 30)' 2>&1 | tail -n 1; echo ${PIPESTATUS[0]}", 10_000);
        assert_eq!(memory.outcome.stdout.text, "MemoryError\n1\n");
        // A program has no programs of its own.
        let nested = line(kept, "python3 -c 'import subprocess; subprocess.run([\"bash\"])'", 10_000);
        assert_eq!(ended(&nested), (1, None));
        let wide = line(kept, "python3 -c 1 $(seq 20000)", 10_000);
        assert_eq!(ended(&wide).0, 126, "{}", wide.outcome.stderr.text);
    });
}

#[test]
fn shl_10_floods_of_output_are_counted_and_not_kept() {
    shell(|_, kept| {
        for text in [
            "yes",
            "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done",
            "cat /dev/zero",
        ] {
            let mut flood = CommandLine::new(text);
            (flood.wall, flood.output) = (Duration::from_millis(1_500), 4_096);
            let executed = sandbox::wait(kept.exec_line(flood)).unwrap();
            assert!(executed.outcome.stdout.text.len() <= 4_096);
        }
        let count = line(kept, "python3 -c 'print(\"x\" * (20 << 20))' | wc -c", 20_000);
        assert_eq!(count.outcome.stdout.text.trim(), (16 << 20).to_string(), "{}", count.outcome.stderr.text);
        assert!(count.outcome.stderr.text.contains("were dropped"));
    });
}

#[test]
fn shl_11_patterns_that_explode_are_ended() {
    shell(|_, kept| {
        let text = "a".repeat(200);
        for pattern in [
            format!("echo {text} | grep -E '(a+)+$' > /dev/null; echo {text}b | grep -P '(a+)+$'"),
            format!("[[ {text}b =~ (a+)+c ]]"),
            format!("echo {text}b | sed -E 's/(a*)*c//' > /dev/null"),
            format!("case {text}b in *a*a*a*a*a*a*a*a*a*a*a*a*a*a*c) ;; esac"),
            "shopt -s extglob; x=$(printf 'a%.0s' {1..60}); [[ ${x}b == +(+(a))c ]]".to_owned(),
            "awk 'BEGIN { while (1) match(\"aaaaaaaaaaaaaaaaaaaaaaaaaaab\", /(a|aa)+c/) }'".to_owned(),
            "jq -n '\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\" | test(\"^(a+)+$\")'".to_owned(),
        ] {
            let (status, code) = ended(&line(kept, &pattern, 1_000));
            assert!(
                matches!(code, None | Some(ErrorCode::LimitTime)),
                "`{}`: {status} {code:?}",
                &pattern[..40]
            );
        }
    });
}

#[test]
fn shl_12_jobs_are_few_and_end_with_their_sandbox() {
    shell(|dormouse, kept| {
        let start = |text: &str| {
            let mut line = CommandLine::new(text);
            line.wall = Duration::from_secs(60);
            sandbox::wait(kept.start_job(line))
        };
        let loops: Vec<_> =
            (0..Rules::default().jobs).map(|_| start("while :; do echo x; done").expect("a job")).collect();
        assert_eq!(start("true").err().map(|error| error.code()), Some(ErrorCode::Busy));
        // Calls go on beside them.
        assert_eq!(output(kept, "echo beside"), "beside\n");
        for job in &loops[1..] {
            job.cancel();
            sandbox::wait(async {
                job.wait().await;
                Ok::<_, dormouse::Error>(())
            })
            .unwrap();
        }
        let part = loops[0].output(dormouse::Stream::Stdout, 0);
        assert!(part.text.len() <= 64 << 10);
        sandbox::wait(kept.stop()).unwrap();
        sandbox::wait(async {
            loops[0].wait().await;
            Ok::<_, dormouse::Error>(())
        })
        .unwrap();
        let (ended, _) = loops[0].ended().expect("it has ended");
        assert_eq!(ended.as_ref().as_ref().err().map(dormouse::Error::code), Some(ErrorCode::Cancelled));
        assert_eq!(
            sandboxes(dormouse)
                .jobs(&Owner::local(), &dormouse::sandbox::Handle::IdOrName("box"))
                .unwrap()
                .1
                .len(),
            4
        );
    });
}
