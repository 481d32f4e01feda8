//! The program `git-remote-http`: one request of git's protocol over HTTP.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dormouse_core::fair::{Fair, Held};
use dormouse_core::sandbox::{Files, Owner};
use dormouse_core::{
    Error, ErrorCode, GuestPath, OfferedPrograms, OutputSink, ProgramCall, ProgramEnd, ProgramRun, Resolve,
    Result,
};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use reqwest::{Response, StatusCode, Url};

use crate::Allowed;
use crate::address::repository;

/// The program's name, as git's own helper is called.
const NAME: &str = "git-remote-http";
/// The exit status for an address that the operator does not allow here: the sandbox's own network may lead to it.
const NOT_ALLOWED: u8 = 2;
/// What is wrong with an address that nobody can allow.
const NOT_PLAIN: &str = "is not a plain http or https one of at most 4096 bytes, without user or password";
/// Time to connect.
const CONNECT: Duration = Duration::from_secs(10);
/// Longest silence of a server.
const SILENCE: Duration = Duration::from_secs(60);
/// Longest time of a request, from the first byte sent to the last one received. A command line may end before.
const WHOLE: Duration = Duration::from_secs(300);
/// Largest answer, in bytes: a pack is in memory until the sandbox has it.
const MAX_ANSWER: usize = 256 << 20;
/// Requests at one time, shared between owners: a server that is slow for one owner keeps no other waiting.
const AT_ONCE: usize = 8;
/// Requests that wait.
const WAITING: usize = 1_024;
/// Mebibytes of answers that are held at one time, shared between owners.
const HELD_MIB: usize = 512;

/// The remote repositories that the operator allows.
#[derive(Debug)]
pub struct Remotes {
    allowed: Vec<Allowed>,
    client: reqwest::Client,
    places: Arc<Fair>,
    held: Arc<Fair>,
}

/// An answer, and its share of the memory for answers: one for each mebibyte.
#[derive(Default)]
struct Answer {
    bytes: Vec<u8>,
    held: Vec<Held>,
}

/// A request as it is understood.
struct Wanted {
    service: &'static str,
    post: bool,
    url: Url,
    file: GuestPath,
}

impl Remotes {
    /// Those below the addresses. Connects to nothing yet. Proxies are those of the environment.
    ///
    /// # Errors
    /// `internal` when the system's certificates cannot be used.
    pub fn new(allowed: Vec<Allowed>) -> Result<Self> {
        Self::with_names(allowed, None)
    }

    /// The same; names are looked up by somebody else than the system's resolver in this process.
    ///
    /// # Errors
    /// As [`Remotes::new`].
    pub fn with_names(allowed: Vec<Allowed>, names: Option<&Arc<dyn Resolve>>) -> Result<Self> {
        if allowed.iter().any(Allowed::is_open) {
            tracing::warn!("a credential for git repositories goes over the network unencrypted");
        }
        let client = dormouse_http::client(names)
            .connect_timeout(CONNECT)
            .read_timeout(SILENCE)
            // Servers know clients that call themselves git.
            .user_agent(concat!("git/2.47 (dormouse/", env!("CARGO_PKG_VERSION"), ")"))
            .build()
            .map_err(|error| Error::internal("the HTTP client cannot be set up", error.without_url()))?;
        let (places, held) = (Fair::new(AT_ONCE, true, WAITING), Fair::new(HELD_MIB, true, 0));
        Ok(Self { allowed, client, places, held })
    }

    /// Whether an address is one of those, or lies below one. Connects to nothing.
    ///
    /// # Errors
    /// `args_invalid` for what is no address that can be allowed; `capability_unavailable` for one that is not. The texts do not
    /// repeat it.
    pub fn check(&self, address: &str) -> Result<()> {
        let url = repository(address).ok_or_else(|| {
            Error::args_invalid(format!("the repository's address {NOT_PLAIN}")).with_hint(
                "write it as `https://HOST/PATH`; its credential is named with --allow-git URL=VAR",
            )
        })?;
        match self.allowed(&url) {
            Some(_) => Ok(()),
            None => Err(Error::new(
                ErrorCode::CapabilityUnavailable,
                "the operator does not allow the repository's address",
            )
            .with_hint("allow it with --allow-git URL, or --allow-git URL=VAR for its credential")),
        }
    }

    /// The entry that an address belongs to: of several the longest.
    fn allowed(&self, url: &Url) -> Option<&Allowed> {
        self.allowed.iter().filter(|allowed| allowed.covers(url)).max_by_key(|allowed| allowed.length())
    }

    fn wanted(call: &ProgramCall) -> Result<Wanted, String> {
        let [service, method, url, file] = call.arguments.as_slice() else {
            return Err("usage: git-remote-http SERVICE get|post URL FILE".into());
        };
        let service = match service.as_str() {
            "git-upload-pack" => "git-upload-pack",
            "git-receive-pack" => "git-receive-pack",
            _ => return Err("there is no such service".into()),
        };
        let post = match method.as_str() {
            "get" => false,
            "post" => true,
            _ => return Err("there is no such method".into()),
        };
        let url = repository(url).ok_or_else(|| format!("the address {NOT_PLAIN}"))?;
        let file = GuestPath::parse(file).map_err(|error| error.to_string())?;
        Ok(Wanted { service, post, url, file })
    }

