//! Requests of this process's own, to servers that the operator connects: a rule for one host that stands in no file.

use std::fmt;
use std::sync::Arc;

use dormouse_core::errand::{Errand, Errands};
use dormouse_core::network::Door;
use dormouse_core::{Error, Result};
use hyper::Uri;

use crate::address::{Network, may_dial};
use crate::file::header;
use crate::gate::{Caller, Run};
use crate::host::{Host, HostPattern};
use crate::message::Target;
use crate::outside::Outside;
use crate::policy::{Grant, Rule, WantedRule, rule};

/// What the audit calls the language of errands.
pub(crate) const LANGUAGE: &str = "connect";
/// Where a host leads that the operator wrote: everywhere.
const EVERYWHERE: [&str; 2] = ["0.0.0.0/0", "::/0"];

impl Errands for Outside {
    fn door(&self, errand: &Errand, url: &str, is_named: bool) -> Result<Arc<dyn Door>> {
        let rule = self.rule(errand, url, is_named)?;
        let owner = errand.owner.as_ref().map(ToString::to_string).unwrap_or_default();
        let way = self.gate().way(Caller { owner, sandbox: None }, Grant::fixed(vec![rule]))?;
        let run =
            Run { id: errand.server.clone(), language: LANGUAGE.into(), is_errand: true, ..Run::default() };
        Ok(Arc::new(way.run(run)))
    }
}

impl Outside {
    /// The rule of an errand.
    fn rule(&self, errand: &Errand, url: &str, is_named: bool) -> Result<Rule> {
        let no_host = || {
            Error::args_invalid("the address's host is none that has one reading")
                .with_hint("write a name, or an address in its usual form")
        };
        let target = url.parse::<Uri>().ok().and_then(|uri| Target::of(&uri).ok()).ok_or_else(no_host)?;
        let host = HostPattern::Exact(target.host);
        let wanted = WantedRule {
            host: host.to_string(),
            port: Some(target.port),
            protocol: target.protocol,
            ..WantedRule::default()
        };
        let mut rule = rule(&format!("connect.{}", errand.server), &wanted)?;
        // A star in a URL is a star, and no pattern.
        if rule.host != host {
            return Err(no_host());
        }
        let is_inside =
            matches!(&rule.host, HostPattern::Exact(Host::Address(address)) if !may_dial(*address, &[]));
        if is_inside && !is_named {
            return Err(Error::args_invalid("the address lies outside of the public internet"));
        }
        if is_named {
            rule.addresses = EVERYWHERE.iter().filter_map(|network| Network::parse(network).ok()).collect();
        }
        let settings = self.gate().settings();
        for (name, template) in &errand.set {
            if self.gate().is_played() && template.contains('{') {
                return Err(Error::args_invalid("while a recording is played, no secret is read")
                    .with_hint("leave out the server, or --network-replay"));
            }
            let shown: String = name.escape_debug().take(80).collect();
            let read = header(&rule, name, template, &settings.secrets);
            rule.set.push(read.map_err(|told| Error::args_invalid(format!("the header `{shown}`: {told}")))?);
        }
        Ok(rule)
    }
}

impl fmt::Debug for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outside").finish_non_exhaustive()
    }
}
