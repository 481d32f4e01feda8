//! `dormouse net`: what the rules of the network say.

use dormouse::{Error, Result};
use dormouse_egress::{Settings, Verdict, file, flags};

use crate::args::{NetCheckArgs, NetCommand};
use crate::exit::Failure;
use crate::print;

/// Does it.
pub(crate) fn run(command: &NetCommand) -> Result<u8, Failure> {
    let NetCommand::Check(arguments) = command;
    let verdict = verdict(arguments).map_err(Failure::Configuration)?;
    if arguments.json {
        let line = serde_json::to_string(&verdict)
            .map_err(|error| Error::internal("the verdict cannot be written as JSON", error))?;
        print::out(&format!("{line}\n"))?;
    } else {
        print::out(&shown(&verdict))?;
    }
    Ok(u8::from(!verdict.allowed))
}

fn verdict(arguments: &NetCheckArgs) -> Result<Verdict> {
    let mut settings = match &arguments.network {
        Some(path) => file::read(path)?,
        None => Settings::default(),
    };
    let rules = arguments.allow_net.iter().map(|text| flags::allow_net(text)).collect::<Result<Vec<_>>>()?;
    if !rules.is_empty() {
        settings.allow(rules)?;
    }
    settings.check(&arguments.profile, &arguments.method, &arguments.url)
}

/// A verdict in words, a line for each part.
fn shown(verdict: &Verdict) -> String {
    let rule = verdict.rule.as_deref().unwrap_or("none");
    let mut lines = Vec::new();
    if verdict.allowed {
        lines.push(format!("allowed by {rule}"));
        if !verdict.sets.is_empty() {
            lines.push(format!("headers that the rule sets: {}", verdict.sets.join(", ")));
        }
        if !verdict.secrets.is_empty() {
            lines.push(format!("secrets that may go with it: {}", verdict.secrets.join(", ")));
        }
    } else {
        let reason = verdict.reason.map_or("host", |reason| reason.word());
        let message = verdict.message.as_deref().unwrap_or_default();
        lines.push(format!("denied ({reason}): {message}"));
        if verdict.rule.is_some() {
            lines.push(format!("the nearest rule: {rule}"));
        }
    }
    lines.iter().map(|line| format!("{}\n", print::visible(line))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(method: &str, url: &str, allow: &[&str]) -> NetCheckArgs {
        NetCheckArgs {
            method: method.into(),
            url: url.into(),
            network: None,
            allow_net: allow.iter().map(|host| (*host).to_owned()).collect(),
            profile: "default".into(),
            json: false,
        }
    }

    #[test]
    fn a_verdict_says_which_rule_or_what_is_lacking() {
        let told = |method, url| shown(&verdict(&arguments(method, url, &["a.test"])).unwrap());
        assert_eq!(told("GET", "https://a.test/x"), "allowed by --allow-net a.test\n");
        assert_eq!(
            told("get", "https://a.test/x"),
            "denied (method): no rule allows the method `get` at `a.test`\nthe nearest rule: --allow-net a.test\n"
        );
        assert_eq!(told("GET", "https://b.test/"), "denied (host): no rule allows the host `b.test`\n");
        assert!(verdict(&arguments("GET", "https://a.test/", &[])).is_err());
        assert!(verdict(&arguments("GET", "https://a.test/", &["127.1"])).is_err());
    }
}
