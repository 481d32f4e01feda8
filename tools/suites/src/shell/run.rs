//! Every case in both shells.

use std::path::Path;

use anyhow::{Context as _, Result};
use dormouse_chores::apt;
use dormouse_chores::arguments::Extent;
use dormouse_chores::outcome::Totals;
use dormouse_chores::progress::Progress;
use dormouse_chores::workspace;

use super::super::expected::{Expected, Kind};
use super::super::report::Report;
use super::super::server;
use super::cases::{self, Case};
use super::client::Client;
use super::{debian, sandbox};

/// Programs of the real shell, and the Debian packages that hold those which are not always there. `awk` is gawk: the
/// default one, mawk, knows no UTF-8.
const PROGRAMS: [(&str, &str); 14] = [
    ("gawk", "gawk"),
    ("jq", "jq"),
    ("bc", "bc"),
    ("patch", "patch"),
    ("diff", "diffutils"),
    ("find", "findutils"),
    ("python3", "python3"),
    ("node", "nodejs"),
    ("php", "php-cli"),
    ("xxd", "xxd"),
    ("hexdump", "bsdextrautils"),
    ("zip", "zip"),
    ("unzip", "unzip"),
    ("xz", "xz-utils"),
];

/// Runs the cases and holds their differences to `tests/shell/differences.txt`.
pub(crate) fn run(extent: &Extent) -> Result<Totals> {
    let folder = workspace().join("tests/shell");
    let mut report = Report::default();
    let mut expected = Expected::at(folder.join("differences.txt"))?;
    let cases = cases::load(&folder.join("cases"))?;
    require()?;
    let state = tempfile::tempdir()?;
    let mut client = Client::start(&server::dormouse()?, state.path())?;
    let shown = Progress::new("shell").counted("running", cases.len());
    for case in cases.iter().filter(|case| extent.wants(&case.name)) {
        match expected.skipped(&case.name) {
            Some(cause) => report.skip(cause, 1),
            None => report.count(&case.name, compared(&mut client, case, &folder.join("files"))?),
        }
        shown.advance();
    }
    for (name, _) in expected.of(Kind::Skip).filter(|(name, _)| cases.iter().all(|case| case.name != *name)) {
        report.count(name, Err("it is listed and there is no such case".to_owned()));
    }
    report.close("shell", &mut expected, extent, |name| extent.wants(name))
}

fn require() -> Result<()> {
    let wanted: Vec<_> =
        PROGRAMS.iter().filter(|(program, _)| !debian::has(program)).map(|(_, package)| *package).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let otherwise = format!("the cases need {} and apt-get cannot install it here", wanted.join(", "));
    apt::install(&Progress::new("shell"), &wanted, &otherwise)
}

/// The difference of one case. What the sandbox refuses is a difference too.
fn compared(client: &mut Client, case: &Case, inputs: &Path) -> Result<Result<(), String>> {
    let real = debian::run(case, inputs).with_context(|| case.name.clone())?;
    let ours = match sandbox::run(client, case, inputs) {
        Ok(ours) => ours,
        Err(error) => return Ok(Err(format!("{error:#}"))),
    };
    Ok(ours.difference(&real, case).map_or(Ok(()), Err))
}
