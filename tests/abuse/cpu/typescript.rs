//! TypeScript whose parsing takes for ever, or recurses without end: it is the run's own work, under the run's own limits.

use std::time::{Duration, Instant};

use dormouse_tests::attack::Attack;
use dormouse_tests::case::case;
use dormouse_tests::ending::{assert_ends, ending, value};
use dormouse_tests::levels::wait_until_busy;
use dormouse_tests::{JAVASCRIPT, NOISE, PROMISE, sandbox};
use serde_json::json;

const TYPESCRIPT: &str = "typescript";
/// How late a run may end (the goal of P2 is 20 ms; the bound is 100 ms), apart from a busy machine.
const LATE: Duration = Duration::from_millis(100);

/// Sources whose parsing takes twice as long for each level more: `<T>(` may begin an arrow function, and so may what
/// stands between `?` and `:`.
fn doubling(levels: usize) -> [String; 2] {
    [format!("{}1{}", "<T>(".repeat(levels), ")".repeat(levels)), format!("{}1", "a?(b):c=>".repeat(levels))]
}

/// Another caller's snippet works, and at once.
fn answers(within: Duration) {
    let begin = Instant::now();
    let outcome = sandbox::eval(TYPESCRIPT, "const x: number = 20; enum Add { More = 22 } x + Add.More");
    assert_eq!(value(&outcome)["value"], json!(42));
    assert!(begin.elapsed() < within, "another's TypeScript took {:?}", begin.elapsed());
}

#[test]
fn cpu_07_a_source_that_doubles_with_each_level_ends_at_the_limit() {
    case(&[JAVASCRIPT], || {
        for levels in [16, 22, 34, 60] {
            let quick: &[&str] = if levels > 30 { &[] } else { &["returned", "raised ReferenceError"] };
            let attack = Attack::new(TYPESCRIPT).wall(300).ends(&["limit_time"]).ends(quick);
            for code in doubling(levels) {
                let begin = Instant::now();
                attack.run(&[&code]);
                let late = begin.elapsed().saturating_sub(Duration::from_millis(300));
                assert!(late < LATE + NOISE, "{levels} levels ended {late:?} after the limit");
                answers(Duration::from_millis(500) + NOISE);
            }
        }
    });
}

#[test]
fn cpu_07_hostile_sources_at_one_time_leave_others_their_share() {
    case(&[JAVASCRIPT], || {
        answers(NOISE);
        let attack = Attack::new(TYPESCRIPT).wall(4_000).ends(&["limit_time"]);
        let hostile: Vec<_> = (0..20)
            .map(|number| {
                let request = attack.request(&doubling(60)[number % 2]);
                sandbox::spawn(sandbox::sandbox().runtime().eval(request))
            })
            .collect();
        wait_until_busy("self");
        // Twenty others share the processors with it, and give way every 5 ms.
        for _ in 0..3 {
            answers(PROMISE + NOISE);
        }
        for run in hostile {
            let outcome = sandbox::wait(run).unwrap().unwrap();
            assert_ends(&outcome, &["limit_time"]);
        }
        answers(Duration::from_millis(500) + NOISE);
    });
}

#[test]
fn cpu_07_nesting_without_end_is_a_named_outcome_of_the_run() {
    case(&[JAVASCRIPT], || {
        let most = 1 << 20;
        let deep = [
            "(".repeat(512),
            "(".repeat(most),
            "a<(".repeat(most / 3),
            "async(".repeat(most / 6),
            "{".repeat(most),
            "[".repeat(most),
            "!".repeat(most - 1) + "1",
            "a+".repeat(most / 2 - 1) + "a",
            "a?".repeat(most / 4) + &":b".repeat(most / 4),
            "x as ".repeat(most / 5),
            "type A = ".to_owned() + &"A<".repeat(most / 3),
            format!("const x: {}number{} = 1;", "Array<".repeat(100_000), ">".repeat(100_000)),
            "()=>".repeat(most / 4),
            "if(a)".repeat(most / 5),
            "namespace a{".repeat(most / 12),
            "class A{b=".repeat(most / 10),
            format!("enum E{{a={}1{}}}", "(".repeat(200_000), ")".repeat(200_000)),
            format!("`{}1{}`", "${`".repeat(100_000), "`}".repeat(100_000)),
            "<T,".repeat(most / 3),
            "<T>".repeat(most / 3),
        ];
        let ends = [
            "limit_stack",
            "limit_time",
            "limit_memory",
            "returned",
            "raised SyntaxError",
            "raised ReferenceError",
            "raised RangeError",
        ];
        let attack = Attack::new(TYPESCRIPT).wall(1_000).ends(&ends);
        for (memory, code) in
            [16, 128, 512].into_iter().flat_map(|memory| deep.iter().map(move |code| (memory, code)))
        {
            let begin: String = code.chars().take(12).collect();
            let mut request = attack.request(code);
            request.context.limits.memory = memory << 20;
            let outcome = sandbox::run_request(request);
            assert!(
                ends.contains(&ending(&outcome).as_str()),
                "{begin} in {memory} MiB: {}",
                ending(&outcome)
            );
            assert!(outcome.usage.memory_peak <= memory << 20, "{begin}: {:?}", outcome.usage);
        }
        answers(Duration::from_millis(500) + NOISE);
    });
}

#[test]
fn cpu_07_the_parser_uses_the_fuel_of_the_run() {
    case(&[JAVASCRIPT], || {
        let attack = |fuel| Attack::new(TYPESCRIPT).wall(60_000).fuel(fuel);
        let [angles, conditions] = doubling(60);
        for outcome in attack(50_000_000).ends(&["limit_fuel"]).run(&[angles, conditions]) {
            assert!(outcome.usage.fuel.is_some_and(|fuel| fuel > 40_000_000), "{:?}", outcome.usage);
        }
        let code = "let x: number = 0; for (let i = 0; i < 1000; i++) x += i; x";
        let fuel = |language| {
            let mut request = sandbox::request(
                language,
                code.replace(": number", if language == TYPESCRIPT { ": number" } else { "" }),
            );
            request.context.limits.fuel = Some(1_000_000_000);
            sandbox::run_request(request).usage.fuel.unwrap()
        };
        let (whole, again, javascript) = (fuel(TYPESCRIPT), fuel(TYPESCRIPT), fuel(JAVASCRIPT));
        assert_eq!(whole, again);
        assert!(whole > javascript + 10_000, "parsing took {whole} - {javascript}");
        // What parsing leaves is too little for the rest.
        let outcome = attack(whole - javascript / 2).ends(&["limit_fuel"]).run(&[code]).remove(0);
        assert!(outcome.usage.fuel.is_some_and(|fuel| fuel >= whole - javascript), "{:?}", outcome.usage);
    });
}
