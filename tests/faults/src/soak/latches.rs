//! A latch in a process of the soak: some wait for it while it is counted down, and each answer has to be right.

use std::time::Duration;

use fastrand::Rng;
use libdlock::Client;
use libdlock_testkit::wait::monotonic_us;
use tokio::{task::JoinSet, time::timeout};

/// Its count at first.
const COUNT: u64 = 3;
/// So many wait.
const WAITERS: usize = 3;
/// Whoever waits for longer than any fault lasts was forgotten.
const FORGOTTEN: Duration = Duration::from_secs(30);
/// A latch that could not be counted down is to be removed; by so many attempts.
const REMOVED: u32 = 3;

/// The latches of a process: a name for each round.
#[derive(Clone)]
pub(super) struct Latches {
    pub(super) client: Client,
    /// What their names begin with.
    pub(super) name: String,
}

/// What became of one: nothing that must not be, the kind of an error, or what must not be.
pub(super) struct Round {
    pub(super) name: String,
    pub(super) from: i64,
    pub(super) to: i64,
    pub(super) verdict: Verdict,
}

pub(super) enum Verdict {
    Kept,
    /// What a caller was told.
    Told(&'static str),
    Broken(String),
}

impl Latches {
    /// Sets a latch, has some wait for it, and counts it down.
    pub(super) async fn round(&self, rng: &mut Rng) -> Round {
        let name = format!("{}-{}-{:x}", self.name, std::process::id(), rng.u64(..));
        let (from, pause) = (monotonic_us(), Duration::from_micros(rng.u64(0..20_000)));
        let verdict = self.counted_down(&name, pause).await;
        if !matches!(verdict, Verdict::Kept) {
            for _ in 0..REMOVED {
                if self.client.latch(&name).expect("a name").delete().await.is_ok() {
                    break;
                }
            }
        }
        Round { name, from, to: monotonic_us(), verdict }
    }

    async fn counted_down(&self, name: &str, pause: Duration) -> Verdict {
        let latch = self.client.latch(name).expect("a name");
        match latch.try_set_count(COUNT).await {
            Ok(true) => {}
            Ok(false) => return Verdict::Broken("was_there".to_owned()),
            Err(error) => return Verdict::Told(error.kind().as_str()),
        }
        let mut waits = JoinSet::new();
        for _ in 0..WAITERS {
            let latch = latch.clone();
            waits.spawn(async move { latch.wait().await.map(|()| monotonic_us()) });
        }
        tokio::time::sleep(pause).await;
        let mut called = 0;
        for expected in (0..COUNT).rev() {
            called = monotonic_us();
            match latch.count_down().await {
                Ok(left) if left == expected => {}
                Ok(left) => return Verdict::Broken(format!("left_{left}_instead_of_{expected}")),
                Err(error) => return Verdict::Told(error.kind().as_str()),
            }
        }
        while let Some(joined) = match timeout(FORGOTTEN, waits.join_next()).await {
            Ok(joined) => joined,
            Err(_) => return Verdict::Broken("forgotten".to_owned()),
        } {
            match joined.expect("no panic") {
                Ok(at) if at < called => return Verdict::Broken(format!("through_{}_us_early", called - at)),
                Ok(_) => {}
                Err(error) => return Verdict::Told(error.kind().as_str()),
            }
        }
        Verdict::Kept
    }
}
