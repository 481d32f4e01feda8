//! What is more than types is compiled: enums, namespaces, parameter properties, decorators, `accessor`, JSX, `import x =`.

use std::mem::ManuallyDrop;

use swc_common::comments::SingleThreadedComments;
use swc_common::errors::HANDLER;
use swc_common::sync::Lrc;
use swc_common::{FileName, Mark, SourceMap, SyntaxContext};
use swc_ecma_ast::{EsVersion, Module, ModuleItem, Pass, Program};
use swc_ecma_codegen::{Config, Emitter};
use swc_ecma_parser::lexer::Lexer;
use swc_ecma_parser::{Parser, StringInput, Syntax, TsSyntax};
use swc_ecma_transforms_base::fixer::fixer;
use swc_ecma_transforms_base::helpers::{HELPERS, Helpers};
use swc_ecma_transforms_base::hygiene::hygiene;
use swc_ecma_transforms_base::resolver;
use swc_ecma_transforms_proposal::decorator_2023_11::decorator_2023_11;
use swc_ecma_transforms_proposal::decorators::{self, decorators};
use swc_ecma_transforms_react::{self as react, Runtime, jsx};
use swc_ecma_transforms_typescript::typescript::{
    self, ImportsNotUsedAsValues, TsImportExportAssignConfig, typescript,
};

use crate::choose::Options;
use crate::configuration::Configuration;
use crate::facts::Facts;
use crate::place::Placed;
use crate::refusal::{Diagnostics, Refusal};
use crate::{accessor, declare, fields, hidden, merge};

/// A source that is TypeScript.
pub(crate) struct Parsed {
    pub(crate) facts: Facts,
    // The instance ends with this call.
    pub(crate) program: ManuallyDrop<Program>,
    comments: ManuallyDrop<SingleThreadedComments>,
    map: Lrc<SourceMap>,
    diagnostics: Diagnostics,
}

impl Parsed {
    /// The program, and where its parts stand.
    pub(crate) fn into_program(self) -> (Program, Lrc<SourceMap>) {
        (ManuallyDrop::into_inner(self.program), self.map)
    }
}

pub(crate) fn parse(source: &str, tsx: bool) -> Result<Parsed, Refusal> {
    let map: Lrc<SourceMap> = Lrc::default();
    let diagnostics = Diagnostics::new(&map);
    let comments = ManuallyDrop::new(SingleThreadedComments::default());
    let file = map.new_source_file(FileName::Anon.into(), source.to_owned());
    let syntax = Syntax::Typescript(TsSyntax { tsx, decorators: true, ..TsSyntax::default() });
    let lexer = Lexer::new(syntax, EsVersion::latest(), StringInput::from(&*file), Some(&*comments));
    let mut parser = Parser::new_from(lexer);
    let parsed = parser.parse_program();
    for error in parser.take_errors() {
        error.into_diagnostic(&diagnostics.handler).emit();
    }
    let program = parsed.map(ManuallyDrop::new);
    let program = program.map_err(|error| error.into_diagnostic(&diagnostics.handler).emit());
    match program {
        Ok(program) if !diagnostics.handler.has_errors() => {
            Ok(Parsed { facts: Facts::of(&program), program, comments, map, diagnostics })
        }
        _ => Err(diagnostics.first("the source is no TypeScript")),
    }
}

pub(crate) fn compile(
    source: &str,
    parsed: Parsed,
    options: &Options<'_>,
    configuration: &Result<Configuration, Refusal>,
) -> Result<String, Refusal> {
    let Parsed { facts, mut program, comments, map, diagnostics } = parsed;
    let mut read = match configuration {
        Ok(read) => read.clone(),
        Err(refusal) if facts.decorators || facts.jsx => return Err(refusal.clone()),
        Err(_) => Configuration::default(),
    };
    if facts.jsx {
        read.heed(&comments)?;
    }
    let legacy = facts.decorators && (read.legacy_decorators || facts.parameters);
    if let (true, Some(span)) = (legacy, facts.decorated_accessor) {
        let at = map.lookup_char_pos(span.lo);
        return Err(Refusal {
            message: "an `accessor` with a private name, or one that is worked out, has decorators of the standard's \
                      form only: no `experimentalDecorators`, and no decorators of parameters"
                .to_owned(),
            place: Refusal::place(&at),
        });
    }
    let before = HANDLER.set(&diagnostics.handler, || {
        let helpers = Helpers::new(false);
        HELPERS.set(&helpers, || {
            let is_module = options.is_module();
            let transform = Transform { facts, legacy, configuration: read, is_module, map: map.clone() };
            transform.run(&mut program, &comments, &helpers)
        })
    });
    if diagnostics.handler.has_errors() {
        return Err(diagnostics.first("the source cannot be compiled"));
    }
    let emit = |writer: &mut Placed<'_>| {
        let (cfg, cm) = (Config::default(), map.clone());
        let emitted = Emitter { cfg, cm, comments: None, wr: writer }.emit_program(&program);
        emitted.map_err(|error| Refusal {
            message: format!("the source cannot be written: {error}"),
            place: None,
        })
    };
    let mut writer = Placed::new(source, before.clone(), None);
    emit(&mut writer)?;
    if let Some(kept) = writer.disorder() {
        writer = Placed::new(source, before, Some(kept));
        emit(&mut writer)?;
    }
    Ok(writer.into_code())
}

