//! Who may call which tool: the operator's rules, tools that have changed, and what a run has read.

use std::collections::BTreeMap;

use dormouse_core::pattern::fits;

use crate::connection::{Connection, Verdict};

/// The operator's rules, by `SERVER.TOOL`.
pub(crate) struct Rules(Vec<(String, Verdict)>);

/// What a rule says, and what else is known of a call.
pub(crate) struct Known<'a> {
    /// `SERVER.TOOL`: as the server calls it, and as programs do.
    pub(crate) names: &'a [String],
    /// Its server.
    pub(crate) server: &'a Connection,
    /// Whether the server calls the tool read-only.
    pub(crate) read_only: bool,
    /// Whether what the server says of it has changed since a call was allowed.
    pub(crate) changed: bool,
    /// Whether the run has read what strangers may have written.
    pub(crate) tainted: bool,
}

/// What becomes of a call.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Decided {
    /// It is made.
    Go,
    /// Somebody is asked, for this reason.
    Ask(&'static str),
    /// It is not made.
    No,
}

/// Why somebody is asked.
pub(crate) const UNRULED: &str = "no rule of the operator allows calls of this tool";
pub(crate) const RULED: &str = "a rule of the operator asks about calls of this tool";
pub(crate) const CHANGED: &str =
    "what the server says of this tool has changed since a call of it was allowed";
pub(crate) const TAINTED: &str =
    "the program has read what strangers may have written, and this server carries data out";

impl Rules {
    /// Those of each server for its own tools, and those of the whole.
    pub(crate) fn new(connections: &[Connection], whole: &BTreeMap<String, Verdict>) -> Self {
        let own = connections.iter().flat_map(|connection| {
            let name = &connection.name;
            connection.rules.iter().map(move |(tool, verdict)| (format!("{name}.{tool}"), *verdict))
        });
        Self(own.chain(whole.iter().map(|(name, verdict)| (name.clone(), *verdict))).collect())
    }

    /// What they say of a tool: the most specific that fits it, of several the strictest.
    fn verdict(&self, names: &[String]) -> Option<Verdict> {
        let fitting = self.0.iter().filter(|(pattern, _)| names.iter().any(|name| fits(pattern, name)));
        fitting.max_by_key(|(pattern, verdict)| (specific(pattern), *verdict)).map(|(_, verdict)| *verdict)
    }

    /// Whether no call of it is ever made.
    pub(crate) fn denies(&self, names: &[String]) -> bool {
        self.verdict(names) == Some(Verdict::Deny)
    }

    /// What becomes of a call.
    pub(crate) fn decide(&self, known: &Known<'_>) -> Decided {
        let verdict = self.verdict(known.names);
        let hinted = known.server.trust_hints && known.read_only;
        match verdict {
            Some(Verdict::Deny) => Decided::No,
            _ if known.changed => Decided::Ask(CHANGED),
            _ if known.tainted && known.server.outward => Decided::Ask(TAINTED),
            Some(Verdict::Ask) => Decided::Ask(RULED),
            None if !hinted => Decided::Ask(UNRULED),
            Some(Verdict::Allow) | None => Decided::Go,
        }
    }
}

/// How specific a pattern is: its part for the tool counts before its part for the server, so that a rule for some tools of all servers
/// counts before one for all tools of a server, however long that server's name is. Of each part one without stars counts most, then
/// the one with more characters.
fn specific(pattern: &str) -> [(bool, usize); 2] {
    let of = |part: &str| (!part.contains('*'), part.chars().filter(|c| *c != '*').count());
    // Names of servers have no dots.
    let (server, tool) = pattern.split_once('.').unwrap_or((pattern, pattern));
    [of(tool), of(server)]
}

