//! What a `tsconfig.json` says that changes what a source does. It is read as JavaScript, whose comments and commas behind
//! the last entry it may have. Those that it extends stand behind it in a list, which the host makes of what [`extended`] says.

use swc_common::FileName;
use swc_common::sync::Lrc;
use swc_common::{SourceMap, comments::CommentKind, comments::SingleThreadedComments};
use swc_ecma_ast::{ArrayLit, EsVersion, Expr, Ident, Lit, ObjectLit, Prop, PropName, PropOrSpread};
use swc_ecma_parser::{Syntax, parse_file_as_expr};

use crate::refusal::Refusal;

/// Versions of ECMAScript, as `target` has them, that have no fields: they are assigned, if nothing else is said.
const WITHOUT_FIELDS: [&str; 10] =
    ["es3", "es5", "es6", "es2015", "es2016", "es2017", "es2018", "es2019", "es2020", "es2021"];

/// The parts of `compilerOptions` that count here.
#[derive(Clone, Default)]
pub(crate) struct Configuration {
    /// `experimentalDecorators`
    pub(crate) legacy_decorators: bool,
    /// `emitDecoratorMetadata`
    pub(crate) metadata: bool,
    /// `useDefineForClassFields` is off, or `target` is of before it.
    pub(crate) assigned_fields: bool,
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
        let read = parse(text)?;
        let files: Vec<&ObjectLit> = match &read {
            Expr::Object(object) => vec![object],
            Expr::Array(files) => objects(files),
            _ => Vec::new(),
        };
        if files.is_empty() {
            return Err(refused("it is no object".into()));
        }
        let mut found = Self::default();
        found.take(&Options::of(&files))?;
        Ok(found)
    }

    fn take(&mut self, options: &Options<'_>) -> Result<(), Refusal> {
        let factory = |name| match options.text(name) {
            Some(value) if !is_path(value) => Err(refused(format!("`{name}` is no name of a function"))),
            value => Ok(value.map(str::to_owned)),
        };
        self.legacy_decorators = options.flag("experimentalDecorators").unwrap_or_default();
        self.metadata = options.flag("emitDecoratorMetadata").unwrap_or_default();
        let is_old = |target: &str| WITHOUT_FIELDS.iter().any(|old| target.eq_ignore_ascii_case(old));
        self.assigned_fields = match options.flag("useDefineForClassFields") {
            Some(defined) => !defined,
            None => options.text("target").is_some_and(is_old),
        };
        self.classic = options.text("jsx") == Some("react");
        self.import_source = options.text("jsxImportSource").map(str::to_owned);
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

/// The names of the files that one extends, one a line. One that cannot be read extends none.
pub(crate) fn extended(text: &str) -> String {
    let Ok(Expr::Object(object)) = parse(text) else { return String::new() };
    let names = match entry(&object, "extends") {
        Some(Expr::Array(names)) => {
            names.elems.iter().flatten().filter_map(|name| text_of(&name.expr)).collect()
        }
        Some(name) => text_of(name).into_iter().collect(),
        None => Vec::new(),
    };
    names.join("\n")
}

fn parse(text: &str) -> Result<Expr, Refusal> {
    let map: Lrc<SourceMap> = Lrc::default();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let file = map.new_source_file(FileName::Anon.into(), text.to_owned());
    let (syntax, version) = (Syntax::Es(Default::default()), EsVersion::latest());
    let read = parse_file_as_expr(&file, syntax, version, None, &mut Vec::new());
    read.map(|read| *read).map_err(|error| refused(error.kind().msg().into_owned()))
}

fn objects(files: &ArrayLit) -> Vec<&ObjectLit> {
    let files = files.elems.iter().flatten();
    files.filter_map(|file| file.expr.as_object()).collect()
}

/// `compilerOptions` of several files, of which the first that has an entry counts.
struct Options<'a>(Vec<&'a ObjectLit>);

impl<'a> Options<'a> {
    fn of(files: &[&'a ObjectLit]) -> Self {
        let options = files.iter().filter_map(|file| entry(file, "compilerOptions"));
        Self(options.filter_map(Expr::as_object).collect())
    }

    fn entry(&self, name: &str) -> Option<&'a Expr> {
        self.0.iter().find_map(|options| entry(options, name))
    }

    fn flag(&self, name: &str) -> Option<bool> {
        match self.entry(name) {
            Some(Expr::Lit(Lit::Bool(value))) => Some(value.value),
            _ => None,
        }
    }

    fn text(&self, name: &str) -> Option<&'a str> {
        self.entry(name).and_then(text_of)
    }
}

fn text_of(value: &Expr) -> Option<&str> {
    match value {
        Expr::Lit(Lit::Str(value)) => value.value.as_str(),
        _ => None,
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
