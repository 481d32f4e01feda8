//! The functions that bulk operations become.
//!
//! Each takes what its instruction takes. Up to a piece, it is that instruction. Above, it first reads the last byte of each range,
//! which traps as the instruction does when the range does not fit, before anything is written.

use wasm_encoder::{BlockType, Encode as _, Function, InstructionSink, MemArg, TypeSection, ValType};

use super::{Bulk, PIECE};

/// What is filled or copied to.
const TO: u32 = 0;
/// The byte to fill with, or what is copied from.
const FROM: u32 = 1;
/// How many bytes.
const LENGTH: u32 = 2;
/// The bytes of a piece.
const STEP: i32 = PIECE as i32;

/// The type of all of them, as an entry of a type section.
pub(super) fn ty() -> Vec<u8> {
    let mut types = TypeSection::new();
    types.ty().function([ValType::I32; 3], []);
    let mut section = Vec::new();
    types.encode(&mut section);
    // The section's size and its count are one byte each.
    section.split_off(2)
}

/// The function that does an operation in pieces.
pub(super) fn body(bulk: Bulk) -> Function {
    let mut function = Function::new([]);
    let code = &mut Code { sink: function.instructions(), bulk };
    code.sink.local_get(LENGTH).i32_const(STEP).i32_le_u();
    code.sink.if_(BlockType::Empty);
    code.plainly();
    code.sink.end();
    code.look(TO);
    match bulk {
        Bulk::Fill => code.forward(),
        Bulk::Init(_) => {
            code.look_at_segment();
            code.forward();
        }
        Bulk::Copy => {
            code.look(FROM);
            // What lies in both ranges is read before it is written over.
            code.sink.local_get(TO).local_get(FROM).i32_le_u();
            code.sink.if_(BlockType::Empty);
            code.forward();
            code.sink.else_();
            code.backward();
            code.sink.end();
        }
    }
    code.sink.end();
    function
}

struct Code<'a> {
    sink: InstructionSink<'a>,
    bulk: Bulk,
}

impl Code<'_> {
    /// The instruction itself.
    fn instruction(&mut self) {
        match self.bulk {
            Bulk::Fill => self.sink.memory_fill(0),
            Bulk::Copy => self.sink.memory_copy(0, 0),
            Bulk::Init(segment) => self.sink.memory_init(0, segment),
        };
    }

    /// All in one instruction, and back to the caller.
    fn plainly(&mut self) {
        self.sink.local_get(TO).local_get(FROM).local_get(LENGTH);
        self.instruction();
        self.sink.return_();
    }

    /// Reads the last byte of the range that begins there. One that goes past the end of all addresses is left to the instruction,
    /// which traps.
    fn look(&mut self, begin: u32) {
        let last = |sink: &mut InstructionSink<'_>| {
            sink.local_get(begin).local_get(LENGTH).i32_add().i32_const(1).i32_sub();
        };
        last(&mut self.sink);
        self.sink.local_get(begin).i32_lt_u();
        self.sink.if_(BlockType::Empty);
        self.plainly();
        self.sink.end();
        last(&mut self.sink);
        self.sink.i32_load8_u(MemArg { offset: 0, align: 0, memory_index: 0 }).drop();
    }

    /// Copies nothing from the end of the range in the segment, which traps when that lies past the segment's, or when the segment
    /// has been dropped.
    fn look_at_segment(&mut self) {
        self.sink.local_get(FROM).local_get(LENGTH).i32_add().local_get(FROM).i32_lt_u();
        self.sink.if_(BlockType::Empty);
        self.plainly();
        self.sink.end();
        self.sink.local_get(TO).local_get(FROM).local_get(LENGTH).i32_add().i32_const(0);
        self.instruction();
    }

    /// From the first piece to the last, which may be shorter.
    fn forward(&mut self) {
        self.sink.loop_(BlockType::Empty);
        self.sink.local_get(TO).local_get(FROM).i32_const(STEP);
        self.instruction();
        self.sink.local_get(TO).i32_const(STEP).i32_add().local_set(TO);
        if self.bulk != Bulk::Fill {
            self.sink.local_get(FROM).i32_const(STEP).i32_add().local_set(FROM);
        }
        self.sink.local_get(LENGTH).i32_const(STEP).i32_sub().local_tee(LENGTH);
        self.sink.i32_const(STEP).i32_gt_u().br_if(0).end();
        self.sink.local_get(TO).local_get(FROM).local_get(LENGTH);
        self.instruction();
    }

    /// From the last piece to the first, which may be shorter.
    fn backward(&mut self) {
        self.sink.loop_(BlockType::Empty);
        self.sink.local_get(LENGTH).i32_const(STEP).i32_sub().local_set(LENGTH);
        for begin in [TO, FROM] {
            self.sink.local_get(begin).local_get(LENGTH).i32_add();
        }
        self.sink.i32_const(STEP);
        self.instruction();
        self.sink.local_get(LENGTH).i32_const(STEP).i32_gt_u().br_if(0).end();
        self.sink.local_get(TO).local_get(FROM).local_get(LENGTH);
        self.instruction();
    }
}
