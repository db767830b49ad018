//! Permits of a counting semaphore on their way to the host.

use std::fmt;

use libdlock::CountingSemaphore;

/// Permits that were acquired for good: nothing ends them but a release. To drop this changes nothing.
#[derive(Clone)]
pub struct Granted {
    pub(crate) semaphore: CountingSemaphore,
    pub(crate) permits: u32,
}

impl Granted {
    /// Brings them back, for a host that never learns of them. A failure is the client's to say: there is nobody else to tell.
    pub(crate) async fn give_back(self) {
        let _ = self.semaphore.release_many(self.permits).await;
    }
}

impl PartialEq for Granted {
    fn eq(&self, other: &Self) -> bool {
        (self.permits, self.semaphore.key()) == (other.permits, other.semaphore.key())
    }
}

impl Eq for Granted {}

impl fmt::Debug for Granted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Granted").field("semaphore", &self.semaphore.key()).field("permits", &self.permits).finish()
    }
}
