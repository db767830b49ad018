//! How a limiter with a pocket asks the server: one request at a time, for all calls that it can serve.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use super::super::answer::Answer;
use super::super::decision::Decision;
use super::super::limiter::RateLimiter;
use super::super::step::{Fetch, Wanted};
use super::pocket::{Brought, Now, Pocket};
use crate::backend::Done;
use crate::ended::cut_off;
use crate::error::Result;
use crate::step::Step;
use crate::task::Life;
use crate::time::Tick;

impl RateLimiter {
    /// Decides without I/O if it can: by what was fetched, or by what the server said a moment ago.
    pub(in super::super) fn look(&self, cost: u64, now: Tick) -> Option<Decision> {
        let pocket = self.pocket.as_ref().filter(|_| (1..=self.rates.limit()).contains(&cost))?;
        if self.shared.client().tasks.life() != Life::Open {
            return None;
        }
        match pocket.call(cost, now) {
            Now::Granted(decision, more) => {
                if more {
                    self.fetch_ahead(pocket);
                }
                Some(decision)
            }
            Now::Refused(decision) => Some(decision),
            Now::Ask => None,
        }
    }

    /// Asks for tokens that are there now, and for more if there is demand for more.
    pub(in super::super) async fn decide_or_fetch(&self, cost: u64, asked_at: Tick) -> Result<Decision> {
        match &self.pocket {
            Some(pocket) if cost > 0 && pocket.holds(cost) => {
                self.check_open(Fetch::OP)?;
                let fetching = pin!(self.fetch_in_turn(pocket, cost, asked_at));
                self.while_open(Fetch::OP, fetching).await?
            }
            _ => self.decide(cost, asked_at).await,
        }
    }

    /// As far as it goes without waiting for tokens; `None` where they have to be waited for.
    pub(in super::super) async fn take_or_fetch(&self, cost: u64, asked_at: Tick) -> Result<Option<Decision>> {
        let Some(pocket) = self.pocket.as_ref().filter(|pocket| pocket.holds(cost)) else { return Ok(None) };
        if let Some(decision) = self.look(cost, asked_at) {
            return Ok(Some(decision).filter(|decision| decision.allowed));
        }
        self.check_open(Fetch::OP)?;
        let fetching = pin!(self.fetch_in_turn(pocket, cost, asked_at));
        let decision = self.while_open(Fetch::OP, fetching).await??;
        Ok(Some(decision).filter(|decision| decision.allowed))
    }

    /// Waits for the request that is under way, if there is one: it may bring enough.
    async fn fetch_in_turn(&self, pocket: &Arc<Pocket>, cost: u64, asked_at: Tick) -> Result<Decision> {
        let client = self.shared.client();
        let failures = pocket.failures();
        let asking = pocket.asking.clone().lock_owned().await;
        let now = client.clock.now();
        match pocket.look_again(cost, now) {
            Now::Granted(decision, _) | Now::Refused(decision) => return Ok(decision),
            Now::Ask => {}
        }
        if pocket.failures() != failures {
            // Nor does it wait for the next one that fails.
            drop(asking);
            return self.decide(cost, asked_at).await;
        }
        let (limiter, pocket) = (self.clone(), pocket.clone());
        // What it brings is kept when the call has given up.
        let fetching = client.tasks.operation(async move {
            let _asking = asking;
            let wanted = pocket.plan(cost, now).unwrap_or_default();
            limiter.fetch(&pocket, cost, wanted, now).await
        });
        fetching.await.unwrap_or_else(|| Err(cut_off(Fetch::OP, &client.tasks, "the decision").on(self.key())))
    }

    async fn fetch(&self, pocket: &Arc<Pocket>, cost: u64, wanted: Wanted, now: Tick) -> Result<Decision> {
        let clock = &self.shared.client().clock;
        match self.ask(Fetch::new(pocket.rate, cost, wanted), now, Tick::NEVER).await {
            Ok(Done { reply, sent, .. }) => {
                self.policy.server_is_back(&self.shared);
                match pocket.put(&reply, wanted, cost, sent, clock.now()) {
                    Brought::Granted(decision) => Ok(decision),
                    // What is here and what is there may be enough together.
                    Brought::Refused(decision) if decision.remaining >= cost && pocket.give_back().await => {
                        self.decide(cost, now).await
                    }
                    Brought::Refused(decision) => Ok(decision),
                }
            }
            Err(failed) => {
                pocket.failed();
                if !failed.away {
                    return Err(self.explained(failed.error));
                }
                match self.policy.decide(&self.shared, cost, Duration::ZERO, clock.now(), failed.error)? {
                    Answer::Decided(decision) => Ok(decision),
                    // Only what waits is told of a later time.
                    Answer::Reserved(reserved) => Ok(reserved.decision),
                }
            }
        }
    }

    /// In the background, unless a request is under way.
    fn fetch_ahead(&self, pocket: &Arc<Pocket>) {
        let Ok(asking) = pocket.asking.clone().try_lock_owned() else { return };
        let client = self.shared.client();
        let now = client.clock.now();
        let Some(wanted) = pocket.plan(0, now) else { return };
        let (limiter, pocket) = (self.clone(), pocket.clone());
        client.tasks.spawn_operation(async move {
            let _asking = asking;
            let deadline = now.plus(limiter.shared.client().options.response_timeout);
            // No less than one token. A failure is nothing to tell: the next call that finds nothing asks for itself.
            let (name, step) = (limiter.shared.name(), Fetch::new(pocket.rate, 1, wanted));
            let client = limiter.shared.client();
            match client.backend.run(name, &step, deadline).await {
                Ok(Done { reply, sent, .. }) => {
                    pocket.put(&reply, wanted, 0, sent, client.clock.now());
                }
                Err(_) => pocket.hold_off(client.clock.now()),
            }
        });
    }
}
