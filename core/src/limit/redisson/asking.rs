//! How a limiter of Redisson is asked: once, or until its permits are there.

use std::pin::pin;
use std::time::{Duration, SystemTime};

use uuid::Uuid;

use super::step::{Acquire, Judged, Reset, Verdict};
use super::terms::Terms;
use crate::backend::Done;
use crate::error::Result;
use crate::event::Level;
use crate::limit::answer::Answer;
use crate::limit::asking::again_at;
use crate::limit::{Decision, RateLimiter};
use crate::step::Step;
use crate::time::Tick;
use crate::wait::by_deadline;

/// The soonest that it is worth to ask again: the server's log is kept in ms.
const SOONEST: Duration = Duration::from_millis(1);

/// 16 characters that no other acquire has: 96 bits of a UUID, without those that all have in common.
fn random() -> [u8; 16] {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let drawn = Uuid::new_v4().into_bytes();
    let twelve: Vec<u8> = drawn[..6].iter().chain(&drawn[9..15]).copied().collect();
    let mut letters = [0; 16];
    for (four, three) in letters.chunks_exact_mut(4).zip(twelve.chunks_exact(3)) {
        let bits = u32::from_be_bytes([0, three[0], three[1], three[2]]);
        for (at, letter) in four.iter_mut().enumerate() {
            *letter = LETTERS[(bits >> (18 - 6 * at)) as usize & 63];
        }
    }
    letters
}

impl RateLimiter {
    /// Asks once, for permits that are available now.
    pub(in crate::limit) async fn decide_by_log(&self, terms: Terms, cost: u64, asked_at: Tick) -> Result<Decision> {
        self.check_open(Acquire::OP)?;
        self.while_open(Acquire::OP, pin!(self.ask_log(terms, cost, asked_at, Tick::NEVER))).await?
    }

    /// Asks when the permits should be there, until `until`, while others of this client wait behind it.
    pub(in crate::limit) async fn wait_by_log(&self, terms: Terms, cost: u64, until: Tick) -> Result<Decision> {
        self.check_open(Acquire::OP)?;
        let clock = &self.shared.client().clock;
        let Some(_turn) = by_deadline(clock, until, pin!(self.shared.redisson().turn.lock())).await else {
            return self.refuse_by_log(terms).await;
        };
        loop {
            let now = clock.now();
            let longest = until.max(now.plus(self.shared.client().options.response_timeout));
            let decision = self.ask_log(terms, cost, now, longest).await?;
            match again_at(&decision, until, clock.now()) {
                Some(next) => clock.sleep_until(next).await,
                None => return Ok(decision),
            }
        }
    }

    /// Makes all permits available, of all clients together and of this one.
    pub(in crate::limit) async fn reset_log(&self) -> Result<()> {
        let client = self.shared.client();
        self.check_open(Reset::OP)?;
        let step = Reset { client: client.id().to_owned() };
        let reset = client.operate(self.shared.name(), &step);
        self.while_open(Reset::OP, pin!(reset)).await?.map(drop).map_err(|failed| failed.error)
    }

    /// The answer to a caller whose turn did not come: nobody can say more than when one permit is there.
    async fn refuse_by_log(&self, terms: Terms) -> Result<Decision> {
        let now = self.shared.client().clock.now();
        let longest = now.plus(self.shared.client().options.response_timeout);
        let decision = self.ask_log(terms, 0, now, longest).await?;
        Ok(Decision { allowed: false, granted: 0, ..decision })
    }

    /// Asks once. A cost that can never be granted, under the rate on the server, is the same as a look, with that answer.
    async fn ask_log(&self, terms: Terms, cost: u64, asked_at: Tick, end: Tick) -> Result<Decision> {
        if let Ok(permits) = u32::try_from(cost) {
            let (decision, is_too_many) = self.ask_log_for(terms, permits, asked_at, end).await?;
            if !is_too_many {
                return Ok(decision);
            }
        }
        let (looked, _) = self.ask_log_for(terms, 0, asked_at, end).await?;
        Ok(Decision { allowed: false, granted: 0, retry_after: None, refused_by: Some(0), ..looked })
    }

    /// And whether it was asked for more than the rate on the server.
    async fn ask_log_for(&self, terms: Terms, permits: u32, asked_at: Tick, end: Tick) -> Result<(Decision, bool)> {
        let (known, name) = (self.shared.known(), self.shared.name());
        let client = self.shared.client().id().to_owned();
        let step = Acquire { terms, permits, random: random(), client, settled: known.settled(name) };
        match self.ask(step, asked_at, end).await {
            Ok(Done { reply, .. }) => {
                self.policy.server_is_back(&self.shared);
                if permits > 0 {
                    known.note(name, &reply);
                }
                self.warn_of_other_terms(terms, reply.terms);
                Ok((read_log(permits, &reply), reply.verdict == Verdict::TooMany))
            }
            Err(failed) if failed.away => {
                let now = self.shared.client().clock.now();
                match self.policy.decide(&self.shared, permits.into(), Duration::ZERO, now, failed.error)? {
                    Answer::Decided(decision) => Ok((decision, false)),
                    // Only what waits is told of a later time.
                    Answer::Reserved(reserved) => Ok((reserved.decision, false)),
                }
            }
            Err(failed) => Err(failed.error),
        }
    }

    fn warn_of_other_terms(&self, given: Terms, found: Terms) {
        if self.shared.known().is_surprised(self.shared.name(), given, found) {
            let message = format!("the rate on the server counts, {found}, and not the given one, {given}");
            self.shared.client().events.emit(Level::Warn, Some(self.key()), message);
        }
    }
}

fn read_log(permits: u32, judged: &Judged) -> Decision {
    let Judged { verdict, now, available, due_ms, full_ms, terms } = *judged;
    let until = |ms: u64| Duration::from_micros(ms.saturating_mul(1_000).saturating_sub(now.0));
    let allowed = verdict == Verdict::Granted;
    Decision {
        allowed,
        granted: if allowed { permits.into() } else { 0 },
        remaining: available,
        retry_after: match allowed {
            true => Some(Duration::ZERO),
            false => (due_ms > 0).then(|| until(due_ms).max(SOONEST)),
        },
        reset_after: until(full_ms),
        limit: terms.permits,
        refused_by: (!allowed).then_some(0),
        usable_after: Duration::ZERO,
        server_time: Some(SystemTime::UNIX_EPOCH + Duration::from_micros(now.0)),
    }
}
