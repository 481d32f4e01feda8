//! A live PHP, saved and restored.

use dormouse_tests::PHP;
use dormouse_tests::ending::{assert_ends, value};

use crate::Kept;
use crate::elsewhere::goes_on_elsewhere;

const SETUP: &str = "namespace Bank {
class Account {
    const RATE = 0.5;
    public static int $made = 0;
    private array $log = [];
    function __construct(public readonly string $owner, private int $balance = 10) { self::$made++; }
    function add(int $n): static { $this->balance += $n; $this->log[] = $n; return $this; }
    function balance(): int { return $this->balance; }
}
enum Kind: string { case Open = 'o'; case Closed = 'c'; }
}
namespace {
$number = 42; $text = str_repeat('ü', 1000); $blob = str_repeat(\"\\xff\", 100000);
function double(int $n): int { return $n * 2; }
$account = (new Bank\\Account('ann'))->add(5);
$kind = Bank\\Kind::Closed;
$step = (function () { $count = 0; return function () use (&$count) { return ++$count; }; })(); $step(); $step();
function endless() { for ($n = 0; ; $n++) { yield $n * $n; } }
$squares = endless(); $squares->next(); $squares->next(); $squares->next();
$database = new PDO('sqlite::memory:'); $database->exec('create table t (a); insert into t values (7)');
$cycle = new stdClass; $cycle->self = $cycle;
$heap = new SplMinHeap; foreach ([3, 1, 2] as $n) $heap->insert($n);
$weak = WeakReference::create($cycle); $map = new WeakMap; $map[$cycle] = 'kept';
$memory = fopen('php://memory', 'w+'); fwrite($memory, 'in memory');
mt_srand(5); mt_rand();
define('SAVED', [1, 2]); set_error_handler(fn($n, $m) => print(\"warned: $m\\n\"));
preg_match('/(?<word>\\w+)/', 'first', $found);
return 0;
}";

const QUESTIONS: [&str; 12] = [
    "[$number, strlen($text), strlen($blob), double(21)]",
    "[$account->owner, $account->balance(), $account->add(1)->balance(), Bank\\Account::RATE, Bank\\Account::$made]",
    "[$step(), $step()]",
    "$squares->next(); $a = $squares->current(); $squares->next(); [$a, $squares->current()]",
    "[$kind === Bank\\Kind::from('c'), $kind]",
    "$database->query('select a from t')->fetchColumn() + 1",
    "[$cycle->self === $cycle, $heap->extract(), $weak->get() === $cycle, $map[$cycle]]",
    "[SAVED, $found['word'], mt_rand(), rewind($memory), fgets($memory)]",
    "function triple($n) { return double($n) + $n; } triple(5)",
    "$undefined; 'went on'",
    "echo 'still prints'; $account->missing();",
    "++$number",
];

#[test]
fn a_php_session_goes_on_in_another_process_and_in_its_own() {
    goes_on_elsewhere(PHP, SETUP, &QUESTIONS);
}

#[test]
fn copies_of_one_checkpoint_are_independent() {
    let mut kept = Kept::new(PHP);
    kept.call("$x = [1];");
    let checkpoint = kept.checkpoint();
    let (mut one, mut other) = (Kept::restored(&checkpoint).unwrap(), Kept::restored(&checkpoint).unwrap());
    assert_eq!(value(&one.call("$x[] = 2; count($x)"))["value"], 2);
    assert_eq!(value(&other.call("count($x)"))["value"], 1);
    assert_eq!(value(&kept.call("count($x)"))["value"], 1);
}

#[test]
fn what_must_be_random_differs_between_copies() {
    let code = "[random_int(0, PHP_INT_MAX), bin2hex(random_bytes(8)), (new Random\\Randomizer)->getBytesFromString('abcdef', 20)]";
    let mut kept = Kept::new(PHP);
    kept.call(code);
    let checkpoint = kept.checkpoint();
    let (mut one, mut other) = (Kept::restored(&checkpoint).unwrap(), Kept::restored(&checkpoint).unwrap());
    assert_ne!(value(&one.call(code)), value(&other.call(code)));
}

#[test]
fn a_checkpoint_of_a_restored_session_is_as_good_as_the_first() {
    let mut kept = Kept::new(PHP);
    kept.call("$n = 0;");
    for expected in 1..=5 {
        assert_eq!(value(&kept.call("++$n"))["value"], expected);
        kept.call("trigger_error('x', E_USER_ERROR);");
        let checkpoint = kept.checkpoint();
        kept = Kept::restored(&checkpoint).unwrap();
    }
}

#[test]
fn an_empty_session_is_small_and_data_counts() {
    let mut kept = Kept::new(PHP);
    let empty = kept.checkpoint().to_bytes().len();
    kept.call("$blob = str_repeat('x', 8 << 20); 0");
    let filled = kept.checkpoint().to_bytes().len();
    assert!(empty < 1 << 20, "{empty} bytes for nothing");
    assert!((8 << 20..12 << 20).contains(&(filled - empty)), "{empty}, then {filled} bytes");
}

#[test]
fn open_files_stay_open_and_those_that_go_with_the_session_are_named() {
    let mut kept = Kept::new(PHP);
    kept.call("$file = fopen('/tmp/notes.txt', 'w'); fwrite($file, 'written'); $folder = opendir('/tmp'); 0");
    let checkpoint = kept.checkpoint();
    let mut names = checkpoint.closed_files().to_vec();
    names.sort();
    assert_eq!(names, ["/tmp", "/tmp/notes.txt"]);
    assert_eq!(value(&kept.call("return fwrite($file, '!');"))["value"], 1);
    assert_eq!(value(&kept.call("file_get_contents('/tmp/notes.txt')"))["value"], "written!");
    // Another session has a `/tmp` of its own.
    let mut elsewhere = Kept::restored(&checkpoint).unwrap();
    assert_eq!(value(&elsewhere.call("return @fwrite($file, '!');"))["value"], false);
    assert_eq!(value(&elsewhere.call("file_exists('/tmp/notes.txt')"))["value"], false);
    let told = elsewhere.call("fwrite(STDOUT, 'out'); fwrite(STDERR, 'err'); 1");
    assert_eq!((told.stdout.text.as_str(), told.stderr.text.as_str()), ("out", "err"));
}

#[test]
fn a_state_that_is_larger_than_the_limit_is_refused_at_the_call() {
    let mut kept = Kept::new(PHP);
    let mut request = kept.request("$blob = str_repeat('x', 100 << 20); 0");
    request.context.limits.memory = 256 << 20;
    assert_ends(&kept.run(&request), &["returned"]);
    let mut restored = Kept::restored(&kept.checkpoint()).unwrap();
    let mut narrow = restored.request("1");
    narrow.context.limits.memory = 64 << 20;
    assert_ends(&restored.run(&narrow), &["limit_memory"]);
}
