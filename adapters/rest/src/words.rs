//! Hints in the words of this door: a route where a tool is named.

use dormouse_tools::{ERRORS, reworded};
use serde_json::Value as Json;

use crate::route::{Method, ROUTES};

/// Makes routes of the tools that the hints of an answer name.
pub(crate) fn in_routes(answer: &mut Json) {
    for name in ERRORS {
        let hint = answer.get_mut(name).and_then(|error| error.get_mut("hint"));
        if let Some(Json::String(hint)) = hint {
            *hint = reworded(hint, route)
                .replace("say `recursive`", "say `recursive=true`")
                .replace("with `replace`", "with `\"replace\": true`");
        }
    }
}

fn route(tool: &str) -> Option<String> {
    let route = ROUTES.iter().find(|route| route.tool == tool)?;
    let method = match route.method {
        Method::Get => "GET",
        Method::Post => "POST",
        Method::Put => "PUT",
        Method::Delete => "DELETE",
    };
    Some(format!("`{method} {}`", route.path))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hints_name_routes() {
        let mut answer = json!({"error": {"code": "not_found", "hint": "sandbox_vars names those that there are"}, "stdout": "sandbox_vars"});
        in_routes(&mut answer);
        assert_eq!(answer["error"]["hint"], "`GET /api/sandboxes/{sandbox}/vars` names those that there are");
        assert_eq!(answer["stdout"], "sandbox_vars");
        let mut answer = json!({"error": {"hint": "say `recursive`"}});
        in_routes(&mut answer);
        assert_eq!(answer["error"]["hint"], "say `recursive=true`");
    }
}
