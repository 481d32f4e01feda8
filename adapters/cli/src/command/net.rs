//! `dormouse net`: what the rules of the network say, and rules out of what was done.

use std::fs::File;
use std::io::BufReader;

use dormouse::{Error, ErrorCode, Result};
use dormouse_egress::flags::Short;
use dormouse_egress::{Filter, Learned, Settings, Verdict, file};

use crate::args::{NetCheckArgs, NetCommand, NetLearnArgs};
use crate::exit::Failure;
use crate::print;

/// Does it.
pub(crate) fn run(command: &NetCommand) -> Result<u8, Failure> {
    match command {
        NetCommand::Check(arguments) => check(arguments),
        NetCommand::Learn(arguments) => learn(arguments),
    }
}

fn learn(arguments: &NetLearnArgs) -> Result<u8, Failure> {
    let learned = learned(arguments).map_err(Failure::Configuration)?;
    let text = learned.written(&arguments.profile).map_err(Failure::Configuration)?;
    if learned.unread() > 0 && learned.is_empty() {
        let told = format!("`{}` is no audit of the network", arguments.audit.display());
        let hint =
            "name the file of `--network-audit`, `network.jsonl` in the state folder if none was named";
        return Err(Failure::Configuration(Error::args_invalid(told).with_hint(hint)));
    }
    if learned.unread() > 0 {
        print::warning(&format!("lines that are none of an audit were passed over: {}", learned.unread()))?;
    }
    print::out(&text)?;
    Ok(0)
}

fn learned(arguments: &NetLearnArgs) -> Result<Learned> {
    let NetLearnArgs { audit, sandbox, run, owner, .. } = arguments;
    let file = File::open(audit).map_err(|error| {
        Error::new(ErrorCode::NotFound, format!("the audit `{}` cannot be read: {error}", audit.display()))
    })?;
    let filter = Filter { sandbox: sandbox.clone(), run: run.clone(), owner: owner.clone() };
    Learned::read(BufReader::new(file), &filter)
}

fn check(arguments: &NetCheckArgs) -> Result<u8, Failure> {
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
    let settings = match &arguments.network {
        Some(path) => file::read(path)?,
        None => Settings::default(),
    };
    let settings = Short::read(&arguments.allow_net, &[])?.added_to(settings)?;
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
    fn rules_are_learned_from_an_audit() {
        let folder = tempfile::tempdir().unwrap();
        let audit = folder.path().join("network.jsonl");
        let line = |sandbox: &str, host: &str| {
            format!(
                "{{\"event\":\"sent\",\"owner\":\"local\",\"sandbox\":\"{sandbox}\",\"run\":\"r\",\"method\":\"GET\",\"protocol\":\"https\",\"host\":\"{host}\",\"port\":443,\"path\":\"/v1/7\"}}\n"
            )
        };
        std::fs::write(&audit, line("one", "a.test") + &line("two", "b.test")).unwrap();
        let told = |sandbox: Option<&str>| {
            let sandbox = sandbox.map(str::to_owned);
            let (run, owner, profile) = (None, None, "default".to_owned());
            learned(&NetLearnArgs { audit: audit.clone(), sandbox, run, owner, profile })
        };
        let text = told(Some("two")).unwrap().written("default").unwrap();
        assert!(text.contains("host = \"b.test\"\nmethods = [\"GET\"]\npaths = [\"/v1/*\"]\n"), "{text}");
        assert!(!text.contains("a.test") && told(None).unwrap().requests() == 2);
        std::fs::remove_file(&audit).unwrap();
        assert_eq!(told(None).unwrap_err().code(), ErrorCode::NotFound);
    }

    #[test]
    fn a_verdict_says_which_rule_or_what_is_lacking() {
        let told = |method, url| shown(&verdict(&arguments(method, url, &["a.test"])).unwrap());
        assert_eq!(told("GET", "https://a.test/x"), "allowed by --allow-net a.test\n");
        assert_eq!(
            told("TRACE", "https://a.test/x"),
            "denied (method): no rule allows the method `TRACE` at `a.test`\nthe nearest rule: --allow-net a.test\n"
        );
        assert_eq!(told("GET", "https://b.test/"), "denied (host): no rule allows the host `b.test`\n");
        assert!(verdict(&arguments("get", "https://a.test/", &["a.test"])).is_err());
        assert!(verdict(&arguments("GET", "https://a.test/", &[])).is_err());
        assert!(verdict(&arguments("GET", "https://a.test/", &["127.1"])).is_err());
    }
}
