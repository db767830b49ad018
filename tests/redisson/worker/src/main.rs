//! A client of ours beside the real Redisson, for rate limiters: `dlock-redisson-worker URL` says `ready`, and then answers each
//! line on its input with one line; `limiters.py` is the other end.
//!
//! ```text
//! acquire NAME RATE PERIOD_MS TYPE COST WAIT_MS   TYPE 0 for OVERALL, 1 for PER_CLIENT; a wait of -1 is for ever
//! peek NAME RATE PERIOD_MS TYPE
//! reset NAME RATE PERIOD_MS TYPE                  "reset"
//! told                                            "told", then how often it warned
//! ```
//!
//! A decision is `decided ALLOWED GRANTED REMAINING RETRY_US RESET_US LIMIT SERVER_US`, with `-` for never; an error is
//! `refused KIND MESSAGE`.

use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use libdlock::event::{Event, Level};
use libdlock::limit::Algorithm;
use libdlock::{Client, Config, Decision, Rate, RateLimiter, Result, Wait};

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).ok_or("usage: dlock-redisson-worker URL")?;
    let warnings = Arc::new(AtomicU64::new(0));
    let mut config = Config::from_url(&url)?;
    let told = warnings.clone();
    config.on_event(Arc::new(move |event: &Event| {
        if event.level >= Level::Warn {
            told.fetch_add(1, Ordering::Relaxed);
        }
    }));
    let client = Client::blocking_connect_with(config)?;
    say("ready")?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split(' ').collect();
        let said = match words.as_slice() {
            ["told"] => format!("told {}", warnings.load(Ordering::Relaxed)),
            [verb, rest @ ..] => client
                .block_on(answer(&client, verb, rest))
                .unwrap_or_else(|error| format!("refused {:?} {}", error.kind(), error.message())),
            [] => "failed: an empty line".to_owned(),
        };
        say(&said)?;
    }
    Ok(())
}

fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

async fn answer(client: &Client, verb: &str, words: &[&str]) -> Result<String> {
    let [name, numbers @ ..] = words else { return Ok(format!("failed: no name for {verb}")) };
    let numbers: Vec<i64> = numbers.iter().map(|word| word.parse().unwrap_or(i64::MIN)).collect();
    let limiter = |rate: i64, period_ms: i64, kind: i64| -> Result<RateLimiter> {
        let algorithm = Algorithm::Redisson { per_client: kind == 1 };
        let period = Duration::from_millis(period_ms.unsigned_abs());
        client.rate_limiter(name, Rate::new(rate.unsigned_abs(), period).by(algorithm))
    };
    match (verb, numbers.as_slice()) {
        ("acquire", &[rate, period_ms, kind, cost, wait_ms]) => {
            let wait =
                u64::try_from(wait_ms).map_or(Wait::Forever, |wait_ms| Wait::For(Duration::from_millis(wait_ms)));
            Ok(decided(limiter(rate, period_ms, kind)?.acquire(cost.unsigned_abs(), wait).await?))
        }
        ("peek", &[rate, period_ms, kind]) => Ok(decided(limiter(rate, period_ms, kind)?.peek().await?)),
        ("reset", &[rate, period_ms, kind]) => {
            limiter(rate, period_ms, kind)?.reset().await?;
            Ok("reset".to_owned())
        }
        _ => Ok(format!("failed: cannot read {verb}")),
    }
}

fn decided(decision: Decision) -> String {
    let us = |duration: Duration| duration.as_micros().to_string();
    let since_1970 = |at: SystemTime| at.duration_since(SystemTime::UNIX_EPOCH).map_or("-".to_owned(), us);
    format!(
        "decided {} {} {} {} {} {} {}",
        decision.allowed,
        decision.granted,
        decision.remaining,
        decision.retry_after.map_or("-".to_owned(), us),
        us(decision.reset_after),
        decision.limit,
        decision.server_time.map_or("-".to_owned(), since_1970),
    )
}
