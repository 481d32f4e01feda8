//! scratch
use dormouse_tests::{ending, sandbox};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let o = sandbox::eval(&a[1], &a[2]);
    println!("{} {}", ending::ending(&o), ending::told(&o));
}
