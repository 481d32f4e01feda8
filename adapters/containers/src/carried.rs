//! Connections that a program of ours takes in a container, and carries together over its two streams.
//!
//! Owns: the host's half of what `relay/gate.rs` says; the frames are described in [`frames`](crate::frames). What that program says is bounded and checked:
//! what does not fit ends all connections. Does not own: the program, nor what is said in a connection.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use dormouse_core::network::Duplex;
use futures::future::BoxFuture;
use tokio::io::{
    AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream, ReadHalf, WriteHalf,
};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use crate::frames::{CREDIT, DATA, END, OPEN, PIECE, READY, RESET, WINDOW};

/// Connections at one time: twice as many as the program takes, since one that it is done with may still end here.
const CONNECTIONS: usize = 128;
/// Frames that wait to be written.
const WAITING: usize = 64;

/// Serves one connection to its end.
pub(crate) type Serve = Arc<dyn Fn(Box<dyn Duplex>) -> BoxFuture<'static, ()> + Send + Sync>;

/// Waits until the program says that it takes connections.
///
/// # Errors
/// Its stream ends, or it says something else.
pub(crate) async fn ready(from: &mut (impl AsyncRead + Unpin)) -> io::Result<()> {
    match frame(from).await? {
        (READY, 0, 0) => Ok(()),
        _ => Err(odd()),
    }
}

/// Carries all connections until the program ends. Dropping the future ends them.
///
/// # Errors
/// Why it ended.
pub(crate) async fn carry(
    mut from: impl AsyncRead + Unpin,
    to: impl AsyncWrite + Send + Unpin + 'static,
    serve: Serve,
) -> io::Result<()> {
    let (frames, waiting) = mpsc::channel(WAITING);
    let mut all = All { serve, frames, connections: HashMap::new(), tasks: JoinSet::new() };
    // Dropped with this future, as all tasks of connections are.
    let mut writing = JoinSet::new();
    writing.spawn(write(to, waiting));
    loop {
        let (kind, number, amount) = tokio::select! {
            read = frame(&mut from) => read?,
            _ = writing.join_next() => return Err(io::ErrorKind::BrokenPipe.into()),
        };
        all.hear(&mut from, kind, number, amount).await?;
    }
}

/// A connection, as long as one of its directions goes on.
struct Connection {
    /// What the program sent, for whoever serves; none when it sends nothing more.
    incoming: Option<mpsc::UnboundedSender<Bytes>>,
    /// Bytes that it may still send.
    room: Arc<Semaphore>,
    /// Bytes that it has room for.
    credit: Arc<Semaphore>,
    /// Ends its tasks.
    over: tokio::task::AbortHandle,
}

struct All {
    serve: Serve,
    frames: mpsc::Sender<Frame>,
    connections: HashMap<u32, Connection>,
    tasks: JoinSet<u32>,
}

/// A frame that is to be written.
struct Frame {
    kind: u8,
    number: u32,
    amount: usize,
    bytes: Bytes,
}

impl All {
    /// What the program says. It may say no more than it was given room for, so nothing here is without a bound.
    async fn hear(
        &mut self,
        from: &mut (impl AsyncRead + Unpin),
        kind: u8,
        number: u32,
        amount: usize,
    ) -> io::Result<()> {
        while let Some(ended) = self.tasks.try_join_next() {
            if let Ok(number) = ended {
                self.connections.remove(&number);
            }
        }
        match kind {
            OPEN if amount == 0 => return self.open(number),
            DATA if amount <= PIECE => {
                let mut bytes = vec![0; amount];
                from.read_exact(&mut bytes).await?;
                let Some(connection) = self.connections.get(&number) else {
                    // Nobody hears it any more.
                    return self.say(RESET, number).await;
                };
                let most = u32::try_from(amount).map_err(|_| odd())?;
                connection.room.try_acquire_many(most).map_err(|_| odd())?.forget();
                if let Some(incoming) = &connection.incoming {
                    let _taken = incoming.send(bytes.into());
                }
            }
            END if amount == 0 => {
                if let Some(connection) = self.connections.get_mut(&number) {
                    connection.incoming = None;
                }
            }
            CREDIT if amount <= WINDOW => {
                if let Some(connection) = self.connections.get(&number) {
                    if connection.credit.available_permits() + amount > WINDOW {
                        return Err(odd());
                    }
                    connection.credit.add_permits(amount);
                }
            }
            RESET if amount == 0 => {
                if let Some(connection) = self.connections.remove(&number) {
                    connection.over.abort();
                }
            }
            _ => return Err(odd()),
        }
        Ok(())
    }

