//! Ten thousand hand-overs of a lock on five servers, up to two of which are in trouble at any time. `SEED` repeats a run's faults.

use std::collections::HashMap;
use std::time::Duration;

use crate::common::quorum::{Fault, Fleet, SHORT, Servers, counts_again};
use fastrand::Rng;

/// The clocks stay so close to the true time, in microseconds: any two of them differ by less than `longest_lease`.
const FAR: i64 = 400_000;

/// So far a clock may be set ahead while its server runs, twice in a lease of 1 s: less than the margin of that.
const AHEAD: i64 = 45_000;

/// What happens to one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Trouble {
    Of(Fault),
    /// It is killed, and comes back without its data and with another clock.
    KilledWithClock,
    /// Its clock is set back, by no more than it is allowed to lag.
    Back,
    /// Its clock is set ahead by a little.
    Ahead,
}

impl Trouble {
    const ALL: [Trouble; 7] = [
        Trouble::Of(Fault::Killed),
        Trouble::Of(Fault::Paused),
        Trouble::Of(Fault::Emptied),
        Trouble::Of(Fault::CutOff),
        Trouble::KilledWithClock,
        Trouble::Back,
        Trouble::Ahead,
    ];

    /// Begins it, given how far ahead each clock is.
    fn begin(self, servers: &mut Servers, at: usize, clocks: &mut [i64], random: &mut Rng) {
        match self {
            Trouble::Of(fault) => return fault.begin(servers, at),
            Trouble::KilledWithClock => {
                servers.servers[at].stop();
                clocks[at] = random.i64(-FAR..=FAR);
            }
            Trouble::Back => clocks[at] = random.i64(-FAR..=clocks[at]),
            Trouble::Ahead => clocks[at] = (clocks[at] + random.i64(0..=AHEAD)).min(FAR),
        }
        servers.servers[at].clock().offset(clocks[at]);
    }

    fn end(self, servers: &mut Servers, at: usize) {
        match self {
            Trouble::Of(fault) => fault.end(servers, at),
            Trouble::KilledWithClock => servers.servers[at].start_again(),
            Trouble::Back | Trouble::Ahead => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: 10,000 hand-overs under random faults"]
async fn ten_thousand_hand_overs_are_lawful_under_random_faults() {
    let seed = std::env::var("SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().expect("a number"));
    println!("SEED={seed} repeats the faults");
    let hand_overs = 500 * std::env::var("REPEATS").map_or(20, |repeats| repeats.parse::<usize>().expect("a number"));
    let mut random = Rng::with_seed(seed);
    let mut clocks: Vec<i64> = (0..5).map(|_| random.i64(-FAR..=FAR)).collect();
    let mut servers = Servers::with_clocks(&clocks).behind_proxies();
    servers.servers.iter().for_each(counts_again);
    // A few last for longer than a lease, and some of them are renewed while servers are in trouble.
    let mut lengths = random.fork();
    let holds =
        move || Duration::from_millis(if lengths.u32(..150) == 0 { lengths.u64(300..3_000) } else { lengths.u64(..3) });
    let fleet = Fleet::start(&servers.url(SHORT), 3, holds).await;
    let mut troubles: HashMap<Trouble, usize> = HashMap::new();
    let mut round = 0;
    while fleet.hand_overs() < hand_overs || Trouble::ALL.iter().any(|trouble| !troubles.contains_key(trouble)) {
        let mut all: Vec<usize> = (0..5).collect();
        random.shuffle(&mut all);
        let affected: Vec<(usize, Trouble)> = all
            .into_iter()
            .take(random.usize(1..=2))
            .map(|at| (at, Trouble::ALL[random.usize(..Trouble::ALL.len())]))
            .collect();
        for (at, trouble) in &affected {
            trouble.begin(&mut servers, *at, &mut clocks, &mut random);
            *troubles.entry(*trouble).or_default() += 1;
        }
        tokio::time::sleep(Duration::from_millis(random.u64(0..800))).await;
        fleet.goes_on(1, &format!("SEED={seed}, round {round}, while {affected:?}"));
        for (at, trouble) in &affected {
            trouble.end(&mut servers, *at);
        }
        fleet.goes_on(1, &format!("SEED={seed}, round {round}, after {affected:?}"));
        // So that no more than two are in trouble: a server that was emptied counts after 2 s.
        servers.servers.iter().for_each(counts_again);
        tokio::time::sleep(Duration::from_millis(500)).await;
        round += 1;
    }
    let hand_overs = fleet.end(&servers).await;
    println!("{hand_overs} hand-overs, {round} rounds, {troubles:?}");
}
