//! `dlock-queue-soak SECONDS [SEED]`: producers and consumers of one delayed queue, on a server that writes every change to its
//! file, and a random fault every second. Every half minute the faults pause: all jobs must be acknowledged or dead then, none lost,
//! none acknowledged twice, and the dead list must be exactly the jobs that nobody can do. The seed repeats the faults, not the
//! moments at which they meet.

mod crew;
mod ledger;
mod process;
mod storm;

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use crew::Crew;
use fastrand::Rng;
use ledger::Ledger;
use libdlock::Client;
use libdlock_testkit::{Proxy, Server};
use storm::Storm;

/// The workers' lease is short, so that much happens.
const OPTIONS: &str = "lease=2s&response_timeout=500ms&operation_timeout=4s&connect_timeout=1s&ping_interval=500ms";
const NAME: &str = "mails";
const PRODUCERS: usize = 3;
const CONSUMERS: usize = 4;
/// Takers in each consumer.
const WORKERS: usize = 3;
/// What the ids of jobs begin with that nobody can do, and how often each is delivered.
const POISON: &str = "x";
const MAX_ATTEMPTS: u32 = 3;

const STORM: Duration = Duration::from_secs(25);
/// Leases, delays, back-offs and new connections on a busy machine.
const CALM: Duration = Duration::from_secs(60);

/// The places of all jobs in one script, so that nothing moves meanwhile: in M, in R, in F, in O, in X.
const PLACES: &str = "return {redis.call('HLEN', KEYS[1]), redis.call('ZCARD', KEYS[2]), redis.call('ZCARD', KEYS[3]), \
                      redis.call('HLEN', KEYS[4]), redis.call('ZCARD', KEYS[5])}";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |text: &String| text.parse::<u64>().unwrap_or_else(|_| panic!("no number: {text:?}"));
    match &args[..] {
        [verb, words @ ..] if verb == "worker" && process::run(words) => ExitCode::SUCCESS,
        [seconds] => Soak::start(number(seconds), fastrand::u64(0..1_000_000)).run(),
        [seconds, seed] => Soak::start(number(seconds), number(seed)).run(),
        _ => {
            eprintln!("usage: dlock-queue-soak SECONDS [SEED]");
            ExitCode::from(2)
        }
    }
}

struct Soak {
    seconds: u64,
    seed: u64,
    rng: Rng,
    server: Server,
    proxy: Proxy,
    crew: Crew,
    ledger: Ledger,
    storm: Storm,
    started: Instant,
    said: u64,
    calms: u64,
    violations: u64,
    longest_calm: Duration,
}

impl Soak {
    fn start(seconds: u64, seed: u64) -> Soak {
        println!(
            "queue soak: {seconds} s, seed {seed}, {PRODUCERS} producers, {CONSUMERS} consumers of {WORKERS} takers"
        );
        // The server reads its file with the rights of the default user, which the kit limits elsewhere.
        let all = ["~*", "&*", "+@all"].map(str::to_owned).to_vec();
        // A long file takes a busy machine more than the 10 s to read that the kit waits for a server.
        let rewrites = ["--auto-aof-rewrite-min-size", "1mb", "--auto-aof-rewrite-percentage", "100"];
        let durable = ["--appendonly", "yes", "--appendfsync", "always"];
        let server = Server::options().args(&durable).args(&rewrites).rights(all).clock().start();
        let proxy = Proxy::start(server.address());
        let crew = Crew::start(format!("{}/?{OPTIONS}", proxy.url()), seed);
        Soak {
            seconds,
            seed,
            rng: Rng::with_seed(seed),
            server,
            proxy,
            crew,
            ledger: Ledger::default(),
            storm: Storm::default(),
            started: Instant::now(),
            said: 0,
            calms: 0,
            violations: 0,
            longest_calm: Duration::ZERO,
        }
    }

    fn run(mut self) -> ExitCode {
        let end = self.started + Duration::from_secs(self.seconds);
        while Instant::now() < end {
            let calm = (Instant::now() + STORM).min(end);
            while Instant::now() < calm {
                let Soak { storm, rng, server, proxy, crew, ledger, .. } = &mut self;
                storm.strike(rng, server, proxy, crew, ledger);
                self.watch(Duration::from_secs(1));
            }
            self.calm();
            self.crew.tell_producers("go");
        }
        self.finish()
    }

    fn watch(&mut self, length: Duration) {
        let until = Instant::now() + length;
        while Instant::now() < until {
            self.storm.end_due(&self.server, &self.proxy, &mut self.crew);
            self.crew.listen(&mut self.ledger);
            std::thread::sleep(Duration::from_millis(10));
        }
        self.tell();
    }

