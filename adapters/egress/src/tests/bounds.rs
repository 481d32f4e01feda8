//! Bodies that are sent: streamed, counted, as long as was said.

use std::time::Duration;

use bytes::Bytes;
use futures::stream;

use crate::tests::support::{Server, Setup, answer, ask, request, rule};
use crate::{Body, Reason, Refusal, streamed};

fn pieces(all: Vec<&'static str>) -> Body {
    streamed(stream::iter(all.into_iter().map(|piece| Ok(Bytes::from_static(piece.as_bytes())))))
}

#[tokio::test]
async fn a_body_is_as_long_as_its_request_says() {
    let server = Server::http(None, |request, body| {
        let length = request
            .headers()
            .get("content-length")
            .map_or("none".into(), |value| value.to_str().unwrap().to_owned());
        answer(&[], format!("{length} {body}"))
    })
    .await;
    let setup = Setup::new(None, "", &rule("http", server.port, "")).await;
    let url = format!("http://a.test:{}/", server.port);
    let post = async |length: Option<&str>, all| {
        let headers: Vec<_> = length.map(|length| ("content-length", length)).into_iter().collect();
        ask(&setup.door(), request("POST", &url, &headers, pieces(all))).await
    };
    assert_eq!(post(None, vec!["ab", "c"]).await.unwrap().body, "none abc");
    assert_eq!(post(Some("3"), vec!["ab", "c"]).await.unwrap().body, "3 abc");
    assert_eq!(post(Some("0"), vec![]).await.unwrap().body, "0 ");
    // What comes after its end is not sent.
    assert_eq!(post(Some("2"), vec!["ab", "c"]).await.unwrap().body, "2 ab");
    for (length, all) in [("2", vec!["abc"]), ("9", vec!["abc"]), ("x", vec!["abc"])] {
        let told = post(Some(length), all).await.unwrap();
        assert_eq!((told.status, told.denied()), (400, "form"), "{length}");
    }
}

#[tokio::test]
async fn a_body_ends_with_the_budget_of_bytes() {
    let server = Server::http(None, |_, body| answer(&[], body.len().to_string())).await;
    let setup = Setup::new(None, "", &(rule("http", server.port, "") + "[budget]\nbytes_out = 10\n")).await;
    let url = format!("http://a.test:{}/", server.port);
    let door = setup.door();
    let post = async |all| ask(&door, request("POST", &url, &[], pieces(all))).await;
    assert_eq!(post(vec!["12345"]).await.unwrap().body, "5");
    assert_eq!(post(vec!["123", "456"]).await.err(), Some(Reason::BytesOut));
    assert_eq!(post(vec!["12"]).await.unwrap().body, "2");
    assert_eq!(post(vec!["1"]).await.err(), Some(Reason::BytesOut));
    assert_eq!(door.used().bytes_out, 10);
}

#[tokio::test]
async fn a_body_that_its_sender_gives_up_is_an_error_and_is_not_sent_as_whole() {
    let server = Server::http(None, |_, _| answer(&[], "x")).await;
    let setup = Setup::new(None, "", &rule("http", server.port, "")).await;
    let url = format!("http://a.test:{}/", server.port);
    let given_up = Refusal { reason: Reason::Cancelled, rule: None, message: "given up".into() };
    let body = streamed(stream::iter([Ok(Bytes::from_static(b"part")), Err(given_up)]));
    let told = ask(&setup.door(), request("POST", &url, &[], body)).await;
    assert_eq!(told.err(), Some(Reason::Cancelled));
    // Time in which a half request could be taken for a whole one.
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(server.got.lock().unwrap().iter().all(|got| !got.ends_with("part") || got.contains("chunked")));
}
