//! What a guest calls of `wit/net.wit`, for the run that its host is in.

use std::task::{Context, Waker};

use dormouse_core::network::{Problem, Trouble};

use crate::bindings::dormouse::sandbox::host::Wanted;
use crate::bindings::dormouse::sandbox::net as contract;
use crate::net::{CAPACITY, GuestEnd};
use crate::state::Host;

/// Connections that a guest waits for at once.
const MOST_INTERESTS: usize = 1_024;

impl Host {
    /// Waits for connections, and for what a program waits for besides.
    async fn wait_for_net(
        &mut self,
        interests: &[contract::Interest],
        wanted: Wanted,
    ) -> wasmtime::Result<contract::Happened> {
        wasmtime::ensure!(
            interests.len() <= MOST_INTERESTS,
            "a program waits for {} connections at once",
            interests.len()
        );
        let until = self.begin_calls(wanted).await?;
        // It stays so where the run is cut off meanwhile.
        self.net.waits_for(interests);
        let (net, under_way) = (&self.net, &mut self.under_way);
        let waited = async {
            // Connections that are not there are ready, and so would hide answers.
            tokio::select! {
                answers = under_way.next(until) => (answers, Vec::new()),
                ready = net.ready(interests) => (Vec::new(), ready),
            }
        };
        let (mut answers, mut ready) = self.callbacks.away(waited).await;
        self.net.waits_for(&[]);
        if ready.is_empty() {
            ready = self.net.poll_ready(interests, &Context::from_waker(Waker::noop()));
        } else {
            answers = self.under_way.there();
        }
        Ok(contract::Happened { ready, answers: self.given(answers) })
    }
}

impl contract::Host for Host {
    async fn open(&mut self, host: String, port: u16) -> wasmtime::Result<Result<u64, contract::Problem>> {
        Ok(self.net.open(&host, port).map_err(told))
    }

    async fn exchange(
        &mut self,
        request: contract::Request,
    ) -> wasmtime::Result<Result<u64, contract::Problem>> {
        Ok(self.net.exchange(request).map_err(told))
    }

    async fn response(
        &mut self,
        connection: u64,
    ) -> wasmtime::Result<Result<Option<contract::Head>, contract::Problem>> {
        let head = self.net.end_of(connection).and_then(GuestEnd::head);
        let head = head.map(|head| head.map(|(status, headers)| contract::Head { status, headers }));
        Ok(head.map_err(told))
    }

    async fn send(
        &mut self,
        connection: u64,
        bytes: Vec<u8>,
    ) -> wasmtime::Result<Result<u32, contract::Problem>> {
        let taken = self.net.end_of(connection).and_then(|end| end.send(&bytes));
        Ok(taken.map(|taken| u32::try_from(taken).unwrap_or(u32::MAX)).map_err(told))
    }

    async fn receive(
        &mut self,
        connection: u64,
        most: u32,
    ) -> wasmtime::Result<Result<Option<Vec<u8>>, contract::Problem>> {
        // No bytes would be the end.
        let most = usize::try_from(most).unwrap_or(usize::MAX).clamp(1, CAPACITY);
        Ok(self.net.end_of(connection).and_then(|end| end.receive(most)).map_err(told))
    }

    async fn finish(&mut self, connection: u64) -> wasmtime::Result<()> {
        if let Ok(end) = self.net.end_of(connection) {
            end.finish();
        }
        Ok(())
    }

    async fn close(&mut self, connection: u64) -> wasmtime::Result<()> {
        self.net.close(connection).await;
        Ok(())
    }

    async fn wait(
        &mut self,
        interests: Vec<contract::Interest>,
        wanted: Wanted,
    ) -> wasmtime::Result<contract::Happened> {
        self.wait_for_net(&interests, wanted).await
    }
}

/// A problem in the words of the contract.
fn told(problem: Problem) -> contract::Problem {
    let trouble = match problem.trouble {
        Trouble::Denied => contract::Trouble::Denied,
        Trouble::UnknownName => contract::Trouble::UnknownName,
        Trouble::Refused => contract::Trouble::Refused,
        Trouble::Reset => contract::Trouble::Reset,
        Trouble::Closed => contract::Trouble::Closed,
        Trouble::TimedOut => contract::Trouble::TimedOut,
        Trouble::Untrusted => contract::Trouble::Untrusted,
        Trouble::Protocol => contract::Trouble::Protocol,
        Trouble::Exhausted => contract::Trouble::Exhausted,
    };
    contract::Problem { trouble, text: problem.text }
}
