//! What is kept: the state of a live interpreter, and sandboxes that last, here and in other processes.
//!
//! | what | module |
//! | --- | --- |
//! | an interpreter's state, here and in another process | [`elsewhere`], [`php`], [`damaged`] |
//! | random numbers where several go on from one state | [`randomness`] |
//! | sandboxes that last | [`kept`], [`stopped`] |
//! | the seeds' runs from end to end | [`runs`] |
//! | callers that give up | [`cancelled`] |
//! | processes that are killed, and two at once | [`kills`], [`unpaused`], [`shared`] |
//! | files that are open | [`open`] |
//! | disks that are full, what can be looked at there | [`disk`], [`looked`] |
//! | state that was changed | [`altered`], [`mended`] |
//! | the next release: old guests, what is said, what is carried | [`released`] |
//! | other builds of guests, what was lost, clocks that go on | [`upgraded`], [`lost`], [`clocks`] |
//! | programs that wait | [`waiting`] |
//! | room that is bounded and comes back | [`room`] |

#![allow(clippy::unwrap_used, reason = "a test ends where an answer is not what it must be")]
#![allow(clippy::print_stderr, reason = "what a system does not let a test do is said")]

mod altered;
mod background;
mod cancelled;
mod clocks;
mod contract;
mod damaged;
mod disk;
mod elsewhere;
mod going;
mod kept;
mod kills;
mod left;
mod looked;
mod lost;
mod mended;
mod open;
mod php;
mod randomness;
mod reaching;
mod released;
mod room;
mod runs;
mod shared;
mod stopped;
mod unpaused;
mod upgraded;
mod waiting;

use dormouse::wasm::{SavedInterpreter, Session, Settings, WasmProvider};
use dormouse::{EvalRequest, GuestName, LineRequest, Outcome, Result};
use dormouse_tests::sandbox;

/// A session and what owns it.
struct Kept {
    provider: WasmProvider,
    session: Session,
    guest: GuestName,
}

fn provider() -> WasmProvider {
    Settings::new().and_then(WasmProvider::new).expect("a provider")
}

impl Kept {
    /// A new session.
    fn new(language: &str) -> Self {
        let (provider, guest) = (provider(), GuestName::parse(language).expect("a guest"));
        let session = sandbox::wait(provider.session(guest.clone())).expect("the guest has been built");
        Self { provider, session, guest }
    }

    /// A session that goes on where the checkpoint was taken.
    fn restored(checkpoint: &SavedInterpreter) -> Result<Self> {
        let provider = provider();
        let session = sandbox::wait(provider.restore(checkpoint))?;
        Ok(Self { provider, session, guest: checkpoint.guest().clone() })
    }

    fn request(&self, code: &str) -> EvalRequest {
        EvalRequest::new(self.guest.language().expect("a language").clone(), code)
    }

    fn run(&mut self, request: &EvalRequest) -> Outcome {
        sandbox::wait(self.provider.continue_session(&mut self.session, request))
            .expect("the session is alive")
    }

    fn call(&mut self, code: &str) -> Outcome {
        self.call_with(code, None)
    }

    /// A snippet, or a command line of the shell, with a seed.
    fn call_with(&mut self, code: &str, seed: Option<u64>) -> Outcome {
        if self.guest == GuestName::Shell {
            let mut line = LineRequest::new(code);
            line.context.grants.seed = seed;
            return sandbox::wait(self.provider.continue_line(&mut self.session, &line))
                .expect("the session is alive");
        }
        let mut request = self.request(code);
        request.context.grants.seed = seed;
        self.run(&request)
    }

    fn checkpoint(&mut self) -> SavedInterpreter {
        sandbox::wait(self.provider.checkpoint(&mut self.session)).expect("the session can be saved")
    }
}