    /// The whole address of a request.
    fn address(wanted: &Wanted) -> Url {
        let mut url = wanted.url.clone();
        let path = url.path().trim_end_matches('/').to_owned();
        if wanted.post {
            url.set_path(&format!("{path}/{}", wanted.service));
        } else {
            url.set_path(&format!("{path}/info/refs"));
            url.set_query(Some(&format!("service={}", wanted.service)));
        }
        url
    }

    /// The answer of the server, in this owner's share of places and of memory, and what holds that share.
    async fn fetch(
        &self,
        owner: &Owner,
        wanted: &Wanted,
        input: &[u8],
        sink: Option<&dyn OutputSink>,
    ) -> Result<Answer, String> {
        let allowed = self
            .allowed(&wanted.url)
            .ok_or("the operator does not allow this address; --allow-git lists those that are allowed")?;
        let line =
            self.places.line(owner).map_err(|_| "too many requests wait for servers; try again later")?;
        let _place = line.await;
        match tokio::time::timeout(WHOLE, self.ask(owner, (allowed, wanted, input), sink)).await {
            Ok(answer) => answer,
            Err(_) => Err(format!("the server did not end its answer within {} s", WHOLE.as_secs())),
        }
    }

    async fn ask(
        &self,
        owner: &Owner,
        (allowed, wanted, input): (&Allowed, &Wanted, &[u8]),
        sink: Option<&dyn OutputSink>,
    ) -> Result<Answer, String> {
        let address = Self::address(wanted);
        let service = wanted.service;
        let (request, kind) = if wanted.post {
            let request = self.client.post(address).body(input.to_vec());
            let request = request.header(CONTENT_TYPE, format!("application/x-{service}-request"));
            (request, format!("application/x-{service}-result"))
        } else {
            (self.client.get(address), format!("application/x-{service}-advertisement"))
        };
        let request = request.header(ACCEPT, &kind);
        let request = match &allowed.credential {
            Some(credential) => request.header(AUTHORIZATION, credential.header()),
            None => request,
        };
        let response = request.send().await.map_err(|error| broken(&error))?;
        if response.status() != StatusCode::OK {
            return Err(refused(response.status(), allowed.credential.is_some()));
        }
        let told =
            response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if told.split(';').next().unwrap_or_default().trim() != kind {
            return Err("the server does not speak git's smart protocol".into());
        }
        self.body(owner, response, sink).await
    }

    /// The whole of an answer.
    async fn body(
        &self,
        owner: &Owner,
        mut response: Response,
        sink: Option<&dyn OutputSink>,
    ) -> Result<Answer, String> {
        let mut answer = Answer::default();
        while let Some(chunk) = response.chunk().await.map_err(|error| broken(&error))? {
            let size = answer.bytes.len() + chunk.len();
            if size > MAX_ANSWER {
                return Err(format!(
                    "the answer has more than {} MiB; a clone with --depth 1 is smaller",
                    MAX_ANSWER >> 20
                ));
            }
            while answer.held.len() << 20 < size {
                let held = self.held.take(owner);
                answer.held.push(held.ok_or("too much is being received from servers already; try again")?);
            }
            answer.bytes.extend_from_slice(&chunk);
            if let Some(sink) = sink {
                sink.received(chunk.len() as u64);
            }
        }
        Ok(answer)
    }
}

#[async_trait]
impl OfferedPrograms for Remotes {
    fn remotes(&self) -> Vec<String> {
        self.allowed.iter().map(|allowed| allowed.address().to_owned()).collect()
    }

    async fn run(&self, of: ProgramRun<'_>, call: &ProgramCall, files: &mut dyn Files) -> Option<ProgramEnd> {
        if call.name != NAME {
            return None;
        }
        let done = async {
            let wanted = Self::wanted(call)?;
            let answer = self.fetch(of.owner, &wanted, &call.input, of.sink).await?;
            files.write(&wanted.file, &answer.bytes).await.map_err(|error| error.to_string())
        };
        Some(match done.await {
            Ok(()) => ProgramEnd::default(),
            Err(why) => {
                let url = call.arguments.get(2).and_then(|url| repository(url));
                let is_allowed = url.is_some_and(|url| self.allowed(&url).is_some());
                ProgramEnd::failed(if is_allowed { 1 } else { NOT_ALLOWED }, format!("{why}\n"))
            }
        })
    }
}

/// Why there was no answer, in words of our own: the library's hold addresses.
fn broken(error: &reqwest::Error) -> String {
    let why = if error.is_timeout() {
        "the server does not answer in time"
    } else if error.is_connect() {
        "the server cannot be reached"
    } else {
        "the server broke the connection"
    };
    why.into()
}

/// What an answer that says no comes to.
fn refused(status: StatusCode, with_credential: bool) -> String {
    let why = match status.as_u16() {
        401 | 403 if with_credential => "the server refuses the operator's credential",
        401 | 403 => "the server asks for a credential, and the operator has named none for this address",
        404 => "repository not found",
        300..=399 => "the server points to another address, which is not followed; use the repository's own",
        429 => "the server takes no more requests for now",
        500..=599 => "the server failed",
        _ => "the server refuses the request",
    };
    format!("{why} (HTTP {})", status.as_u16())
}
