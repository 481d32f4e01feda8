//! The stream to a program in a pod of the tests, as a kubelet has it: version 4 or 5 of Kubernetes' protocol over a WebSocket.

use futures::{SinkExt as _, StreamExt as _};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Child;
use tokio::sync::{mpsc, watch};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role};

/// Waits until a node is still, or is not.
async fn until(told: &mut watch::Receiver<bool>, still: bool) {
    if told.wait_for(|now| *now == still).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Carries a program's streams until it ends, or its other side does.
pub(crate) async fn speak(upgraded: Upgraded, mut child: Child, old: bool, still: watch::Receiver<bool>) {
    let stream = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, None).await;
    let (mut to, mut from) = stream.split();
    let (sender, mut pieces) = mpsc::channel::<Vec<u8>>(16);
    let streams: [(u8, Box<dyn AsyncRead + Send + Unpin>); 2] =
        [(1, Box::new(child.stdout.take().unwrap())), (2, Box::new(child.stderr.take().unwrap()))];
    for (number, mut stream) in streams {
        let sender = sender.clone();
        tokio::spawn(async move {
            let mut buffer = vec![0; 32 << 10];
            while let Ok(length @ 1..) = stream.read(&mut buffer).await {
                let mut piece = vec![number];
                piece.extend_from_slice(&buffer[..length]);
                if sender.send(piece).await.is_err() {
                    return;
                }
            }
        });
    }
    drop(sender);
    let mut stdin = child.stdin.take();
    let (input, mut inputs) = mpsc::channel::<Option<Vec<u8>>>(16);
    tokio::spawn(async move {
        while let Some(piece) = inputs.recv().await {
            match (&mut stdin, piece) {
                (Some(own), Some(piece)) => {
                    let _written = own.write_all(&piece).await;
                }
                _ => stdin = None,
            }
        }
    });
    let mut awake = still.clone();
    let hear = async {
        loop {
            until(&mut awake, false).await;
            let message = tokio::select! {
                message = from.next() => message,
                () = until(&mut awake, true) => continue,
            };
            let Some(Ok(message)) = message else { return };
            if let Message::Binary(bytes) = message {
                let piece = match bytes.as_ref() {
                    [0, rest @ ..] => Some(rest.to_vec()),
                    // What the version does not have ends the stream.
                    [255, _] if old => return,
                    [255, 0] => None,
                    _ => continue,
                };
                let _sent = input.send(piece).await;
            }
        }
    };
    let mut awake = still;
    let tell = async {
        let mut ended = false;
        while let Some(piece) = pieces.recv().await {
            until(&mut awake, false).await;
            // The engine's own word, which a kubelet does not pass for the program's.
            if piece.starts_with(b"\x02Error response from daemon") {
                ended = true;
                continue;
            }
            if to.send(Message::binary(piece)).await.is_err() {
                return;
            }
        }
        let code = child.wait().await.ok().and_then(|status| status.code()).unwrap_or(137);
        let status = match code {
            _ if ended => json!({"metadata": {}, "status": "Failure", "reason": "InternalError", "code": 500,
                "message": "container not found (\"sandbox\")"}),
            0 => json!({"metadata": {}, "status": "Success"}),
            code => json!({"metadata": {}, "status": "Failure", "reason": "NonZeroExitCode",
                "message": format!("command terminated with non-zero exit code: exit status {code}"),
                "details": {"causes": [{"reason": "ExitCode", "message": code.to_string()}]}}),
        };
        let _told = to.send(Message::binary([vec![3], status.to_string().into_bytes()].concat())).await;
        let normal = CloseFrame { code: CloseCode::Normal, reason: "".into() };
        let _closed = to.send(Message::Close(Some(normal))).await;
    };
    tokio::pin!(hear);
    tokio::select! {
        () = tell => {}
        () = async { (&mut hear).await; } => {}
    }
}
