//! The oracle: what a sandbox may hold, by what its owner was answered.
//!
//! Every call that leaves something leaves its number, in one or two *channels*: the list `log` of an interpreter, and a file
//! or a table. Numbers grow, so a channel must be a beginning of what was asked, in the order in which it was asked, with at
//! least everything that was promised to be kept.

use std::collections::BTreeMap;
use std::time::Instant;

/// The files of a sandbox.
pub(crate) const FILE: &str = "file";

/// What was found, by channel.
pub(crate) type Found = BTreeMap<&'static str, Vec<u64>>;

/// One number of a channel.
#[derive(Clone)]
struct Entry {
    number: u64,
    /// When the call was answered. None: it was not, so that it may be there or not.
    answered: Option<Instant>,
    /// By what it was promised to be there from now on.
    kept: Option<&'static str>,
}

/// What a sandbox holds at one moment.
#[derive(Clone)]
pub(crate) struct State {
    channels: BTreeMap<&'static str, Vec<Entry>>,
    /// The number in the file that is uploaded: one of these. None: there is no file.
    uploads: Vec<Option<u64>>,
}

impl Default for State {
    fn default() -> Self {
        Self { channels: BTreeMap::new(), uploads: vec![None] }
    }
}

/// A broken promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Broken {
    /// What was promised to be kept is not there.
    Lost,
    /// Something is there twice.
    Twice,
    /// Something is there without what came before it.
    Order,
    /// Something is there that was never asked for here.
    Foreign,
    /// Memory and files are of different moments.
    Torn,
    /// A call did not end within its limit.
    Late,
    /// A call was refused without a reason.
    Refused,
    /// A process, a descriptor, a file or memory is left over.
    Leaked,
}

impl State {
    /// Adds a number to channels.
    fn add(&mut self, channels: &[&'static str], number: u64, answered: Option<Instant>) {
        for channel in channels {
            let entry = Entry { number, answered, kept: None };
            self.channels.entry(channel).or_default().push(entry);
        }
    }

    fn entries(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.channels.values_mut().flatten()
    }

    /// Empties the interpreters.
    fn forget(&mut self) {
        self.channels.retain(|channel, _| *channel == FILE);
    }

    /// Holds what was found to this state. `is_whole`: nothing that was answered may be missing.
    fn hold(&self, found: &Found, is_whole: bool) -> Result<(), (Broken, String)> {
        let none = Vec::new();
        for (channel, entries) in &self.channels {
            let there = found.get(channel).unwrap_or(&none);
            hold(entries, there, is_whole).map_err(|(broken, number)| {
                let asked: Vec<String> = entries.iter().map(Entry::shown).collect();
                (broken, format!("{channel}: {number}; there: {there:?}; asked: {}", asked.join(" ")))
            })?;
        }
        match found.iter().find(|(channel, there)| !there.is_empty() && !self.channels.contains_key(*channel))
        {
            Some((channel, there)) => Err((Broken::Foreign, format!("{channel}: {there:?}"))),
            None => Ok(()),
        }
    }

    /// The interpreters and the files must be of one moment: a call that left its number in both is in both or in neither.
    fn is_of_one_moment(&self, found: &Found) -> Result<(), (Broken, String)> {
        let of = |channel: &str| found.get(channel).map_or(&[][..], Vec::as_slice);
        let numbers = |channel: &str| {
            let entries = self.channels.get(channel).into_iter().flatten();
            entries.filter(|entry| entry.answered.is_some()).map(|entry| entry.number).collect::<Vec<_>>()
        };
        let files = numbers(FILE);
        for channel in self.channels.keys().filter(|channel| **channel != FILE) {
            for number in numbers(channel).into_iter().filter(|number| files.contains(number)) {
                if of(channel).contains(&number) != of(FILE).contains(&number) {
                    let told = format!("{number}: {channel} {:?}, files {:?}", of(channel), of(FILE));
                    return Err((Broken::Torn, told));
                }
            }
        }
        Ok(())
    }

    /// The state that holds what was found and nothing else.
    fn of(found: Found, uploads: Vec<Option<u64>>) -> Self {
        let entry = |number| Entry { number, answered: Some(Instant::now()), kept: Some("found") };
        let channels =
            found.into_iter().map(|(channel, there)| (channel, there.into_iter().map(entry).collect()));
        Self { channels: channels.collect(), uploads }
    }
}

impl Entry {
    fn shown(&self) -> String {
        match (self.answered, self.kept) {
            (None, _) => format!("{}?", self.number),
            (_, None) => self.number.to_string(),
            (_, Some("found")) => format!("{}!", self.number),
            (_, Some(by)) => format!("{}!({by})", self.number),
        }
    }
}

/// Holds one channel.
fn hold(entries: &[Entry], found: &[u64], is_whole: bool) -> Result<(), (Broken, u64)> {
    let mut there = found.iter().copied().peekable();
    for (at, entry) in entries.iter().enumerate() {
        if there.next_if_eq(&entry.number).is_some() || (entry.answered.is_none() && entry.kept.is_none()) {
            continue;
        }
        if let Some(missing) = entries[at..].iter().find(|entry| entry.kept.is_some() || is_whole) {
            // What comes later may be there all the same, which is worse.
            let known =
                there.peek().is_some_and(|next| entries[at..].iter().any(|entry| entry.number == *next));
            return Err((if known { Broken::Order } else { Broken::Lost }, missing.number));
        }
        break;
    }
    let Some(next) = there.next() else { return Ok(()) };
    let before = found.iter().filter(|number| **number == next).count();
    let broken = match (before, entries.iter().any(|entry| entry.number == next)) {
        (2.., _) => Broken::Twice,
        (_, true) => Broken::Order,
        (_, false) => Broken::Foreign,
    };
    Err((broken, next))
}

/// What may be found of a sandbox.
#[derive(Clone, Default)]
pub(crate) struct History {
    /// States that an older save may still hold.
    older: Vec<State>,
    /// What it is if the last call, which was not answered, was not done.
    otherwise: Vec<State>,
    now: State,
}

impl History {
    /// The history of a copy, whose state is saved. What was in doubt in it stays so.
    pub(crate) fn of(mut state: State) -> Self {
        let sure = state.entries().filter(|entry| entry.answered.is_some());
        sure.for_each(|entry| entry.kept = Some("found"));
        Self { now: state, ..Self::default() }
    }

