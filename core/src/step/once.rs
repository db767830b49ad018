//! Requests that are carried out once, however often they arrive, as `once.lua` remembers them beside the data.
//!
//! Most steps are idempotent because what they leave behind, a hold, shows that they were carried out. One that leaves only a
//! number behind carries an id, which says until when the server remembers it. The request is void from then on, by the same
//! clock: a repeat meets the id, or is refused as too late. That holds unless the clock steps back after the request is void,
//! and a copy of it is still under way. An id that its caller has for another purpose names no time. It is remembered for a
//! minute from when the request was carried out, and longer if the request is not void by then because the clock stepped back.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{Attempt, Call, Malformed, Reply, wire};
use crate::name::ObjectName;
use crate::text::contains;
use crate::time::{ServerTime, millis};

/// For how long a request may be repeated, and the server remembers its id.
pub(crate) const REMEMBERED: Duration = Duration::from_secs(60);

/// How much longer than an id the key of the ids lasts when it is put off.
const KEPT: Duration = Duration::from_secs(60);

/// So many ids whose time is over are forgotten at a time.
const FORGOTTEN_AT_ONCE: usize = 200;

const _: () = {
    let script = include_str!("once.lua");
    assert!(contains(script, "LONGER_MS, REMEMBERED_US = 60000, 60000000\n"));
    assert!(KEPT.as_secs() == 60 && REMEMBERED.as_secs() == 60);
    assert!(contains(script, "'LIMIT', 0, 200)") && FORGOTTEN_AT_ONCE == 200);
};

/// A request that is carried out once. A call makes one, and repeats it as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Once {
    /// Empty where no reply is ever lost: it is not remembered then.
    id: String,
    void_after: ServerTime,
}

impl Once {
    /// A request of this number or name, which no other has, that is made at `now`.
    pub(crate) fn new(of: &str, now: ServerTime) -> Once {
        let void_after = now.plus(REMEMBERED);
        Once { id: format!("{of}@{}", void_after.0), void_after }
    }

    /// A request whose id is one that its caller has for another purpose, and names no time: remembered for a minute, and
    /// until no attempt of it takes effect any more.
    pub(crate) fn named(id: String, now: ServerTime, void_after: ServerTime) -> Once {
        Once { id, void_after: now.plus(REMEMBERED).max(void_after) }
    }

    /// A request that arrives once anyway.
    pub(crate) fn in_process() -> Once {
        Once { id: String::new(), void_after: ServerTime(u64::MAX) }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// The same request, remembered with how many things it was carried out on, as in `counted.lua`. None that arrives once anyway.
    pub(crate) fn counted(&self, count: u64) -> Once {
        let id = if self.id.is_empty() { String::new() } else { format!("{count}/{}", self.id) };
        Once { id, void_after: self.void_after }
    }

    /// Whether no attempt takes effect any more.
    pub(crate) fn is_void(&self, now: ServerTime) -> bool {
        now > self.void_after
    }

    /// After this time on the server's clock the attempt must not take effect.
    pub(crate) fn not_after(&self, attempt: Attempt) -> ServerTime {
        attempt.not_after.min(self.void_after)
    }

    /// Adds the id and then [`Once::not_after`] to the arguments.
    pub(crate) fn encode(&self, attempt: Attempt, call: &mut Call) {
        call.args.push(&self.id);
        call.args.number(self.not_after(attempt).0);
    }
}

/// The answer to a request that is carried out once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Carried<R> {
    pub(crate) now: ServerTime,
    /// What this attempt or an earlier one has done; `None` when it came later than [`Once::not_after`], and did nothing.
    pub(crate) out: Option<R>,
}

impl<R> Carried<R> {
    /// What a script answers: its time in us, and behind that what it has done, of which `read` makes a value. Nothing is behind
    /// it when the attempt came too late.
    pub(crate) fn decode(
        reply: Reply,
        read: impl FnOnce(&[Reply]) -> Result<R, Malformed>,
    ) -> Result<Carried<R>, Malformed> {
        let items = wire::list(reply)?;
        let now = wire::time(items.first())?;
        let out = if items.len() > 1 { Some(read(&items[1..])?) } else { None };
        Ok(Carried { now, out })
    }
}

/// The ids that a server remembers of one object: the key D of `once.lua`. The deadline is in ms of the server's clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Remembered {
    /// Until when, in us of the server's clock.
    until: BTreeMap<String, u64>,
    /// The same in the order of a sorted set.
    order: BTreeSet<(u64, String)>,
    deadline: Option<u64>,
}

impl Remembered {
    /// Drops what has expired; true when nothing is left.
    pub(crate) fn expire(&mut self, now: ServerTime) -> bool {
        if self.until.is_empty() || self.deadline.is_some_and(|deadline| now.millis() > deadline) {
            *self = Remembered::default();
        }
        self.until.is_empty()
    }

    /// As `once` in `once.lua`.
    pub(crate) fn once(&mut self, once: &Once, now: ServerTime) -> bool {
        if once.id.is_empty() {
            return true;
        }
        let over: Vec<_> = self.order.range(..(now.0, String::new())).take(FORGOTTEN_AT_ONCE).cloned().collect();
        for (until, id) in over {
            self.until.remove(&id);
            self.order.remove(&(until, id));
        }
        // A key that is empty is gone, and its end with it.
        self.expire(now);
        if self.until.contains_key(&once.id) {
            return false;
        }
        let until = once.void_after.0;
        self.until.insert(once.id.clone(), until);
        self.order.insert((until, once.id.clone()));
        // In Redis's way: what is left of a key, and -1 of one without an end.
        let left = (once.void_after.0.saturating_sub(now.0)).div_ceil(1_000) + 1;
        let kept = self.deadline.map_or(-1, |deadline| deadline.saturating_sub(now.millis()) as i64);
        if kept < left as i64 {
            self.deadline = Some(now.millis() + left + millis(KEPT));
        }
        true
    }