/// What a program is told whose call needs somebody's word where nobody can be asked.
pub(crate) fn unasked(name: &str, reason: &str) -> String {
    let (server, tool) = name.split_once('.').unwrap_or((name, "*"));
    let told = format!(
        "a call of `{name}` is not allowed: {reason}, and nobody can be asked in this run (a run in the background waits until \
         somebody has answered)"
    );
    match reason {
        CHANGED | TAINTED => told,
        _ => format!(
            "{told}, or the operator allows it with \"dormouse\": {{\"rules\": {{{}: \"allow\"}}}} at the \
             server `{server}` in the file of connections",
            serde_json::Value::from(tool)
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use dormouse_sources::Program;

    use super::*;
    use crate::connection::Reach;

    fn server() -> Connection {
        let program =
            Program { program: "x".into(), args: Vec::new(), env: BTreeMap::new(), cwd: None::<PathBuf> };
        Connection::new("s", Reach::Program(program)).unwrap()
    }

    fn named(name: &str) -> [String; 1] {
        [name.to_owned()]
    }

    fn known<'a>(names: &'a [String], server: &'a Connection) -> Known<'a> {
        Known { names, server, read_only: false, changed: false, tainted: false }
    }

    fn rules(own: &[(&str, Verdict)], whole: &[(&str, Verdict)]) -> (Rules, Connection) {
        let map = |list: &[(&str, Verdict)]| {
            list.iter().map(|(name, verdict)| ((*name).to_owned(), *verdict)).collect()
        };
        let connection = Connection { rules: map(own), ..server() };
        (Rules::new(std::slice::from_ref(&connection), &map(whole)), connection)
    }

    #[test]
    fn the_most_specific_rule_counts_and_of_several_the_strictest() {
        use Verdict::{Allow, Ask, Deny};
        let own = [("get_*", Allow), ("get_secret", Deny), ("*", Ask), ("*_x", Allow), ("x_*", Deny)];
        let (rules, server) = rules(&own, &[("*.drop", Deny), ("s.drop", Allow), ("*", Deny)]);
        for (name, wanted) in [
            ("s.get_user", Decided::Go),
            ("s.get_secret", Decided::No),
            ("s.else", Decided::Ask(RULED)),
            ("s.drop", Decided::Go),
            ("s.x_x", Decided::No),
            ("t.get_user", Decided::No),
        ] {
            assert_eq!(rules.decide(&known(&named(name), &server)), wanted, "{name}");
        }
    }

    #[test]
    fn a_rule_for_tools_of_all_servers_counts_before_one_for_all_tools_of_a_server_with_a_long_name() {
        let map = |name: &str, verdict| BTreeMap::from([(name.to_owned(), verdict)]);
        for name in ["s", "a_server_with_a_very_long_name"] {
            let connection = Connection { name: name.into(), rules: map("*", Verdict::Allow), ..server() };
            let rules = Rules::new(std::slice::from_ref(&connection), &map("*.delete_*", Verdict::Deny));
            let decided = |tool: &str| rules.decide(&known(&named(&format!("{name}.{tool}")), &connection));
            assert_eq!((decided("delete_all"), decided("list")), (Decided::No, Decided::Go), "{name}");
        }
    }

    #[test]
    fn without_a_rule_everything_is_asked_about_but_what_only_reads_where_hints_are_trusted() {
        let (rules, server) = rules(&[], &[]);
        assert_eq!(rules.decide(&known(&named("s.t"), &server)), Decided::Ask(UNRULED));
        assert_eq!(
            rules.decide(&Known { read_only: true, ..known(&named("s.t"), &server) }),
            Decided::Ask(UNRULED)
        );
        let trusted = Connection { trust_hints: true, ..server };
        assert_eq!(rules.decide(&Known { read_only: true, ..known(&named("s.t"), &trusted) }), Decided::Go);
        assert_eq!(rules.decide(&known(&named("s.t"), &trusted)), Decided::Ask(UNRULED));
        assert!(unasked("s.t\"x", UNRULED).contains(r#"{"rules": {"t\"x": "allow"}}"#));
    }

    #[test]
    fn a_rule_that_allows_does_not_allow_what_has_changed_or_would_carry_out_what_strangers_wrote() {
        let (rules, server) = rules(&[("*", Verdict::Allow)], &[]);
        assert_eq!(
            rules.decide(&Known { changed: true, ..known(&named("s.t"), &server) }),
            Decided::Ask(CHANGED)
        );
        assert_eq!(rules.decide(&Known { tainted: true, ..known(&named("s.t"), &server) }), Decided::Go);
        let outward = Connection { outward: true, ..server };
        assert_eq!(
            rules.decide(&Known { tainted: true, ..known(&named("s.t"), &outward) }),
            Decided::Ask(TAINTED)
        );
        assert_eq!(rules.decide(&known(&named("s.t"), &outward)), Decided::Go);
    }
}
