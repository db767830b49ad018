//! Processes that take turns at the same objects, and a network that is disturbed meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use libdlock_testkit::{Action, Hold, Proxy, Server, Side, Worker, eventually, within};

use crate::{Peer, SOON};

/// How many processes take turns.
pub const PROCESSES: usize = 4;

/// Workers that several holders each have asked for turns.
pub struct Turns {
    peers: Vec<Peer>,
    requests: Vec<Vec<u64>>,
}

impl Turns {
    /// Starts the processes. `program`: the worker; `ask`: the request of a holder, of which each process has so many.
    #[track_caller]
    pub fn start(program: &str, url: &str, holders: usize, ask: impl Fn(usize) -> String) -> Turns {
        let mut peers: Vec<Peer> = (0..PROCESSES).map(|_| Peer::start(program, url)).collect();
        let ask_all = |peer: &mut Peer| (1..=holders).map(|holder| peer.request(&ask(holder))).collect();
        let requests = peers.iter_mut().map(ask_all).collect();
        Turns { peers, requests }
    }

    /// One of the processes, for killing, stopping and resuming.
    pub fn process(&mut self, at: usize) -> &mut Worker {
        self.peers[at].process()
    }

    /// Kills the first two processes in the middle of their turns, each after the server has run so many scripts more.
    #[track_caller]
    pub fn kill_two(&mut self, server: &Server, scripts: u64) {
        for victim in 0..2 {
            let so_far = scripts_run(server);
            eventually(SOON, "turns are under way", || scripts_run(server) > so_far + scripts);
            self.process(victim).kill();
        }
    }

    /// Waits for the turns of the processes from `first` on, for each holder no longer than `bound`; what they are answered with.
    #[track_caller]
    pub fn answers(&mut self, first: usize, bound: Duration) -> Vec<Vec<String>> {
        let mut answers = Vec::new();
        for (peer, requests) in self.peers.iter_mut().zip(&self.requests).skip(first) {
            for id in requests {
                answers.push(peer.answer(*id, bound).expect("every turn ends well"));
            }
        }
        answers
    }

    /// Every hold that any of the processes has reported.
    pub fn holds(&mut self) -> Vec<Hold> {
        self.peers.iter_mut().flat_map(Peer::holds).collect()
    }

    /// Waits for the turns of the processes from `first` on; the holds of all.
    #[track_caller]
    pub fn finish(&mut self, first: usize) -> Vec<Hold> {
        self.answers(first, SOON * 3);
        self.holds()
    }

    /// The same, each holder no longer than `bound`, while the network is disturbed for requests about `object`: replies are lost,
    /// cut and refused, connections reset and closed in one direction.
    #[track_caller]
    pub fn finish_disturbed(&mut self, server: &Server, proxy: &Proxy, object: &str, bound: Duration) -> Vec<Hold> {
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let on_a_script = |action| drop(proxy.on(&["EVALSHA", object], action));
                for n in (0..10_000).take_while(|_| !done.load(Ordering::Relaxed)) {
                    match n % 8 {
                        0..4 => on_a_script(Action::CutReply(0)),
                        4 => on_a_script(Action::CutReply(5)),
                        5 => on_a_script(Action::Refuse),
                        6 => proxy.reset_all(),
                        _ => proxy.half_close(Side::Replies),
                    }
                    // A fault every few turns, so that there are turns in between.
                    let before = scripts_run(server);
                    if !within(Duration::from_secs(3), || scripts_run(server) > before + 12) {
                        break;
                    }
                }
            });
            self.answers(0, bound);
            done.store(true, Ordering::Relaxed);
        });
        self.holds()
    }
}

fn scripts_run(server: &Server) -> u64 {
    server.info("commandstats", "cmdstat_evalsha:calls")
}
