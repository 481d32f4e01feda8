//! Random numbers where several go on from one state: a generator that seeded itself draws other numbers in each, one that
//! a program has seeded goes on with its sequence.

use std::collections::BTreeSet;
use std::fs;

use dormouse::wasm::SavedInterpreter;
use dormouse::{Outcome, Project};
use dormouse_tests::ending::{assert_ends, value};
use dormouse_tests::lasting::{close, named, open, run};
use dormouse_tests::{JAVASCRIPT, PHP, PYTHON, sandbox};

use crate::Kept;

const SHELL: &str = "shell";

/// What draws a first number, and what draws the next one, from a seed of the interpreter's own.
const OWN: [(&str, &str, &str); 21] = [
    (PYTHON, "import random; random.random()", "random.random()"),
    (PYTHON, "import random; random.gauss(0, 1)", "random.gauss(0, 1)"),
    (PYTHON, "import random; random.seed(1); random.seed(); random.random()", "random.random()"),
    (PYTHON, "import random; r = random.Random()", "r.random()"),
    (PYTHON, "import random; r = random.Random(); s = r.getstate(); r.random()", "r.random()"),
    (PYTHON, "import _random; r = _random.Random(); r.random()", "r.random()"),
    (
        PYTHON,
        "import random; many = [random.Random() for _ in range(9)]; [r.random() for r in many]",
        "many[4].random()",
    ),
    (PYTHON, "import tempfile; tempfile.mkdtemp()", "tempfile.mkdtemp()"),
    (
        PYTHON,
        "import sqlite3; d = sqlite3.connect(':memory:'); d.execute('select random()').fetchone()",
        "d.execute('select random()').fetchone()[0]",
    ),
    (JAVASCRIPT, "Math.random()", "Math.random()"),
    (PHP, "mt_rand()", "mt_rand()"),
    (PHP, "mt_srand(1); mt_srand(); mt_rand()", "mt_rand()"),
    (PHP, "rand(1, 1000000000)", "rand(1, 1000000000)"),
    (PHP, "@lcg_value()", "@lcg_value()"),
    (PHP, "str_shuffle(str_repeat('abcdefghij', 10))", "str_shuffle(str_repeat('abcdefghij', 10))"),
    (PHP, "$e = new Random\\Engine\\Mt19937; $e->generate(); 1", "bin2hex($e->generate())"),
    (PHP, "$e = new Random\\Engine\\PcgOneseq128XslRr64; $e->generate(); 1", "bin2hex($e->generate())"),
    (
        PHP,
        "$r = new Random\\Randomizer(new Random\\Engine\\Xoshiro256StarStar); $r->nextInt()",
        "$r->nextInt()",
    ),
    (
        PHP,
        "$d = new PDO('sqlite::memory:'); $d->query('select random()')->fetchColumn()",
        "$d->query('select random()')->fetchColumn()",
    ),
    (SHELL, "echo $RANDOM$RANDOM", "echo $RANDOM$RANDOM$RANDOM"),
    (SHELL, "seq 50 | sort -R", "mktemp -u; seq 50 | sort -R"),
];

