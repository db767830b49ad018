//! Faults, one after the other, at random, and what ends each.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use fastrand::Rng;
use libdlock_testkit::{Action, Proxy, Server};

use crate::{NAME, crew::Crew, ledger::Ledger};

const SECOND_US: i64 = 1_000_000;

/// Each with how often it comes, relative to the others.
const FAULTS: [(&str, u32); 16] = [
    ("a producer killed", 5),
    ("a consumer killed", 5),
    ("a producer stopped for a while", 3),
    ("a consumer stopped for a while", 5),
    ("all connections reset", 5),
    ("a reply cut off", 10),
    ("black hole", 4),
    ("delay", 4),
    ("server restarted with its file", 4),
    ("server stopped for a while", 3),
    ("clock ahead by 3 s", 2),
    ("clock ahead by 1 h", 1),
    ("clock back by 3 s for a while", 2),
    ("clock back by 1 h for a while", 1),
    ("SCRIPT FLUSH", 3),
    ("CLIENT KILL", 3),
];

enum End {
    Resume(usize),
    Server,
    Network,
    Clock(i64),
}

#[derive(Default)]
pub struct Storm {
    active: Vec<(Instant, End)>,
    pub counts: BTreeMap<&'static str, u64>,
    pub last: Vec<String>,
}

impl Storm {
    /// One more fault.
    pub fn strike(&mut self, rng: &mut Rng, server: &mut Server, proxy: &Proxy, crew: &mut Crew, ledger: &mut Ledger) {
        let all: u32 = FAULTS.iter().map(|(_, weight)| weight).sum();
        let mut at = rng.u32(..all);
        let chosen = FAULTS.iter().find(|(_, weight)| {
            let found = at < *weight;
            at = at.saturating_sub(*weight);
            found
        });
        let (fault, _) = chosen.expect("within the sum");
        *self.counts.entry(fault).or_default() += 1;
        self.last.push((*fault).to_owned());
        let until = Instant::now() + Duration::from_millis(rng.u64(200..3_000));
        let back = |us: i64| {
            server.clock().advance(-us);
            (until, End::Clock(us))
        };
        match *fault {
            "a producer killed" => crew.kill(rng, true, ledger),
            "a consumer killed" => crew.kill(rng, false, ledger),
            "a producer stopped for a while" => self.active.push((until, End::Resume(crew.pause(rng, true)))),
            "a consumer stopped for a while" => self.active.push((until, End::Resume(crew.pause(rng, false)))),
            "all connections reset" => proxy.reset_all(),
            "a reply cut off" => drop(proxy.on(&["EVALSHA", NAME], Action::CutReply(rng.usize(..12)))),
            "black hole" => {
                proxy.hold_all();
                self.active.push((until, End::Network));
            }
            "delay" => {
                proxy.delay(libdlock_testkit::Side::Replies, Duration::from_millis(rng.u64(..150)));
                self.active.push((until, End::Network));
            }
            "server restarted with its file" => {
                self.end(|end| matches!(end, End::Server), server, proxy, crew);
                server.stop();
                std::thread::sleep(Duration::from_millis(rng.u64(..800)));
                server.start_again();
            }
            "server stopped for a while" => {
                server.pause();
                self.active.push((until, End::Server));
            }
            "clock ahead by 3 s" => {
                ledger.was_set_ahead = true;
                server.clock().advance(3 * SECOND_US);
            }
            "clock ahead by 1 h" => {
                ledger.was_set_ahead = true;
                server.clock().advance(3_600 * SECOND_US);
            }
            // It goes ahead again, and then leases that were made before end early, too.
            "clock back by 3 s for a while" => {
                ledger.was_set_ahead = true;
                self.active.push(back(3 * SECOND_US));
            }
            "clock back by 1 h for a while" => {
                ledger.was_set_ahead = true;
                self.active.push(back(3_600 * SECOND_US));
            }
            command => {
                self.end(|end| matches!(end, End::Server), server, proxy, crew);
                let words = if command == "CLIENT KILL" {
                    vec!["CLIENT", "KILL", "TYPE", "normal"]
                } else {
                    vec!["SCRIPT", "FLUSH"]
                };
                server.cmd(&words);
            }
        }
    }

    /// Ends what is due.
    pub fn end_due(&mut self, server: &Server, proxy: &Proxy, crew: &mut Crew) {
        let now = Instant::now();
        let (due, active) = std::mem::take(&mut self.active).into_iter().partition(|(at, _)| *at <= now);
        self.active = active;
        Self::finish(due, server, proxy, crew);
    }

    /// Ends everything.
    pub fn end_all(&mut self, server: &Server, proxy: &Proxy, crew: &mut Crew) {
        self.end(|_| true, server, proxy, crew);
        proxy.heal();
        self.last.clear();
    }

    fn end(&mut self, which: impl Fn(&End) -> bool, server: &Server, proxy: &Proxy, crew: &mut Crew) {
        let (ends, active) = std::mem::take(&mut self.active).into_iter().partition(|(_, end)| which(end));
        self.active = active;
        Self::finish(ends, server, proxy, crew);
    }

    fn finish(ends: Vec<(Instant, End)>, server: &Server, proxy: &Proxy, crew: &mut Crew) {
        for (_, end) in ends {
            match end {
                End::Resume(at) => crew.resume(at),
                End::Server => server.resume(),
                End::Network => proxy.heal(),
                End::Clock(us) => server.clock().advance(us),
            }
        }
    }
}