    fn open(&mut self, number: u32) -> io::Result<()> {
        if self.connections.len() >= CONNECTIONS || self.connections.contains_key(&number) {
            return Err(odd());
        }
        let (near, far) = tokio::io::duplex(WINDOW);
        let (sender, incoming) = mpsc::unbounded_channel();
        let credit = Arc::new(Semaphore::new(WINDOW));
        let room = Arc::new(Semaphore::new(WINDOW));
        let (reading, writing) = tokio::io::split(far);
        let (frames, serving) = (self.frames.clone(), (self.serve)(Box::new(near)));
        let (paid, given) = (credit.clone(), room.clone());
        let over = self.tasks.spawn(async move {
            let there = deliver(incoming, writing, (number, given), frames.clone());
            let back = collect(reading, (number, paid), frames.clone());
            tokio::pin!(there);
            // Whoever serves ends when he has said all. What comes after that from the other side is for nobody.
            let served = async { tokio::join!(serving, back) };
            tokio::select! {
                _ = served => {}
                () = async { there.await; std::future::pending().await } => {}
            }
            let _told = frames.send(Frame { kind: RESET, number, amount: 0, bytes: Bytes::new() }).await;
            number
        });
        self.connections.insert(number, Connection { incoming: Some(sender), room, credit, over });
        Ok(())
    }

    async fn say(&self, kind: u8, number: u32) -> io::Result<()> {
        let frame = Frame { kind, number, amount: 0, bytes: Bytes::new() };
        self.frames.send(frame).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

/// From the program to whoever serves.
async fn deliver(
    mut incoming: mpsc::UnboundedReceiver<Bytes>,
    mut to: WriteHalf<DuplexStream>,
    (number, room): (u32, Arc<Semaphore>),
    frames: mpsc::Sender<Frame>,
) {
    while let Some(bytes) = incoming.recv().await {
        if to.write_all(&bytes).await.is_err() {
            return;
        }
        room.add_permits(bytes.len());
        let frame = Frame { kind: CREDIT, number, amount: bytes.len(), bytes: Bytes::new() };
        if frames.send(frame).await.is_err() {
            return;
        }
    }
    let _told = to.shutdown().await;
}

/// From whoever serves to the program.
async fn collect(
    mut from: ReadHalf<DuplexStream>,
    (number, credit): (u32, Arc<Semaphore>),
    frames: mpsc::Sender<Frame>,
) {
    let mut piece = vec![0; PIECE];
    while let Ok(read @ 1..) = from.read(&mut piece).await {
        let Ok(most) = u32::try_from(read) else { return };
        let Ok(paid) = credit.acquire_many(most).await else { return };
        paid.forget();
        let bytes = Bytes::copy_from_slice(piece.get(..read).unwrap_or_default());
        if frames.send(Frame { kind: DATA, number, amount: read, bytes }).await.is_err() {
            return;
        }
    }
    let _told = frames.send(Frame { kind: END, number, amount: 0, bytes: Bytes::new() }).await;
}

async fn write(mut to: impl AsyncWrite + Unpin, mut waiting: mpsc::Receiver<Frame>) -> io::Result<()> {
    while let Some(Frame { kind, number, amount, bytes }) = waiting.recv().await {
        let amount = u32::try_from(amount).map_err(|_| odd())?;
        let mut frame = Vec::with_capacity(9 + bytes.len());
        frame.push(kind);
        frame.extend_from_slice(&number.to_be_bytes());
        frame.extend_from_slice(&amount.to_be_bytes());
        frame.extend_from_slice(&bytes);
        to.write_all(&frame).await?;
        to.flush().await?;
    }
    Ok(())
}

/// Kind, number and amount of the next frame.
async fn frame(from: &mut (impl AsyncRead + Unpin)) -> io::Result<(u8, u32, usize)> {
    let mut head = [0; 9];
    from.read_exact(&mut head).await?;
    let [kind, a, b, c, d, e, f, g, h] = head;
    let amount = usize::try_from(u32::from_be_bytes([e, f, g, h])).map_err(|_| odd())?;
    Ok((kind, u32::from_be_bytes([a, b, c, d]), amount))
}

/// The program said what it never says.
fn odd() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "what came from the relay cannot be read")
}

#[cfg(test)]
mod tests {
    use tokio::task::JoinHandle;

    use super::*;

    /// The program's end of the streams, and what serves each connection: it says back what it hears, twice.
    fn program() -> (DuplexStream, JoinHandle<io::Result<()>>) {
        let (near, far) = tokio::io::duplex(1 << 20);
        let (from, to) = tokio::io::split(far);
        let serve: Serve = Arc::new(|mut stream| {
            Box::pin(async move {
                let mut piece = [0; 1024];
                while let Ok(read @ 1..) = stream.read(&mut piece).await {
                    if stream.write_all(&piece[..read].repeat(2)).await.is_err() {
                        return;
                    }
                }
                let _ended = stream.shutdown().await;
            })
        });
        (near, tokio::spawn(carry(from, to, serve)))
    }

