//! Bytes from an index: bounded in size, time and redirects; from the cache when they are there.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dormouse_core::packages::{PackageEvent, PackageProgress};
use dormouse_core::{Error, ErrorCode, Result};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, LOCATION};
use reqwest::{Response, StatusCode, Url};
use tokio::time::timeout;

use crate::cache::Cache;
use crate::digest::Digest;
use crate::settings::{Index, Settings};

/// Tries of one request.
const TRIES: u32 = 3;
/// Wait after the first failed try; twice as long after the next.
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// Redirects of one request.
const REDIRECTS: usize = 5;

/// Where bytes come from.
#[derive(Debug)]
pub(crate) struct Source {
    client: reqwest::Client,
    cache: Option<Arc<Cache>>,
    page_life: Duration,
    stall: Duration,
    page: u64,
    archive: u64,
}

/// An index's page about a package.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) kind: String,
    /// Its own address, after redirects.
    pub(crate) url: Url,
    pub(crate) body: Vec<u8>,
}

/// Notes for the user, without repetition: at most 100 of 500 characters.
#[derive(Debug, Default)]
pub(crate) struct Notes(Mutex<BTreeSet<String>>);

impl Notes {
    pub(crate) fn add(&self, note: &str) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.len() < 100 {
            notes.insert(note.chars().filter(|letter| !letter.is_control()).take(500).collect());
        }
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_iter().collect()
    }
}

/// Whether a try failed in a way that may pass.
enum Failed {
    Passing(Error),
    Final(Error),
}

/// What one request is.
struct Ask<'a> {
    index: &'a Index,
    accept: &'static str,
    most: u64,
    /// Whether it stays on the index's host.
    home: bool,
    name: &'a str,
    progress: Option<PackageProgress<'a>>,
}

impl Source {
    pub(crate) fn new(settings: &Settings) -> Result<Self> {
        // An index's own address is the operator's; where its pages lead is not.
        let named = [&settings.pip, &settings.npm].into_iter().flatten().map(Index::host);
        let builder = dormouse_http::outer_client(settings.names.as_ref(), named)
            .connect_timeout(settings.stall)
            .user_agent(concat!("dormouse/", env!("CARGO_PKG_VERSION")));
        let local =
            [&settings.pip, &settings.npm].into_iter().flatten().all(|index| on_this_machine(&index.base));
        let builder = if local { builder.no_proxy() } else { builder };
        let client = builder
            .build()
            .map_err(|error| Error::internal("the HTTP client cannot be set up", error.without_url()))?;
        let cache = settings.cache.as_ref().map(|folder| Cache::new(folder, settings.cache_bytes));
        Ok(Self {
            client,
            cache: cache.transpose()?.map(Arc::new),
            page_life: settings.page_life,
            stall: settings.stall,
            page: settings.bounds.page,
            archive: settings.bounds.archive,
        })
    }

    /// A page of the index; none when it has none.
    pub(crate) async fn page(
        &self,
        index: &Index,
        path: &str,
        accept: &'static str,
        notes: &Notes,
    ) -> Result<Option<Page>> {
        let url =
            index.base.join(path).map_err(|_| Error::args_invalid("a name cannot be part of an address"))?;
        let asked = format!("{accept} {url}");
        let kept = self.cached(move |cache| cache.page(&asked)).await;
        if let Some(kept) = &kept
            && kept.age <= self.page_life
            && let Ok(url) = Url::parse(&kept.url)
        {
            return Ok(Some(Page { kind: kept.kind.clone(), url, body: kept.body.clone() }));
        }
        let ask = Ask { index, accept, most: self.page, home: true, name: path, progress: None };
        let fresh = match self.tries(&ask, &url).await {
            Err(error) if error.code() == ErrorCode::IndexUnavailable => {
                let Some((kept, url)) =
                    kept.and_then(|kept| Url::parse(&kept.url).ok().map(|url| (kept, url)))
                else {
                    return Err(error);
                };
                notes.add(&format!(
                    "the index cannot be reached; what it said {} min ago was used",
                    kept.age.as_secs() / 60
                ));
                return Ok(Some(Page { kind: kept.kind, url, body: kept.body }));
            }
            fresh => fresh?,
        };
        if let (Some(page), Some(cache)) = (&fresh, self.cache.clone()) {
            let (asked, kind) = (format!("{accept} {url}"), page.kind.clone());
            let (url, body) = (page.url.to_string(), page.body.clone());
            blocking(move || cache.keep_page(&asked, &kind, &url, &body)).await?;
        }
        Ok(fresh)
    }

