//! What a `tsconfig.json` says that changes what a source does. It is read as JavaScript, whose comments and commas behind
//! the last entry it may have. `extends` is not followed.

use swc_common::FileName;
use swc_common::sync::Lrc;
use swc_common::{SourceMap, comments::CommentKind, comments::SingleThreadedComments};
use swc_ecma_ast::{EsVersion, Expr, Ident, Lit, ObjectLit, Prop, PropName, PropOrSpread};
use swc_ecma_parser::{Syntax, parse_file_as_expr};

use crate::refusal::Refusal;

/// The parts of `compilerOptions` that count here.
#[derive(Default)]
pub(crate) struct Configuration {
    /// `experimentalDecorators`
    pub(crate) legacy_decorators: bool,
    /// `emitDecoratorMetadata`
    pub(crate) metadata: bool,
    /// `jsx` is `react`: elements are calls of a function that the source has.
    pub(crate) classic: bool,
    /// `jsxImportSource`
    pub(crate) import_source: Option<String>,
    /// `jsxFactory` and `jsxFragmentFactory`
    pub(crate) factory: Option<String>,
    pub(crate) fragment: Option<String>,
}

impl Configuration {
    pub(crate) fn read(text: &str) -> Result<Self, Refusal> {
        let map: Lrc<SourceMap> = Lrc::default();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let file = map.new_source_file(FileName::Anon.into(), text.to_owned());
        let read = parse_file_as_expr(
            &file,
            Syntax::Es(Default::default()),
            EsVersion::latest(),
            None,
            &mut Vec::new(),
        );
        let mut found = Self::default();
        match read.as_deref() {
            Ok(Expr::Object(object)) => {
                if let Some(Expr::Object(options)) = entry(object, "compilerOptions") {
                    found.take(options)?;
                }
                Ok(found)
            }
            Ok(_) => Err(refused("it is no object".into())),
            Err(error) => Err(refused(error.kind().msg().into_owned())),
        }
    }

    fn take(&mut self, options: &ObjectLit) -> Result<(), Refusal> {
        let is_true = |name| matches!(entry(options, name), Some(Expr::Lit(Lit::Bool(value))) if value.value);
        let text = |name| match entry(options, name) {
            Some(Expr::Lit(Lit::Str(value))) => value.value.as_str().map(str::to_owned),
            _ => None,
        };
        let factory = |name| match text(name) {
            Some(value) if !is_path(&value) => Err(refused(format!("`{name}` is no name of a function"))),
            value => Ok(value),
        };
        self.legacy_decorators = is_true("experimentalDecorators");
        self.metadata = is_true("emitDecoratorMetadata");
        self.classic = text("jsx").as_deref() == Some("react");
        self.import_source = text("jsxImportSource");
        self.factory = factory("jsxFactory")?;
        self.fragment = factory("jsxFragmentFactory")?;
        Ok(())
    }

    /// What the comments of a source say of its JSX stands above. That a function is named means that it is to be called.
    pub(crate) fn heed(&mut self, comments: &SingleThreadedComments) -> Result<(), Refusal> {
        let (leading, _) = comments.borrow_all();
        let (mut runtime, mut named) = (false, false);
        for comment in leading.values().flatten().filter(|comment| comment.kind == CommentKind::Block) {
            for line in comment.text.lines() {
                let mut words = line.trim().trim_start_matches('*').split_whitespace();
                while let (Some(word), value) = (words.next(), words.next()) {
                    match word {
                        "@jsxRuntime" | "@jsxImportSource" => runtime = true,
                        "@jsx" | "@jsxFrag" => {
                            named = true;
                            if !value.is_some_and(is_path) {
                                let message = format!("`{word}` is followed by the name of a function");
                                return Err(Refusal { message, place: None });
                            }
                        }
                        _ => {}
                    }
                }
            }
        }
        self.classic |= named && !runtime;
        Ok(())
    }
}

fn refused(why: String) -> Refusal {
    Refusal { message: format!("tsconfig.json cannot be used: {why}"), place: None }
}

/// Names with dots between them, or `null`.
fn is_path(text: &str) -> bool {
    let is_name = |name: &str| {
        let mut letters = name.chars();
        letters.next().is_some_and(Ident::is_valid_start) && letters.all(Ident::is_valid_continue)
    };
    let (first, rest) = text.split_once('.').map_or((text, None), |(first, rest)| (first, Some(rest)));
    text == "null"
        || (Ident::verify_symbol(first).is_ok() && rest.is_none_or(|rest| rest.split('.').all(is_name)))
}

fn entry<'a>(object: &'a ObjectLit, name: &str) -> Option<&'a Expr> {
    // Of several, the last one holds.
    object.props.iter().rev().find_map(|property| match property {
        PropOrSpread::Prop(property) => match &**property {
            Prop::KeyValue(pair) => match &pair.key {
                PropName::Str(key) if key.value.as_str() == Some(name) => Some(&*pair.value),
                PropName::Ident(key) if &*key.sym == name => Some(&*pair.value),
                _ => None,
            },
            _ => None,
        },
        PropOrSpread::Spread(_) => None,
    })
}
