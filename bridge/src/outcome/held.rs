//! A hold as its holder gets it.

use crate::handle::Handle;

/// A hold as its holder gets it: the handle, and what does not change about it.
///
/// A handle that is given up ([`State::free`](crate::State::free)) ends a hold that was its own as a finaliser would: renewal
/// stops with a warning, and the lease runs out. A hold of a thread or a task stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// To ask for validity and loss, and to free.
    pub handle: Handle,
    /// The fencing token: larger than any granted before it under this name. 0 for permits, which have none, and for several
    /// locks, which have one each.
    pub token: u64,
    /// Which of its holder's holds this is, for the functions that take a `number`: no other hold of its client has it under
    /// this name. Of several locks it is the handle, which must not have been given up then.
    pub number: u64,
    /// The owner on the wire, `<client uuid>:<n>`, and of permits `/<permits>` behind it. Empty for several locks, which have
    /// one each.
    pub owner: String,
}
