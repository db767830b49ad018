//! What operations bring: the answer of each, as a port carries it.

mod decision;
mod granted;
mod held;
mod jobs;

pub use libdlock::counting_semaphore::Inspection as CountingSemaphoreInspection;
use libdlock::lease::LossReason;
pub use libdlock::lock::Inspection;
pub use libdlock::rw_lock::Inspection as RwLockInspection;
pub use libdlock::semaphore::Inspection as SemaphoreInspection;

pub use self::decision::{Decision, Decisions};
pub use self::granted::Granted;
pub use self::held::Held;
pub use self::jobs::{Delivered, Deliveries, Job, ListedJob, ListedJobs, Put, Puts, QueueCounts};
use crate::handle::Handle;

/// What a finished operation brings.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Nothing but that it is done.
    Unit,
    // <api:scalars> written by `python3 api/write.py` from api/wire.json
    /// Yes or no.
    Bool(bool),
    /// A whole number below 2^53, or as far below 0: the count of a latch, or permits.
    Number(i64),
    /// A text: the string of a detached hold.
    Text(String),
    // </api:scalars>
    /// A hold.
    Held(Held),
    /// Why a hold was lost; none when it was released.
    Loss(Option<LossReason>),
    /// What the server says about a lock.
    Inspection(Inspection),
    /// What the server says about a semaphore.
    SemaphoreInspection(SemaphoreInspection),
    /// What the server says about a read-write lock.
    RwLockInspection(RwLockInspection),
    /// What the server says about a counting semaphore.
    CountingSemaphoreInspection(CountingSemaphoreInspection),
    /// A limiter's answer.
    Decision(Decision),
    /// A limiter's answers to a batch.
    Decisions(Decisions),
    /// Permits of a counting semaphore: the host has nothing to read of them.
    Granted(Granted),
    /// Ids, any number of 64 bits each.
    Ids(Ids),
    /// Yes or no of each item.
    Flags(Flags),
    /// A number with a fraction.
    Real(Real),
    /// What a put of jobs has done, in their order; of `queue_put` one.
    Puts(Puts),
    /// Jobs that were delivered, in their order; of `queue_take` one at most.
    Deliveries(Deliveries),
    /// How many jobs a queue has.
    QueueCounts(QueueCounts),
    /// Jobs that wait in a queue, or are dead.
    ListedJobs(ListedJobs),
    /// A new object.
    Handle(Handle),
}

/// The ids of one call, in increasing order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ids(pub Vec<i64>);

/// The answers of one call, in the order of its items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flags(pub Vec<bool>);

/// A number with a fraction: a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Real(pub f64);

impl Outcome {
    /// The handle that it brings, which has to be let go of when it reaches nobody. Those of deliveries
    /// [`Outcome::handles`] has.
    fn handle(&self) -> Option<Handle> {
        match self {
            Outcome::Held(Held { handle, .. }) | Outcome::Handle(handle) => Some(*handle),
            Outcome::Unit | Outcome::Loss(_) | Outcome::Decision(_) | Outcome::Decisions(_) => None,
            Outcome::Inspection(_) | Outcome::SemaphoreInspection(_) | Outcome::RwLockInspection(_) => None,
            Outcome::CountingSemaphoreInspection(_) | Outcome::Granted(_) | Outcome::Ids(_) => None,
            Outcome::Flags(_) | Outcome::Real(_) => None,
            Outcome::Puts(_) | Outcome::Deliveries(_) | Outcome::QueueCounts(_) | Outcome::ListedJobs(_) => None,
            // <api:scalars-handle> written by `python3 api/write.py` from api/wire.json
            Outcome::Bool(_) => None,
            Outcome::Number(_) => None,
            Outcome::Text(_) => None,
            // </api:scalars-handle>
        }
    }

    /// The handles that it brings, which have to be let go of when they reach nobody.
    pub(crate) fn handles(&self) -> impl Iterator<Item = Handle> + '_ {
        let delivered = match self {
            Outcome::Deliveries(Deliveries(delivered)) => delivered.as_slice(),
            _ => &[],
        };
        self.handle().into_iter().chain(delivered.iter().map(|delivered| delivered.held.handle))
    }
}

/// What an operation answers with, as a port brings it.
macro_rules! outcomes {
    ($($answer:ty => $outcome:expr;)*) => {
        $(impl From<$answer> for Outcome {
            fn from(answer: $answer) -> Self {
                $outcome(answer)
            }
        })*
    };
}

outcomes! {
    () => |()| Outcome::Unit;
    // <api:scalars-from> written by `python3 api/write.py` from api/wire.json
    bool => Outcome::Bool;
    i64 => Outcome::Number;
    String => Outcome::Text;
    // </api:scalars-from>
    Held => Outcome::Held;
    Option<LossReason> => Outcome::Loss;
    Inspection => Outcome::Inspection;
    SemaphoreInspection => Outcome::SemaphoreInspection;
    RwLockInspection => Outcome::RwLockInspection;
    CountingSemaphoreInspection => Outcome::CountingSemaphoreInspection;
    Decision => Outcome::Decision;
    Decisions => Outcome::Decisions;
    Granted => Outcome::Granted;
    Ids => Outcome::Ids;
    Flags => Outcome::Flags;
    Real => Outcome::Real;
    Put => |put| Outcome::Puts(Puts(vec![put]));
    Puts => Outcome::Puts;
    Option<Delivered> => |delivered: Option<Delivered>| Outcome::Deliveries(Deliveries(delivered.into_iter().collect()));
    Deliveries => Outcome::Deliveries;
    QueueCounts => Outcome::QueueCounts;
    ListedJobs => Outcome::ListedJobs;
    Handle => Outcome::Handle;
}
