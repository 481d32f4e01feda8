//! Imports of what is only a type, and that are not marked so. They are taken out of the source before it is read, as
//! TypeScript leaves them out: what is not used as a value. A snippet keeps what it does not use at all, because a later one
//! may.

use rustc_hash::FxHashSet;
use swc_atoms::Atom;
use swc_common::{BytePos, Span, Spanned};
use swc_ecma_ast::{
    Class, Decl, ExportSpecifier, Ident, ImportDecl, ImportSpecifier, ModuleDecl, ModuleExportName,
    ModuleItem, NamedExport, Program, TsEntityName, TsExprWithTypeArgs, TsInterfaceDecl, TsModuleDecl,
    TsType, TsTypeAliasDecl, TsTypeAnn, TsTypeParamDecl, TsTypeParamInstantiation,
};
use swc_ecma_visit::{Visit, VisitWith};

/// How a source is looked at.
pub(crate) struct Rules<'a> {
    /// It is no snippet: what is not used goes.
    pub(crate) is_file: bool,
    /// Types of what is decorated are values: `emitDecoratorMetadata`.
    pub(crate) metadata: bool,
    /// Names that JSX uses.
    pub(crate) jsx: &'a [&'a str],
}

/// The source without them; none: it has none.
pub(crate) fn without_types(source: &str, program: &Program, rules: &Rules<'_>) -> Option<String> {
    let Program::Module(module) = program else { return None };
    let imports: Vec<&ImportDecl> = module.body.iter().filter_map(import).collect();
    if imports.iter().all(|import| import.specifiers.is_empty()) {
        return None;
    }
    let mut used = Used { metadata: rules.metadata, ..Used::default() };
    module.visit_with(&mut used);
    let goes = |name: &Ident| {
        let is_value = used.values.contains(&name.sym) || rules.jsx.contains(&&*name.sym);
        !is_value && (rules.is_file || used.types.contains(&name.sym))
    };
    let mut text = Text { source, bytes: None };
    imports.into_iter().for_each(|import| text.take(import, &goes));
    text.bytes.and_then(|bytes| String::from_utf8(bytes).ok())
}

fn import(item: &ModuleItem) -> Option<&ImportDecl> {
    match item {
        ModuleItem::ModuleDecl(ModuleDecl::Import(import)) if !import.type_only => Some(import),
        _ => None,
    }
}

/// Names that are used, without a look at where they are declared: what a function has under the name of an import counts as
/// the import.
#[derive(Default)]
struct Used {
    values: FxHashSet<Atom>,
    types: FxHashSet<Atom>,
    metadata: bool,
    in_type: bool,
    in_decorated: bool,
}

impl Used {
    fn in_type(&mut self, what: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.in_type, true);
        what(self);
        self.in_type = before;
    }
}

impl Visit for Used {
    fn visit_ident(&mut self, name: &Ident) {
        if !self.in_type || self.in_decorated {
            self.values.insert(name.sym.clone());
        }
        if self.in_type {
            self.types.insert(name.sym.clone());
        }
    }

    fn visit_import_decl(&mut self, _: &ImportDecl) {}

    fn visit_named_export(&mut self, export: &NamedExport) {
        if export.src.is_some() || export.type_only {
            return;
        }
        for specifier in &export.specifiers {
            if let ExportSpecifier::Named(named) = specifier
                && let (ModuleExportName::Ident(name), false) = (&named.orig, named.is_type_only)
            {
                self.visit_ident(name);
            }
        }
    }

    fn visit_class(&mut self, class: &Class) {
        let before = self.in_decorated;
        self.in_decorated |= self.metadata && crate::declare::is_decorated(class);
        class.visit_children_with(self);
        self.in_decorated = before;
    }

    fn visit_decl(&mut self, declaration: &Decl) {
        let is_declared = match declaration {
            Decl::Class(class) => class.declare,
            Decl::Fn(function) => function.declare,
            Decl::Var(variables) => variables.declare,
            Decl::TsEnum(of) => of.declare,
            _ => false,
        };
        match is_declared {
            true => self.in_type(|used| declaration.visit_children_with(used)),
            false => declaration.visit_children_with(self),
        }
    }

    fn visit_ts_module_decl(&mut self, module: &TsModuleDecl) {
        match module.declare {
            true => self.in_type(|used| module.visit_children_with(used)),
            false => module.visit_children_with(self),
        }
    }

