//! How a hold ends otherwise than by a release.

use std::fmt;

/// Why a hold was lost.
///
/// ```
/// # let client = libdlock::Client::blocking_connect("memory://")?;
/// # client.block_on(async {
/// use libdlock::lease::LossReason;
///
/// let lock = client.lock("orders/42")?;
/// let held = lock.acquire().await?;
/// lock.force_release().await?; // an operator, in any process
/// assert_eq!(held.lost().await, Some(LossReason::Deleted));
/// # Ok::<(), libdlock::Error>(()) })?;
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LossReason {
    // <api:losses> written by `python3 api/write.py` from api/losses.json
    /// The lease ran out: it was given and is over, or the server could not be reached to renew it.
    Expired,
    /// Another holder has it now.
    Taken,
    /// The key is gone: deleted, flushed or force-released.
    Deleted,
    /// The key is gone, and so is the server that had it: a restart or a failover.
    ServerChanged,
    /// The client was closed, or the holder went away without a release; what it held was released, or its lease runs
    /// out.
    Closed,
    /// A defect in libdlock ended the renewals.
    Internal,
    // </api:losses>
}

impl LossReason {
    /// One word in lower case, the same in every language.
    pub const fn as_str(self) -> &'static str {
        match self {
            // <api:names> written by `python3 api/write.py` from api/losses.json
            LossReason::Expired => "expired",
            LossReason::Taken => "taken",
            LossReason::Deleted => "deleted",
            LossReason::ServerChanged => "server_changed",
            LossReason::Closed => "closed",
            LossReason::Internal => "internal",
            // </api:names>
        }
    }
}

impl fmt::Display for LossReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            // <api:shown> written by `python3 api/write.py` from api/losses.json
            LossReason::Expired => "its lease ran out",
            LossReason::Taken => "somebody else holds it now",
            LossReason::Deleted => "its key was removed on the server",
            LossReason::ServerChanged => "the server was restarted or replaced and no longer knows it",
            LossReason::Closed => "its client was closed or its holder went away",
            LossReason::Internal => "a defect in libdlock ended its renewal",
            // </api:shown>
        })
    }
}

/// The life of a hold.
///
/// ```
/// # let client = libdlock::Client::blocking_connect("memory://")?;
/// # client.block_on(async {
/// use libdlock::lease::HoldState;
///
/// let held = client.lock("orders/42")?.acquire().await?;
/// assert_eq!(held.state(), HoldState::Held);
/// # Ok::<(), libdlock::Error>(()) })?;
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HoldState {
    /// Held, and the renewals succeed.
    Held,
    /// Still valid, but more than half the lease has passed without a renewal that the server confirmed.
    Suspended,
    /// Lost for good.
    Lost(LossReason),
    /// Ended by a release.
    Released,
}
