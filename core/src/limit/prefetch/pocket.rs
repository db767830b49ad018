//! The pocket: what a client has fetched of one limiter, and the decisions that it makes by itself.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Mutex as AsyncMutex;

use super::super::decision::Decision;
use super::super::object::LimitObject;
use super::super::rate::Rate;
use super::super::step::{Fetched, PutBack, Wanted};
use super::super::tat::Span;
use super::demand::Demand;
use super::known::Known;
use super::stretch::{LASTS, Stretch, Stretches};
use crate::time::Tick;

/// How long after the last call what was not used is given back.
const IDLE: Duration = Duration::from_millis(100);

/// After the server had less than was wanted, it is asked again after this time, give or take a fifth: clients that do so
/// find what the others have left in turn.
const PACE: Duration = Duration::from_millis(28);

/// Shared by the limiters of one name, rate and share in one client. What is left in it is given back when the last of them
/// is dropped.
pub(crate) struct Pocket {
    pub(super) shared: Arc<LimitObject>,
    pub(super) rate: Rate,
    /// See [`demand::most`](super::demand::most).
    pub(super) most: u64,
    inside: Mutex<Inside>,
    /// Held by whoever asks the server.
    pub(super) asking: Arc<AsyncMutex<()>>,
    /// Held by whoever gives back: what is fetched meanwhile lies behind it on the server, and has to go first.
    giving: AsyncMutex<()>,
}

#[derive(Default)]
struct Inside {
    stretches: Stretches,
    known: Option<Known>,
    demand: Demand,
    /// Until then it is not asked what the server would have refused.
    again_at: Tick,
    /// What there was on the server, in parts, when it had no more.
    rest: u128,
    /// When half of the time of what was fetched last is over.
    half_at: Tick,
    /// Until then nothing is fetched ahead.
    hold_off: Tick,
    /// Counts requests that failed.
    failures: u64,
    /// A task waits for the calls to end.
    watched: bool,
    closed: bool,
}

/// What a call is told without I/O.
pub(super) enum Now {
    /// And whether it is time to fetch more.
    Granted(Decision, bool),
    Refused(Decision),
    /// The server has to be asked.
    Ask,
}

/// What a fetch brought to the call for which it was made.
pub(super) enum Brought {
    Granted(Decision),
    Refused(Decision),
}

impl Inside {
    fn decide(&mut self, rate: Rate, cost: u64, now: Tick) -> Now {
        let work = u64::try_from(rate.work(cost)).ok();
        let (Some(work), Some(known), false) = (work, self.known, self.closed) else { return Now::Ask };
        if self.stretches.take(rate, work, now) {
            self.demand.used(work);
            let left = self.stretches.left(rate, now);
            let more = (left < self.demand.low() || now >= self.half_at) && now >= self.again_at.max(self.hold_off);
            return Now::Granted(known.granted(rate, cost, left, now), more);
        }
        self.demand.ran_dry();
        match now < self.again_at && u128::from(work) > self.rest {
            true => {
                Now::Refused(known.refused(rate, cost, self.stretches.left(rate, now), self.again_at.since(now), now))
            }
            false => Now::Ask,
        }
    }
}

impl Inside {
    /// Whether the server had as much as was wanted, and when it is asked again if not.
    fn note_supply(&mut self, rate: Rate, most: u64, fetched: &Fetched, wanted: Wanted, heard: Tick) {
        let unit = rate.unit();
        let horizon = rate.work(rate.limit());
        self.rest = horizon.saturating_sub(fetched.tat.work(unit).saturating_sub(Span::at(fetched.now).work(unit)));
        let length = fetched.tat.work(unit).saturating_sub(fetched.from.work(unit));
        let is_short = !fetched.granted || length < wanted.work;
        self.again_at = match is_short && self.demand.is_hot() {
            false => Tick::default(),
            true => {
                let parts_ns = |parts: u128| u64::try_from(parts * 1_000 / u128::from(unit)).unwrap_or(u64::MAX);
                // No longer than half a pocket takes to come: else some of it could flow over.
                let pace =
                    PACE.mul_f64(0.8 + 0.4 * fastrand::f64()).min(Duration::from_nanos(parts_ns(most.into()) / 2));
                let one = Duration::from_nanos(parts_ns(rate.work(1).saturating_sub(self.rest)));
                heard.plus(pace.max(one).min(LASTS))
            }
        };
    }
}

