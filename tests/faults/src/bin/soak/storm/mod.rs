//! Faults, one after the other, at random, and what each does.

mod ends;

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use fastrand::Rng;
use libdlock_testkit::{Action, Conn, Reply, Server, Side, proxy::BOTH, server::Data, wait::monotonic_us};

use libdlock_faults::soak::{
    contended::Contended,
    fleet::Fleet,
    history::History,
    removal::{Removal, Tokens},
};

use crate::{LEASE, place::Place};
use ends::{End, SNAPSHOT};

/// Each with how often it comes, relative to the others.
const FAULTS: [(&str, u32); 38] = [
    ("a worker killed", 4),
    ("a worker stopped for a while", 6),
    ("all connections reset", 6),
    ("black hole", 5),
    ("requests held back", 3),
    ("replies held back", 3),
    ("delay", 6),
    ("a slow line", 2),
    ("a reply cut off", 10),
    ("a request refused", 4),
    ("a request held back", 5),
    ("a reply held back", 5),
    ("clients forsaken", 4),
    ("half closed", 3),
    ("no new connections", 3),
    ("CLIENT KILL pubsub", 6),
    ("CLIENT KILL normal", 4),
    ("SCRIPT FLUSH", 4),
    ("DEBUG SLEEP", 4),
    ("CLIENT PAUSE", 4),
    ("server stopped for a while", 4),
    ("FLUSHALL", 1),
    ("DEL of a lock", 3),
    ("DEL of a semaphore", 2),
    ("DEL of how many permits are available", 2),
    ("DEL of a queue", 2),
    ("server restarted empty", 1),
    ("server restarted from a snapshot", 2),
    ("server clock ahead", 2),
    ("server clock back for a while", 3),
    ("out of memory", 2),
    ("read only", 2),
    ("everybody gives up", 4),
    ("the slow script", 2),
    ("a planned failover", 5),
    ("a failover that loses writes", 4),
    ("snapshots: 70 ms without an answer", 8),
    ("server clock slewed", 8),
];

/// Those that no caller may notice but by waiting: with nothing else, no caller is told of an error.
const GENTLE: [(&str, u32); 5] = [
    ("a planned failover", 3),
    ("snapshots: 70 ms without an answer", 6),
    ("server clock slewed", 2),
    ("CLIENT KILL pubsub", 1),
    ("SCRIPT FLUSH", 1),
];

/// By how much a time daemon may slew a clock, in millionths: chrony's default limit.
const SLEW: i64 = 83_333;

#[derive(Default)]
pub struct Storm {
    active: Vec<(Instant, End)>,
    pub counts: BTreeMap<&'static str, u64>,
    /// The last few, for whoever looks for a cause.
    pub recent: Vec<(i64, &'static str)>,
    /// Connections on which the server has yet to answer.
    waiting: Vec<Conn>,
    clock_is_behind: bool,
    /// Only faults that no caller may notice.
    pub gentle: bool,
    /// Since the last calm: workers killed, and whether anything came back that was gone.
    pub killed: u32,
    pub revived: bool,
}

fn between(rng: &mut Rng, from: Duration, to: Duration) -> Duration {
    from + (to - from).mul_f64(rng.f64())
}

const MS: Duration = Duration::from_millis(1);

/// Sends a command until the server is not busy with a script, or with what it loads, any more.
pub fn insist(server: &Server, command: &[&str]) -> Reply {
    loop {
        let error = match server.cmd(command) {
            Reply::Error(error) => error,
            reply => return reply,
        };
        let passes = ["BUSY", "LOADING"].iter().any(|kind| error.starts_with(kind));
        assert!(passes, "{command:?}: {error}");
        std::thread::sleep(MS * 20);
    }
}

impl Storm {
    /// One fault, whichever comes.
    pub fn strike(&mut self, rng: &mut Rng, place: &mut Place, fleet: &mut Fleet, history: &mut History) {
        let faults = if self.gentle { &GENTLE[..] } else { &FAULTS[..] };
        let mut n = rng.u32(0..faults.iter().map(|(_, weight)| weight).sum());
        let (name, _) =
            faults.iter().find(|(_, weight)| n.checked_sub(*weight).map(|left| n = left).is_none()).expect("one");
        *self.counts.entry(name).or_default() += 1;
        self.recent.push((monotonic_us(), name));
        fleet.note(format!("begins: {name}"));
        self.recent.drain(..self.recent.len().saturating_sub(20));
        let length = between(rng, LEASE / 10, LEASE * 2);
        // The first process is never killed: its memory shows what an hour does to it.
        let victim = rng.usize(0..fleet.processes.len());
        match *name {
            "a worker killed" => {
                fleet.replace(victim.max(1), history);
                self.killed += 1;
            }
            "a worker stopped for a while" => {
                fleet.stop(victim);
                self.until(length, End::Resume(victim));
            }
            name if self.network(name, rng, length, place) => {}
            "everybody gives up" => fleet.cancel(),
            name => {
                // A server that stands still answers no command of ours.
                self.end_early(End::frees, place, fleet, history);
                if name.contains("failover") {
                    self.end_early(End::is_of_the_server, place, fleet, history);
                    return self.fail_over(name, rng, place, history);
                }
                if name.contains("slewed") {
                    self.end_early(|end| matches!(end, End::Slew), place, fleet, history);
                }
                self.server(name, rng, length, place, history);
            }
        }
    }

