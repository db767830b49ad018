//! A lock on several independent servers, of which a majority grants it: what the answers of the servers say together.
//!
//! See docs/protocol/quorum.md, and `tests/model/src/quorum`, which checks these rules.

mod acquire;
mod inspect;
mod release;
mod renew;
mod transfer;

use std::fmt;

pub(super) use acquire::acquire;
pub(super) use inspect::inspect;
pub(super) use release::{force_release, release};
pub(super) use renew::renew;
pub(super) use transfer::transfer;

use crate::backend::{Failed, Quorum};
use crate::error::{Error, ErrorKind};
use crate::name::ObjectName;

/// Why servers did not do what was asked of them.
#[derive(Default)]
struct Reasons {
    texts: Vec<String>,
    /// The first failure that a server repeats as often as it is asked, and how many say such.
    lasting: Option<Failed>,
    lasts: usize,
}

impl Reasons {
    fn failed(&mut self, failed: Failed) {
        self.say(failed.error.message());
        if !failed.away {
            self.lasts += 1;
            self.lasting.get_or_insert(failed);
        }
    }

    fn restarted(&mut self) {
        self.say(
            "one has restarted lately and may have lost what it granted, so it does not count yet (longest_lease)",
        );
    }

    fn say(&mut self, text: &str) {
        if !self.texts.iter().any(|said| said == text) {
            self.texts.push(text.to_owned());
        }
    }

    /// What a caller is told when too few servers did it.
    fn too_few(self, quorum: &Quorum, op: &'static str, name: &ObjectName) -> Failed {
        let (needed, all) = (quorum.majority(), quorum.all().len());
        let message = format!("{needed} of {all} servers have to agree: {self}");
        let failed = match self.lasting {
            // The others are too few even if they all agree.
            Some(failed) if self.lasts > all - needed => Failed { error: failed.error.retold(op, message), ..failed },
            _ => Failed { error: Error::new(ErrorKind::Connection, op, message), echo_until: None, away: true },
        };
        Failed { echo_until: None, ..failed.on(name) }
    }
}

impl fmt::Display for Reasons {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.texts.is_empty() {
            true => f.write_str("too few answered in time"),
            false => f.write_str(&self.texts.join("; ")),
        }
    }
}
