//! Variables of Python that another interpreter goes on with.

use std::time::{Duration, Instant};

use dormouse_core::{ErrorCode, Language};
use serde_json::json;

use crate::support::{Running, is_here, start, value};

/// Most bytes that are kept here.
const MOST: usize = 1 << 20;

/// A namespace with what snippets make; its last value is not one of its variables.
const MADE: &str = r"
import abc, collections, dataclasses, enum, functools, json as text, os.path
pair = [1, {2: 3}]; same = pair
def factorial(n): return 1 if n < 2 else n * factorial(n - 1)
def counter():
    n = 0
    def up():
        nonlocal n
        n += 1
        return n
    def now(): return n
    return up, now
up, now = counter(); up(); up()
class Base(abc.ABC):
    'a class'
    def __init__(self): self.v = 5
    @property
    def twice(self): return self.v * 2
    @staticmethod
    def name(): return 's'
    @classmethod
    def kind(cls): return cls.__name__
    @abc.abstractmethod
    def f(self): ...
class Own(Base):
    def __init__(self):
        super().__init__(); self.me = self
    def f(self): return self.twice
own = Own()
class Colour(enum.Enum):
    RED = 1
    BLUE = 2
    def next(self): return Colour.BLUE
red = Colour.RED
Point = collections.namedtuple('Point', 'x y', defaults=[7])
point = Point(1)
class Slots:
    __slots__ = ('u',)
slots = Slots(); slots.u = 9
shift = lambda z=2, *, k=3: z + k
partial = functools.partial(shift, 4)
'last'
";

/// Whether each of them is as it was.
const LOOKED: &str = r"
[pair is same and pair == [1, {2: 3}], factorial(5) == 120, now() == 2 and up() == 3 and now() == 3,
 own.twice == 10 and own.me is own and type(own) is Own and own.f() == 10, Own.kind() == 'Own' and Base.name() == 's',
 isinstance(Own(), Base) and Base.__doc__ == 'a class', red is Colour.RED and red.next() is Colour(2),
 point == Point(1, 7), slots.u == 9, shift() == 5 and partial() == 7, os.path.join('a', 'b') == 'a/b' and text.dumps(1) == '1']
";

async fn saved(running: &mut Running) -> Vec<u8> {
    running.interpreter.save(MOST).await.expect("it is saved")
}

/// Another interpreter, with what was saved; and what is missing of it.
async fn after(saved: &[u8]) -> (Running, Option<String>) {
    let mut running = start(&Language::python()).await;
    let missing = running.interpreter.load(saved, "/").await.expect("it is loaded");
    (running, missing)
}

#[tokio::test]
async fn values_functions_classes_and_modules_go_on_in_another_interpreter() {
    if !is_here(&Language::python()) {
        return;
    }
    let mut running = start(&Language::python()).await;
    value(&running.eval(MADE).await);
    let kept = saved(&mut running).await;
    assert_eq!(running.value("now()").await["value"], json!(2), "the session goes on as it was");
    let (mut other, missing) = after(&kept).await;
    assert_eq!(missing, None);
    let looked = other.value(LOOKED).await;
    let looked = looked["value"].as_array().unwrap_or_else(|| panic!("{looked}"));
    assert!(looked.iter().all(|one| one["value"] == true), "{looked:?}");
    // And once more, from there.
    let kept = saved(&mut other).await;
    let (mut third, missing) = after(&kept).await;
    // Before its own first value is that.
    assert_eq!(third.value("'_' in globals()").await["value"], json!(false));
    assert_eq!((missing, third.value("now()").await["value"].clone()), (None, json!(3)));
}

#[tokio::test]
async fn what_cannot_be_pickled_is_left_out_and_named() {
    if !is_here(&Language::python()) {
        return;
    }
    let mut running = start(&Language::python()).await;
    let code = "x = 1; g = (i for i in range(3)); next(g); fh = open('/dev/null'); big = bytes(2_000_000)\n\
                half = [bytes(600_000)]; other = [bytes(600_001)]\n\
                class Odd:\n def __reduce__(self): raise SystemExit('no')\nodd = Odd()\n0";
    value(&running.eval(code).await);
    let kept = saved(&mut running).await;
    assert!(kept.len() <= MOST + 100_000);
    assert_eq!(running.value("next(g)").await["value"], json!(1));
    let (mut other, missing) = after(&kept).await;
    let missing = missing.unwrap();
    for part in [
        "`g` (TypeError: cannot pickle 'generator'",
        "`fh` (",
        "`big` (it is too large)",
        "`odd` (SystemExit: no)",
    ] {
        assert!(missing.contains(part), "{part}: {missing}");
    }
    assert!(
        missing.contains("`other` (it is too large)") && !missing.contains("`half`"),
        "the largest go first: {missing}"
    );
    assert_eq!(
        other.value("[x, len(half[0]), 'g' in globals()]").await["value"].as_array().unwrap().len(),
        3
    );
}