struct Transform {
    facts: Facts,
    legacy: bool,
    configuration: Configuration,
    is_module: bool,
    map: Lrc<SourceMap>,
}

impl Transform {
    /// Makes JavaScript of a program. Answers what is to stand before it.
    fn run(self, program: &mut Program, comments: &SingleThreadedComments, helpers: &Helpers) -> String {
        // The pass of decorators takes the first context of all for that of names that are declared nowhere, and makes
        // properties of the global object of those that are assigned to. A sandbox's variables are none.
        let _ = SyntaxContext::empty().apply_mark(Mark::new());
        let (unresolved, top_level) = (Mark::new(), Mark::new());
        if self.facts.decorators || self.facts.jsx {
            into_module(program);
        }
        let keeps_require = self.is_module && declare::is_common(program);
        if !keeps_require {
            declare::export_default(program);
        }
        declare::prepare(program, &self.facts);
        if self.legacy {
            accessor::split(program);
        }
        let is_merged = merge::declare(program);
        resolver(unresolved, top_level, true).process(program);
        if is_merged {
            merge::qualify(program);
        }
        if self.legacy {
            // Types are still there: metadata tells them.
            let of = decorators::Config {
                legacy: true,
                emit_metadata: self.configuration.metadata,
                use_define_for_class_fields: !self.configuration.assigned_fields,
            };
            decorators(of).process(program);
        }
        if self.configuration.assigned_fields {
            fields::assign(program);
        }
        typescript(self.types(keeps_require), unresolved, top_level).process(program);
        declare::anew(program, &self.facts);
        if self.facts.accessor || (self.facts.decorators && !self.legacy) {
            decorator_2023_11().process(program);
        }
        if self.facts.jsx {
            let of = self.elements();
            jsx(self.map.clone(), Some(comments), of, top_level, unresolved).process(program);
        }
        let before = hidden::hide(program, helpers, unresolved, self.is_module);
        hygiene().process(program);
        fixer(None).process(program);
        before
    }

    fn types(&self, keeps_require: bool) -> typescript::Config {
        typescript::Config {
            // A module has no `require` of its own.
            import_export_assign_config: match self.is_module && !keeps_require {
                true => TsImportExportAssignConfig::NodeNext,
                false => TsImportExportAssignConfig::Classic,
            },
            // What is only a type is not there any more.
            verbatim_module_syntax: true,
            import_not_used_as_values: ImportsNotUsedAsValues::Preserve,
            native_class_properties: true,
            no_empty_export: true,
            // Members are looked up, because a later snippet of a sandbox sees the object and no inlined number.
            ts_enum_is_mutable: true,
            ..typescript::Config::default()
        }
    }

    fn elements(&self) -> react::Options {
        let of = &self.configuration;
        react::Options {
            runtime: Some(if of.classic { Runtime::Classic } else { Runtime::Automatic }),
            import_source: of.import_source.as_deref().map(Into::into),
            pragma: of.factory.clone().map(Into::into),
            pragma_frag: of.fragment.clone().map(Into::into),
            // `xlink:href` is a property like others.
            throw_if_namespace: Some(false),
            ..react::Options::default()
        }
    }
}

/// What JSX needs is imported then, and not required; and the pass of decorators gives a class its new name everywhere.
fn into_module(program: &mut Program) {
    if let Program::Script(script) = program {
        let body = std::mem::take(&mut script.body);
        *program = Program::Module(Module {
            span: script.span,
            body: body.into_iter().map(ModuleItem::Stmt).collect(),
            shebang: script.shebang.take(),
        });
    }
}