    fn until(&mut self, length: Duration, end: End) {
        self.active.push((Instant::now() + length, end));
    }

    /// What happens between client and server; false when it is no such thing.
    fn network(&mut self, name: &str, rng: &mut Rng, length: Duration, place: &Place) -> bool {
        let Place { proxy, contended, .. } = place;
        let target = rng.choice(contended).expect("some").name.clone();
        let script = ["EVAL", target.as_str()];
        match name {
            "all connections reset" => proxy.reset_all(),
            "black hole" => proxy.hold_all(),
            "requests held back" => proxy.hold(Side::Requests),
            "replies held back" => proxy.hold(Side::Replies),
            "delay" => BOTH.into_iter().for_each(|side| proxy.delay(side, between(rng, MS, MS * 150))),
            "a slow line" => BOTH.into_iter().for_each(|side| proxy.throttle(side, Some(rng.u64(5_000..200_000)))),
            "a reply cut off" => drop(proxy.on(&script, Action::CutReply(rng.usize(0..40)))),
            "a request refused" => drop(proxy.on(&script, Action::Refuse)),
            "a request held back" | "a reply held back" => {
                let action = if name == "a reply held back" { Action::HoldReply } else { Action::HoldRequest };
                let held = proxy.on(&script, action);
                self.until(length, End::LetGo(held));
            }
            "clients forsaken" => {
                proxy.hold(Side::Requests);
                std::thread::sleep(MS * 5);
                proxy.forsake_clients();
            }
            "half closed" => proxy.half_close(BOTH[rng.usize(0..2)]),
            "no new connections" => {
                proxy.refuse(true);
                proxy.reset_all();
                self.until(length, End::Accept);
            }
            _ => return false,
        }
        if ["black hole", "requests held back", "replies held back", "delay", "a slow line", "clients forsaken"]
            .contains(&name)
        {
            self.until(length, End::Heal);
        }
        true
    }

