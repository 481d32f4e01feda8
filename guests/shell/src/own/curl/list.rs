//! The transfers of a set, one after the other: an address with patterns is many.

use std::sync::Mutex;

use super::super::web::cookies::Jar;
use super::super::web::desk::Desk;
use super::failure::{ADDRESS, Failure};
use super::globs::{Glob, filled};
use super::settings::{Output, Settings};
use super::transfer::Transfer;

/// The transfers that are left.
pub(super) struct Transfers<'a> {
    set: &'a Settings,
    desk: &'a Desk<'a>,
    jar: &'a Mutex<Jar>,
    /// The next address.
    place: usize,
    /// The pattern that is at work, and its next number.
    open: Option<(Glob, u64)>,
    count: u64,
}

impl<'a> Transfers<'a> {
    pub(super) fn new(set: &'a Settings, desk: &'a Desk<'a>, jar: &'a Mutex<Jar>) -> Self {
        Self { set, desk, jar, place: 0, open: None, count: 0 }
    }

    /// What belongs to the address that is at work.
    fn transfer(&mut self, address: String, came: &[String]) -> Transfer<'a> {
        let place = self.place - 1;
        let output = self.set.outputs.get(place).map(|output| match output {
            Output::Named(name) => Output::Named(filled(name, came)),
            Output::Remote => Output::Remote,
        });
        let number = self.count;
        self.count += 1;
        let upload = self.set.uploads.get(place).cloned().filter(|file| !file.is_empty());
        Transfer { set: self.set, desk: self.desk, jar: self.jar, address, number, output, upload }
    }
}

impl<'a> Iterator for Transfers<'a> {
    type Item = Result<Transfer<'a>, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((glob, number)) = &mut self.open
                && *number < glob.count
            {
                let (address, came) = glob.at(*number);
                *number += 1;
                return Some(Ok(self.transfer(address, &came)));
            }
            let address = self.set.addresses.get(self.place)?;
            self.place += 1;
            match if self.set.globs { Glob::parse(address) } else { Ok(Glob::plain(address)) } {
                Ok(glob) => self.open = Some((glob, 0)),
                Err(why) => {
                    self.open = None;
                    return Some(Err(Failure::new(ADDRESS, why)));
                }
            }
        }
    }
}
