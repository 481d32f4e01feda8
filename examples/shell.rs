//! The shell of a sandbox: pipes, interpreters as programs, exit statuses, standard input, and git.
//!
//! ```sh
//! cargo run --release --example shell
//! ```
//!
//! ```text
//! $ printf '%s\n' pear fig apple | sort | head -n 2
//! apple
//! fig
//! $ cat > total.py; echo '[3, 1, 4]' | python3 total.py
//! 8
//! $ grep -c tea shopping.txt
//! exit status 2: grep: shopping.txt: No such file or directory
//! $ git init -q . && git add total.py && git commit -q -m 'Add total' && git log --format='%an: %s'
//! Ada: Add total
//! ```

#![allow(clippy::print_stdout, reason = "an example prints to the terminal")]

use std::time::Duration;

use dormouse::sandboxes::CommandLine;
use dormouse::{Dormouse, PersistentSandbox};

const TOTAL: &str = "import json, sys\nprint(sum(json.load(sys.stdin)))\n";

async fn show(sandbox: &PersistentSandbox, line: CommandLine) -> dormouse::Result<()> {
    println!("$ {}", line.text);
    let outcome = sandbox.exec_line(line).await?.outcome;
    print!("{}", outcome.stdout.text);
    if outcome.exit_code() != 0 {
        println!("exit status {}: {}", outcome.exit_code(), outcome.stderr.text.trim_end());
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let state = tempfile::tempdir()?;
    let dormouse = Dormouse::builder()?.state(state.path()).build()?;
    let work = dormouse.sandbox("work").await?;

    show(&work, CommandLine::new(r"printf '%s\n' pear fig apple | sort | head -n 2")).await?;

    let mut line = CommandLine::new("cat > total.py; echo '[3, 1, 4]' | python3 total.py");
    line.stdin = TOTAL.into();
    line.wall = Duration::from_secs(10);
    show(&work, line).await?;

    show(&work, CommandLine::new("grep -c tea shopping.txt")).await?;

    // The environment is that of the sandbox's shell, as in any shell.
    work.exec("export GIT_AUTHOR_NAME=Ada GIT_COMMITTER_NAME=Ada EMAIL=ada@example.com").await?;
    let commit =
        "git init -q . && git add total.py && git commit -q -m 'Add total' && git log --format='%an: %s'";
    show(&work, CommandLine::new(commit)).await?;
    dormouse.sandboxes()?.close().await?;
    Ok(())
}
