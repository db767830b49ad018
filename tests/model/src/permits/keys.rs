//! The keys on the server.

use crate::state::Queue;

/// Processes at most.
pub const MAX: usize = 4;

/// An owner: a process and one of its attempts, or a client that has no place in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(u8);

/// Attempts of one process that something may still refer to at a time.
pub const ATTEMPTS: u8 = 8;

impl Owner {
    const TRIERS: u8 = MAX as u8 * ATTEMPTS;
    const FOREIGN: u8 = Owner::TRIERS + ATTEMPTS;

    /// The owner of a process's attempt.
    pub fn ours(process: usize, attempt: u8) -> Owner {
        Owner(process as u8 * ATTEMPTS + attempt)
    }

    /// A non-blocking attempt: of a client of ours that never waits, or of a process beside its contender.
    pub fn trier(n: u8) -> Owner {
        Owner(Owner::TRIERS + n)
    }

    /// A permit of the Redisson client.
    pub fn foreign(n: u8) -> Owner {
        Owner(Owner::FOREIGN + n)
    }

    /// The process and the attempt, if it is one's.
    pub fn attempt(self) -> Option<(usize, u8)> {
        (self.0 < Owner::TRIERS).then_some(((self.0 / ATTEMPTS) as usize, self.0 % ATTEMPTS))
    }

    /// Whether it is the Redisson client's.
    pub fn is_foreign(self) -> bool {
        self.0 >= Owner::FOREIGN
    }
}

/// The permits of one owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Grant {
    /// Whose they are.
    pub owner: Owner,
    /// How many.
    pub permits: u8,
    /// Ticks until they expire; 0 when they have.
    pub ttl: u8,
}

/// Grants at a time.
const GRANTS: usize = 7;

/// The permits `P` that are taken, in the order of their owners.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Grants {
    grants: [Grant; GRANTS],
    len: u8,
}

impl Grants {
    /// All of them.
    pub fn all(&self) -> &[Grant] {
        &self.grants[..self.len as usize]
    }

    /// The same, to change them; not their owners.
    pub fn all_mut(&mut self) -> &mut [Grant] {
        &mut self.grants[..self.len as usize]
    }

    /// Those of an owner.
    pub fn find(&mut self, owner: Owner) -> Option<&mut Grant> {
        self.all_mut().iter_mut().find(|g| g.owner == owner)
    }

    /// Whether an owner has some.
    pub fn has(&self, owner: Owner) -> bool {
        self.all().iter().any(|g| g.owner == owner)
    }

    /// ZADD. Permits that the owner has already stay what they are: the ids are the same.
    pub fn add(&mut self, grant: Grant) {
        if let Some(old) = self.find(grant.owner) {
            old.ttl = old.ttl.max(grant.ttl);
            return;
        }
        assert!((self.len as usize) < GRANTS, "more grants at a time than there is room for");
        self.grants[self.len as usize] = grant;
        self.len += 1;
        self.all_mut().sort_unstable();
    }

    /// ZREM of those that match; how many permits that were.
    pub fn remove(&mut self, mut matches: impl FnMut(&Grant) -> bool) -> u8 {
        let (old, mut removed) = (*self, 0);
        *self = Grants::default();
        for grant in old.all() {
            if matches(grant) {
                removed += grant.permits;
            } else {
                self.grants[self.len as usize] = *grant;
                self.len += 1;
            }
        }
        removed
    }

    /// Permits that are taken.
    pub fn taken(&self) -> u8 {
        self.all().iter().map(|g| g.permits).sum()
    }

    /// Those of them that have expired.
    pub fn expired(&self) -> u8 {
        self.all().iter().filter(|g| g.ttl == 0).map(|g| g.permits).sum()
    }
}

/// The keys on the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Server {
    /// `L`: permits available.
    pub available: i8,
    /// `P`.
    pub grants: Grants,
    /// `Q`.
    pub queue: Queue<MAX>,
    /// `want` in `S`; 0 for none.
    pub wants: [u8; MAX],
    /// `S`: ticks since each was last seen, as far as that matters.
    pub silent: [u8; MAX],
    /// `deaf` in `S`: 0, or 1 and the ticks since each was found not to listen.
    pub deaf: [u8; MAX],
    /// `told` in `S`: told `free` a moment ago, and has not asked since.
    pub told: [bool; MAX],
    /// `barged` in `S`.
    pub barged: u8,
}

impl Server {
    /// Permits in total.
    pub fn total(&self) -> i8 {
        self.available + self.grants.taken() as i8
    }

    /// The processes in the queue, from the head on.
    pub fn entries(&self) -> impl Iterator<Item = usize> + Clone + use<> {
        let queue = self.queue;
        (0..).map_while(move |rank| queue.at(rank))
    }
}
