//! The verbs of holds, of whatever primitive, and what their clients have counted.

use std::collections::HashMap;

use libdlock::lease::{HoldState, LossReason};
use libdlock::{Held, HeldAll, Permits, Result, RwHeld};

use crate::step::{Clients, Step, Values};

/// What a scenario holds.
pub(crate) enum Hold {
    Lock(Held),
    Permits(Permits),
    Side(RwHeld),
    All(HeldAll),
}

/// The same call of whatever is held.
macro_rules! of {
    ($hold:expr, $held:ident => $call:expr) => {
        match $hold {
            Hold::Lock($held) => $call,
            Hold::Permits($held) => $call,
            Hold::Side($held) => $call,
            Hold::All($held) => $call,
        }
    };
}

/// The holds of a scenario, by their names in it.
#[derive(Default)]
pub(crate) struct Holds(HashMap<String, Hold>);

impl Holds {
    pub(crate) fn keep(&mut self, name: &str, hold: Hold) {
        self.0.insert(name.to_owned(), hold);
    }

    /// What the step answers; none if its verb is another's.
    pub(crate) async fn run(&mut self, clients: &Clients, step: &Step<'_>) -> Result<Option<Values>> {
        let nothing = Values::default;
        Ok(Some(match step.verb {
            "release" => {
                of!(self.take_out(step), held => held.release().await?);
                nothing()
            }
            "extend" => {
                let lease = step.millis("lease_ms").expect("a lease");
                of!(self.hold(step), held => held.extend(lease).await?);
                nothing()
            }
            "detach" => match self.take_out(step) {
                Hold::Lock(held) => nothing().add("text", held.detach().await?),
                Hold::Permits(_) | Hold::Side(_) | Hold::All(_) => panic!("only a lock's hold can be detached"),
            },
            "see" => of!(self.hold(step), held => nothing()
                .add("valid", held.is_valid())
                .add("remaining_ms", held.remaining().as_millis())
                .maybe("lost", self.hold(step).loss().map(LossReason::as_str))),
            "wait_lost" => {
                let wait = step.millis("wait_ms").expect("a wait");
                let lost = tokio::time::timeout(wait, self.hold(step).lost()).await;
                nothing().maybe("lost", lost.ok().flatten().map(LossReason::as_str))
            }
            "counted" => counted(clients, step),
            _ => return Ok(None),
        }))
    }

    /// The hold of a side that the step names first.
    pub(crate) fn take_side(&mut self, step: &Step<'_>) -> RwHeld {
        match self.take_out(step) {
            Hold::Side(held) => held,
            Hold::Lock(_) | Hold::Permits(_) | Hold::All(_) => panic!("{} is no hold of a side", step.objects[0]),
        }
    }

    /// The hold of several locks that the step names first.
    pub(crate) fn set(&self, step: &Step<'_>) -> &HeldAll {
        match self.hold(step) {
            Hold::All(held) => held,
            Hold::Lock(_) | Hold::Permits(_) | Hold::Side(_) => {
                panic!("{} is no hold of several locks", step.objects[0])
            }
        }
    }

    fn hold(&self, step: &Step<'_>) -> &Hold {
        &self.0[step.objects[0]]
    }

    /// A release or detach consumes the hold in Rust.
    fn take_out(&mut self, step: &Step<'_>) -> Hold {
        self.0.remove(step.objects[0]).expect("a hold")
    }
}

impl Hold {
    /// Why it was lost, if it was.
    fn loss(&self) -> Option<LossReason> {
        let lost = |state| if let HoldState::Lost(reason) = state { Some(reason) } else { None };
        match self {
            Hold::Lock(held) => lost(held.state()),
            Hold::Permits(held) => lost(held.state()),
            Hold::Side(held) => lost(held.state()),
            Hold::All(held) => held.loss().map(|lost| lost.reason),
        }
    }

    /// Waits until it is over.
    async fn lost(&self) -> Option<LossReason> {
        match self {
            Hold::Lock(held) => held.lost().await,
            Hold::Permits(held) => held.lost().await,
            Hold::Side(held) => held.lost().await,
            Hold::All(held) => held.lost().await.map(|lost| lost.reason),
        }
    }
}

/// Each primitive has a record of its own, with the same fields.
macro_rules! values_of {
    ($counted:expr) => {
        Values::default()
            .add("acquired", $counted.acquired)
            .add("contended", $counted.contended)
            .add("handed_over", $counted.handed_over_local + $counted.handed_over_remote)
            .add("wait_timeouts", $counted.wait_timeouts)
            .add("lost", $counted.lost)
            .add("released", $counted.released)
            .add("waiting", $counted.waiting)
            .add("held", $counted.held)
            .add("waits", $counted.wait_time.count())
            .add("holds", $counted.hold_time.count())
    };
}

fn counted(clients: &Clients, step: &Step<'_>) -> Values {
    let stats = step.client(clients).stats();
    match step.options.get("of").copied() {
        None => values_of!(stats.lock),
        Some("semaphore") => values_of!(stats.semaphore),
        Some("rw_lock") => values_of!(stats.rw_lock),
        Some(other) => panic!("nothing is counted of {other}"),
    }
}
