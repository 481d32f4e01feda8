//! Types are blanked out: every other character keeps its line and column.

use swc_common::SourceMap;
use swc_common::sync::Lrc;
use swc_ts_fast_strip::{ErrorCode, Mode, Options, operate};

use crate::refusal::{Diagnostics, Refusal};

/// What became of a source.
pub(crate) enum Stripped {
    /// JavaScript.
    Code(String),
    /// It has what blanking does not do: enums, namespaces, parameter properties, `<T>x`.
    Compile,
    /// It is no TypeScript.
    Refused(Refusal),
}

pub(crate) fn strip(source: &str) -> Stripped {
    let map: Lrc<SourceMap> = Lrc::default();
    let diagnostics = Diagnostics::new(&map);
    let options = Options { mode: Mode::StripOnly, ..Options::default() };
    match operate(&map, &diagnostics.handler, source.to_owned(), options) {
        Ok(output) => Stripped::Code(output.code),
        Err(error) => match error.code {
            ErrorCode::UnsupportedSyntax => Stripped::Compile,
            _ => Stripped::Refused(diagnostics.first(&error.message)),
        },
    }
}