    /// The faults pause, and all that was put is done or dead.
    fn calm(&mut self) {
        self.storm.end_all(&self.server, &self.proxy, &mut self.crew);
        self.crew.tell_producers("pause");
        let began = Instant::now();
        loop {
            self.watch(Duration::from_millis(100));
            let [all, waiting, leases, held, dead] = self.places();
            if held != leases || all != waiting + held + dead {
                self.wrong(format!(
                    "a job is not in one place: of {all} {waiting} wait, {held} are delivered by \
                     {leases} leases, {dead} are dead"
                ));
            }
            if self.crew.is_paused() && waiting + held == 0 {
                break;
            }
            if began.elapsed() > CALM {
                self.wrong(format!(
                    "{waiting} jobs wait and {held} are delivered {CALM:?} after the faults had paused"
                ));
                break;
            }
        }
        self.longest_calm = self.longest_calm.max(began.elapsed());
        // Acknowledged on the server, and not said yet.
        self.watch(Duration::from_millis(1_500));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let (dead, purged) = runtime.block_on(async {
            // A starved machine answers late, and that is no violation.
            let url = format!("{}/?response_timeout=60s&operation_timeout=5m", self.server.url());
            let client = Client::connect(&url).await.expect("the server is there");
            let queue = client.queue(NAME).expect("a name");
            let dead = queue.dead(1_000).await.expect("the dead list");
            let purged = queue.purge_dead().await.expect("a purge");
            client.close().await;
            (dead, purged)
        });
        if purged != dead.len() as u64 {
            self.wrong(format!("{purged} dead jobs were purged, and {} were listed", dead.len()));
        }
        self.ledger.judge(&dead);
        let left: Vec<String> = self.server.keys().into_iter().filter(|key| is_of_jobs(key)).collect();
        if !left.is_empty() {
            self.wrong(format!("left behind: {left:?}"));
        }
        self.calms += 1;
        self.tell();
    }

    fn places(&self) -> [i64; 5] {
        let keys = ["all", "due", "leases", "held", "dead"].map(|kind| format!("dlock_queue_{kind}:{{{NAME}}}"));
        let words = ["EVAL", PLACES, "5"].into_iter().chain(keys.iter().map(String::as_str));
        let reply = self.server.cmd(&words.collect::<Vec<_>>());
        let counts: Vec<i64> = reply.array().iter().map(|count| count.int()).collect();
        counts.try_into().expect("five counts")
    }

    fn wrong(&mut self, what: String) {
        self.ledger.violations.push(what);
        self.tell();
    }

    /// What is wrong, at once; how it goes, once a minute.
    fn tell(&mut self) {
        for what in std::mem::take(&mut self.ledger.violations) {
            self.violations += 1;
            println!(
                "VIOLATION at {:?}: {what}; faults since the last calm: {}",
                self.started.elapsed(),
                self.storm.last.join("; ")
            );
        }
        let minute = self.started.elapsed().as_secs() / 60;
        if minute > self.said {
            self.said = minute;
            println!("{minute} min: {}", self.status());
        }
    }

    fn status(&self) -> String {
        let Ledger { put, confirmed, delivered, acked, dead, excused, .. } = &self.ledger;
        let faults: u64 = self.storm.counts.values().sum();
        format!(
            "{put} jobs put, {confirmed} confirmed; {delivered} deliveries, {acked} acknowledged, {dead} dead; {faults} faults, {} \
             calms, the longest {:.1} s; {excused} acknowledged twice after a step of the clock; {} violations",
            self.calms,
            self.longest_calm.as_secs_f64(),
            self.violations
        )
    }

    fn finish(mut self) -> ExitCode {
        println!("{}", self.status());
        self.storm.counts.iter().for_each(|(fault, count)| println!("  {count:6} {fault}"));
        self.ledger.said.iter().for_each(|(error, count)| println!("  {count:6} {error}"));
        let crew = std::mem::replace(&mut self.crew, Crew::none());
        let failed = crew.finish();
        if failed > 0 {
            self.wrong(format!("{failed} processes did not end well"));
        }
        if self.ledger.acked < 5 * self.seconds {
            self.wrong(format!("only {} jobs were acknowledged: nothing was tested", self.ledger.acked));
        }
        println!("seed {}: SEED={} repeats the faults", self.seed, self.seed);
        let failed = u64::from(self.violations > 0);
        println!("{} passed, {failed} failed", 1 - failed);
        if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// A key that holds jobs, and not what is remembered for a while.
fn is_of_jobs(key: &str) -> bool {
    ["all", "due", "leases", "held", "dead"].iter().any(|kind| key.starts_with(&format!("dlock_queue_{kind}:")))
}
