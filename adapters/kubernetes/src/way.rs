//! The way to a cluster: its address, the credentials, and the client that is made of them.
//!
//! Owns: what is read of the kubeconfig or of the pod's own account, a token that changes on disk, and what is asked once more. Does not
//! own: how long an answer may take ([`crate::cluster`]).

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use dormouse_core::{Error, ErrorCode, Resolve, Result};
use futures::FutureExt as _;
use http::header::{AUTHORIZATION, HeaderValue, RETRY_AFTER};
use http::{Request, Response, StatusCode};
use hyper_util::client::legacy::Client as Http;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::rt::TokioExecutor;
use kube::client::{Body, ConfigExt as _};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tower::retry::{Policy, RetryLayer};
use tower::{BoxError, ServiceBuilder, service_fn};

use crate::fault::shown;

/// How long a token is used before its file is read again.
const TOKEN_KEPT: Duration = Duration::from_secs(10);
/// How long it is waited at least before a request is made again; twice as long each time.
const AGAIN: Duration = Duration::from_millis(20);
/// A connection on which nothing comes for this long is asked by the system whether it is still there.
const KEEPALIVE: Duration = Duration::from_secs(30);

fn none(error: &dyn std::fmt::Display) -> Error {
    let said = shown(&error.to_string());
    Error::new(ErrorCode::ProviderUnavailable, format!("there is no way to a cluster: {said}"))
        .with_hint("name a kubeconfig, or run this in a pod with an account")
}

/// The way to a cluster. It connects to nothing.
#[derive(Clone, Debug)]
pub struct Way {
    config: Config,
}

impl Way {
    /// Reads it from this kubeconfig and context, else from the user's own, else from the account of this pod.
    ///
    /// # Errors
    /// `provider_unavailable` where there is none, or it cannot be read.
    pub(crate) fn find(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Self> {
        // The library's functions wait for nothing.
        let found = Self::read(kubeconfig, context).now_or_never();
        found.unwrap_or_else(|| Err(none(&"the kubeconfig is not read at once")))
    }

    async fn read(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Self> {
        let options =
            KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
        let config = match kubeconfig {
            Some(path) => {
                let file = Kubeconfig::read_from(path).map_err(|error| none(&error))?;
                Config::from_custom_kubeconfig(file, &options).await.map_err(|error| none(&error))?
            }
            None if context.is_some() => {
                Config::from_kubeconfig(&options).await.map_err(|error| none(&error))?
            }
            None => Config::infer().await.map_err(|error| none(&error))?,
        };
        if config.proxy_url.is_some() {
            return Err(none(&"a proxy (`HTTPS_PROXY`, or `proxy-url` of the kubeconfig) is not supported"));
        }
        Ok(Self { config })
    }

    /// Whether the credentials come from a program that has to be started, now and when they expire.
    pub fn starts_program(&self) -> bool {
        let user = &self.config.auth_info;
        let provider = user.auth_provider.as_ref();
        user.exec.is_some() || provider.is_some_and(|provider| provider.config.contains_key("cmd-path"))
    }

    /// The files and folders that are still read when it is known: certificate and key of the client, and the folders of files that are
    /// replaced by new ones, as a token's is.
    pub fn reads(&self) -> Vec<PathBuf> {
        let user = &self.config.auth_info;
        let certificate = user.client_certificate.iter().filter(|_| user.client_certificate_data.is_none());
        let key = user.client_key.iter().filter(|_| user.client_key_data.is_none());
        let token = user.token_file.iter().filter(|_| user.token.is_none()).map(PathBuf::from);
        let replaced = token.chain(self.config.root_cert_file.clone());
        let folders =
            replaced.filter_map(|file| std::path::absolute(file).ok()?.parent().map(Path::to_owned));
        let mut all: Vec<PathBuf> = certificate.chain(key).map(PathBuf::from).chain(folders).collect();
        all.sort();
        all.dedup();
        all
    }

    /// The namespace of the context, or of this pod.
    pub(crate) fn namespace(&self) -> &str {
        &self.config.default_namespace
    }

    /// A client. Is to be made within the event loop.
    ///
    /// # Errors
    /// `provider_unavailable` where a file or a program that it needs is of no use.
    pub(crate) fn client(&self, names: Option<Arc<dyn Resolve>>, within: Duration) -> Result<Client> {
        let mut config = self.config.clone();
        let token = Token::of(&mut config).map_err(|error| none(&error))?.map(Arc::new);
        let mut connector = HttpConnector::new_with_resolver(service_fn(move |name: Name| {
            let names = names.clone();
            async move {
                let found: Vec<SocketAddr> = match names {
                    Some(names) => {
                        let found = names.resolve(name.as_str()).await?;
                        found.into_iter().map(|address| SocketAddr::new(address, 0)).collect()
                    }
                    None => tokio::net::lookup_host((name.as_str(), 0)).await?.collect(),
                };
                Ok::<_, std::io::Error>(found.into_iter())
            }
        }));
        connector.enforce_http(false);
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(within));
        connector.set_keepalive(Some(KEEPALIVE));
        let failed = |error: kube::Error| none(&error);
        let connector = config.rustls_https_connector_with_connector(connector).map_err(failed)?;
        let http: Http<_, Body> = Http::builder(TokioExecutor::new()).build(connector);
        let signed = token.clone();
        let service = ServiceBuilder::new()
            .layer(config.base_uri_layer())
            .layer(RetryLayer::new(Again { token, within, waited: Duration::ZERO, times: 0, refused: false }))
            .option_layer(config.auth_layer().map_err(failed)?)
            .map_request(move |mut request: Request<Body>| {
                if let Some(value) = signed.as_ref().and_then(|token| token.header()) {
                    request.headers_mut().insert(AUTHORIZATION, value);
                }
                request
            })
            .layer(config.extra_headers_layer().map_err(failed)?)
            .map_err(BoxError::from)
            .service(http);
        Ok(Client::new(service, config.default_namespace.clone()))
    }
}

/// A token in a file that is replaced by a new one before it expires.
struct Token {
    file: PathBuf,
    now: Mutex<(String, Instant)>,
}

impl Token {
    /// The one of a configuration, which forgets it: the library reads a file once a minute, whatever the server says.
    fn of(config: &mut Config) -> std::io::Result<Option<Self>> {
        let user = &mut config.auth_info;
        let other = user.token.is_some() || user.username.is_some() || user.auth_provider.is_some();
        let Some(file) = user.token_file.take().filter(|_| !other) else { return Ok(None) };
        let text = std::fs::read_to_string(&file).map_err(|error| {
            std::io::Error::new(error.kind(), format!("the token `{file}` cannot be read: {error}"))
        })?;
        Ok(Some(Self { file: file.into(), now: Mutex::new((text, Instant::now())) }))
    }

