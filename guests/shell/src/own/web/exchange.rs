//! A request and its answer. Whoever waits for one lets the other commands of a line go on, and all wait together.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use dormouse_contract::net::{self, Exchange, Head, Interest, Problem, Request, Trouble};

/// The longest time that the shell stands still for the network: others may wait for the clock.
const STILL: Duration = Duration::from_millis(10);

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
}

impl Talk {
    /// Sends a request and its body.
    pub(in crate::own) async fn begin(
        request: &Request<'_>,
        body: &[u8],
        until: Option<Instant>,
    ) -> Result<Self, Broken> {
        let exchange = Exchange::begin(request)?;
        let mut talk = Self { exchange, until, head: None, unsent: None };
        if request.body {
            talk.send(body).await?;
        }
        talk.exchange.finish();
        Ok(talk)
    }

    async fn send(&mut self, mut body: &[u8]) -> Result<(), Broken> {
        while !body.is_empty() {
            match self.exchange.send(body) {
                Ok(0) => {}
                Ok(sent) => {
                    body = &body[sent..];
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
    pub(in crate::own) async fn head(&mut self) -> Result<Head, Broken> {
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
                Some(piece) => return Ok(piece),
                None => self.ready(true, false).await?,
            }
        }
    }

    /// Waits a moment, in which the connection may become ready.
    async fn ready(&self, reads: bool, writes: bool) -> Result<(), Broken> {
        let wanted = Wanted::new(Interest { connection: self.exchange.number(), reads, writes });
        // The reader of a pipe, or a job, first.
        tokio::task::yield_now().await;
        let still = match self.until {
            None => STILL,
            Some(until) => STILL.min(until.saturating_duration_since(Instant::now())),
        };
        if still.is_zero() {
            return Err(Broken::Late);
        }
        wanted.wait(still);
        Ok(())
    }
}

/// A wish that stands for as long as this is there.
struct Wanted(Interest);

impl Wanted {
    fn new(interest: Interest) -> Self {
        WANTED.with_borrow_mut(|all| all.push(interest));
        Self(interest)
    }

    /// Waits for any of the wishes.
    fn wait(&self, time: Duration) {
        let all = WANTED.with_borrow(Vec::clone);
        // The host takes no more than 1024 at once; this one has to be among them.
        let all = if all.len() > 1024 { vec![self.0] } else { all };
        net::wait(&all, u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
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
