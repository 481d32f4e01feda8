//! A CI check runner: runs every `*.py` and `*.js` file of a folder in a sandbox that sees the project read-only, and reports.
//!
//! ```sh
//! cargo run --release --example checks -- ci/checks .
//! ```

#![allow(clippy::print_stdout, reason = "an example prints to the terminal")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use dormouse::{Access, Dormouse, Language, Status};

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let folder = arguments.next().ok_or("usage: checks FOLDER [PROJECT]")?;
    let project = arguments.next().unwrap_or_else(|| ".".into());
    let dormouse = Dormouse::new()?;
    let mut checks: Vec<PathBuf> =
        std::fs::read_dir(&folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    checks.sort();
    let mut failed = 0;
    for check in checks {
        let Some(language) = Language::of_file(&check) else { continue };
        if !run(&dormouse, &language, &check, &project).await? {
            failed += 1;
        }
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A check passes unless it raises, exits with another status than 0, or is stopped.
async fn run(
    dormouse: &Dormouse,
    language: &Language,
    check: &Path,
    project: &Path,
) -> Result<bool, Box<dyn std::error::Error>> {
    let code = std::fs::read_to_string(check)?;
    let outcome = dormouse
        .snippet(language.as_str(), code)
        .name(check.file_name().unwrap_or_default().to_string_lossy())
        .mount(project, "/project", Access::ReadOnly)
        .directory("/project")
        .timeout(Duration::from_secs(30))
        .run()
        .await?;
    let verdict = match &outcome.status {
        Status::Returned(_) | Status::Exited(0) => "ok".to_owned(),
        Status::Exited(code) => format!("exit {code}"),
        Status::Raised(exception) => format!("{}: {}", exception.class, exception.message),
        Status::Stopped(error) => format!("{}: {error}", error.code()),
    };
    println!("{:<40} {:>8.1} ms  {verdict}", check.display(), outcome.usage.wall.as_secs_f64() * 1e3);
    print!("{}{}", outcome.stdout.text, outcome.stderr.text);
    Ok(outcome.is_ok())
}
