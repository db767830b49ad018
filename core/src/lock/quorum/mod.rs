//! A lock on several independent servers, of which a majority grants it: what the answers of the servers say together.
//!
//! See docs/protocol/quorum.md, and `tests/model/src/quorum`, which checks these rules.

mod acquire;
mod inspect;
mod release;
mod renew;
mod transfer;

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
    /// Each text once, with the servers that say it.
    said: Vec<(String, Vec<usize>)>,
    /// The first failure that a server repeats as often as it is asked, and how many say such.
    lasting: Option<Failed>,
    lasts: usize,
}

impl Reasons {
    fn failed(&mut self, server: usize, failed: Failed) {
        self.say(server, failed.error.message());
        if !failed.away {
            self.lasts += 1;
            self.lasting.get_or_insert(failed);
        }
    }

    fn restarted(&mut self, server: usize) {
        self.say(
            server,
            "it has restarted lately and may have lost what it granted, so it does not count yet (longest_lease)",
        );
    }

    fn say(&mut self, server: usize, text: &str) {
        match self.said.iter_mut().find(|(said, _)| said == text) {
            Some((_, servers)) => servers.push(server),
            None => self.said.push((text.to_owned(), vec![server])),
        }
    }

    /// What a caller is told when too few servers did it.
    fn too_few(self, quorum: &Quorum, op: &'static str, name: &ObjectName) -> Failed {
        let (needed, all) = (quorum.majority(), quorum.all().len());
        let mut message = format!("{needed} of {all} servers have to agree: {}", self.told(quorum));
        if let Some(twins) = quorum.twins() {
            message = format!("{message}; {twins}");
        }
        let failed = match self.lasting {
            // The others are too few even if they all agree.
            Some(failed) if self.lasts > all - needed => Failed { error: failed.error.retold(op, message), ..failed },
            _ => Failed { error: Error::new(ErrorKind::Connection, op, message), echo_until: None, away: true },
        };
        Failed { echo_until: None, ..failed.on(name) }
    }

    fn told(&self, quorum: &Quorum) -> String {
        let told = |(text, servers): &(String, Vec<usize>)| {
            let addresses: Vec<String> = servers.iter().map(|server| quorum.address(*server)).collect();
            match addresses.iter().all(|address| text.contains(address.as_str())) {
                true => text.clone(),
                false => format!("{}: {text}", addresses.join(", ")),
            }
        };
        match self.said.is_empty() {
            true => "too few answered in time".to_owned(),
            false => self.said.iter().map(told).collect::<Vec<_>>().join("; "),
        }
    }
}
