//! `bc`. What is expected is what GNU's bc 1.07.1 prints.

use super::Shell;

#[track_caller]
fn bc(words: &str, text: &str) -> String {
    let mut shell = Shell::new();
    shell.write("/home/text", text.as_bytes());
    shell.out(&format!("bc {words} < text"))
}

#[track_caller]
fn shows(text: &str, lines: &[&str]) {
    assert_eq!(bc("", text).lines().collect::<Vec<_>>(), lines, "{text}");
}

#[test]
fn a_scale_decides_how_many_places_a_division_has() {
    shows(
        "10 / 3\nscale=4; 10 / 3; 2/3*3\nscale=0; -7 / 2; -7 % 3\n",
        &["3", "3.3333", "1.9998", "-3", "-1"],
    );
    shows("1.50 + 2.255; 1.5 * 2.25; .1 + .2; 0.5 - 1\n", &["3.755", "3.37", ".3", "-.5"]);
    shows("scale=2; 7.5 % 2; 1 / 3 * 3\n", &["0", ".99"]);
}

#[test]
fn powers_and_roots_have_any_size() {
    shows(
        "2 ^ 100\n2 ^ -2; scale=3; 2 ^ -2; 1.5 ^ 2\n",
        &["1267650600228229401496703205376", "0", ".250", "2.25"],
    );
    shows("scale=10; sqrt(2); sqrt(16); scale=0; sqrt(17)\n", &["1.4142135623", "4.0000000000", "4"]);
}

#[test]
fn operators_bind_as_in_gnus() {
    shows("2 + 3 * 4 ^ 2; (2 + 3) * 4; 2 ^ 3 ^ 2; -2 ^ 2\n", &["50", "20", "512", "4"]);
    shows(
        "1 < 2; 2 <= 1; 1 == 1; 1 != 1; !0; !5; 1 && 0; 1 || 0\n",
        &["1", "0", "1", "0", "1", "0", "0", "1"],
    );
    shows("a = b = 3; a + b; a += 4; a; a++; a; --a\n", &["6", "7", "7", "8", "7"]);
}

#[test]
fn bases_hold_for_reading_and_writing() {
    shows("obase=16; 255; 4096; obase=2; 10; obase=20; 399\n", &["FF", "1000", "1010", " 19 19"]);
    shows("ibase=16; FF; A; ibase=A; 10\n", &["255", "10", "10"]);
}

#[test]
fn statements_branch_and_repeat() {
    let text =
        "i = 5\nwhile (i > 0) { if (i == 3) { i = i - 1; continue }\nif (i == 1) break\ni\ni = i - 1 }\n";
    shows(text, &["5", "4", "2"]);
    shows("for (i = 0; i < 3; i++) i * i\nif (1 > 2) 1 else 2\n", &["0", "1", "4", "2"]);
}

#[test]
fn functions_have_parameters_locals_and_arrays() {
    shows("define f(n) { if (n < 2) return 1; return n * f(n - 1) }\nf(20)\n", &["2432902008176640000"]);
    shows("x = 1\ndefine g(y) { auto x; x = y; return x * 2 }\ng(21); x\n", &["42", "1"]);
    shows(
        "define s(a[], n) { auto i, t; for (i = 0; i < n; i++) t += a[i]; return t }\nb[0] = 3; b[1] = 4; s(b[], 2)\n",
        &["7"],
    );
    shows("length(123.45); scale(1.500); length(0.001)\n", &["5", "3", "3"]);
}

#[test]
fn text_is_printed_as_it_stands() {
    assert_eq!(bc("", "\"a b\"; print \"c\\n\", 1 + 1, \"\\n\"; last\n"), "a bc\n2\n2\n");
    shows("/* a\ncomment */ 1 # another\n2\n", &["1", "2"]);
    shows("1\nquit\n2\n", &["1"]);
}

#[test]
fn long_numbers_go_on_after_a_backslash() {
    let shown = bc("", "10 ^ 100\n");
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), 2, "{shown}");
    assert_eq!((lines[0].len(), lines[0].ends_with('\\')), (69, true));
    assert_eq!(lines[0].trim_end_matches('\\').len() + lines[1].len(), 101);
}

#[test]
fn the_library_has_the_functions_of_mathematics() {
    let text = "4 * a(1)\ne(1)\nl(2)\ns(1)\nc(1)\nscale = 5; e(0.5); l(10)\n";
    let shown = bc("-l", text);
    let expected = [
        "3.14159265358979323844",
        "2.71828182845904523536",
        ".69314718055994530941",
        ".84147098480789650665",
        ".54030230586813971740",
        "1.64872",
        "2.30258",
    ];
    assert_eq!(shown.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn mistakes_are_named_and_the_next_line_runs() {
    let mut shell = Shell::new();
    let came = shell.run("printf '1 / 0\\n2 +\\n3\\nf(1)\\n' | bc");
    assert_eq!(came.out, "3\n");
    let said: Vec<&str> = came.err.lines().collect();
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(said.iter().any(|line| line.ends_with("Divide by zero")), "{said:?}");
    assert!(said.iter().any(|line| line.ends_with("Function f not defined.")), "{said:?}");
    assert_eq!(shell.failure("bc --none < /dev/null"), ("bc: invalid option '--none'\n".to_owned(), 1));
    assert_eq!(shell.failure("bc none"), ("File none is unavailable.\n".to_owned(), 1));
}

#[test]
fn what_would_end_the_stack_or_the_memory_is_refused() {
    // The stack that the guest has, and more, because nothing is optimised here.
    let test = std::thread::Builder::new().stack_size(256 << 20).spawn(deep_calls).unwrap();
    test.join().unwrap();
}

fn deep_calls() {
    let mut shell = Shell::new();
    let came = shell.run("echo 'define f(n) { return f(n + 1) }\nf(1); 2 ^ 99999999999' | bc");
    assert_eq!(came.out, "");
    assert!(came.err.contains("too deep") && came.err.contains("exponent too large"), "{}", came.err);
    let deep = "(".repeat(100_000);
    shell.write("/home/deep", deep.as_bytes());
    assert_ne!(shell.run("bc deep").err, "");
}
