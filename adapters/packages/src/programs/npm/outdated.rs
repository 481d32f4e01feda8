//! `npm outdated`: what lies there in another version than `package.json` or the registry would have.

use dormouse_core::packages::{Detail, package_json, present};
use dormouse_core::sandbox::{Files, Owner};
use dormouse_core::{Error, ErrorCode, GuestPath, ProgramEnd, Result};
use serde_json::{Value as Json, json};

use super::{MANAGER, PackagePrograms, listed, pretty, split};
use crate::npm::Spec;

const HEAD: [&str; 6] = ["Package", "Current", "Wanted", "Latest", "Location", "Depended by"];
/// The columns of versions stand to the right.
const RIGHT: [bool; 6] = [false, true, true, true, false, false];

/// A package that is outdated.
struct Row {
    name: String,
    /// None: it is not there.
    current: Option<String>,
    wanted: String,
    latest: String,
}

pub(super) async fn run(
    programs: &PackagePrograms,
    owner: &Owner,
    files: &mut dyn Files,
    folder: &GuestPath,
    words: &[&str],
) -> Result<ProgramEnd> {
    let (names, options) = split(words);
    let requirements = package_json(&listed(files, folder).await?, false)?;
    let here = present(files, MANAGER, folder, &programs.python).await?;
    let (mut rows, mut notes) = (Vec::new(), String::new());
    for requirement in requirements {
        let name = requirement
            .get(1..)
            .and_then(|rest| rest.find('@'))
            .map_or(&*requirement, |at| &requirement[..=at]);
        if !names.is_empty() && !names.iter().any(|asked| asked == name) {
            continue;
        }
        let path = format!("node_modules/{name}");
        let current = here.iter().find(|one| one.path == path).map(|one| one.version.clone());
        match row(programs, owner, &requirement, current).await {
            Ok(row) => rows.extend(row),
            Err(error) if is_skipped(&error) => notes.push_str(&format!("npm warn {error}\n")),
            Err(error) => return Err(error),
        }
    }
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    let parent = folder.as_str().rsplit('/').next().unwrap_or_default();
    let said = if options.contains(&"--json") { as_json(&rows, parent)? } else { table(&rows, parent) };
    let status = u8::from(!rows.is_empty());
    Ok(ProgramEnd { status, errors: notes.into_bytes(), ..ProgramEnd::said(said) })
}

/// The row of a requirement; none where it lies there as it would be installed, and that is the latest.
async fn row(
    programs: &PackagePrograms,
    owner: &Owner,
    requirement: &str,
    current: Option<String>,
) -> Result<Option<Row>> {
    let spec = Spec::parse(requirement)?;
    let told = programs.packages.describe(owner, requirement, Detail::Needs).await?;
    let wanted = told.about["version"].as_str().unwrap_or_default().to_owned();
    let latest = told.tags.get("latest").cloned().unwrap_or_else(|| wanted.clone());
    let is_fine = current.as_ref() == Some(&wanted) && wanted == latest;
    Ok((!is_fine).then_some(Row { name: spec.name, current, wanted, latest }))
}

/// npm leaves out what it cannot ask about, too.
fn is_skipped(error: &Error) -> bool {
    matches!(error.code(), ErrorCode::NotFound | ErrorCode::Unsatisfiable | ErrorCode::CapabilityUnavailable)
}

fn table(rows: &[Row], parent: &str) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let cells = |row: &Row| {
        let (current, place) = match &row.current {
            Some(version) => (version.clone(), format!("node_modules/{}", row.name)),
            None => ("MISSING".into(), "-".into()),
        };
        [row.name.clone(), current, row.wanted.clone(), row.latest.clone(), place, parent.to_owned()]
    };
    let lines: Vec<[String; 6]> =
        std::iter::once(HEAD.map(str::to_owned)).chain(rows.iter().map(cells)).collect();
    let width = |at: usize| lines.iter().map(|line| line[at].chars().count()).max().unwrap_or_default();
    let widths: [usize; 6] = std::array::from_fn(width);
    let shown = |line: &[String; 6]| {
        let cells: Vec<String> = (0..6)
            .map(|at| match (RIGHT[at], widths[at]) {
                (true, width) => format!("{:>width$}", line[at]),
                (false, width) => format!("{:<width$}", line[at]),
            })
            .collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    lines.iter().map(shown).collect()
}

fn as_json(rows: &[Row], parent: &str) -> Result<String> {
    let one = |row: &Row| {
        let Row { name, current, wanted, latest } = row;
        let mut told = json!({"wanted": wanted, "latest": latest, "dependent": parent});
        if let Some(current) = current {
            told["current"] = current.as_str().into();
            told["location"] = format!("node_modules/{name}").into();
        }
        (name.clone(), told)
    };
    pretty(&Json::Object(rows.iter().map(one).collect()))
}
