//! How large the space is, and which rules are in force.

use crate::Kinds;

/// The bounds of the space and the rules of the protocol.
#[derive(Clone, Debug)]
pub struct Config {
    /// Permits in total, at the start.
    pub total: u8,
    /// How many permits each caller of each process wants, in the order in which the callers come.
    pub wants: &'static [&'static [u8]],
    /// Totals that are set, one after the other.
    pub totals: &'static [u8],
    /// No process has waited before: each has to subscribe to its inbox first.
    pub fresh: bool,
    /// How often a caller gives up its wait.
    pub cancels: u8,
    /// Permits that non-blocking attempts want, of a client that never waits.
    pub tries: &'static [u8],
    /// The same for non-blocking attempts of the processes, beside their contenders.
    pub own_tries: &'static [u8],
    /// How often a Redisson client takes a permit, past the queue.
    pub foreign: u8,
    /// How often a holder of all permits keeps only one: a writer that becomes a reader.
    pub downgrades: u8,
    /// How many faults happen, of the kinds that `kinds` allows.
    pub faults: u8,
    /// The kinds of fault.
    pub kinds: Kinds,
    /// How many expired grants one script reclaims.
    pub reclaims_at_once: u8,
    /// Ticks of a lease. Leases are never renewed: a lease that ends is a renewal that failed.
    pub lease: u8,
    /// The rules of the protocol.
    pub rules: Rules,
    /// Keeps in the state what has happened on the way to it, for the `sometimes` properties.
    pub remember: bool,
    /// Counts silence as far as `ENTRY_LIMIT`, and not only to `HEAD_LIMIT`.
    pub long_silence: bool,
    /// Counts the acquires of each process between two ticks.
    pub count_asks: bool,
}

impl Config {
    /// A semaphore with so many permits, and processes whose callers want so many each.
    pub fn semaphore(total: u8, wants: &'static [&'static [u8]]) -> Config {
        Config {
            total,
            wants,
            totals: &[],
            fresh: false,
            cancels: 0,
            tries: &[],
            own_tries: &[],
            foreign: 0,
            downgrades: 0,
            faults: 0,
            kinds: Kinds::NONE,
            reclaims_at_once: u8::MAX,
            lease: 2,
            rules: Rules::PROTOCOL,
            remember: false,
            long_silence: false,
            count_asks: false,
        }
    }

    /// A read-write lock, for processes whose callers want [`READ`] or [`WRITE`].
    pub fn read_write(wants: &'static [&'static [u8]]) -> Config {
        Config::semaphore(WRITE, wants)
    }

    /// The same with so many faults of these kinds.
    pub fn faults(self, faults: u8, kinds: Kinds) -> Config {
        Config { faults, kinds, ..self }
    }
}

/// What a reader wants.
pub const READ: u8 = 1;
/// What a writer wants: all permits, and more of them than readers come.
pub const WRITE: u8 = 6;

