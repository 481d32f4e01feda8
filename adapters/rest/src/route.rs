//! The table of routes.

use dormouse_tools::{Surface, ToolSpec};

/// What a request may do, by its method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Only looks.
    Get,
    /// Changes something.
    Post,
    /// Puts a whole file.
    Put,
    /// Takes away.
    Delete,
}

/// How arguments and the answer are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As JSON.
    Json,
    /// The body is the file.
    BytesIn,
    /// The answer is the file.
    BytesOut,
}

/// Where an argument comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// From the path.
    Path,
    /// From the query.
    Query,
    /// From the body, as a member of its JSON object, or as the whole of it.
    Body,
    /// It is not taken.
    Nowhere,
}

/// One route: a method of a path is a tool.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path; `{ARGUMENT}` is an argument of the tool.
    pub path: &'static str,
    /// The tool.
    pub tool: &'static str,
    /// Its name in the OpenAPI document.
    pub id: &'static str,
    /// How arguments and answer are written.
    pub form: Form,
}

const fn row(method: Method, path: &'static str, tool: &'static str) -> Route {
    Route { method, path, tool, id: tool, form: Form::Json }
}

use Method::{Delete, Get, Post, Put};

/// All of them. A route is served when its tool is offered.
pub const ROUTES: &[Route] = &[
    row(Get, "/api/capabilities", "sandbox_capabilities"),
    Route { id: "eval", ..row(Post, "/api/eval", "sandbox_eval") },
    row(Get, "/api/sandboxes", "sandbox_list"),
    row(Post, "/api/sandboxes", "sandbox_create"),
    row(Get, "/api/sandboxes/{sandbox}", "sandbox_get"),
    row(Delete, "/api/sandboxes/{sandbox}", "sandbox_destroy"),
    row(Post, "/api/sandboxes/{sandbox}/eval", "sandbox_eval"),
    row(Post, "/api/sandboxes/{sandbox}/exec", "sandbox_exec"),
    row(Post, "/api/sandboxes/{sandbox}/jobs", "sandbox_job"),
    Route { id: "runs", ..row(Post, "/api/runs", "sandbox_run") },
    row(Post, "/api/runs/{run}", "sandbox_run"),
    row(Post, "/api/sandboxes/{sandbox}/install", "sandbox_install"),
    row(Post, "/api/sandboxes/{sandbox}/tests", "run_tests"),
    row(Post, "/api/sandboxes/{sandbox}/lint", "run_lint"),
    row(Post, "/api/sandboxes/{sandbox}/typecheck", "run_typecheck"),
    row(Post, "/api/sandboxes/{sandbox}/stop", "sandbox_stop"),
    row(Post, "/api/sandboxes/{sandbox}/resume", "sandbox_resume"),
    row(Post, "/api/sandboxes/{sandbox}/reset", "sandbox_reset"),
    row(Get, "/api/sandboxes/{sandbox}/vars", "sandbox_vars"),
    row(Post, "/api/sandboxes/{sandbox}/vars/{name}", "sandbox_get_var"),
    row(Post, "/api/sandboxes/{sandbox}/load", "sandbox_load"),
    row(Get, "/api/sandboxes/{sandbox}/files", "sandbox_files"),
    row(Get, "/api/sandboxes/{sandbox}/files/read", "sandbox_read"),
    row(Post, "/api/sandboxes/{sandbox}/files/write", "sandbox_write"),
    row(Post, "/api/sandboxes/{sandbox}/files/edit", "sandbox_edit"),
    row(Delete, "/api/sandboxes/{sandbox}/files", "sandbox_remove_file"),
    row(Post, "/api/sandboxes/{sandbox}/files/rename", "sandbox_rename_file"),
    row(Post, "/api/sandboxes/{sandbox}/files/folder", "sandbox_make_folder"),
    row(Post, "/api/sandboxes/{sandbox}/files/upload", "sandbox_upload"),
    row(Post, "/api/sandboxes/{sandbox}/files/download", "sandbox_download"),
    Route {
        id: "get_file",
        form: Form::BytesOut,
        ..row(Get, "/api/sandboxes/{sandbox}/files/content", "sandbox_read")
    },
    Route {
        id: "put_file",
        form: Form::BytesIn,
        ..row(Put, "/api/sandboxes/{sandbox}/files/content", "sandbox_upload")
    },
    row(Get, "/api/sandboxes/{sandbox}/checkpoints", "sandbox_list_checkpoints"),
    row(Post, "/api/sandboxes/{sandbox}/checkpoints", "sandbox_checkpoint"),
    row(Post, "/api/sandboxes/{sandbox}/checkpoints/{checkpoint_id}", "sandbox_describe_checkpoint"),
    row(Delete, "/api/sandboxes/{sandbox}/checkpoints/{checkpoint_id}", "sandbox_remove_checkpoint"),
    row(Get, "/api/sandboxes/{sandbox}/history", "sandbox_history"),
    row(Post, "/api/sandboxes/{sandbox}/restore", "sandbox_restore"),
    row(Post, "/api/sandboxes/{sandbox}/fork", "sandbox_fork"),
    row(Post, "/api/sandboxes/{sandbox}/sub_agent", "sandbox_sub_agent"),
];

impl Route {
    /// The tool, if it is offered and has every argument of the path: without sandboxes that last there are none to name.
    pub(crate) fn tool<'a>(&self, surface: &'a Surface) -> Option<&'a ToolSpec> {
        let spec = surface.get(self.tool)?;
        let fields = spec.input_schema["properties"].as_object()?;
        let mut named = self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        named.all(|name| fields.contains_key(name)).then_some(spec)
    }

    /// Where it takes this argument from.
    pub fn source(&self, argument: &str) -> Source {
        let in_path = |name: &str| self.path.split('/').any(|part| part == format!("{{{name}}}"));
        match (self.form, argument) {
            _ if in_path(argument) => Source::Path,
            // The path names the sandbox.
            (_, "session_key") if in_path("sandbox") => Source::Nowhere,
            (Form::BytesIn, "content_base64") => Source::Body,
            (Form::BytesIn, "host_path") => Source::Nowhere,
            (Form::BytesIn, _) | (Form::BytesOut, "path") => Source::Query,
            (Form::BytesOut, _) => Source::Nowhere,
            (Form::Json, _) if matches!(self.method, Get | Delete) => Source::Query,
            (Form::Json, _) => Source::Body,
        }
    }
}
