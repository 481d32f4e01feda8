//! `cargo xtask guests refresh`: the patches of a guest as commits of a git repository, for whoever changes one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use super::cache::Cache;
use super::key;
use super::recipe::Recipe;
use super::series::{Patch, Series};
use crate::process;
use crate::progress::Progress;

/// What to do with the patches of a guest.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Lay the sources into target/patches/LANG as a repository, a commit for each patch; else: write the patches anew from it
    #[arg(long)]
    prepare: bool,
    /// The guest whose patches they are
    #[arg(value_name = "LANG")]
    pub(crate) language: String,
}

/// The first commit: the sources as they were published.
const PRISTINE: &str = "pristine";

/// Nobody's settings of git change what a patch looks like.
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

/// Neither do attributes that the sources have: no line end is converted, no file is left out.
const ATTRIBUTES: &str = "* -text !diff !ident !filter !working-tree-encoding\n";

/// Lays the repository, or writes the patches of it.
///
/// # Errors
///
/// A guest without foreign sources, work in the repository that would be lost, or a patch that does not apply.
pub(crate) fn run(arguments: &Arguments, recipe: &'static Recipe) -> Result<()> {
    let language = recipe.language;
    ensure!(!recipe.trees.is_empty(), "the guest `{language}` has no sources that patches could change");
    let progress = Progress::new(language);
    let guest = key::workspace().join("guests").join(language);
    let repository = Repository { folder: process::target().join("patches").join(language) };
    if arguments.prepare {
        let series = Series::read(&guest, recipe.trees)?;
        repository.prepare(recipe, &series, &progress)?;
        progress.say(&format!("{} patches in `{}`", series.patches().len(), repository.folder.display()));
        return Ok(());
    }
    ensure!(
        repository.folder.exists(),
        "there is no `{}`: `cargo xtask guests refresh --prepare {language}` lays it",
        repository.folder.display()
    );
    let open = repository.open()?;
    ensure!(open.is_empty(), "`{}` has changes outside its commits:\n{open}", repository.folder.display());
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

/// A guest's trees, and a commit for each patch.
struct Repository {
    folder: PathBuf,
}

impl Repository {
    /// Lays the trees as they were published and applies the patches. Where a patch does not apply, what fits of it, also
    /// at other lines, is committed, and the rest left as git's `.rej` files.
    fn prepare(&self, recipe: &Recipe, series: &Series, progress: &Progress) -> Result<()> {
        let folder = self.folder.display();
        if self.folder.exists() {
            let known = self.series().is_ok_and(|found| found == series.patches());
            ensure!(
                known && self.open()?.is_empty(),
                "`{folder}` has changes that are not among the patches: write them with `cargo xtask guests refresh {}`, \
                 or delete the folder",
                recipe.language
            );
            fs::remove_dir_all(&self.folder)?;
        }
        let (workspace, cache) = (key::workspace(), Cache::open()?);
        for tree in recipe.trees {
            let fetched = tree.fetch(&workspace, &cache, progress)?;
            let _step = progress.step(&format!("lay {}", tree.name));
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
                // What fits of one tree's changes may have been made before another's were refused.
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
            "{}\nwhat fits is committed in `{folder}`, the rest lies there in files named .rej: mend the commits (git rebase \
             --interactive {PRISTINE}), delete those files, then run `cargo xtask guests refresh {}`",
            failed.join("\n"),
            recipe.language
        )
    }

    /// Applies what git can of a patch. That some of it cannot be is known.
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

    /// What is in the folder and in no commit; empty: nothing.
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
            "the first line of commit {commit} has to be a patch's name, such as no-fibers: `{subject}`"
        );
        let mut text = format!("{}\n\n", reason.trim()).into_bytes();
        let diff = self.git(&[&DIFF[..], &[&format!("{commit}^"), commit]].concat())?;
        for line in diff.split_inclusive(|byte| *byte == b'\n') {
            let of_git = |start: &&str| line.starts_with(start.as_bytes());
            // These hold hashes, which say nothing to a reader and change with every patch before.
            if ["diff --git ", "index "].iter().any(of_git) {
                continue;
            }
            let other = ["old mode", "new mode", "new file", "deleted file", "Binary files"];
            ensure!(!other.iter().any(of_git), "commit {subject} does not only change texts");
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
        // Not the repository around this one, also when a hook of that runs this program.
        git.env("GIT_DIR", self.folder.join(".git")).env("GIT_WORK_TREE", &self.folder);
        git.env_remove("GIT_INDEX_FILE");
        for person in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{person}_NAME"), "Dormouse").env(format!("GIT_{person}_EMAIL"), "none");
        }
        git
    }
}