/// Each rule can be removed, to see what it is for.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// An acquire counts what is wanted in front of it. Without: it is granted if its own permits are there.
    pub counts_front: bool,
    /// Neighbours are admitted together. Without: only the head is admitted.
    pub admits_neighbours: bool,
    /// A release tells every entry that fits. Without: the head.
    pub tells_all_that_fit: bool,
    /// A script that reclaims expired permits tells every entry that fits.
    pub reclaim_wakes: bool,
    /// Expired permits are reclaimed by the next acquire that lacks permits.
    pub reclaims: bool,
    /// A process that hears of more expired permits than one script reclaims asks again.
    pub asks_while_expired: bool,
    /// A process whose first caller changes, and wants another number of permits, asks again.
    pub changed_want_asks: bool,
    /// A grant for less than the entry wanted does the same.
    pub smaller_grant_wakes: bool,
    /// Dead entries are dropped when the caller's own permits are there. The draft: when the head's are.
    pub probes_for_own_want: bool,
    /// An entry that wants more than the total is told to ask.
    pub impossible_told: bool,
    /// A caller that wants more than the total is refused.
    pub too_many: bool,
    /// An entry refused as wanting too much leaves the queue.
    pub too_many_leaves: bool,
    /// A cancel tells those behind it that fit.
    pub cancel_tells: bool,
    /// A raised total tells those that fit.
    pub raise_tells: bool,
    /// A downgrade tells those that fit.
    pub downgrade_tells: bool,
    /// A process that settles what an unanswered acquire did asks once more if it sleeps: late bytes may have been granted and
    /// have taken its place with them, or have changed what it wants.
    pub settle_asks: bool,
    /// Who was told a moment ago, and has not asked since, is not told again. Without: at each release.
    pub tells_once: bool,
    /// That it was told does not count any more once it has asked.
    pub asking_answers_telling: bool,
    /// A release gives back as many permits as it removed. Without: as many as the holder had.
    pub release_counts_removed: bool,
    /// A total below what is taken makes the number available negative. Without: 0.
    pub lowering_is_owed: bool,
    /// A grant that no caller wants, or wants in this number, is released.
    pub returns_unwanted: bool,
    /// A process that subscribed to its inbox asks once more before it sleeps.
    pub recheck: bool,
    /// A repeated acquire that finds its own permits is granted, and changes nothing.
    pub idempotent: bool,
    /// An entry that becomes head or next is stamped by the script that makes it so.
    pub stamps: bool,
    /// A head that has been silent for long is dropped.
    pub prune: bool,
    /// Entries at the front whose inbox has no listener are dropped too.
    pub drops_deaf: bool,
    /// But not before they had the time of a head to connect anew.
    pub deaf_have_time: bool,
    /// A `free` that an entry does not hear is told to others behind it.
    pub passes_on: bool,
    /// The server refuses a request that comes after its `not_after`.
    pub not_after: bool,
    /// Head and next have a timer.
    pub head_timer: bool,
    /// An attempt that was never answered is released once more when its `not_after` has passed.
    pub clean_up: bool,
    /// That waits until no request of the process is under way.
    pub clean_up_waits: bool,
    /// A message that comes while a request is in flight makes the process ask again after the reply.
    pub again: bool,
    /// So does the message that the process is next.
    pub again_for_next: bool,
    /// The acquire that moves the queue up tells the new second that it is next.
    pub take_tells_next: bool,
    /// A process for whose head permits are there sleeps no longer than `SHORT`.
    pub stays_short: bool,
    /// A process that waits again after an unanswered cancel asks once more when that cancel's `not_after` has passed.
    pub late_cancel_rejoins: bool,
    /// A cancel that is refused as too late is sent once more.
    pub late_cancel_repeats: bool,
    /// An entry that has been silent for very long is dropped by the one behind it.
    pub prune_entries: bool,
    /// And the entry that becomes next by that is told.
    pub prune_tells: bool,
    /// A third non-blocking attempt in a row respects the queue.
    pub tries_respect: bool,
}

impl Rules {
    /// The protocol as it is to be built.
    pub const PROTOCOL: Rules = Rules {
        counts_front: true,
        admits_neighbours: true,
        tells_all_that_fit: true,
        reclaim_wakes: true,
        reclaims: true,
        asks_while_expired: true,
        changed_want_asks: true,
        smaller_grant_wakes: true,
        probes_for_own_want: true,
        impossible_told: true,
        too_many: true,
        too_many_leaves: true,
        cancel_tells: true,
        raise_tells: true,
        downgrade_tells: true,
        settle_asks: true,
        tells_once: true,
        asking_answers_telling: true,
        release_counts_removed: true,
        lowering_is_owed: true,
        returns_unwanted: true,
        recheck: true,
        idempotent: true,
        stamps: true,
        prune: true,
        drops_deaf: true,
        deaf_have_time: true,
        passes_on: true,
        not_after: true,
        head_timer: true,
        clean_up: true,
        clean_up_waits: true,
        again: true,
        again_for_next: true,
        take_tells_next: true,
        stays_short: true,
        late_cancel_rejoins: true,
        late_cancel_repeats: true,
        prune_entries: true,
        prune_tells: true,
        tries_respect: true,
    };
}