    /// The state now.
    pub(crate) fn now(&self) -> &State {
        &self.now
    }

    /// A call was answered that left a number.
    pub(crate) fn done(&mut self, channels: &[&'static str], number: u64) {
        self.now.add(channels, number, Some(Instant::now()));
    }

    /// A call was not answered, or was given up: its number may be there.
    pub(crate) fn perhaps(&mut self, channels: &[&'static str], number: u64) {
        for state in self.older.iter_mut().chain(&mut self.otherwise).chain([&mut self.now]) {
            state.add(channels, number, None);
        }
    }

    /// A file was uploaded.
    pub(crate) fn uploaded(&mut self, number: u64) {
        self.now.uploads = vec![Some(number)];
    }

    /// A file may have been uploaded.
    pub(crate) fn perhaps_uploaded(&mut self, number: u64) {
        self.now.uploads.push(Some(number));
    }

    /// The interpreters were dropped; the state before may still be the one that is saved.
    pub(crate) fn forgotten(&mut self) {
        self.older.push(self.now.clone());
        self.now.forget();
    }

    /// The interpreters may have been dropped.
    pub(crate) fn perhaps_forgotten(&mut self) {
        self.otherwise.push(self.now.clone());
        self.now.forget();
    }

    /// The state may be this one now.
    pub(crate) fn perhaps_is(&mut self, state: State) {
        self.otherwise.push(std::mem::replace(&mut self.now, state));
    }

    /// The state is this one now, and is not saved yet.
    pub(crate) fn goes_back(&mut self, state: State) {
        self.older.push(std::mem::replace(&mut self.now, state));
    }

    /// What the interpreters held may be there or not: it was told so.
    pub(crate) fn doubtful(&mut self) {
        for (_, entries) in self.now.channels.iter_mut().filter(|(channel, _)| **channel != FILE) {
            entries.iter_mut().for_each(|entry| (entry.answered, entry.kept) = (None, None));
        }
    }

    /// What was answered and not promised to be kept may be there or not: what held it may have ended.
    pub(crate) fn shaken(&mut self) {
        for state in self.older.iter_mut().chain(&mut self.otherwise).chain([&mut self.now]) {
            let loose = state.entries().filter(|entry| entry.kept.is_none());
            loose.for_each(|entry| entry.answered = None);
        }
    }

    /// All that was answered is saved, by this.
    pub(crate) fn kept(&mut self, by: &'static str) {
        self.older.clear();
        self.kept_where(by, |_| true);
    }

    /// What was answered before this time is saved, by the promise of the window.
    pub(crate) fn kept_before(&mut self, time: Instant) {
        self.kept_where("window", |answered| answered < time);
    }

    fn kept_where(&mut self, by: &'static str, is_kept: impl Fn(Instant) -> bool) {
        for state in self.otherwise.iter_mut().chain([&mut self.now]) {
            let entries = state.entries().filter(|entry| entry.answered.is_some_and(&is_kept));
            entries.for_each(|entry| _ = entry.kept.get_or_insert(by));
        }
    }

    /// Everything that was answered must be there in this channel.
    pub(crate) fn is_all(&self, channel: &'static str, found: &[u64]) -> Result<(), (Broken, String)> {
        let entries = self.now.channels.get(channel).map_or(&[][..], Vec::as_slice);
        hold(entries, found, true).map_err(|(broken, number)| {
            let asked: Vec<String> = entries.iter().map(Entry::shown).collect();
            (broken, format!("{channel}: {number}; there: {found:?}; asked: {}", asked.join(" ")))
        })
    }

    /// Holds what is seen in one channel after a restart to what may be found there.
    pub(crate) fn may_be(&self, channel: &'static str, found: &[u64]) -> Result<(), (Broken, String)> {
        let mut held = Ok(());
        for state in [&self.now].into_iter().chain(&self.otherwise).chain(&self.older) {
            let entries = state.channels.get(channel).map_or(&[][..], Vec::as_slice);
            held = hold(entries, found, false)
                .map_err(|(broken, number)| (broken, format!("{channel}: {number}; there: {found:?}")));
            if held.is_ok() {
                break;
            }
        }
        held
    }

    /// Holds what is found after a restart to what may be found, and takes it as what there is. `is_calm`: the interpreters
    /// and the files were saved together.
    pub(crate) fn found(
        &mut self,
        found: Found,
        upload: Option<u64>,
        is_calm: bool,
    ) -> Result<(), (Broken, String)> {
        let mut first = Err((Broken::Lost, "nothing fits".to_owned()));
        let states = [&self.now].into_iter().chain(&self.otherwise).chain(&self.older);
        for (at, state) in states.enumerate() {
            let mut held = state.hold(&found, false);
            if held.is_ok() && is_calm {
                held = state.is_of_one_moment(&found);
            }
            if held.is_ok() && !state.uploads.contains(&upload) {
                let told = format!("uploaded: {upload:?}, not one of {:?}", state.uploads);
                held = Err((Broken::Lost, told));
            }
            if at == 0 || held.is_ok() {
                first = held;
            }
            if first.is_ok() {
                break;
            }
        }
        *self = Self { now: State::of(found, vec![upload]), ..Self::default() };
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(of: &[(u64, bool, bool)]) -> Vec<Entry> {
        let entry = |(number, is_answered, is_kept): &(u64, bool, bool)| Entry {
            number: *number,
            answered: is_answered.then(Instant::now),
            kept: is_kept.then_some("a test"),
        };
        of.iter().map(entry).collect()
    }

    #[test]
    fn a_beginning_with_all_that_is_kept_is_right_and_all_else_is_told() {
        let asked = entries(&[(1, true, true), (2, true, false), (3, false, false), (4, true, false)]);
        for right in [&[1][..], &[1, 2], &[1, 2, 3], &[1, 2, 4], &[1, 2, 3, 4]] {
            assert_eq!(hold(&asked, right, false), Ok(()), "{right:?}");
        }
        let wrong = [
            (&[][..], Broken::Lost, 1),
            (&[2], Broken::Order, 1),
            (&[1, 4], Broken::Order, 4),
            (&[1, 3], Broken::Order, 3),
            (&[1, 2, 2], Broken::Twice, 2),
            (&[1, 2, 4, 3], Broken::Order, 3),
            (&[1, 2, 3, 4, 9], Broken::Foreign, 9),
        ];
        for (there, broken, number) in wrong {
            assert_eq!(hold(&asked, there, false), Err((broken, number)), "{there:?}");
        }
        assert_eq!(hold(&asked, &[1, 2], true), Err((Broken::Lost, 4)));
        assert_eq!(hold(&asked, &[1, 2, 4], true), Ok(()));
    }

    #[test]
    fn older_states_count_until_a_save() {
        let found = |memory: &[u64]| Found::from([("python", memory.to_vec()), (FILE, vec![1])]);
        let mut history = History::default();
        history.done(&["python", FILE], 1);
        history.kept("a test");
        history.forgotten();
        assert_eq!(history.clone().found(found(&[1]), None, true), Ok(()));
        assert_eq!(history.clone().found(found(&[]), None, false), Ok(()));
        history.kept("a test");
        assert_eq!(history.found(found(&[1]), None, true).unwrap_err().0, Broken::Foreign);
    }

    #[test]
    fn what_a_container_held_may_be_missing_and_what_was_saved_may_not() {
        let found = |files: &[u64]| Found::from([(FILE, files.to_vec())]);
        let mut history = History::default();
        history.done(&[FILE], 1);
        history.kept("a test");
        history.done(&[FILE], 2);
        history.shaken();
        history.done(&[FILE], 3);
        for right in [&[1, 3][..], &[1, 2, 3], &[1]] {
            assert_eq!(history.clone().found(found(right), None, true), Ok(()), "{right:?}");
        }
        assert_eq!(history.is_all(FILE, &[1, 2]).unwrap_err().0, Broken::Lost);
        history.kept("a test");
        // Nor has a checkpoint of it what was in doubt for sure.
        let copy = History::of(history.now().clone());
        assert_eq!(copy.clone().found(found(&[1, 3]), None, true), Ok(()));
        assert_eq!(copy.is_all(FILE, &[1, 2]).unwrap_err().0, Broken::Lost);
        assert_eq!(history.clone().found(found(&[1, 2]), None, true).unwrap_err().0, Broken::Lost);
        assert_eq!(history.found(found(&[2, 3]), None, true).unwrap_err().0, Broken::Order);
    }

    #[test]
    fn what_is_in_the_files_alone_is_torn() {
        let mut history = History::default();
        history.done(&["python", FILE], 1);
        let found = Found::from([("python", vec![]), (FILE, vec![1])]);
        assert_eq!(history.clone().found(found.clone(), None, false), Ok(()));
        assert_eq!(history.found(found, None, true).unwrap_err().0, Broken::Torn);
    }
}