/// The same from a seed of the program's.
const GIVEN: [(&str, &str, &str); 17] = [
    (PYTHON, "import random; random.random(); random.seed(5); random.random()", "random.random()"),
    (PYTHON, "import random; random.seed(5); random.gauss(0, 1)", "[random.gauss(0, 1), random.random()]"),
    (PYTHON, "import random; r = random.Random('text'); r.random()", "r.random()"),
    (
        PYTHON,
        "import random; r = random.Random(); r.random(); r.setstate(random.Random(9).getstate())",
        "r.random()",
    ),
    (PYTHON, "import copy, random; r = copy.copy(random.Random())", "r.random()"),
    (PYTHON, "import random; s = random.getstate()", "random.setstate(s); random.random()"),
    (PHP, "mt_rand(); mt_srand(5); mt_rand()", "mt_rand()"),
    (PHP, "srand(seed: 5); rand()", "[rand(), array_rand(range(0, 999), 5), lcg_value() > 0]"),
    (PHP, "@mt_srand(5, MT_RAND_PHP); mt_rand()", "mt_rand(1, 1000)"),
    (PHP, "$e = new Random\\Engine\\Mt19937(3); $e->generate(); 1", "bin2hex($e->generate())"),
    (PHP, "$e = new Random\\Engine\\PcgOneseq128XslRr64(str_repeat('a', 16)); 1", "bin2hex($e->generate())"),
    (
        PHP,
        "$r = new Random\\Randomizer(new Random\\Engine\\Xoshiro256StarStar(7)); $r->nextInt()",
        "$r->nextInt()",
    ),
    (PHP, "$e = clone new Random\\Engine\\Mt19937; 1", "bin2hex($e->generate())"),
    (PHP, "$e = unserialize(serialize(new Random\\Engine\\Mt19937)); 1", "bin2hex($e->generate())"),
    (
        PHP,
        "$e = new Random\\Engine\\Mt19937; $e->__unserialize((new Random\\Engine\\Mt19937(1))->__serialize()); 1",
        "bin2hex($e->generate())",
    ),
    (SHELL, "echo $RANDOM; RANDOM=42; echo $RANDOM", "echo $RANDOM $RANDOM"),
    (SHELL, "f() { RANDOM=$1; }; f 7", "echo $RANDOM $(echo $RANDOM)"),
];

/// What a call came to, in one text.
fn drawn(outcome: &Outcome, language: &str) -> String {
    if language == SHELL { outcome.stdout.text.clone() } else { value(outcome).to_string() }
}

/// What is drawn next by the session that was saved, and by two that go on from its state.
fn next_of_three(language: &str, first: &str, next: &str) -> [String; 3] {
    let mut kept = Kept::new(language);
    let begun = kept.call(first);
    assert_ends(&begun, &[if language == SHELL { "exited 0" } else { "returned" }]);
    let checkpoint = kept.checkpoint();
    let after =
        |checkpoint: &SavedInterpreter| drawn(&Kept::restored(checkpoint).unwrap().call(next), language);
    [drawn(&kept.call(next), language), after(&checkpoint), after(&checkpoint)]
}

#[test]
fn a_generator_that_seeded_itself_draws_other_numbers_in_each_that_goes_on() {
    for (language, first, next) in OWN {
        let drawn = next_of_three(language, first, next);
        assert_eq!(BTreeSet::from(drawn.clone()).len(), 3, "{first}: {drawn:?}");
    }
}

#[test]
fn a_generator_that_a_program_has_seeded_goes_on_with_its_sequence() {
    for (language, first, next) in GIVEN {
        let drawn = next_of_three(language, first, next);
        assert_eq!(BTreeSet::from(drawn.clone()).len(), 1, "{first}: {drawn:?}");
    }
}

/// Within a run of a fixed seed all is reproducible, also when the interpreter happens to be saved in between.
#[test]
fn saving_an_interpreter_leaves_its_generators_as_they_are() {
    for (language, code) in [
        (PYTHON, "import random; [random.random(), random.gauss(0, 1)]"),
        (JAVASCRIPT, "Math.random()"),
        (PHP, "[mt_rand(), @lcg_value()]"),
        (SHELL, "echo $RANDOM $RANDOM"),
    ] {
        let [one, other] = [false, true].map(|saved| {
            let mut kept = Kept::new(language);
            let draws: Vec<_> = (0..3)
                .map(|_| {
                    if saved {
                        kept.checkpoint();
                    }
                    drawn(&kept.call_with(code, Some(7)), language)
                })
                .collect();
            draws
        });
        assert_eq!(one, other, "{language}");
        assert_eq!(BTreeSet::from_iter(&one).len(), 3, "{language}: {one:?}");
    }
}

