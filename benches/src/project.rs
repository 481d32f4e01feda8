//! A snippet inside a project of 300 files whose bootstrap file loads 200 of them: opened anew, and as it was kept.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use dormouse::{Dormouse, Project};

use crate::bench::{Bench, LANGUAGES};
use crate::table::{Goal, Row};
use crate::turns::{Turn, take_turns};

/// Files of the project; each is a class.
const FILES: usize = 300;
/// Classes that the container holds.
const LOADED: usize = 200;

pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for language in LANGUAGES.into_iter().filter(|language| bench.begins(&format!("project-{language}"))) {
        rows.extend(project(bench, language)?);
    }
    Ok(rows)
}

fn project(bench: &Bench, language: &'static str) -> Result<[Row; 2]> {
    let folder = tempfile::tempdir()?;
    write(folder.path(), language).context("the project cannot be written")?;
    let dormouse = bench.dormouse(0)?;
    let code = match language {
        "php" => "container('Class7')->twice()",
        _ => "container('Class7').twice()",
    };
    let run = |dormouse: &Dormouse| {
        bench.sum(dormouse.snippet(language, code).project(Project::new(folder.path())), 14)
    };
    let bootstrap = folder.path().join(bootstrap(language));
    let text = fs::read_to_string(&bootstrap)?;
    let anew: Turn<'_> = Box::new(|| {
        // What was kept is of no use after this.
        fs::write(&bootstrap, &text)?;
        Ok(vec![run(&dormouse)?])
    });
    let [first] = take_turns(bench.few(4), [anew]);
    let kept: Turn<'_> = Box::new(|| Ok(vec![run(&dormouse)?]));
    let [second] = take_turns(bench.rounds, [kept]);
    let what = |which: &str| format!("{language} in a project of {FILES} files, {LOADED} loaded: {which}");
    Ok([
        Row::new(format!("project-{language}-anew"), what("opened anew and kept"), "ms", first),
        Row::new(format!("project-{language}"), what("the next evaluation"), "ms", second)
            .goal(Goal::AtMost(5.0)),
    ])
}

fn bootstrap(language: &str) -> &'static str {
    match language {
        "python" => ".dormouse/bootstrap.py",
        "php" => ".dormouse/bootstrap.php",
        _ => ".dormouse/bootstrap.mjs",
    }
}

fn write(folder: &Path, language: &str) -> Result<()> {
    fs::create_dir_all(folder.join(".dormouse"))?;
    fs::create_dir_all(folder.join("vendor"))?;
    fs::create_dir_all(folder.join("src"))?;
    let class = |n: usize| match language {
        "python" => format!("class Class{n}:\n    def twice(self):\n        return {n} * 2\n"),
        "php" => format!("<?php\nclass Class{n} {{ public function twice(): int {{ return {n} * 2; }} }}\n"),
        _ => format!("export class Class{n} {{ twice() {{ return {n} * 2 }} }}\n"),
    };
    let ending = match language {
        "python" => "py",
        "php" => "php",
        _ => "mjs",
    };
    for n in 0..FILES {
        fs::write(folder.join(format!("src/Class{n}.{ending}")), class(n))?;
    }
    let services = match language {
        "python" => format!(
            "import importlib\ncontainer = {{f'Class{{n}}': getattr(importlib.import_module(f'Class{{n}}'), f'Class{{n}}')() \
             for n in range({LOADED})}}\n"
        ),
        "php" => {
            fs::write(
                folder.join("vendor/autoload.php"),
                "<?php spl_autoload_register(fn ($class) => require \"/project/src/$class.php\");\n",
            )?;
            format!(
                "<?php\n$all = [];\nfor ($n = 0; $n < {LOADED}; $n++) {{ $class = \"Class$n\"; $all[$class] = new $class(); }}\nreturn $all;\n"
            )
        }
        _ => format!(
            "export const container = new Map();\nfor (let n = 0; n < {LOADED}; n++) {{\n  \
             const module = await import(`../src/Class${{n}}.mjs`);\n  container.set(`Class${{n}}`, new module[`Class${{n}}`]());\n}}\n"
        ),
    };
    fs::write(folder.join(bootstrap(language)), services)?;
    Ok(())
}
