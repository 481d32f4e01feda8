//! What both halves of the gate's relay say: the program in the container (`gate.rs`), and the host (`src/carried.rs`).
//!
//! A frame is a kind (1 byte), the connection's number (4) and a length or an amount (4), both with the highest byte first; behind
//! [`DATA`] come as many bytes. Each side sends no more of a connection than the other has room for: [`WINDOW`] at first, and what
//! [`CREDIT`] adds.

/// The port is taken. The first frame.
pub(crate) const READY: u8 = 0;
/// A connection begins. From the container alone.
pub(crate) const OPEN: u8 = 1;
/// Bytes of one.
pub(crate) const DATA: u8 = 2;
/// Nothing more comes from this side.
pub(crate) const END: u8 = 3;
/// Room for more bytes.
pub(crate) const CREDIT: u8 = 4;
/// The connection is over.
pub(crate) const RESET: u8 = 5;

/// Bytes of a connection that may be under way, in each direction.
pub(crate) const WINDOW: usize = 128 << 10;
/// Bytes that are carried at once.
pub(crate) const PIECE: usize = 16 << 10;
