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
    /// The fencing token: larger than any granted before it under this name.
    pub token: u64,
    /// The owner on the wire, `<client uuid>:<n>`.
    pub owner: String,
}