    fn header(&self) -> Option<HeaderValue> {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        if now.1.elapsed() > TOKEN_KEPT {
            // One that cannot be read now may be good still.
            let text = std::fs::read_to_string(&self.file).unwrap_or_else(|_| now.0.clone());
            *now = (text, Instant::now());
        }
        let mut value = HeaderValue::from_str(&format!("Bearer {}", now.0.trim())).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// Has the file read before it is used again.
    fn expire(&self) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = now.1.checked_sub(TOKEN_KEPT + Duration::from_secs(1)) {
            now.1 = before;
        }
    }
}

/// What is asked once more: what a server has no time for, as long as an answer may take in all, and once what it refuses because a
/// token has expired.
#[derive(Clone)]
struct Again {
    token: Option<Arc<Token>>,
    within: Duration,
    waited: Duration,
    times: u32,
    refused: bool,
}

impl<R> Policy<Request<Body>, Response<R>, BoxError> for Again {
    type Future = tokio::time::Sleep;

    fn retry(
        &mut self,
        _: &mut Request<Body>,
        result: &mut std::result::Result<Response<R>, BoxError>,
    ) -> Option<Self::Future> {
        let response = result.as_ref().ok()?;
        match response.status() {
            StatusCode::UNAUTHORIZED if !self.refused => {
                self.token.as_ref()?.expire();
                self.refused = true;
                Some(tokio::time::sleep(Duration::ZERO))
            }
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => {
                let said =
                    response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
                let wait =
                    Duration::from_secs(said.unwrap_or_default()).max(AGAIN * 2_u32.pow(self.times.min(8)));
                self.times += 1;
                // Who cannot wait for so long hears what the server said, rather than that it was slow.
                self.waited = self.waited.saturating_add(wait);
                (self.waited <= self.within * 3 / 4).then(|| tokio::time::sleep(wait))
            }
            _ => None,
        }
    }

    fn clone_request(&mut self, request: &Request<Body>) -> Option<Request<Body>> {
        let mut copy = Request::new(request.body().try_clone()?);
        copy.method_mut().clone_from(request.method());
        copy.uri_mut().clone_from(request.uri());
        *copy.version_mut() = request.version();
        copy.headers_mut().clone_from(request.headers());
        copy.extensions_mut().clone_from(request.extensions());
        Some(copy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a confined process is let at.
    #[test]
    fn only_what_is_read_later_on_is_named_and_a_program_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kubeconfig");
        let way = |user: &str| {
            let text = format!(
                r#"{{"apiVersion": "v1", "kind": "Config", "current-context": "t",
                "clusters": [{{"name": "t", "cluster": {{"server": "https://cluster.example"}}}}],
                "users": [{{"name": "t", "user": {user}}}],
                "contexts": [{{"name": "t", "context": {{"cluster": "t", "user": "t", "namespace": "n"}}}}]}}"#
            );
            std::fs::write(&file, text).unwrap();
            Way::find(Some(&file), None).unwrap()
        };
        let paths = |words: &[&str]| words.iter().map(PathBuf::from).collect::<Vec<_>>();
        let cases = [
            (r#"{"token": "t"}"#, vec![], false),
            (r#"{"tokenFile": "/run/account/token"}"#, vec!["/run/account"], false),
            (r#"{"token": "t", "tokenFile": "/run/account/token"}"#, vec![], false),
            (
                r#"{"client-certificate": "/k/c.pem", "client-key": "/k/k.pem"}"#,
                vec!["/k/c.pem", "/k/k.pem"],
                false,
            ),
            (
                r#"{"client-certificate": "/k/c.pem", "client-certificate-data": "eA==", "client-key-data": "eA=="}"#,
                vec![],
                false,
            ),
            (r#"{"exec": {"command": "get-token"}}"#, vec![], true),
            (r#"{"auth-provider": {"name": "gcp", "config": {"cmd-path": "gcloud"}}}"#, vec![], true),
        ];
        for (user, reads, program) in cases {
            let way = way(user);
            assert_eq!(
                (way.reads(), way.starts_program(), way.namespace()),
                (paths(&reads), program, "n"),
                "{user}"
            );
        }
    }
}