/// A state of a state, without a run in between, is as good.
#[test]
fn a_copy_of_a_copy_draws_its_own_numbers() {
    for (language, draw) in
        [(PYTHON, "import random; random.random()"), (PHP, "mt_rand()"), (JAVASCRIPT, "Math.random()")]
    {
        let mut kept = Kept::new(language);
        kept.call(draw);
        let again = Kept::restored(&kept.checkpoint()).unwrap().checkpoint();
        let numbers: BTreeSet<_> =
            (0..3).map(|_| drawn(&Kept::restored(&again).unwrap().call(draw), language)).collect();
        assert_eq!(numbers.len(), 3, "{language}: {numbers:?}");
    }
}

#[test]
fn forks_and_restores_of_a_sandbox_draw_their_own_numbers() {
    let folder = tempfile::tempdir().unwrap();
    for (language, own, given, both) in [
        (
            PYTHON,
            "import random; random.random()",
            "r = random.Random(3); r.random()",
            "[random.random(), r.random()]",
        ),
        (JAVASCRIPT, "Math.random()", "1", "[Math.random(), 1]"),
        (PHP, "mt_rand()", "$r = new Random\\Engine\\Mt19937(3); 1", "[mt_rand(), bin2hex($r->generate())]"),
    ] {
        let dormouse = open(folder.path());
        let kept = named(&dormouse, language);
        let both = |kept| value(&run(kept, language, both))["value"].clone();
        for code in [own, given] {
            assert_ends(&run(&kept, language, code), &["returned"]);
        }
        let forks = sandbox::wait(kept.fork(2)).unwrap();
        let checkpoint = sandbox::wait(kept.checkpoint()).unwrap();
        let mut draws: Vec<_> = forks.iter().map(both).collect();
        draws.push(both(&kept));
        for _ in 0..2 {
            sandbox::wait(kept.restore(&checkpoint)).unwrap();
            draws.push(both(&kept));
        }
        // And in another process, of the state that was saved last.
        sandbox::wait(kept.restore(&checkpoint)).unwrap();
        close(dormouse);
        draws.push(both(&named(&open(folder.path()), language)));
        let (own, given): (BTreeSet<_>, BTreeSet<_>) =
            draws.iter().map(|pair| (pair[0].to_string(), pair[1].to_string())).unzip();
        assert_eq!((own.len(), given.len()), (draws.len(), 1), "{language}: {draws:?}");
    }
}

#[test]
fn runs_in_a_saved_project_draw_their_own_numbers() {
    for (language, name, bootstrap, draw) in [
        (
            PYTHON,
            ".dormouse/bootstrap.py",
            "import random\nrandom.random()\nr = random.Random(3)\nr.random()\ncontainer = {'r': r}\n",
            "import random; [random.random(), container()['r'].random()]",
        ),
        (
            JAVASCRIPT,
            ".dormouse/bootstrap.mjs",
            "Math.random();\nexport const container = () => new Map([['r', 1]]);\n",
            "[Math.random(), (await container()).get('r')]",
        ),
        (
            PHP,
            ".dormouse/bootstrap.php",
            "<?php\nmt_rand();\nreturn ['r' => new Random\\Engine\\Mt19937(3)];\n",
            "[mt_rand(), bin2hex(container()['r']->generate())]",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".dormouse")).unwrap();
        fs::write(folder.path().join(name), bootstrap).unwrap();
        let draw = || {
            let snippet = sandbox::snippet(language, draw).project(Project::new(folder.path()));
            value(&sandbox::run(snippet))["value"].clone()
        };
        let draws: Vec<_> = (0..4).map(|_| draw()).collect();
        let (own, given): (BTreeSet<_>, BTreeSet<_>) =
            draws.iter().map(|pair| (pair[0].to_string(), pair[1].to_string())).unzip();
        assert_eq!((own.len(), given.len()), (4, 1), "{language}: {draws:?}");
    }
}
