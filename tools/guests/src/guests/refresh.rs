//! `cargo xtask guests refresh`: the patches of a guest as commits of a git repository, in order to edit them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use dormouse_chores::arguments::Refresh;
use dormouse_chores::progress::Progress;
use dormouse_chores::{Cache, process, workspace};

use super::recipe::Recipe;
use super::series::{Patch, Series};

/// The first commit: the sources as they were published.
const PRISTINE: &str = "pristine";

/// The form of a patch does not depend on anyone's git configuration.
const DIFF: [&str; 11] = [
    "diff",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--unified=3",
    "--inter-hunk-context=0",
    "--diff-algorithm=myers",
    "--indent-heuristic",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

/// Attributes in the sources have no effect: line ends are not converted.
const ATTRIBUTES: &str = "* -text !diff !ident !filter !working-tree-encoding\n";

/// Creates the repository, or writes the patches from it.
///
/// # Errors
///
/// A guest without source trees, commits that would be lost, uncommitted changes, or a patch that does not apply.
pub(crate) fn run(arguments: &Refresh, recipe: &'static Recipe) -> Result<()> {
    let language = recipe.language;
    ensure!(!recipe.trees.is_empty(), "the guest `{language}` has no source trees");
    let progress = Progress::new(language);
    let guest = workspace().join("guests").join(language);
    let repository = Repository { folder: process::target().join("patches").join(language) };
    if arguments.prepare {
        let series = Series::read(&guest, recipe.trees)?;
        repository.prepare(recipe, &series, &progress)?;
        progress.say(&format!("{} patches in `{}`", series.patches().len(), repository.folder.display()));
        return Ok(());
    }
    ensure!(
        repository.folder.exists(),
        "there is no `{}`: create it with `cargo xtask guests refresh --prepare {language}`",
        repository.folder.display()
    );
    let open = repository.open()?;
    ensure!(open.is_empty(), "`{}` has uncommitted changes:\n{open}", repository.folder.display());
    let patches = repository.series()?;
    write(&guest.join("patches"), &patches)?;
    progress.say(&format!("{} patches written", patches.len()));
    Ok(())
}

/// Makes the folder hold these patches and no others.
fn write(folder: &Path, patches: &[Patch]) -> Result<()> {
    fs::create_dir_all(folder)?;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        if !patches.iter().any(|patch| name == patch.name.as_str()) {
            fs::remove_file(&path)?;
        }
    }
    for patch in patches {
        fs::write(folder.join(&patch.name), &patch.text)?;
    }
    Ok(())
}

/// A guest's source trees in git, with a commit for each patch.
struct Repository {
    folder: PathBuf,
}

impl Repository {
    /// Commits the trees as they were published, then each patch. If a patch does not apply, its commit has the hunks that
    /// git can apply, possibly with an offset; the others are left in `.rej` files.
    fn prepare(&self, recipe: &Recipe, series: &Series, progress: &Progress) -> Result<()> {
        let folder = self.folder.display();
        if self.folder.exists() {
            let known = self.series().is_ok_and(|found| found == series.patches());
            ensure!(
                known && self.open()?.is_empty(),
                "`{folder}` has changes that are not in the patches: write them with `cargo xtask guests refresh {}`, \
                 or delete the folder",
                recipe.language
            );
            fs::remove_dir_all(&self.folder)?;
        }
        let (workspace, cache) = (workspace(), Cache::open()?);
        for tree in recipe.trees {
            let fetched = tree.fetch(&workspace, &cache, progress)?;
            let _step = progress.step(&format!("copy {}", tree.name));
            tree.lay(&fetched, &self.folder.join(tree.name))?;
        }
        let _step = progress.step("commit the patches");
        self.git(&["init", "--quiet"])?;
        fs::write(self.folder.join(".git/info/attributes"), ATTRIBUTES)?;
        self.git(&["add", "--all", "--force"])?;
        self.commit(PRISTINE)?;
        self.git(&["tag", PRISTINE])?;
        let mut failed = Vec::new();
        for patch in series.patches() {
            let applied = recipe.trees.iter().try_for_each(|tree| patch.apply(&self.folder, tree.name));
            if let Err(error) = applied {
                failed.push(format!("{error:#}"));
                // The patch may have been applied to another tree before this one failed.
                self.git(&["checkout", "--quiet", "--", "."])?;
                self.reject(patch)?;
            }
            let subject = patch.name[5..].trim_end_matches(".patch");
            self.commit(&format!("{subject}\n\n{}\n", patch.reason()?))?;
        }
        if failed.is_empty() {
            return Ok(());
        }
        bail!(
            "{}\nthe hunks that git could apply are committed in `{folder}`, the others are in .rej files: fix the commits (git rebase \
             --interactive {PRISTINE}), delete those files, then run `cargo xtask guests refresh {}`",
            failed.join("\n"),
            recipe.language
        )
    }

