//! `ln`. The sandbox's files have no second names: `ln` without `-s` is refused.

use bashkit::{Builtin, BuiltinContext, ExecResult, Result, async_trait};

use super::copy::{Manner, back_up, ways};
use super::folders::{ended, reason};
use super::options::{self, Known, Value};
use super::paths::{lexical, relative};

const LN: &[Known] = &[
    ('s', "symbolic", Value::None),
    ('f', "force", Value::None),
    ('n', "no-dereference", Value::None),
    ('r', "relative", Value::None),
    ('v', "verbose", Value::None),
    ('b', "backup", Value::Optional),
    ('S', "suffix", Value::Required),
    ('t', "target-directory", Value::Required),
    ('T', "no-target-directory", Value::None),
    ('i', "interactive", Value::None),
    ('L', "logical", Value::None),
    ('P', "physical", Value::None),
];

/// `ln`.
pub(super) struct Ln;

#[async_trait]
impl Builtin for Ln {
    async fn execute(&self, context: BuiltinContext<'_>) -> Result<ExecResult> {
        let (given, mut names) = match options::parse("ln", LN, context.args) {
            Ok(parsed) => parsed,
            Err(why) => return Ok(ExecResult::err(format!("{why}\n"), 1)),
        };
        let mut manner = Manner::default();
        let (mut symbolic, mut force, mut short) = (false, false, false);
        let mut no_follow = false;
        for option in given {
            match option.letter {
                's' => symbolic = true,
                'f' => force = true,
                'r' => short = true,
                'n' => no_follow = true,
                'v' => manner.verbose = true,
                'b' => manner.backup = manner.backup.or(Some("~".into())),
                'S' => manner.backup = option.value,
                't' => manner.into = option.value,
                'T' => manner.not_into = true,
                _ => {}
            }
        }
        if !symbolic {
            let why = "ln: hard links are not supported in this sandbox; use ln -s or cp\n";
            return Ok(ExecResult::err(why, 1));
        }
        if names.len() == 1 && manner.into.is_none() {
            names.push(".".into());
        }
        if let (true, Some(last)) = (no_follow, names.last()) {
            let found = context.fs.lstat(&context.cwd.join(last)).await;
            manner.not_into |= found.is_ok_and(|found| found.file_type.is_symlink());
        }
        let (ways, mut err) = ways("ln", &context, &manner, names).await;
        let mut out = String::new();
        for way in ways {
            let to = lexical(&context.cwd.join(&way.to));
            if context.fs.lstat(&to).await.is_ok() {
                let gone = match &manner.backup {
                    Some(suffix) => back_up(&*context.fs, &to, suffix).await.is_ok(),
                    None => force && context.fs.remove(&to, false).await.is_ok(),
                };
                if !gone {
                    err += &format!("ln: failed to create symbolic link '{}': File exists\n", way.to);
                    continue;
                }
            }
            let target = match (short, to.parent()) {
                (true, Some(folder)) => relative(&lexical(&context.cwd.join(&way.from)), folder),
                _ => way.from.clone().into(),
            };
            match context.fs.symlink(&target, &to).await {
                Ok(()) if manner.verbose => out += &format!("'{}' -> '{}'\n", way.to, target.display()),
                Ok(()) => {}
                Err(error) => {
                    err += &format!("ln: failed to create symbolic link '{}': {}\n", way.to, reason(&error));
                }
            }
        }
        Ok(ended(out, err))
    }
}