/// Nothing that a variable does while it is pickled reaches the session or holds it up.
#[tokio::test]
async fn a_variable_that_sleeps_prints_ends_or_eats_memory_costs_itself_alone() {
    if !is_here(&Language::python()) {
        return;
    }
    let mut running = start(&Language::python()).await;
    let code = "import time, sys\nx = 1\nclass Slow:\n def __reduce__(self):\n  global x\n  x = 2\n  print('noise' * 100000); \
                time.sleep(60)\nslow = Slow()\n\
                class Endless:\n def __reduce__(self): return (list, (), None, iter(lambda: 'x' * 1000, 0))\nendless = Endless()\n0";
    value(&running.eval(code).await);
    let begin = Instant::now();
    let kept = saved(&mut running).await;
    assert!(begin.elapsed() < Duration::from_secs(6), "{:?}", begin.elapsed());
    let reply = running.eval("x").await;
    assert_eq!((value(&reply)["value"].clone(), reply.stdout.text.as_str()), (json!(1), ""));
    let (mut other, missing) = after(&kept).await;
    let missing = missing.unwrap();
    assert!(missing.contains("`slow` (it took too long)") && missing.contains("`endless` ("), "{missing}");
    assert_eq!(other.value("x").await["value"], json!(1));
    // Those that cannot be held up leave nothing, and the session with all it has.
    for body in ["os._exit(0)", "os.kill(os.getpid(), 9)", "os.closerange(0, 1000)\n  raise ValueError"] {
        let code = format!("import os\nclass Bad:\n def __reduce__(self):\n  {body}\nbad = Bad()\n0");
        value(&running.eval(&code).await);
        let error = running.interpreter.save(MOST).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::CapabilityUnavailable, "{body}: {error}");
        assert_eq!(running.value("x").await["value"], json!(1), "{body}");
    }
    let code = "class Bad:\n def __reduce__(self):\n  while True:\n   try: time.sleep(1)\n   except BaseException: pass\nbad = Bad()\n0";
    value(&running.eval(code).await);
    let begin = Instant::now();
    let error = running.interpreter.save(MOST).await.unwrap_err();
    assert!(
        error.message().contains("it took too long") && begin.elapsed() < Duration::from_secs(8),
        "{error}"
    );
    assert_eq!(running.value("x").await["value"], json!(1));
}

#[tokio::test]
async fn what_cannot_be_loaded_is_refused_and_what_never_ends_is_ended() {
    if !is_here(&Language::python()) {
        return;
    }
    let mut running = start(&Language::python()).await;
    value(&running.eval("x = 1\n0").await);
    let kept = saved(&mut running).await;
    let mut other = start(&Language::python()).await;
    for bad in [&b""[..], b"\0\0\0\x02{}"] {
        let error = other.interpreter.load(bad, "/").await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::CapabilityUnavailable, "{error}");
    }
    let text = String::from_utf8_lossy(&kept).into_owned();
    let at = text.find("\"python\": \"").unwrap() + 11;
    let mut older = kept.clone();
    older[at] ^= 1;
    let error = other.interpreter.load(&older, "/").await.unwrap_err();
    assert!(error.message().contains("another version of Python"), "{error}");
    // What is damaged takes what comes after it along, and nothing else.
    value(&running.eval("y = 2\n0").await);
    let kept = saved(&mut running).await;
    let missing = other.interpreter.load(&kept[..kept.len() - 3], "/").await.unwrap().unwrap();
    assert!(missing.starts_with("`y` (") && !missing.contains("`x`"), "{missing}");
    assert_eq!(other.value("x").await["value"], json!(1));
    assert!(other.interpreter.is_whole());
    // What a class does when it is made anew is the sandbox's own doing, and its own time.
    let code = "import time\ndef made(): time.sleep(100)\nclass Slow:\n def __reduce__(self): return (made, ())\nslow = Slow()\n0";
    value(&running.eval(code).await);
    let kept = saved(&mut running).await;
    let error = other.interpreter.load(&kept, "/").await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::LimitTime, "{error}");
    assert!(!other.interpreter.is_whole());
}