    async fn say(to: &mut DuplexStream, kind: u8, number: u32, amount: u32, bytes: &[u8]) {
        let head = [&[kind][..], &number.to_be_bytes(), &amount.to_be_bytes(), bytes].concat();
        to.write_all(&head).await.unwrap();
    }

    /// The next frame that is not about room, with its bytes.
    async fn heard(from: &mut DuplexStream) -> (u8, u32, Vec<u8>) {
        loop {
            let (kind, number, amount) = frame(from).await.unwrap();
            let mut bytes = vec![0; if kind == DATA { amount } else { 0 }];
            from.read_exact(&mut bytes).await.unwrap();
            if kind != CREDIT {
                return (kind, number, bytes);
            }
        }
    }

    #[tokio::test]
    async fn connections_are_carried_beside_each_other_to_their_ends() {
        let (mut program, _carrying) = program();
        for number in [7, 8] {
            say(&mut program, OPEN, number, 0, &[]).await;
        }
        say(&mut program, DATA, 8, 2, b"ab").await;
        assert_eq!(heard(&mut program).await, (DATA, 8, b"abab".to_vec()));
        say(&mut program, DATA, 7, 1, b"x").await;
        assert_eq!(heard(&mut program).await, (DATA, 7, b"xx".to_vec()));
        say(&mut program, END, 7, 0, &[]).await;
        assert_eq!(heard(&mut program).await.0, END);
        assert_eq!(heard(&mut program).await, (RESET, 7, Vec::new()));
        // Of one that is over nothing is known.
        say(&mut program, RESET, 8, 0, &[]).await;
        say(&mut program, DATA, 8, 1, b"y").await;
        assert_eq!(heard(&mut program).await, (RESET, 8, Vec::new()));
        say(&mut program, OPEN, 8, 0, &[]).await;
        say(&mut program, DATA, 8, 1, b"z").await;
        assert_eq!(heard(&mut program).await, (DATA, 8, b"zz".to_vec()));
    }

    #[tokio::test]
    async fn one_that_nobody_reads_holds_up_no_other() {
        let (mut program, _carrying) = program();
        for number in [1, 2] {
            say(&mut program, OPEN, number, 0, &[]).await;
        }
        // Twice as much as there is room for comes back of it.
        for _ in 0..8 {
            say(&mut program, DATA, 1, 16 << 10, &[b'x'; 16 << 10]).await;
        }
        let mut came = 0;
        let until = std::time::Duration::from_millis(500);
        while let Ok((kind, number, bytes)) = tokio::time::timeout(until, heard(&mut program)).await {
            assert_eq!((kind, number), (DATA, 1));
            came += bytes.len();
        }
        assert!((WINDOW - PIECE..=WINDOW).contains(&came), "{came}");
        say(&mut program, DATA, 2, 1, b"y").await;
        assert_eq!(heard(&mut program).await, (DATA, 2, b"yy".to_vec()));
        say(&mut program, CREDIT, 1, 16 << 10, &[]).await;
        let (kind, number, _) = heard(&mut program).await;
        assert_eq!((kind, number), (DATA, 1));
    }

    /// NET-34: what the program never says ends all, and nothing grows without a bound.
    #[tokio::test]
    async fn net_34_what_a_relay_never_says_ends_it() {
        for bad in [
            vec![(9, 1, 0)],
            vec![(READY, 0, 0)],
            vec![(OPEN, 1, 1)],
            vec![(OPEN, 1, 0), (OPEN, 1, 0)],
            vec![(OPEN, 1, 0), (DATA, 1, 16_385)],
            vec![(OPEN, 1, 0), (CREDIT, 1, 1)],
            vec![(CREDIT, 1, u32::MAX)],
            (0..200).map(|number| (OPEN, number, 0)).collect(),
        ] {
            let (mut program, carrying) = program();
            for (kind, number, amount) in &bad {
                let head = [&[*kind][..], &u32::to_be_bytes(*number), &u32::to_be_bytes(*amount)].concat();
                let _gone = program.write_all(&head).await;
            }
            let ended = carrying.await.unwrap().unwrap_err();
            assert_eq!(ended.kind(), io::ErrorKind::InvalidData, "{bad:?}");
        }
        let (near, far) = tokio::io::duplex(64);
        drop(near);
        assert!(ready(&mut { far }).await.is_err());
    }
}
