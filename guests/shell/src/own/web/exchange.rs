//! A request and its answer. Whoever waits for one lets the other commands of a line go on, and all wait together.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use dormouse_contract::net::{self, Exchange, Head, Interest, Problem, Request, Trouble};

use super::turn::{self, Turn};

/// The longest time that the shell stands still for the network: others may wait for the clock.
const STILL: Duration = Duration::from_millis(10);
/// Bytes of a request that lie between this guest and the host at most: if more were taken, the host has begun with it.
const BETWEEN: usize = 64 << 10;

thread_local! {
    /// What the commands of this shell wait for.
    static WANTED: RefCell<Vec<Interest>> = const { RefCell::new(Vec::new()) };
}

/// Why there is no answer, or no more of it.
#[derive(Debug)]
pub(in crate::own) enum Broken {
    /// What the host says.
    Problem(Problem),
    /// The time of the command is over.
    Late,
}

impl From<Problem> for Broken {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

/// An exchange, with the moment at which the command gives up.
pub(in crate::own) struct Talk {
    exchange: Exchange,
    until: Option<Instant>,
    /// The head, if it came before the body was sent to its end.
    head: Option<Head>,
    /// Why the body was not sent to its end, if it was not.
    unsent: Option<Problem>,
    turn: Turn,
}

impl Talk {
    /// Sends a request and its body, and waits for the head of the answer; `time`: that has so much time of its own. A request that finds no
    /// place waits for its turn, while others of this shell are under way.
    pub(in crate::own) async fn ask(
        request: &Request<'_>,
        body: &[u8],
        until: Option<Instant>,
        time: Option<Duration>,
    ) -> Result<(Self, Head), Broken> {
        loop {
            let turn = loop {
                match Turn::take() {
                    Some(turn) => break turn,
                    None => pause(until, None).await?,
                }
            };
            match Self::once(request, body, (until, time), turn).await {
                Ok(done) => return Ok(done),
                // The host says so before it has begun with it.
                Err((Broken::Problem(problem), turn)) if problem.trouble == Trouble::Exhausted => {
                    if !turn.refused() {
                        return Err(problem.into());
                    }
                }
                Err((broken, _)) => return Err(broken),
            }
        }
    }

    async fn once(
        request: &Request<'_>,
        body: &[u8],
        (until, time): (Option<Instant>, Option<Duration>),
        turn: Turn,
    ) -> Result<(Self, Head), (Broken, Turn)> {
        let exchange = match Exchange::begin(request) {
            Ok(exchange) => exchange,
            Err(problem) => return Err((problem.into(), turn)),
        };
        let mut talk = Self { exchange, until, head: None, unsent: None, turn };
        match talk.asked(body, time).await {
            Ok(head) => {
                talk.turn.answered();
                Ok((talk, head))
            }
            Err(broken) => Err((broken, talk.turn)),
        }
    }

    async fn asked(&mut self, body: &[u8], time: Option<Duration>) -> Result<Head, Broken> {
        self.send(body).await?;
        self.exchange.finish();
        if let Some(time) = time {
            self.allow(time);
        }
        self.head().await
    }

    async fn send(&mut self, mut body: &[u8]) -> Result<(), Broken> {
        let length = body.len();
        while !body.is_empty() {
            match self.exchange.send(body) {
                Ok(0) => {}
                Ok(sent) => {
                    turn::moved();
                    body = &body[sent..];
                    if length - body.len() > BETWEEN {
                        self.turn.begun();
                    }
                    continue;
                }
                Err(problem) => {
                    self.unsent = Some(problem);
                    return Ok(());
                }
            }
            // A server that has refused does not read on.
            if self.head.is_none() {
                self.head = self.exchange.response()?;
            }
            match &self.head {
                Some(head) if head.status >= 300 => return Ok(()),
                Some(_) => self.ready(false, true).await?,
                None => self.ready(true, true).await?,
            }
        }
        Ok(())
    }

    /// Gives it time anew.
    pub(in crate::own) fn allow(&mut self, time: Duration) {
        self.until = Instant::now().checked_add(time);
    }

    /// The head of the answer.
    async fn head(&mut self) -> Result<Head, Broken> {
        if let Some(head) = self.head.take() {
            return Ok(head);
        }
        loop {
            match self.exchange.response() {
                Ok(Some(head)) => return Ok(head),
                Ok(None) => self.ready(true, false).await?,
                Err(problem) => {
                    let first = self.unsent.take().filter(|_| problem.trouble == Trouble::Closed);
                    return Err(first.unwrap_or(problem).into());
                }
            }
        }
    }

    /// The next bytes of the answer's body; none are the end.
    pub(in crate::own) async fn piece(&mut self) -> Result<Vec<u8>, Broken> {
        loop {
            match self.exchange.receive()? {
                Some(piece) => {
                    turn::moved();
                    return Ok(piece);
                }
                None => self.ready(true, false).await?,
            }
        }
    }

    /// Waits a moment, in which the connection may become ready.
    async fn ready(&self, reads: bool, writes: bool) -> Result<(), Broken> {
        let interest = Interest { connection: self.exchange.number(), reads, writes };
        pause(self.until, Some(Wanted::new(interest))).await
    }
}

/// Waits a moment, for what this command and others of the shell want.
async fn pause(until: Option<Instant>, wanted: Option<Wanted>) -> Result<(), Broken> {
    // The reader of a pipe, or a job, first.
    tokio::task::yield_now().await;
    let still = match until {
        None => STILL,
        Some(until) => STILL.min(until.saturating_duration_since(Instant::now())),
    };
    if still.is_zero() {
        return Err(Broken::Late);
    }
    wait(wanted.as_ref().map(|wanted| wanted.0), still);
    Ok(())
}

/// Waits for any of the wishes; `own` has to be among them.
fn wait(own: Option<Interest>, time: Duration) {
    let all = WANTED.with_borrow(Vec::clone);
    // The host takes no more than 1024 at once.
    let all = if all.len() > 1024 { own.into_iter().collect() } else { all };
    net::wait(&all, u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
}

/// A wish that stands for as long as this is there.
struct Wanted(Interest);

impl Wanted {
    fn new(interest: Interest) -> Self {
        WANTED.with_borrow_mut(|all| all.push(interest));
        Self(interest)
    }
}

impl Drop for Wanted {
    fn drop(&mut self) {
        WANTED.with_borrow_mut(|all| {
            if let Some(place) = all.iter().position(|one| *one == self.0) {
                all.swap_remove(place);
            }
        });
    }
}