    /// As `known` in `once.lua`.
    pub(crate) fn knows(&self, id: &str) -> bool {
        self.until.contains_key(id)
    }

    /// As `counted_before` in `counted.lua`: with which count [`Once::counted`] was remembered of this request.
    pub(crate) fn count_of(&self, once: &Once) -> Option<u64> {
        let till = once.void_after.0;
        let same_till = self.order.range((till, String::new())..).take_while(|(until, _)| *until == till);
        let mut counts = same_till.filter_map(|(_, known)| {
            let (count, id) = known.split_once('/')?;
            if id == once.id { count.parse().ok() } else { None }
        });
        counts.next()
    }

    /// As `forget` in `once.lua`.
    pub(crate) fn forget(&mut self, id: &str) -> bool {
        let until = self.until.remove(id);
        until.is_some_and(|until| self.order.remove(&(until, id.to_owned())))
    }

    /// The keys of a request, of which D is the second: the object's own, and this.
    pub(crate) fn add_keys(name: &ObjectName, kind: &'static str, call: &mut Call) {
        call.keys.push(name.as_str());
        call.keys.join(name.companion_parts(kind));
    }
}

/// What stands in front of each script of a step that is carried out once.
macro_rules! once_lua {
    () => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/step/once.lua"))
    };
}
pub(crate) use once_lua;

#[cfg(test)]
mod for_tests {
    use libdlock_testkit::Reply;

    use super::{Once, Remembered};
    use crate::step::model::{Model, Pair};
    use crate::time::ServerTime;

    impl Once {
        /// The request that has this id.
        pub(crate) fn again(id: &str) -> Once {
            let void_after = id.rsplit_once('@').and_then(|(_, us)| us.parse().ok());
            Once { id: id.to_owned(), void_after: ServerTime(void_after.unwrap()) }
        }
    }

    impl Remembered {
        /// All ids.
        pub(crate) fn ids(&self) -> Vec<String> {
            self.until.keys().cloned().collect()
        }

        /// What the server remembers, for the property tests of the kinds that have such steps.
        pub(crate) fn read_back<M: Model>(pair: &mut Pair<M>, kind: &str) -> Remembered {
            let key = pair.name.companion(kind);
            let range = pair.server.cmd(&["ZRANGE", &key, "0", "-1", "WITHSCORES"]).unwrap();
            let range: Vec<&str> = range.array().iter().map(Reply::text).collect();
            let order = range.chunks(2).map(|pair| (pair[1].parse().unwrap(), pair[0].to_owned()));
            let order: std::collections::BTreeSet<(u64, String)> = order.collect();
            let until = order.iter().map(|(until, id)| (id.clone(), *until)).collect();
            Remembered { until, order, deadline: pair.server_deadline(&key) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: ServerTime = ServerTime(1_000_000_000);

    fn request(id: &str) -> Once {
        Once::new(id, NOW)
    }

    #[test]
    fn a_repeat_meets_the_id_or_is_too_late() {
        let (once, mut remembered) = (request("a"), Remembered::default());
        let late = Attempt { not_after: ServerTime(u64::MAX) };
        assert!(remembered.once(&once, NOW));
        // The last instant at which a repeat is not void.
        let last = once.not_after(late);
        assert!(!remembered.expire(last) && !remembered.once(&once, last), "it was forgotten too soon");
        assert!(remembered.expire(last.plus(KEPT + Duration::from_millis(2))), "it is kept for ever");
    }

    #[test]
    fn a_clock_that_steps_back_forgets_no_id() {
        let (early, late) = (request("early"), NOW.plus(Duration::from_secs(3_600)));
        let (once, mut remembered) = (Once::new("late", late), Remembered::default());
        assert!(remembered.once(&once, late) && remembered.once(&early, NOW));
        let last = once.not_after(Attempt { not_after: ServerTime(u64::MAX) });
        assert!(!remembered.expire(last) && !remembered.once(&once, last));
    }

    #[test]
    fn an_attempt_may_be_void_before_its_request() {
        assert_eq!(request("a").not_after(Attempt { not_after: NOW }), NOW);
    }

    #[test]
    fn what_is_forgotten_was_remembered_once() {
        let (once, mut remembered) = (request("a"), Remembered::default());
        assert!(remembered.once(&once, NOW) && remembered.knows(once.id()));
        assert!(remembered.forget(once.id()) && !remembered.forget(once.id()));
        assert_eq!(remembered.order.len(), 0);
    }

    #[test]
    fn ids_whose_time_is_over_make_room() {
        let mut remembered = Remembered::default();
        for at in 0..1_000u64 {
            let now = NOW.plus(Duration::from_secs(at));
            assert!(remembered.once(&Once::new(&at.to_string(), now), now));
        }
        assert_eq!(remembered.until.len(), 61);
    }

    #[test]
    fn a_request_without_an_id_leaves_nothing() {
        let mut remembered = Remembered::default();
        let once = Once::in_process();
        assert!(remembered.once(&once, NOW) && remembered.once(&once, NOW));
        assert_eq!(remembered, Remembered::default());
    }
}
