//! What the limiters of a client share: whose turn it is to wait for one of them, and what is known of the server.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::step::{Judged, Verdict};
use super::terms::Terms;
use crate::name::ObjectName;
use crate::time::ServerTime;

/// So many names are known. Then all are forgotten, which costs a look at the log of each, and another warning.
const MOST_KNOWN: usize = 4_096;

/// What those of one name share.
#[derive(Default)]
pub(in crate::limit) struct Shared {
    /// Belongs to the caller that waits for permits; the others wait for it, in the order in which they came.
    pub(super) turn: tokio::sync::Mutex<()>,
}

/// What a client knows of its limiters. It outlives them: a program may make one anew for each request.
#[derive(Default)]
pub(in crate::limit) struct Known(Mutex<HashMap<ObjectName, Facts>>);

#[derive(Clone, Copy, Default)]
struct Facts {
    /// By which terms the available permits were right, and when.
    settled: Option<(ServerTime, Terms)>,
    warned: bool,
}

impl Known {
    pub(super) fn settled(&self, name: &ObjectName) -> Option<Terms> {
        self.facts().get(name).and_then(|facts| facts.settled).map(|(_, terms)| terms)
    }

    /// Notes what an acquire of some permits has found. Answers may overtake each other.
    pub(super) fn note(&self, name: &ObjectName, judged: &Judged) {
        if judged.verdict == Verdict::TooMany {
            return;
        }
        let mut facts = self.facts();
        let facts = of(&mut facts, name);
        if facts.settled.is_none_or(|(then, _)| then <= judged.now) {
            facts.settled = Some((judged.now, judged.terms));
        }
    }

    /// Whether it is the first time that the rate on the server is another than the given one.
    pub(super) fn is_surprised(&self, name: &ObjectName, given: Terms, found: Terms) -> bool {
        given != found && !std::mem::replace(&mut of(&mut self.facts(), name).warned, true)
    }

    fn facts(&self) -> MutexGuard<'_, HashMap<ObjectName, Facts>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn of<'a>(facts: &'a mut HashMap<ObjectName, Facts>, name: &ObjectName) -> &'a mut Facts {
    if facts.len() >= MOST_KNOWN && !facts.contains_key(name) {
        facts.clear();
    }
    facts.entry(name.clone()).or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_names_are_known_than_that() {
        let (known, terms) = (Known::default(), Terms { permits: 1, interval_ms: 1, per_client: true });
        for at in 0..3 * MOST_KNOWN {
            let name = ObjectName::new("", &format!("name-{at}")).unwrap();
            assert!(known.is_surprised(&name, terms, Terms { permits: 2, ..terms }));
            assert!(!known.is_surprised(&name, terms, Terms { permits: 3, ..terms }));
        }
        assert!(known.facts().len() <= MOST_KNOWN);
    }

    #[test]
    fn a_late_answer_settles_nothing() {
        let known = Known::default();
        let name = ObjectName::new("", "any").unwrap();
        let terms = Terms { permits: 1, interval_ms: 1, per_client: true };
        let judged = |at, permits, verdict| Judged {
            verdict,
            now: ServerTime(at),
            available: 0,
            due_ms: 0,
            full_ms: 0,
            terms: Terms { permits, ..terms },
        };
        known.note(&name, &judged(5, 2, Verdict::Granted));
        known.note(&name, &judged(4, 3, Verdict::Refused));
        known.note(&name, &judged(6, 4, Verdict::TooMany));
        assert_eq!(known.settled(&name), Some(Terms { permits: 2, ..terms }));
    }
}
