//! What the limiters of one name share in one client: the callers that wait, and what was fetched ahead.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use super::limits::Limits;
use super::prefetch::Pockets;
use super::rates::Rates;
use super::redisson;
use super::reservations::{By, Reservations};
use super::shares::Shares;
use super::step::GiveBack;
use super::times::Time;
use super::together::Together;
use crate::context::Context;
use crate::error::Error;
use crate::event::Level;
use crate::lease::HolderId;
use crate::name::ObjectName;
use crate::objects::{Object, ObjectKind, Releasing};

pub(crate) struct LimitObject {
    name: ObjectName,
    limits: Arc<Limits>,
    reservations: Reservations,
    redisson: redisson::Shared,
    pockets: Pockets,
    together: Together,
    /// The rates of the limiter that was opened first.
    first: OnceLock<Rates>,
    warned: AtomicBool,
}

impl LimitObject {
    pub(super) fn new(name: ObjectName, limits: Arc<Limits>) -> LimitObject {
        let (reservations, redisson, pockets, together) = Default::default();
        let (first, warned) = Default::default();
        LimitObject { name, limits, reservations, redisson, pockets, together, first, warned }
    }

    /// A limiter with these rates is being opened. Warns, once, where another of the name has others: each decision is made by
    /// the rates that its limiter has, so the two keep neither.
    pub(super) fn opened_with(&self, rates: &Rates) {
        let first = self.first.get_or_init(|| rates.clone());
        if first != rates && !self.warned.swap(true, Ordering::Relaxed) {
            let message = format!(
                "two rate limiters of this name have different rates, {} and {}: each decides by its own, so that neither rate is \
                 kept; give both the same, or different names",
                first.words(),
                rates.words()
            );
            self.client().events.emit(Level::Warn, Some(self.name.as_str()), message);
        }
    }

    pub(super) fn name(&self) -> &ObjectName {
        &self.name
    }

    /// What the limiters of its client share.
    pub(super) fn limits(&self) -> &Arc<Limits> {
        &self.limits
    }

    pub(super) fn client(&self) -> &Context {
        self.limits.context()
    }

    /// The buckets of this client alone.
    pub(super) fn shares(&self) -> &Shares {
        &self.limits.shares
    }

    pub(super) fn reservations(&self) -> &Reservations {
        &self.reservations
    }

    /// What the client knows of those that are kept as Redisson's.
    pub(super) fn known(&self) -> &redisson::Known {
        &self.limits.known
    }

    /// For those that are kept as Redisson's.
    pub(super) fn redisson(&self) -> &redisson::Shared {
        &self.redisson
    }

    /// The callers that ask together.
    pub(super) fn together(&self) -> &Together {
        &self.together
    }

    /// What was fetched ahead.
    pub(super) fn pockets(&self) -> &Pockets {
        &self.pockets
    }

    /// Gives the tokens of each time back, in this order, to the one that charged them, and says of each whether that was
    /// possible. Asks once: a repeat could give them back twice.
    pub(super) async fn give_back(&self, times: &[Time]) -> Vec<bool> {
        let client = self.client();
        let deadline = || client.clock.now().plus(client.options.response_timeout);
        let steps: Vec<GiveBack> = times.iter().map(|time| time.reserved.giving_back()).collect();
        let mut given = vec![false; times.len()];
        let mut on_server = Vec::with_capacity(times.len());
        for (at, (time, step)) in times.iter().zip(&steps).enumerate() {
            match time.reserved.by {
                By::Share => given[at] = self.shares().run(&self.name, step, client.clock.now()).unwrap_or(true),
                By::Server => on_server.push(at),
            }
        }
        let requests: Vec<_> = on_server.iter().map(|&at| (&self.name, &steps[at])).collect();
        let tried = match requests.len() {
            0 | 1 => requests.iter().map(|_| None).collect(),
            _ => client.backend.run_pipelined(&requests, deadline(), None).await,
        };
        let mut may_ask = true;
        for (at, tried) in on_server.into_iter().zip(tried) {
            let alone = tried.is_none();
            let done = match tried {
                Some(done) => done,
                None if may_ask => client.backend.run(&self.name, &steps[at], deadline()).await,
                None => continue,
            };
            given[at] = done.map_or_else(|failed| failed.echo_until.is_some(), |done| done.reply);
            // If it has to stay, so has what was charged before; and no server is waited for twice.
            may_ask = !alone || given[at];
        }
        given
    }
}

impl ObjectKind for LimitObject {
    const KIND: &'static str = "rate limiter";
}

/// The client has little to do, since nothing is held.
impl Object for LimitObject {
    fn name(&self) -> &ObjectName {
        &self.name
    }

    /// Each caller waits for the end of the client itself. Reserved and fetched tokens are given back.
    fn refuse_waiters(&self, _error: &Error) {
        self.pockets.all().iter().for_each(|pocket| pocket.close());
        if let Some(shared) = self.client().objects.get::<LimitObject>(self.name.as_str()) {
            Reservations::close(&shared);
        }
    }

    /// Callers wait for a time that the server gave them, not for a message.
    fn look_again(&self) {}

    fn abandon(&self, _holder: HolderId) {}

    fn let_go(&self) {}

    fn release_all(self: Arc<Self>) -> Vec<Releasing> {
        Vec::new()
    }
}

impl Drop for LimitObject {
    fn drop(&mut self) {
        self.client().objects.forget::<LimitObject>(&self.name);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use crate::limit::Algorithm;
    use crate::{Client, Config, Rate};

    #[tokio::test]
    async fn different_rates_under_one_name_are_warned_of_once() {
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let mut config = Config::from_url("memory://").unwrap();
        let its_told = told.clone();
        config.on_event(Arc::new(move |event| its_told.lock().unwrap().push(format!("{event:?}"))));
        let client = Client::connect_with(config).await.unwrap();
        let rate = Rate::new(10, Duration::from_secs(1));
        let _same = [client.rate_limiter("api", rate).unwrap(), client.rate_limiter("api", rate).unwrap()];
        assert!(told.lock().unwrap().is_empty());
        client.rate_limiter("api", rate.burst(20)).unwrap();
        client.rate_limiter("api", rate.by(Algorithm::SlidingLog)).unwrap();
        let told = told.lock().unwrap();
        let [warning] = &told[..] else { panic!("{told:?}") };
        for said in ["api", "10 per 1s by gcra", "10 per 1s with a burst of 20 by gcra", "give both the same"] {
            assert!(warning.contains(said), "{warning}");
        }
    }
}
