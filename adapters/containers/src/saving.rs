//! A save of a container's files: what has changed since the last one, else all of it.
//!
//! Owns: in which order it is listed, fetched and looked at again, when the container is held still, and what goes into a
//! container. Does not own: what is read of a listing ([`crate::listing`]) and what comes of it ([`crate::merge`]).
//!
//! A listing is taken, what is new of it is fetched, and where anything runs a second listing says whether all of that belongs to
//! one moment. If it does not, twice, the container is paused and all of it is copied; a paused container takes no program, so
//! that it cannot be listed.

use std::collections::HashMap;
use std::io::Read as _;
use std::sync::Arc;

use dormouse_core::sandbox::ChunkId;
use dormouse_core::{ErrorCode, GuestName, Result};
use dormouse_files::{Extras, Files, Tree};
use futures::StreamExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;
use tokio_util::io::{ReaderStream, StreamReader, SyncIoBridge};
use tokio_util::sync::CancellationToken;

use crate::archive;
use crate::exec;
use crate::lasting;
use crate::listing::Listing;
use crate::machine::ContainerMachine;
use crate::merge::{self, Known, Plan};
use crate::paths::{MOVED, WORKSPACE};
use crate::port::Container;
use crate::program::{Exec, Reader};
use crate::pulse::{self, Pulse};

/// Tries before the container is paused.
const TRIES: u32 = 2;
/// Links whose targets are read one by one; more are copied with all the rest.
const LINKS: usize = 500;
/// A tree of this size or of so many names is listed when it is put into a container, so that it is not fetched again.
const LARGE: u64 = 4 << 20;
const MANY: u64 = 1_000;
/// Bytes of a pipe that are read at a time.
const STEP: usize = 256 << 10;
/// Prints the files that standard input names, one after the other.
const CONTENT: [&str; 4] = ["xargs", "-0", "cat", "--"];
/// Prints where the links lead that standard input names.
const TARGETS: [&str; 7] = ["xargs", "-0", "-n", "1", "readlink", "-n", "--"];

impl ContainerMachine {
    /// The files now. What changed since the last time is copied, and nothing else, where the image has the tools to tell.
    ///
    /// # Errors
    /// `limit_disk` when they are more than may be saved; `provider_unavailable`.
    pub(crate) async fn take(&mut self) -> Result<Tree> {
        // What is known from here on is not what was saved.
        self.saved = None;
        for _ in 0..TRIES {
            let sessions = self.sessions.known().await;
            let Some(listing) = Listing::of(self.container.as_ref(), &sessions, &self.places()).await? else {
                break;
            };
            self.works = listing.works > 0;
            merge::check(&listing, &self.base.quota())?;
            let plan = Plan::of(self.known.as_ref(), &listing);
            if plan.is_empty() {
                return self.keep(None, listing);
            }
            if plan.links(&listing).len() > LINKS {
                break;
            }
            let moves = self.works || !sessions.is_empty() || !listing.mapped.is_empty();
            let fetched = match self.fetch(plan, listing).await {
                Ok(fetched) => fetched,
                Err(error) if error.code() == ErrorCode::ProviderUnavailable && !self.is_gone_now().await => {
                    tracing::debug!(%error, "files are read once more");
                    continue;
                }
                Err(error) => return Err(self.container.patience().hinted(error)),
            };
            let ((tree, extras), listing) = fetched;
            if moves {
                let after = Listing::of(self.container.as_ref(), &sessions, &self.places()).await?;
                if !after.is_some_and(|after| after.is_still(&listing)) {
                    continue;
                }
            }
            return self.keep(Some((tree, extras)), listing);
        }
        self.take_all().await
    }

    /// All files, whatever has changed, while all that runs is held still.
    ///
    /// # Errors
    /// As [`ContainerMachine::take`].
    pub(crate) async fn take_all(&mut self) -> Result<Tree> {
        let places = self.places();
        let still = match self.container.clone().hold().await {
            Ok(still) => Some(still),
            Err(error) if self.is_gone_now().await => return Err(error),
            Err(error) => {
                // An engine may be without the means; files that move are better than none.
                tracing::warn!(container = self.container.id(), %error, "a container is copied while it runs");
                None
            }
        };
        let downloaded = archive::download(self.container.as_ref(), &self.base, &places).await;
        if let Some(still) = still {
            still.end().await;
        }
        let (tree, extras) = downloaded?;
        self.known = None;
        self.settle_on(Some(tree), extras)
    }

    /// Puts files into a container in which nothing has run yet. What is put there is what the next save begins with. `root`: the
    /// chunk that they are saved under, if they are. A `/workspace` that has them already is left as it is.
    ///
    /// # Errors
    /// `limit_disk`; `provider_unavailable`.
    pub(crate) async fn put(
        &mut self,
        container: &Arc<dyn Container>,
        tree: &Tree,
        root: Option<ChunkId>,
    ) -> Result<()> {
        let places = self.places();
        let has = lasting::has(container.as_ref(), root).await?;
        let folders = MOVED.into_iter().filter(|folder| !has || *folder != WORKSPACE).collect::<Vec<_>>();
        archive::upload_to(container.as_ref(), tree, &folders, &places).await?;
        self.base = tree.clone().with_quota(self.base.quota());
        (self.known, self.saved) = (None, None);
        let usage = tree.usage();
        if usage.bytes > LARGE || usage.files > MANY {
            self.known = Listing::of(container.as_ref(), &[], &places).await?.map(Known::of);
        }
        Ok(())
    }