    /// A file with a known hash.
    pub(crate) async fn file(
        &self,
        index: &Index,
        url: &Url,
        digest: &Digest,
        name: &str,
        progress: PackageProgress<'_>,
    ) -> Result<Vec<u8>> {
        let wanted = digest.clone();
        if let Some(bytes) = self.cached(move |cache| cache.file(&wanted)).await {
            return Ok(bytes);
        }
        reachable(index, &index.base, url)?;
        let ask =
            Ask { index, accept: "*/*", most: self.archive, home: false, name, progress: Some(progress) };
        let Some(page) = self.tries(&ask, url).await? else {
            return Err(unavailable(format!("the index does not have its own file `{name}`")));
        };
        let (digest, name, cache) = (digest.clone(), name.to_owned(), self.cache.clone());
        blocking(move || {
            digest.check(&name, &page.body)?;
            if let Some(cache) = cache {
                cache.keep_file(&digest, &page.body);
            }
            Ok(page.body)
        })
        .await?
    }

    /// What was made here and kept under a key.
    pub(crate) async fn kept(&self, key: &str) -> Option<Vec<u8>> {
        let key = key.to_owned();
        self.cached(move |cache| cache.page(&key)).await.map(|kept| kept.body)
    }

    /// Keeps what was made here.
    pub(crate) async fn keep(&self, key: &str, made: Vec<u8>) {
        let key = key.to_owned();
        self.cached(move |cache| {
            cache.keep_page(&key, "", "", &made);
            Some(())
        })
        .await;
    }

    /// Removes what the cache has no room for.
    pub(crate) async fn tidy(&self) {
        if let Some(cache) = self.cache.clone() {
            let _ = blocking(move || cache.tidy()).await;
        }
    }

    async fn cached<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Cache) -> Option<T> + Send + 'static,
    ) -> Option<T> {
        let cache = self.cache.clone()?;
        blocking(move || work(&cache)).await.ok().flatten()
    }

    async fn tries(&self, ask: &Ask<'_>, url: &Url) -> Result<Option<Page>> {
        let mut wait = FIRST_WAIT;
        let mut tried = 1;
        loop {
            match self.attempt(ask, url).await {
                Ok(page) => return Ok(page),
                Err(Failed::Passing(_)) if tried < TRIES => {}
                Err(Failed::Passing(error) | Failed::Final(error)) => return Err(error),
            }
            tokio::time::sleep(wait).await;
            (wait, tried) = (wait * 2, tried + 1);
        }
    }

    async fn attempt(&self, ask: &Ask<'_>, url: &Url) -> Result<Option<Page>, Failed> {
        let mut url = url.clone();
        for _ in 0..=REDIRECTS {
            let response = self.send(ask, &url).await?;
            let status = response.status();
            if status.is_redirection() {
                url = led(ask, &url, &response).map_err(Failed::Final)?;
                continue;
            }
            return match status {
                StatusCode::OK => self.read(ask, response, url).await.map(Some),
                StatusCode::NOT_FOUND | StatusCode::GONE => Ok(None),
                status => Err(refused(ask.index, status)),
            };
        }
        Err(Failed::Final(unavailable(format!("the index at {} redirects without an end", ask.index.host()))))
    }

    async fn send(&self, ask: &Ask<'_>, url: &Url) -> Result<Response, Failed> {
        let mut request = self.client.get(url.clone()).header(ACCEPT, ask.accept);
        // The secret goes to the index's own address only.
        if url.origin() == ask.index.base.origin() {
            if let Some((user, password)) = &ask.index.user {
                request = request.basic_auth(user, Some(password));
            } else if let Some(token) = &ask.index.token {
                let mut value = HeaderValue::from_str(&format!("Bearer {token}"))
                    .map_err(|_| Failed::Final(Error::args_invalid("the token cannot be a header")))?;
                value.set_sensitive(true);
                request = request.header(AUTHORIZATION, value);
            }
        }
        match timeout(self.stall, request.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) if dormouse_http::led_inside(&error) => Err(Failed::Final(elsewhere(ask.index))),
            Ok(Err(error)) => {
                let told = if error.is_connect() { "cannot be reached" } else { "broke the connection" };
                let host = ask.index.host();
                Err(Failed::Passing(
                    unavailable(format!("the package index at {host} {told}"))
                        .with_source(error.without_url()),
                ))
            }
            Err(_) => Err(Failed::Final(self.silent(ask.index))),
        }
    }

    async fn read(&self, ask: &Ask<'_>, mut response: Response, url: Url) -> Result<Page, Failed> {
        let total = response.content_length();
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.unwrap_or_default().to_owned();
        if total.is_some_and(|total| total > ask.most) {
            return Err(Failed::Final(too_large(ask)));
        }
        let mut body = Vec::new();
        loop {
            let chunk = match timeout(self.stall, response.chunk()).await {
                Ok(Ok(chunk)) => chunk,
                Ok(Err(error)) => {
                    let error = unavailable(format!("the package index at {} broke off", ask.index.host()))
                        .with_source(error.without_url());
                    return Err(Failed::Passing(error));
                }
                Err(_) => return Err(Failed::Final(self.silent(ask.index))),
            };
            let Some(chunk) = chunk else { break };
            if (body.len() + chunk.len()) as u64 > ask.most {
                return Err(Failed::Final(too_large(ask)));
            }
            body.extend_from_slice(&chunk);
            if let Some(progress) = ask.progress {
                let (name, bytes) = (ask.name.to_owned(), body.len() as u64);
                progress(PackageEvent::Downloading { name, bytes, total });
            }
        }
        Ok(Page { kind, url, body })
    }

    fn silent(&self, index: &Index) -> Error {
        let seconds = self.stall.as_secs_f64();
        unavailable(format!("the package index at {} was silent for {seconds:.1} s", index.host()))
    }
}

