//! What ends a fault, and when.

use std::time::{Duration, Instant};

use libdlock_faults::soak::{
    fleet::Fleet,
    history::History,
    removal::{Removal, Tokens},
};
use libdlock_testkit::{proxy::Match, wait::monotonic_us};

use super::{Storm, insist};
use crate::place::Place;

/// How long a server with some gigabytes stands still when it forks for a snapshot.
pub(super) const SNAPSHOT: Duration = Duration::from_millis(70);

/// What ends a fault.
pub(super) enum End {
    /// The network is well again, all of it.
    Heal,
    LetGo(Match),
    Resume(usize),
    ResumeServer,
    /// The server goes on after a snapshot, and makes so many more.
    Snapshot(u32),
    /// The server goes on until now: the next snapshot, and how many after it.
    Between(u32),
    Accept,
    Memory,
    Master,
    /// The server's clock is where it would be.
    Clock(i64),
    /// The server's clock runs as it should.
    Slew,
}

impl End {
    fn word(&self) -> &'static str {
        match self {
            End::Heal => "bad network",
            End::LetGo(_) => "holding back",
            End::Resume(_) => "standing still",
            End::ResumeServer => "the server's standing still",
            End::Snapshot(_) => "a snapshot",
            End::Between(_) => "going on between snapshots",
            End::Accept => "no new connections",
            End::Memory => "out of memory",
            End::Master => "read only",
            End::Clock(_) => "clock back",
            End::Slew => "slewing",
        }
    }

    /// It takes an answer of the server.
    pub(super) fn asks(&self) -> bool {
        matches!(self, End::Memory | End::Master)
    }

    /// Until then the server answers nothing.
    pub(super) fn frees(&self) -> bool {
        matches!(self, End::ResumeServer | End::Snapshot(_))
    }

    /// It is about the server that is in charge, wherever the address leads later.
    pub(super) fn is_of_the_server(&self) -> bool {
        self.asks() || self.frees() || matches!(self, End::Between(_))
    }
}

impl Storm {
    /// Ends what is due.
    pub fn end_due(&mut self, place: &mut Place, fleet: &mut Fleet, history: &mut History) {
        let now = Instant::now();
        let asks = self.active.iter().any(|(at, end)| *at <= now && end.asks());
        let is_due = |(at, end): &(Instant, End)| *at <= now || asks && end.frees();
        let (due, active) = std::mem::take(&mut self.active).into_iter().partition(is_due);
        self.active = active;
        self.finish(due, place, fleet, history);
    }

    /// Ends everything, and waits until the server answers.
    pub fn end_all(&mut self, place: &mut Place, fleet: &mut Fleet, history: &mut History) {
        self.end_early(|_| true, place, fleet, history);
        self.active.clear();
        place.proxy.heal();
        insist(&place.server, &["CLIENT", "UNPAUSE"]);
        self.waiting.clear();
    }

    pub(super) fn end_early(
        &mut self,
        which: impl Fn(&End) -> bool,
        place: &mut Place,
        fleet: &mut Fleet,
        history: &mut History,
    ) {
        let (mut early, active): (Vec<_>, _) =
            std::mem::take(&mut self.active).into_iter().partition(|(_, end)| which(end));
        self.active = active;
        early.retain(|(_, end)| !matches!(end, End::Between(_)));
        self.finish(early, place, fleet, history);
    }

    /// The server first: the others may need its answer, so it stops after them.
    fn finish(&mut self, mut ends: Vec<(Instant, End)>, place: &mut Place, fleet: &mut Fleet, history: &mut History) {
        ends.sort_by_key(|(_, end)| if end.frees() { 0 } else { 1 + u32::from(matches!(end, End::Between(_))) });
        for (_, end) in ends {
            let from = monotonic_us();
            fleet.note(format!("ends: {}", end.word()));
            match end {
                End::Heal => place.proxy.heal(),
                End::LetGo(held) => held.let_go(),
                End::Resume(victim) => fleet.resume(victim),
                End::ResumeServer => place.server.resume(),
                End::Snapshot(more) => {
                    place.server.resume();
                    if more > 0 {
                        self.until(SNAPSHOT * (1 + more % 3), End::Between(more - 1));
                    }
                }
                End::Between(more) => {
                    *self.counts.entry("snapshots: 70 ms without an answer").or_default() += 1;
                    place.server.pause();
                    self.until(SNAPSHOT, End::Snapshot(more));
                }
                End::Slew => place.server.clock().slew(0),
                End::Accept => place.proxy.refuse(false),
                End::Memory => drop(insist(&place.server, &["CONFIG", "SET", "maxmemory", "0"])),
                End::Master => drop(insist(&place.server, &["REPLICAOF", "NO", "ONE"])),
                End::Clock(step) => {
                    place.server.clock().advance(step);
                    self.clock_is_behind = false;
                    history.removed(Removal { name: None, from, to: monotonic_us(), tokens: Tokens::Kept });
                }
            }
        }
    }
}
