//! The queue's half of an acquire of an object of which there are several, as `turn.lua` has it: whether it is the client's turn,
//! where the client lines up or leaves, and who is told that room was made.

use super::queue::{Queue, QueueAt};

/// The text that stands behind that of the queue in front of each script that acquires such an object.
macro_rules! turn_lua {
    () => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/contended/turn.lua"))
    };
}
pub(crate) use turn_lua;

/// How many permits are available, and how many there are in all.
type Permits = (i64, i64);

/// One acquire of a client, and how it stands with those that wait.
pub(crate) struct Turn<'a> {
    client: &'a str,
    permits: u32,
    waits: bool,
    /// From which rank on room was made.
    from: Option<usize>,
    jumps: bool,
}

impl<'a> Turn<'a> {
    pub(crate) fn new(client: &'a str, permits: u32, waits: bool) -> Turn<'a> {
        Turn { client, permits, waits, from: None, jumps: false }
    }

    /// Whether it harms nobody in front to grant it.
    pub(crate) fn is_due(&self, queue: &Queue, available: i64) -> bool {
        let rank = queue.rank(self.client).filter(|_| self.waits);
        queue.suffices(available, self.permits.into(), rank.unwrap_or(queue.entries.len()))
    }

    /// The same after room was made.
    pub(crate) fn is_due_now(&mut self, queue: &Queue, available: i64) -> bool {
        self.from = Some(0);
        self.is_due(queue, available)
    }

    /// Others come first: if there are enough permits, drops those of them that are dead. Whether it can be granted then, because
    /// it is due or because it jumps the head.
    pub(crate) fn gets_past(&mut self, at: &mut QueueAt<'_, '_>, available: i64) -> bool {
        if available < self.permits.into() {
            return false;
        }
        if at.head().is_some_and(|head| head != self.client && !at.is_there(head)) {
            let entries = at.queue.entries.len();
            at.drop_gone(self.client, self.waits);
            if at.queue.entries.len() < entries && self.is_due_now(at.queue, available) {
                return true;
            }
        }
        self.jumps = !self.waits && at.head().is_some() && at.queue.may_barge();
        self.jumps
    }

    /// It is not granted: lines the client up, if it waits, and tells those for whom room was made. The client's rank.
    pub(crate) fn line_up(&mut self, at: &mut QueueAt<'_, '_>, permits: Permits) -> Option<u64> {
        let rank = self.waits.then(|| {
            let rank = match at.stay(self.client, true) {
                Some(stood) => {
                    let rank = at.drop_silent(self.client, stood);
                    if rank < stood {
                        self.made_room_from(rank);
                    }
                    rank
                }
                None => at.join(self.client),
            };
            at.queue.wants.insert(self.client.to_owned(), self.permits);
            rank as u64
        });
        self.wake(at, permits, if self.waits { self.client } else { "" });
        rank
    }

    /// It is granted: leaves the queue, or has jumped its head, and tells those for whom room was made. `permits`: after it;
    /// `caller`: as for [`QueueAt::wake`].
    pub(crate) fn leave(&mut self, at: &mut QueueAt<'_, '_>, permits: Permits, caller: &str) {
        let wanted = at.queue.want(self.client);
        if self.jumps {
            at.barge();
        } else if self.waits
            && let Some(rank) = at.leave(self.client)
        {
            if rank <= 1 {
                at.moved_up(rank, false, self.client);
            }
            // The server kept room for more than was taken.
            if i64::from(self.permits) < wanted {
                self.made_room_from(rank);
            }
        }
        self.wake(at, permits, caller);
    }

    /// Tells those for whom room was made; see [`QueueAt::wake`].
    pub(crate) fn wake(&self, at: &mut QueueAt<'_, '_>, (available, total): Permits, caller: &str) {
        if let Some(from) = self.from {
            at.wake(available, total, from, caller);
        }
    }

    fn made_room_from(&mut self, rank: usize) {
        self.from = Some(self.from.unwrap_or(rank).min(rank));
    }
}
