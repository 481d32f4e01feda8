//! The half that seccomp makes: an allow list of system calls, and of what some of their arguments may be.
//!
//! Two filters, of which the stricter answer counts. The first knows every call of the lists by its number: what is not on
//! them does not exist (`ENOSYS`), so that libraries which try a newer call first take the older one. The second knows the
//! arguments: what is refused is not permitted (`EPERM`). Nobody is killed for asking: libraries probe, and a call that
//! ends the process would let whoever finds one end every sandbox.
//!
//! The numbers of the x32 interface (bit 30) are on no list. A process of another architecture is ended by the kernel.

use std::collections::{BTreeMap, BTreeSet};

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

/// What an argument must be; calls are compared by those that they have.
#[derive(Clone, Copy, Debug)]
pub(super) enum Is {
    /// The argument of that index, as the number that the kernel takes it for, of 32 bits.
    Number(u8, u32),
    /// Of its bits below the mask exactly these are set.
    Bits(u8, u32, u32),
    /// It is a null pointer.
    Null(u8),
}

/// A list of calls.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// By number: each of these lines lets it pass; none lets it pass always.
    allowed: BTreeMap<i64, Vec<Vec<Is>>>,
    /// Those that are not permitted, and known all the same.
    refused: BTreeSet<i64>,
}

impl Calls {
    /// Allows calls, whatever their arguments.
    pub(super) fn allow(&mut self, calls: &[i64]) {
        self.allowed.extend(calls.iter().map(|call| (*call, Vec::new())));
    }

    /// Allows a call when one of the lines fits.
    pub(super) fn allow_when(&mut self, call: i64, lines: impl IntoIterator<Item = Vec<Is>>) {
        self.allowed.entry(call).or_default().extend(lines);
    }

    /// Calls that are not permitted, as opposed to those that do not exist.
    pub(super) fn refuse(&mut self, calls: &[i64]) {
        self.refused.extend(calls);
    }

    /// The filter of arguments, then that of numbers. In this order: of two that refuse, the one that came last is heard.
    pub(super) fn programs(&self) -> Result<[BpfProgram; 2], BackendError> {
        let known = self.allowed.keys().chain(&self.refused).map(|call| (*call, Vec::new())).collect();
        // Installing the second one is a call too. It is not known, so that it is the last.
        let mut allowed = BTreeMap::from([(libc::SYS_seccomp, Vec::new())]);
        for (call, lines) in &self.allowed {
            let rules = lines.iter().map(|line| rule(line)).collect::<Result<_, _>>()?;
            allowed.insert(*call, rules);
        }
        Ok([compiled(allowed, libc::EPERM)?, compiled(known, libc::ENOSYS)?])
    }
}

/// Confines this thread; what the kernel does not have of it.
pub(super) fn restrict(calls: &Calls) -> Option<String> {
    let programs = match calls.programs() {
        Ok(programs) => programs,
        Err(error) => return Some(format!("system calls are not filtered: {error}")),
    };
    for program in programs {
        if let Err(error) = seccompiler::apply_filter(&program) {
            return Some(format!("system calls are not filtered: {error}"));
        }
    }
    None
}

fn compiled(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    otherwise: libc::c_int,
) -> Result<BpfProgram, BackendError> {
    let denied = SeccompAction::Errno(otherwise.unsigned_abs());
    SeccompFilter::new(rules, denied, SeccompAction::Allow, std::env::consts::ARCH.try_into()?)?.try_into()
}

fn rule(line: &[Is]) -> Result<SeccompRule, BackendError> {
    let conditions = line.iter().map(|is| match *is {
        Is::Number(index, value) => {
            SeccompCondition::new(index, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value.into())
        }
        Is::Bits(index, mask, value) => SeccompCondition::new(
            index,
            SeccompCmpArgLen::Dword,
            SeccompCmpOp::MaskedEq(mask.into()),
            value.into(),
        ),
        Is::Null(index) => SeccompCondition::new(index, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 0),
    });
    SeccompRule::new(conditions.collect::<Result<_, _>>()?)
}