impl Pocket {
    pub(super) fn new(shared: &Arc<LimitObject>, rate: Rate, most: u64) -> Pocket {
        Pocket {
            shared: shared.clone(),
            rate,
            most,
            inside: Mutex::default(),
            asking: Arc::default(),
            giving: AsyncMutex::default(),
        }
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides for a call that comes now.
    pub(super) fn call(&self, cost: u64, now: Tick) -> Now {
        let mut inside = self.inside();
        inside.demand.call(now);
        inside.decide(self.rate, cost, now)
    }

    /// As [`Pocket::call`], for one that came before.
    pub(super) fn look_again(&self, cost: u64, now: Tick) -> Now {
        self.inside().decide(self.rate, cost, now)
    }

    /// Whether it is worth to have so many tokens in it.
    pub(super) fn holds(&self, cost: u64) -> bool {
        self.rate.work(cost) * 2 <= u128::from(self.most)
    }

    pub(super) fn failures(&self) -> u64 {
        self.inside().failures
    }

    pub(super) fn failed(&self) {
        self.inside().failures += 1;
    }

    /// A fetch ahead has failed: the next call that finds too little asks for itself.
    pub(super) fn hold_off(&self, now: Tick) {
        self.inside().hold_off = now.plus(IDLE);
    }

    /// What to ask for, for a call of this cost, or ahead of the next calls; `None` when there is no room for more.
    pub(super) fn plan(&self, cost: u64, now: Tick) -> Option<Wanted> {
        let mut inside = self.inside();
        let left = inside.stretches.left(self.rate, now);
        if cost == 0 && (inside.closed || u128::from(self.most.saturating_sub(left)) < self.rate.work(1)) {
            return None;
        }
        let work = u64::try_from(self.rate.work(cost)).unwrap_or(u64::MAX);
        Some(inside.demand.plan(work, left, self.most, now))
    }

    /// Takes in what was fetched for a call of this cost, or ahead, and answers the call.
    pub(super) fn put(
        self: &Arc<Self>,
        fetched: &Fetched,
        wanted: Wanted,
        cost: u64,
        sent: Tick,
        heard: Tick,
    ) -> Brought {
        let (rate, mut inside) = (self.rate, self.inside());
        let known = Known::new(rate, fetched, sent, heard);
        inside.known = Some(known);
        inside.note_supply(rate, self.most, fetched, wanted, heard);
        if !fetched.granted {
            let decision = known.refused(rate, cost, inside.stretches.left(rate, heard), Duration::ZERO, heard);
            return Brought::Refused(Decision { server_time: Some(known.answered_at()), ..decision });
        }
        let work = u64::try_from(rate.work(cost)).unwrap_or(u64::MAX);
        inside.half_at = inside.stretches.put(rate, fetched, work, sent, heard);
        let decision = known.granted(rate, cost, inside.stretches.left(rate, heard), heard);
        // As the server decided it.
        let decision = Decision { server_time: Some(known.answered_at()), ..decision };
        if inside.closed {
            drop(inside);
            self.give_back_soon();
        } else if !inside.stretches.is_empty() && !std::mem::replace(&mut inside.watched, true) {
            drop(inside);
            self.watch();
        }
        Brought::Granted(decision)
    }

    /// Forgets everything: after a reset, nothing is charged any more.
    pub(crate) fn empty(&self) {
        let mut inside = self.inside();
        inside.stretches.clear();
        inside.again_at = Tick::default();
    }

    /// Has nothing from now on, and gives back what it had: nobody is to use it while the limiter is blocked. A request that is
    /// under way may bring more.
    pub(crate) fn drain(self: &Arc<Self>) {
        let mut stretches = std::mem::take(&mut self.inside().stretches);
        if stretches.is_empty() {
            return;
        }
        let (pocket, tasks) = (self.clone(), &self.shared.client().tasks);
        tasks.spawn_operation(async move {
            let _giving = pocket.giving.lock().await;
            put_all_back(&pocket.shared, pocket.rate, &mut stretches).await;
        });
    }

    /// Hands out nothing from now on. Its tokens are given back after those that callers have reserved, and the tokens of a
    /// request under way as soon as they come.
    pub(crate) fn close(&self) {
        self.inside().closed = true;
    }

    fn give_back_soon(self: &Arc<Self>) {
        let (pocket, tasks) = (self.clone(), &self.shared.client().tasks);
        tasks.spawn_operation(async move {
            pocket.give_back().await;
        });
    }

    /// Gives back what is left, the last first. Behind what others have charged nothing can be given back: it stays here for
    /// the next calls, until its time is over. Whether nothing is left here.
    pub(crate) async fn give_back(&self) -> bool {
        let _giving = self.giving.lock().await;
        loop {
            let now = self.shared.client().clock.now();
            let Some(last) = self.inside().stretches.take_last() else { return true };
            if !put_back(&self.shared, self.rate, &last, now).await {
                self.inside().stretches.put_again(last);
                return false;
            }
        }
    }

    /// Gives everything back when no call has come for a while.
    fn watch(self: &Arc<Self>) {
        let (weak, clock) = (Arc::downgrade(self), self.shared.client().clock.clone());
        let until = clock.now().plus(IDLE);
        self.shared.client().tasks.spawn(async move {
            let mut until = until;
            loop {
                clock.sleep_until(until).await;
                let Some(pocket) = weak.upgrade() else { return };
                match pocket.idle_at(clock.now()) {
                    Some(at) => until = at,
                    None => {
                        pocket.give_back().await;
                        return;
                    }
                }
            }
        });
    }

    /// When it is to be looked at again; `None` when the calls have ended, and nobody watches it any more.
    fn idle_at(&self, now: Tick) -> Option<Tick> {
        let mut inside = self.inside();
        let idle_at = inside.demand.called_at().plus(IDLE);
        inside.watched = idle_at > now;
        inside.watched.then_some(idle_at)
    }
}

impl Drop for Pocket {
    fn drop(&mut self) {
        let (rate, tasks) = (self.rate, self.shared.client().tasks.clone());
        if tasks.leak_if_forked(&self.shared) {
            return;
        }
        let inside = self.inside.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut stretches = std::mem::take(&mut inside.stretches);
        if stretches.is_empty() {
            return;
        }
        let shared = self.shared.clone();
        tasks.spawn_operation(async move { put_all_back(&shared, rate, &mut stretches).await });
    }
}

/// The last first, until one is behind what others have charged.
async fn put_all_back(shared: &LimitObject, rate: Rate, stretches: &mut Stretches) {
    while let Some(last) = stretches.take_last() {
        let now = shared.client().clock.now();
        if !put_back(shared, rate, &last, now).await {
            return;
        }
    }
}

/// Whether nothing of it is charged any more. Asked once: a repeat could give it back twice.
async fn put_back(shared: &LimitObject, rate: Rate, stretch: &Stretch, now: Tick) -> bool {
    let unused = stretch.unused();
    if unused == 0 {
        return true;
    }
    let step = PutBack::new(rate, u128::from(unused), stretch.tat());
    let deadline = now.plus(shared.client().options.response_timeout);
    match shared.client().backend.run(shared.name(), &step, deadline).await {
        Ok(done) => done.reply,
        Err(failed) => failed.echo_until.is_some(),
    }
}
