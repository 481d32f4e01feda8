//! Commands of our own in place of bashkit's, where those are not what scripts for GNU's expect.

mod bc;
mod compressed;
mod copy;
mod curl;
mod diff;
mod folders;
mod help;
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
mod web;
mod wget;
mod zip;

use bashkit::{BashBuilder, Builtin};

/// Puts them in place.
pub(crate) fn register(builder: BashBuilder) -> BashBuilder {
    let all: Vec<(&str, &'static str, Box<dyn Builtin>)> = vec![
        ("bc", help::BC, Box::new(bc::Bc)),
        ("chmod", help::CHMOD, Box::new(mode::Chmod)),
        ("cp", help::CP, Box::new(copy::Cp)),
        ("diff", help::DIFF, Box::new(diff::Diff)),
        ("ln", help::LN, Box::new(links::Ln)),
        ("ls", help::LS, Box::new(ls::Ls)),
        ("mkdir", help::MKDIR, Box::new(folders::Mkdir)),
        ("mv", help::MV, Box::new(moves::Mv)),
        ("patch", help::PATCH, Box::new(patch::Patch)),
        ("readlink", help::READLINK, Box::new(paths::Readlink)),
        ("realpath", help::REALPATH, Box::new(paths::Realpath)),
        ("rm", help::RM, Box::new(folders::Rm)),
        ("split", help::SPLIT, Box::new(split::Split)),
        ("stat", help::STAT, Box::new(stat::Stat)),
        ("tar", help::TAR, Box::new(tar::Tar)),
        ("unzip", help::UNZIP, Box::new(zip::Unzip)),
        ("zip", help::ZIP, Box::new(zip::Zip)),
    ];
    let builder = builder.command("curl", curl::Curl).command("wget", wget::Wget);
    all.into_iter()
        .fold(builder.builtin("zcat", Box::new(compressed::Zcat)), |builder, (name, text, command)| {
            builder.builtin(name, Box::new(help::Helped { text, command }))
        })
}
