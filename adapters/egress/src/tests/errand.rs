//! Requests of this process's own, to servers that the operator connects.

use std::collections::BTreeMap;
use std::sync::Arc;

use dormouse_core::ErrorCode;
use dormouse_core::errand::{Errand, Errands as _};
use dormouse_core::network::{Door, NetworkRequest, Problem, Trouble};
use dormouse_core::sandbox::Owner;
use futures::TryStreamExt as _;

use super::support::{Authority, SECRET, Server, Setup, answer, rule};
use crate::{Cassette, Outside};

fn errand(set: &[(&str, &str)]) -> Errand {
    let set: BTreeMap<_, _> = set.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    Errand { owner: Some(Owner::local()), server: "tracker".into(), set }
}

async fn asked(door: &Arc<dyn Door>, url: String) -> Result<(u16, String), Problem> {
    let request = NetworkRequest { method: "GET".into(), url, headers: Vec::new(), body: None };
    let answer = door.exchange(request).await?;
    let pieces: Vec<_> = answer.body.try_collect().await?;
    Ok((answer.status, String::from_utf8(pieces.concat()).unwrap()))
}

#[tokio::test]
async fn net_38_an_errand_needs_no_rule_reaches_one_host_and_is_written_down() {
    let server = Server::http(None, |request, _| match request.uri().path() {
        "/away" => {
            let mut away = answer(&[("location", "http://b.test/")], "");
            *away.status_mut() = hyper::StatusCode::FOUND;
            away
        }
        _ => answer(&[], "hello"),
    })
    .await;
    let setup = Setup::new(None, "", "[budget]\nrequests = 1\n[budget.process]\nrequests = 1\n").await;
    let outside = Outside::new(setup.gate.clone());
    let url = |path: &str| format!("http://a.test:{}{path}", server.port);
    let door = outside.door(&errand(&[]), &url("/"), true).unwrap();
    for _ in 0..3 {
        assert_eq!(asked(&door, url("/mcp?q=1")).await, Ok((200, "hello".into())));
    }
    // A redirect is an answer, and leads nowhere through this door.
    assert_eq!(asked(&door, url("/away")).await.unwrap().0, 302);
    for other in [format!("http://b.test:{}/", server.port), "http://a.test/".into()] {
        assert_eq!(asked(&door, other).await.unwrap_err().trouble, Trouble::Denied);
    }
    // Settings that change do not take it away.
    setup.reload(None, "", "").await.unwrap();
    assert!(asked(&door, url("/")).await.is_ok());
    let audit = setup.audit();
    assert_eq!(audit.iter().filter(|line| line["event"] == "sent").count(), 5);
    let line = &audit[0];
    assert_eq!(line["owner"], "local");
    assert_eq!((&line["run"], &line["language"]), (&"tracker".into(), &"connect".into()));
    assert_eq!((&line["rule"], &line["path"]), (&"connect.tracker".into(), &"/mcp".into()));
    // What nobody of a sandbox asked for is no reason for a rule.
    let text = std::fs::read(setup.audit_path()).unwrap();
    let learned = crate::Learned::read(&text[..], &crate::Filter::default()).unwrap();
    assert_eq!((learned.requests(), learned.unread()), (0, 0));
}

#[tokio::test]
async fn net_38_a_host_that_somebody_else_wrote_leads_to_the_public_internet_alone() {
    let server = Server::http(None, |_, _| answer(&[], "hello")).await;
    let setup = Setup::new(None, "", &rule("http", server.port, "")).await;
    let outside = Outside::new(setup.gate.clone());
    for host in ["a.test", "localhost"] {
        let url = format!("http://{host}:{}/", server.port);
        let door = outside.door(&errand(&[]), &url, false).unwrap();
        assert_eq!(asked(&door, url.clone()).await.unwrap_err().trouble, Trouble::Denied, "{host}");
        let door = outside.door(&errand(&[]), &url, true).unwrap();
        assert!(asked(&door, url).await.is_ok(), "{host}");
    }
    for host in ["127.0.0.1", "[::1]", "169.254.169.254", "[::ffff:10.0.0.1]"] {
        let error = outside.door(&errand(&[]), &format!("http://{host}/"), false).err().unwrap();
        assert!(error.message().contains("public internet"), "{error}");
        assert!(outside.door(&errand(&[]), &format!("http://{host}/"), true).is_ok(), "{host}");
    }
    for url in ["http://*/", "http://*.test/", "ftp://a.test/", "http://", "/x", "http://127.1/"] {
        assert_eq!(
            outside.door(&errand(&[]), url, true).err().unwrap().code(),
            ErrorCode::ArgsInvalid,
            "{url}"
        );
    }
}

#[tokio::test]
async fn net_38_a_secret_of_the_file_goes_to_its_host_over_https_and_comes_back_as_stars() {
    let authority = Authority::new();
    let server = Server::http(Some(authority.server("a.test")), |request, _| {
        answer(&[], request.headers()["authorization"].to_str().unwrap().to_owned())
    })
    .await;
    let setup = Setup::new(Some(&authority), "a-long-secret", SECRET).await;
    let outside = Outside::new(setup.gate.clone());
    let bearer = errand(&[("Authorization", "Bearer {KEY}")]);
    let url = format!("https://a.test:{}/", server.port);
    let door = outside.door(&bearer, &url, true).unwrap();
    assert_eq!(asked(&door, url.clone()).await.unwrap(), (200, "Bearer *************".into()));
    assert!(server.got.lock().unwrap()[0].contains("authorization: Bearer a-long-secret"));
    let audit = setup.audit();
    assert_eq!(audit[1]["secrets"], serde_json::json!(["KEY"]));
    assert!(!audit.iter().any(|line| line.to_string().contains("a-long")));
    for (errand, url, wanted) in [
        (&bearer, "http://a.test/", "https only"),
        (&bearer, "https://b.test/", "`secret.KEY.hosts` does not name"),
        (&errand(&[("x", "{NONE}")]), "https://a.test/", "no secret `NONE`"),
        (&errand(&[("host", "b.test")]), "https://a.test/", "the gate writes this header itself"),
    ] {
        let error = outside.door(errand, url, true).err().unwrap();
        assert!(error.message().contains(wanted), "{error}");
    }
    // A secret that was taken out of the file goes nowhere any more.
    setup.reload(Some(&authority), "", "").await.unwrap();
    let denied = asked(&door, url).await;
    assert!(denied.as_ref().is_ok_and(|(status, _)| *status == 403), "{denied:?}");
    assert_eq!(server.got.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn net_38_an_errand_is_in_no_recording() {
    let server = Server::http(None, |_, _| answer(&[], "hello")).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tape");
    let url = format!("http://a.test:{}/connected", server.port);
    let recorded = Cassette::record(&path).unwrap();
    let setup = Setup::taped(None, "a-long-secret", SECRET, (recorded, 1)).await;
    let door = Outside::new(setup.gate.clone()).door(&errand(&[]), &url, true).unwrap();
    assert!(asked(&door, url.clone()).await.is_ok());
    setup.gate.recorded().unwrap();
    assert!(!std::fs::read_to_string(&path).unwrap().contains("connected"));
    let setup = Setup::taped(None, "a-long-secret", SECRET, (Cassette::replay(&path).unwrap(), 1)).await;
    let outside = Outside::new(setup.gate.clone());
    let door = outside.door(&errand(&[]), &url, true).unwrap();
    assert!(asked(&door, url).await.is_ok());
    let error = outside.door(&errand(&[("x-key", "{KEY}")]), "https://a.test/", true).err().unwrap();
    assert!(error.message().contains("recording"), "{error}");
}