    /// Lets git apply what it can of a patch that does not apply as a whole.
    fn reject(&self, patch: &Patch) -> Result<()> {
        let file = self.folder.join(".git").join(&patch.name);
        fs::write(&file, &patch.text)?;
        let mut git = self.command();
        git.args(["apply", "--reject", "--whitespace=nowarn"]).arg(&file);
        git.output().context("cannot run git")?;
        Ok(())
    }

    fn commit(&self, message: &str) -> Result<()> {
        let file = self.folder.join(".git/message");
        fs::write(&file, message)?;
        let options = ["commit", "--quiet", "--all", "--allow-empty", "--no-verify", "--cleanup=verbatim"];
        self.git(&[&options[..], &["--file=.git/message"]].concat())?;
        Ok(())
    }

    /// The uncommitted changes; empty if there are none.
    fn open(&self) -> Result<String> {
        Ok(self.text(&["status", "--porcelain"])?.trim_end().to_owned())
    }

    /// The commits after the first as patches.
    fn series(&self) -> Result<Vec<Patch>> {
        let commits = self.text(&["rev-list", "--reverse", &format!("{PRISTINE}..HEAD")])?;
        commits.lines().zip(1..).map(|(commit, number)| self.patch(commit, number)).collect()
    }

    fn patch(&self, commit: &str, number: usize) -> Result<Patch> {
        let message = self.text(&["log", "-1", "--format=%B", commit])?;
        let (subject, reason) = message.split_once('\n').unwrap_or((&message, ""));
        let short = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        ensure!(
            !subject.is_empty() && subject.bytes().all(short),
            "the first line of commit {commit} must be a short name such as no-fibers, not `{subject}`"
        );
        let mut text = format!("{}\n\n", reason.trim()).into_bytes();
        let diff = self.git(&[&DIFF[..], &[&format!("{commit}^"), commit]].concat())?;
        for line in diff.split_inclusive(|byte| *byte == b'\n') {
            let of_git = |start: &&str| line.starts_with(start.as_bytes());
            // Hashes would change with every earlier patch.
            if ["diff --git ", "index "].iter().any(of_git) {
                continue;
            }
            let other = ["old mode", "new mode", "new file", "deleted file", "Binary files"];
            ensure!(!other.iter().any(of_git), "commit {subject} does more than modify text files");
            text.extend_from_slice(line);
        }
        Patch::parse(format!("{number:04}-{subject}.patch"), text)
    }

    fn text(&self, arguments: &[&str]) -> Result<String> {
        Ok(String::from_utf8_lossy(&self.git(arguments)?).into_owned())
    }

    /// What git prints.
    fn git(&self, arguments: &[&str]) -> Result<Vec<u8>> {
        let told = self.command().args(arguments).output().context("cannot run git")?;
        ensure!(
            told.status.success(),
            "git {}: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&told.stderr).trim()
        );
        Ok(told.stdout)
    }

    fn command(&self) -> Command {
        let mut git = Command::new("git");
        git.current_dir(&self.folder).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        // Never the repository around this one, even if one of its hooks runs this program.
        git.env("GIT_DIR", self.folder.join(".git")).env("GIT_WORK_TREE", &self.folder);
        git.env_remove("GIT_INDEX_FILE");
        for person in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{person}_NAME"), "Dormouse").env(format!("GIT_{person}_EMAIL"), "none");
        }
        git
    }
}
