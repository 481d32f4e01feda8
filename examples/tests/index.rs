//! A package index with one package of one module, on a free port.

use std::io::Write as _;
use std::sync::mpsc;

use axum::Router;
use axum::response::Html;
use axum::routing::get;
use sha2::{Digest as _, Sha256};

/// The index. Its thread lives as long as the test.
pub(crate) struct Served {
    /// Its address, such as `http://127.0.0.1:4711/simple`.
    pub(crate) url: String,
}

impl Served {
    pub(crate) fn start(name: &'static str, module: &str) -> Self {
        let file = format!("{name}-1.0-py3-none-any.whl");
        let wheel = wheel(name, module);
        let hash = data_encoding::HEXLOWER.encode(&Sha256::digest(&wheel));
        let page = format!(r#"<a href="/files/{file}#sha256={hash}">{file}</a>"#);
        let routes = Router::new()
            .route(&format!("/simple/{name}/"), get(async move || Html(page)))
            .route(&format!("/files/{file}"), get(async move || wheel));
        let (sender, address) = mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
                sender.send(listener.local_addr().unwrap()).unwrap();
                axum::serve(listener, routes).await.unwrap();
            });
        });
        Self { url: format!("http://{}/simple", address.recv().unwrap()) }
    }
}

/// A wheel of one module.
fn wheel(name: &str, module: &str) -> Vec<u8> {
    let about = format!("Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n\n");
    let info = format!("{name}-1.0.dist-info");
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (path, text) in [
        (format!("{name}.py"), module),
        (format!("{info}/METADATA"), &about),
        (format!("{info}/WHEEL"), "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n"),
        (format!("{info}/RECORD"), ""),
    ] {
        zip.start_file(path, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}