    fn visit_ts_type(&mut self, of: &TsType) {
        self.in_type(|used| of.visit_children_with(used));
    }

    fn visit_ts_type_ann(&mut self, of: &TsTypeAnn) {
        self.in_type(|used| of.visit_children_with(used));
    }

    fn visit_ts_type_param_decl(&mut self, of: &TsTypeParamDecl) {
        self.in_type(|used| of.visit_children_with(used));
    }

    fn visit_ts_type_param_instantiation(&mut self, of: &TsTypeParamInstantiation) {
        self.in_type(|used| of.visit_children_with(used));
    }

    fn visit_ts_expr_with_type_args(&mut self, of: &TsExprWithTypeArgs) {
        self.in_type(|used| of.visit_children_with(used));
    }

    fn visit_ts_interface_decl(&mut self, of: &TsInterfaceDecl) {
        self.in_type(|used| of.visit_children_with(used));
    }

    fn visit_ts_type_alias_decl(&mut self, of: &TsTypeAliasDecl) {
        self.in_type(|used| of.visit_children_with(used));
    }

    fn visit_ts_entity_name(&mut self, name: &TsEntityName) {
        match name {
            TsEntityName::Ident(first) => self.visit_ident(first),
            TsEntityName::TsQualifiedName(of) => of.left.visit_with(self),
        }
    }
}

/// The source, of which parts become spaces.
struct Text<'a> {
    source: &'a str,
    bytes: Option<Vec<u8>>,
}

impl Text<'_> {
    fn take(&mut self, import: &ImportDecl, goes: &impl Fn(&Ident) -> bool) {
        let stays = |specifier: &&ImportSpecifier| match specifier {
            ImportSpecifier::Named(named) => !named.is_type_only && !goes(&named.local),
            other => !goes(other.local()),
        };
        if import.specifiers.is_empty() {
            return;
        }
        if !import.specifiers.iter().any(|each| stays(&each)) {
            // A line before it may end without a semicolon.
            self.blank(import.span, Some(b';'));
            return;
        }
        let end = import.src.span.lo;
        for (at, specifier) in import.specifiers.iter().enumerate() {
            if stays(&specifier) {
                continue;
            }
            let (from, to) = (specifier.span().lo, specifier.span().hi);
            let next = import.specifiers.get(at + 1).map(Spanned::span);
            match (specifier, next) {
                (ImportSpecifier::Named(_), Some(next)) => self.blank(Span { lo: from, hi: next.lo }, None),
                (ImportSpecifier::Named(_), None) => {
                    let brace = self.find(to, end, b'}').unwrap_or(to);
                    self.blank(Span { lo: from, hi: brace }, None);
                }
                (ImportSpecifier::Default(_), Some(next)) => {
                    let brace = self.find(to, next.lo, b'{').unwrap_or(next.lo);
                    self.blank(Span { lo: from, hi: brace }, None);
                }
                (ImportSpecifier::Namespace(_), _) => {
                    // What stands before it, which stays, is the default.
                    let comma = import.specifiers.first().map_or(from, |first| first.span().hi);
                    self.blank(Span { lo: comma, hi: to }, None);
                }
                (ImportSpecifier::Default(_), None) => {}
            }
        }
    }

    /// The last of a byte between two places.
    fn find(&self, from: BytePos, to: BytePos, byte: u8) -> Option<BytePos> {
        let (begin, end) = (offset(from)?, offset(to)?);
        let at = self.source.as_bytes().get(begin..end)?.iter().rposition(|each| *each == byte)?;
        Some(from + BytePos(u32::try_from(at).ok()?))
    }

    /// Each character becomes a space, and the first what is to stand in its place.
    fn blank(&mut self, span: Span, first: Option<u8>) {
        let (Some(begin), Some(end)) = (offset(span.lo), offset(span.hi)) else { return };
        let bytes = self.bytes.get_or_insert_with(|| self.source.as_bytes().to_vec());
        let Some(part) = bytes.get_mut(begin..end) else { return };
        part.iter_mut().filter(|byte| !matches!(**byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
        if let (Some(place), Some(first)) = (part.first_mut(), first) {
            *place = first;
        }
    }
}

/// The first byte of the source has number 1.
fn offset(position: BytePos) -> Option<usize> {
    usize::try_from(position.0).ok()?.checked_sub(1)
}
