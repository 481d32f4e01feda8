//! An HTTP handler at the edge: evaluates the body of each request in a fresh sandbox.
//!
//! ```sh
//! cargo run --release --example edge
//! curl -s --data 'sum(range(10))' http://127.0.0.1:8080/eval/python
//! ```

#![allow(clippy::print_stdout, reason = "an example prints to the terminal")]

use std::time::Duration;

use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use dormouse::{Dormouse, ErrorCode, Status};
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".into());
    let listener = tokio::net::TcpListener::bind(&address).await?;
    println!("http://{}", listener.local_addr()?);
    axum::serve(listener, router(Dormouse::builder()?.ready(4).build()?)).await?;
    Ok(())
}

fn router(dormouse: Dormouse) -> Router {
    Router::new()
        .route("/eval/{language}", post(eval))
        .layer(DefaultBodyLimit::max(256 << 10))
        .with_state(dormouse)
}

/// When the client goes away, axum drops this future, and the sandbox ends with it.
async fn eval(State(dormouse): State<Dormouse>, Path(language): Path<String>, code: String) -> Response {
    let run =
        dormouse.snippet(&language, code).timeout(Duration::from_millis(500)).memory(64 << 20).run().await;
    match run {
        Err(error) => {
            let status = match error.code() {
                ErrorCode::ArgsInvalid | ErrorCode::UnknownLanguage => StatusCode::BAD_REQUEST,
                ErrorCode::Busy => StatusCode::SERVICE_UNAVAILABLE,
                _ => StatusCode::INTERNAL_SERVER_ERROR,
            };
            (status, Json(json!({ "error": error }))).into_response()
        }
        Ok(outcome) => {
            let wall = outcome.usage.wall.as_secs_f64() * 1e3;
            let body = match &outcome.status {
                Status::Returned(value) => json!({ "value": value }),
                Status::Raised(exception) => json!({ "exception": exception }),
                Status::Exited(code) => json!({ "exit": code }),
                Status::Stopped(error) => json!({ "error": error }),
            };
            let body = json!({ "outcome": body, "stdout": outcome.stdout.text, "milliseconds": wall });
            Json(body).into_response()
        }
    }
}
