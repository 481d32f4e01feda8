//! A client of the HTTP server: `dormouse serve` runs somewhere, and a program in any language uses it over REST.
//!
//! ```sh
//! dormouse serve --listen 127.0.0.1:3008 --state-dir ./state &
//! cargo run --release --example rest_client -- http://127.0.0.1:3008
//! ```
//!
//! ```text
//! eval: 6
//! exec: hello
//! read: hello
//! forks: 2
//! an unknown sandbox: 404 unknown_sandbox
//! ```

#![allow(clippy::print_stdout, reason = "an example prints to the terminal")]

use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};

/// The routes, the fields of their bodies and of their answers are in the server's `/openapi.json`.
struct Server {
    client: Client,
    url: String,
}

impl Server {
    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(StatusCode, Value), Box<dyn std::error::Error>> {
        let mut request = self.client.request(method, format!("{}/api{path}", self.url));
        // A server with a token file wants `.bearer_auth(token)`.
        if let Some(body) = body {
            request = request.header(CONTENT_TYPE, "application/json").body(body.to_string());
        }
        let response = request.send().await?;
        let status = response.status();
        Ok((status, serde_json::from_slice(&response.bytes().await?)?))
    }

    async fn post(&self, path: &str, body: &Value) -> Result<Value, Box<dyn std::error::Error>> {
        let (status, answer) = self.call(Method::POST, path, Some(body)).await?;
        if status.is_success() { Ok(answer) } else { Err(format!("{path}: {status}: {answer}").into()) }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "http://127.0.0.1:3008".into());
    // This workspace builds reqwest without a default TLS provider; with reqwest's own features this line is not needed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let server = Server { client: Client::new(), url };

    server.post("/sandboxes", &json!({"name": "work"})).await?;
    let evaluated = server
        .post("/sandboxes/work/eval", &json!({"code": "prices = {'tea': 3}; 2 * prices['tea']"}))
        .await?;
    println!("eval: {}", evaluated["result"]["value"]);

    let executed =
        server.post("/sandboxes/work/exec", &json!({"command": "echo hello | tee greeting.txt"})).await?;
    println!("exec: {}", executed["stdout"].as_str().unwrap_or_default().trim_end());

    let path = "/sandboxes/work/files/read?path=/workspace/greeting.txt";
    let (_, read) = server.call(Method::GET, path, None).await?;
    println!("read: {}", read["content"].as_str().unwrap_or_default().trim_end());

    let forked = server.post("/sandboxes/work/fork", &json!({"count": 2})).await?;
    println!("forks: {}", forked["sandboxes"].as_array().map_or(0, Vec::len));

    let (status, refused) = server.call(Method::GET, "/sandboxes/nobody", None).await?;
    println!(
        "an unknown sandbox: {} {}",
        status.as_u16(),
        refused["error"]["code"].as_str().unwrap_or_default()
    );
    server.call(Method::DELETE, "/sandboxes/work", None).await?;
    Ok(())
}