    fn keep(&mut self, new: Option<(Tree, Extras)>, listing: Listing) -> Result<Tree> {
        self.known = Some(Known::of(listing));
        match new {
            Some((tree, extras)) => self.settle_on(Some(tree), extras),
            None => {
                let extras = Extras::of(&self.base).map(|(extras, _)| extras).unwrap_or_else(Extras::plain);
                self.settle_on(None, extras)
            }
        }
    }

    /// The files as they were taken last, and the chunk that they were saved under, if they were saved whole.
    pub(crate) fn saved_whole(&mut self) -> Option<(Known, ChunkId)> {
        let root = self.saved.take()?.root()?;
        let whole = Extras::of(&self.base).is_none_or(|(extras, _)| extras.left_out == 0);
        self.known.take().filter(|_| whole).map(|known| (known, root))
    }

    /// Notes the files that are saved now, with what is said beside them.
    fn settle_on(&mut self, tree: Option<Tree>, mut extras: Extras) -> Result<Tree> {
        let awake = self.interpreters.awake().into_iter().map(GuestName::from);
        let mut guests: Vec<GuestName> =
            awake.chain(self.lost.all().into_iter().map(|lost| lost.guest)).collect();
        guests.sort();
        guests.dedup();
        extras.languages = guests.iter().map(|guest| guest.as_str().to_owned()).collect();
        let changed = tree.is_some();
        let mut tree = tree.unwrap_or_else(|| self.base.clone());
        if self.variables.differ(&tree) {
            let files = Files::new(tree);
            self.variables.put(&files)?;
            tree = files.snapshot();
        }
        let before = Extras::of(&tree).map(|(extras, _)| extras);
        if changed || before.as_ref().unwrap_or(&Extras::plain()) != &extras {
            let files = Files::new(tree);
            extras.put(&files)?;
            self.base = files.snapshot();
        } else {
            self.base = tree;
        }
        Ok(self.base.clone())
    }

    /// Places of other file systems, as [`Extras`] name paths.
    fn places(&self) -> Vec<String> {
        self.spec
            .mounts
            .iter()
            .map(|mount| mount.target.as_str().trim_start_matches('/').to_owned())
            .collect()
    }

    /// Fetches what a plan wants, and makes a tree of it.
    async fn fetch(&mut self, plan: Plan, listing: Listing) -> Result<((Tree, Extras), Listing)> {
        let within = self.container.patience().transfer_within;
        let work = async {
            let mut targets = HashMap::new();
            let links = plan.links(&listing);
            if !links.is_empty() {
                let (feed, mut output) = self.print(&TARGETS, &links).await?;
                let read = async {
                    for (path, size) in &links {
                        let mut bytes = vec![0; usize::try_from(*size).unwrap_or(usize::MAX).min(1 << 16)];
                        output.read_exact(&mut bytes).await.map_err(merge::short)?;
                        pulse::beat();
                        targets.insert(path.clone(), String::from_utf8(bytes).unwrap_or_default());
                    }
                    Ok(())
                };
                let ((), read) = tokio::join!(feed, read);
                read?;
            }
            let files = plan.files(&listing);
            let (base, quota) = (self.base.clone(), self.base.quota());
            if files.is_empty() {
                let mut none = std::io::empty();
                let merged = merge::merge((&base, quota), &plan, &listing, (&mut none, targets))?;
                return Ok((merged, listing));
            }
            let (feed, output) = self.print(&CONTENT, &files).await?;
            // When this is given up the stream ends, and the thread with it, whatever the engine does.
            let given_up = CancellationToken::new();
            let pulse = Pulse::here();
            let stream = ReaderStream::with_capacity(output, STEP)
                .inspect(move |_| pulse.iter().for_each(Pulse::beat))
                .take_until(given_up.clone().cancelled_owned());
            let _given_up = given_up.drop_guard();
            let mut content = SyncIoBridge::new(StreamReader::new(Box::pin(stream)));
            let merging = tokio::task::spawn_blocking(move || {
                let merged = merge::merge((&base, quota), &plan, &listing, (&mut content, targets))?;
                // One byte more, and what was read is not what was listed.
                match content.read(&mut [0]) {
                    Ok(0) => Ok((merged, listing)),
                    Ok(_) => Err(merge::short(std::io::ErrorKind::InvalidData.into())),
                    Err(error) => Err(merge::short(error)),
                }
            });
            let ((), merged) = tokio::join!(feed, merging);
            merged
                .map_err(|error| dormouse_core::Error::internal("files were not read to their end", error))?
        };
        match timeout(within, work).await {
            Ok(done) => done,
            Err(_) => Err(self.container.patience().slow("take files out of a container", within)),
        }
    }

    /// Starts a program that prints something of each of these names.
    async fn print(
        &mut self,
        argv: &[&str],
        names: &[(String, u64)],
    ) -> Result<(impl Future<Output = ()> + use<>, Reader)> {
        let argv = argv.iter().map(|word| (*word).to_owned()).collect();
        let exec = Exec { argv, ..Exec::default() };
        let (mut input, output) = exec::attach(self.container.as_ref(), exec).await?;
        let mut list = Vec::new();
        for (path, _) in names {
            list.push(b'/');
            list.extend_from_slice(path.as_bytes());
            list.push(0);
        }
        let feed = async move {
            // A program that does not read to the end prints too little, which is seen.
            let _written = input.write_all(&list).await;
            let _ended = input.shutdown().await;
        };
        Ok((feed, output))
    }

    /// Whether the container has ended, as far as the engine says.
    async fn is_gone_now(&mut self) -> bool {
        self.container.look().await;
        self.container.is_gone()
    }
}