    /// What the server does or suffers.
    fn server(&mut self, name: &str, rng: &mut Rng, length: Duration, place: &mut Place, history: &mut History) {
        let is_meant = |what: &&Contended| match name {
            "DEL of a lock" => what.permits().is_none() && what.counted().is_none(),
            "DEL of a semaphore" | "DEL of how many permits are available" => what.permits().is_some(),
            _ => true,
        };
        let meant: Vec<&Contended> = place.contended.iter().filter(is_meant).collect();
        let target = (*rng.choice(&meant).expect("one")).clone();
        let Place { server, .. } = place;
        // Behind whatever it is still at.
        insist(server, &["PING"]);
        let from = monotonic_us();
        let mut removed = |name: Option<String>, tokens: Tokens| {
            history.removed(Removal { name, from, to: monotonic_us(), tokens });
        };
        match name {
            "CLIENT KILL pubsub" => drop(server.cmd(&["CLIENT", "KILL", "TYPE", "pubsub"])),
            "CLIENT KILL normal" => drop(server.cmd(&["CLIENT", "KILL", "TYPE", "normal"])),
            "SCRIPT FLUSH" => drop(server.cmd(&["SCRIPT", "FLUSH"])),
            "DEBUG SLEEP" => self.send(server, &["DEBUG", "SLEEP", &format!("{}", rng.f64() * 1.5)]),
            "the slow script" => {
                let loops = "local t = redis.call('TIME')[1] while redis.call('TIME')[1] - t < 2 do end";
                self.send(server, &["EVAL", loops, "0"]);
            }
            "CLIENT PAUSE" => {
                let kind = if rng.bool() { "ALL" } else { "WRITE" };
                drop(server.cmd(&["CLIENT", "PAUSE", &length.as_millis().min(2_000).to_string(), kind]));
            }
            "server stopped for a while" => {
                self.active.retain(|(_, end)| !matches!(end, End::Between(_)));
                server.pause();
                self.until(length, End::ResumeServer);
            }
            "FLUSHALL" => {
                server.cmd(&["FLUSHALL"]);
                removed(None, Tokens::lost(self.clock_is_behind));
            }
            "DEL of a lock" => {
                server.cmd(&["DEL", &target.name]);
                removed(Some(target.name), Tokens::Kept);
            }
            "DEL of a semaphore" => {
                server.cmd(&["DEL", &target.name, &target.taken()]);
                removed(Some(target.name), Tokens::Kept);
            }
            // No excuse for anything: those that are taken still count.
            "DEL of how many permits are available" => drop(server.cmd(&["DEL", &target.name])),
            "DEL of a queue" => {
                server.cmd(&["DEL", &target.beside(["queue", "seen"][rng.usize(0..2)])]);
            }
            "server restarted empty" => {
                server.restart(Data::Lost);
                removed(None, Tokens::lost(self.clock_is_behind));
            }
            "server restarted from a snapshot" => {
                server.restart(Data::Kept);
                removed(None, Tokens::lost(self.clock_is_behind));
                self.revived = true;
            }
            "server clock ahead" => {
                let steps = [20_000, 100_000, 1_000_000, 10_000_000, 3_600_000_000];
                server.clock().advance(steps[rng.usize(0..steps.len())]);
                removed(None, Tokens::Kept);
            }
            "server clock back for a while" if !self.clock_is_behind => {
                let steps = [20_000, 1_000_000, 10_000_000, 3_600_000_000];
                let step = steps[rng.usize(0..steps.len())];
                server.clock().advance(-step);
                history.clock_went_back(monotonic_us() - step);
                self.clock_is_behind = true;
                self.revived = true;
                self.until(length, End::Clock(step));
            }
            "server clock back for a while" => {}
            "out of memory" => {
                server.cmd(&["CONFIG", "SET", "maxmemory", "1"]);
                self.until(length, End::Memory);
            }
            "read only" => {
                // It never comes to a replication: nobody listens there.
                server.cmd(&["REPLICAOF", "127.0.0.1", "1"]);
                self.until(length, End::Master);
            }
            "snapshots: 70 ms without an answer" => {
                self.active.retain(|(_, end)| !matches!(end, End::Between(_)));
                server.pause();
                self.until(SNAPSHOT, End::Snapshot(rng.u32(0..10)));
            }
            "server clock slewed" => {
                let ppm = [SLEW, -SLEW, rng.i64(-SLEW..SLEW)][rng.usize(0..3)];
                server.clock().slew(ppm);
                self.until(between(rng, LEASE * 2, LEASE * 8), End::Slew);
            }
            name => panic!("nobody knows how to do this: {name}"),
        }
    }

    /// Another server is in charge, behind the same address.
    fn fail_over(&mut self, name: &'static str, rng: &mut Rng, place: &mut Place, history: &mut History) {
        if name == "a planned failover" {
            if !place.hand_over(between(rng, Duration::ZERO, MS * 300)) {
                *self.counts.entry(name).or_default() -= 1;
                *self.counts.entry("a planned failover that did not come about").or_default() += 1;
            }
        } else if let Some((from, to)) = place.fall_over(between(rng, Duration::ZERO, MS * 500)) {
            // Locks that were released are held again, until their leases end.
            self.revived = true;
            history.removed(Removal { name: None, from, to, tokens: Tokens::lost(self.clock_is_behind) });
        } else {
            *self.counts.entry(name).or_default() -= 1;
        }
    }

    /// A command whose answer takes long: it is read some time later.
    fn send(&mut self, server: &Server, command: &[&str]) {
        let mut conn = server.connect();
        conn.send(command).expect("send");
        self.waiting.push(conn);
        self.waiting.drain(..self.waiting.len().saturating_sub(20));
    }
}
