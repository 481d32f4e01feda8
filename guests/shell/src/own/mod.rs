//! Commands of our own in place of bashkit's, where those are not what scripts for GNU's expect.

mod bc;
mod compressed;
mod copy;
mod diff;
mod folders;
mod links;
mod ls;
mod mode;
mod moves;
mod options;
mod patch;
mod paths;
mod split;
mod stat;
mod tar;
#[cfg(test)]
mod tests;
mod times;
mod zip;

use bashkit::{BashBuilder, Builtin};

/// Puts them in place.
pub(crate) fn register(builder: BashBuilder) -> BashBuilder {
    let all: Vec<(&str, Box<dyn Builtin>)> = vec![
        ("bc", Box::new(bc::Bc)),
        ("chmod", Box::new(mode::Chmod)),
        ("cp", Box::new(copy::Cp)),
        ("diff", Box::new(diff::Diff)),
        ("ln", Box::new(links::Ln)),
        ("ls", Box::new(ls::Ls)),
        ("mkdir", Box::new(folders::Mkdir)),
        ("mv", Box::new(moves::Mv)),
        ("patch", Box::new(patch::Patch)),
        ("readlink", Box::new(paths::Readlink)),
        ("realpath", Box::new(paths::Realpath)),
        ("rm", Box::new(folders::Rm)),
        ("split", Box::new(split::Split)),
        ("stat", Box::new(stat::Stat)),
        ("tar", Box::new(tar::Tar)),
        ("unzip", Box::new(zip::Unzip)),
        ("zcat", Box::new(compressed::Zcat)),
        ("zip", Box::new(zip::Zip)),
    ];
    all.into_iter().fold(builder, |builder, (name, command)| builder.builtin(name, command))
}