/// Where a redirect leads, if it may.
fn led(ask: &Ask<'_>, from: &Url, response: &Response) -> Result<Url> {
    let target = response.headers().get(LOCATION).and_then(|target| target.to_str().ok());
    let Some(target) = target.and_then(|target| from.join(target).ok()) else {
        return Err(unavailable(format!("the index at {} redirects to no address", ask.index.host())));
    };
    if ask.home && target.host_str() != ask.index.base.host_str() {
        return Err(elsewhere(ask.index));
    }
    reachable(ask.index, from, &target)?;
    Ok(target)
}

/// Whether an index may lead there: a name (not an address in numbers, which could be of the inner network), and no
/// less protected than where it comes from. The index's own host always. That a name leads to the public internet is seen when it is
/// looked up.
pub(crate) fn reachable(index: &Index, from: &Url, target: &Url) -> Result<()> {
    let web = matches!(target.scheme(), "http" | "https") && target.has_host();
    let lower = from.scheme() == "https" && target.scheme() == "http";
    let own = target.host_str() == index.base.host_str();
    let named = target.domain().map(|name| name.trim_end_matches('.'));
    let named = named.is_some_and(|name| name.contains('.') && !name.ends_with(".localhost"));
    if web && !lower && (own || named) { Ok(()) } else { Err(elsewhere(index)) }
}

fn elsewhere(index: &Index) -> Error {
    unavailable(format!("the package index at {} leads to an address that is not followed", index.host()))
        .with_hint("have the operator name the index's own address")
}

fn refused(index: &Index, status: StatusCode) -> Failed {
    let error = unavailable(format!("the package index at {} answered {}", index.host(), status.as_u16()));
    match status.as_u16() {
        401 | 403 => {
            Failed::Final(error.with_hint("have the operator check the index's user, password or token"))
        }
        408 | 429 | 500.. => Failed::Passing(error),
        _ => Failed::Final(error),
    }
}

fn too_large(ask: &Ask<'_>) -> Error {
    let shown: String = ask.name.escape_debug().take(128).collect();
    Error::new(ErrorCode::TooLarge, format!("`{shown}` has more than {} bytes", ask.most))
        .with_hint("nothing was installed; have the operator raise the bound, or use a smaller package")
}

pub(crate) fn unavailable(message: String) -> Error {
    Error::new(ErrorCode::IndexUnavailable, message)
        .with_hint("try again; if it persists, have the operator check the index")
}

fn on_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Runs what computes or reads files where it holds up nobody.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Error::internal("the work on a package ended early", error))
}
