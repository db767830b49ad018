//! What nobody holds. Limiters: `ask LIMITER TOKENS PER_US BURST ASKERS MS [ALGORITHM]` (answers with the server's time of every token
//! got), `crowd LIMITER TOKENS PER_US CALLERS` (answers when all of them wait or have their token),
//! `prefetch LIMITER TOKENS PER_US BURST SHARE MS FILE` (writes them into a file, each before the next call).
//! Latches: `count-down NAME` (answers with what is left), `wait-for NAME WAIT_MS` (with whether it is open, and when it ended).

use std::fs::File;
use std::io::Write;
use std::time::{Duration, Instant, SystemTime};

use libdlock::limit::LimiterOptions;
use libdlock::{Client, ErrorKind, Rate, RateLimiter, Wait};
use libdlock_testkit::wait::monotonic_us;

use crate::Process;
use crate::words::{Failure, failure, number, wait_of};

/// Does what one of these verbs asks for; none for another verb.
pub async fn run(process: &Process, words: &[&str]) -> Result<Option<String>, Failure> {
    let values = match *words {
        ["ask", name, tokens, per_us, burst, askers, ms, ref by @ ..] => {
            let rate = Rate::new(number(tokens) as u64, Duration::from_micros(number(per_us) as u64));
            let rate = by
                .iter()
                .fold(rate.burst(number(burst) as u64), |rate, word| rate.by(word.parse().expect("an algorithm")));
            // Each its own client, and so its own line and its own connection.
            let mut limiters = Vec::new();
            for _ in 0..number(askers) {
                let client = Client::connect(&process.url).await.map_err(failure)?;
                limiters.push(client.rate_limiter(name, rate).map_err(failure)?);
            }
            let until = Instant::now() + Duration::from_millis(number(ms) as u64);
            let asking =
                limiters.into_iter().enumerate().map(|(n, limiter)| tokio::spawn(ask(limiter, n % 2 == 0, until)));
            let asking: Vec<_> = asking.collect();
            let mut times = Vec::new();
            for asker in asking {
                times.extend(asker.await.expect("asking does not panic").map_err(failure)?);
            }
            times.join(" ")
        }
        ["crowd", name, tokens, per_us, callers] => {
            let rate = Rate::new(number(tokens) as u64, Duration::from_micros(number(per_us) as u64));
            let limiter = process.client.rate_limiter(name, rate).map_err(failure)?;
            for _ in 0..number(callers) {
                let limiter = limiter.clone();
                tokio::spawn(async move { limiter.acquire(1, Wait::Forever).await });
            }
            let had = || process.client.stats().limiter;
            while had().waiting + had().granted < number(callers) as u64 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            // Behind what they have asked for.
            limiter.peek().await.map_err(failure)?;
            String::new()
        }
        ["prefetch", name, tokens, per_us, burst, share, ms, file] => {
            let rate = Rate::new(number(tokens) as u64, Duration::from_micros(number(per_us) as u64));
            let rate = rate.burst(number(burst) as u64);
            let options = LimiterOptions::new(rate).prefetch(share.parse().expect("a share"));
            let limiter = process.client.rate_limiter_with(name, options).map_err(failure)?;
            let until = Instant::now() + Duration::from_millis(number(ms) as u64);
            let file = File::create(file).expect("a file");
            use_up(&limiter, until, file).await.map_err(failure)?.to_string()
        }
        ["count-down", name] => {
            let latch = process.client.latch(name).map_err(failure)?;
            latch.count_down().await.map_err(failure)?.to_string()
        }
        ["wait-for", name, wait] => {
            let latch = process.client.latch(name).map_err(failure)?;
            let open = latch.wait_for(wait_of(number(wait))).await.map_err(failure)?;
            format!("{open} {}", monotonic_us())
        }
        _ => return Ok(None),
    };
    Ok(Some(values))
}

/// Takes one token after the other until `until`, waiting for each or trying again and again; when it got them, by the
/// server's clock in us of Unix time.
async fn ask(limiter: RateLimiter, wait: bool, until: Instant) -> libdlock::Result<Vec<String>> {
    let mut times = Vec::new();
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(times);
        }
        let decision = limiter.acquire(1, if wait { Wait::For(left) } else { Wait::Try }).await?;
        if decision.allowed {
            let at = decision.server_time.expect("the server decides").duration_since(SystemTime::UNIX_EPOCH);
            times.push(at.expect("after 1970").as_micros().to_string());
        } else if wait {
            return Ok(times);
        } else {
            // Often enough to meet the others' requests, not so often that nothing else gets done.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

/// Takes one token after the other until `until`; how many. What was taken is in the file before the next is asked for, also
/// when the process is killed.
async fn use_up(limiter: &RateLimiter, until: Instant, mut file: File) -> libdlock::Result<u64> {
    let mut taken = 0;
    while Instant::now() < until {
        let decision = match limiter.try_acquire(1).await {
            // Of a request that was under way when this process was stopped.
            Err(error) if error.kind() == ErrorKind::OutcomeUnknown => continue,
            decision => decision?,
        };
        if decision.allowed {
            let at = decision.server_time.expect("no policy decides").duration_since(SystemTime::UNIX_EPOCH);
            let us = at.expect("after 1970").as_micros() as u64;
            file.write_all(&us.to_le_bytes()).expect("written");
            taken += 1;
        } else {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::task::yield_now().await;
    }
    Ok(taken)
}
