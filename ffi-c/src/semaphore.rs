//! Semaphores: what the server says about one.

use libdlock_bridge::SemaphoreInspection;

/// How many permits a semaphore has, as the server sees it. Begin with DLOCK_SEMAPHORE_INSPECTION_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_semaphore_inspection_t {
    /// `sizeof(dlock_semaphore_inspection_t)`.
    pub struct_size: usize,
    /// Whether the semaphore is there; the first acquire makes it.
    pub exists: bool,
    /// How many permits there are in all; 0 when it is not there.
    pub permits: u64,
    /// How many can be acquired now, those whose lease has run out among them; negative after the number was lowered below
    /// what is taken.
    pub available: i64,
    /// How many processes stand in the queue.
    pub queued: u64,
}

impl dlock_semaphore_inspection_t {
    pub(crate) const EMPTY: Self =
        Self { struct_size: size_of::<Self>(), exists: false, permits: 0, available: 0, queued: 0 };

    pub(crate) fn of(seen: &SemaphoreInspection) -> Self {
        Self {
            exists: seen.permits.is_some(),
            permits: seen.permits.unwrap_or(0),
            available: seen.available,
            queued: seen.queued,
            ..Self::EMPTY
        }
    }
}
