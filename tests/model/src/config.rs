//! How large the space is, and which rules are in force.

/// Ticks of the timer of the head and of the one behind it (1 s).
pub const SHORT: u8 = 1;
/// Ticks of silence after which a head counts as dead (2.5 s).
pub const HEAD_LIMIT: u8 = 3;
/// Ticks of silence after which the entry behind it drops any entry (15 s). More than `LONG`: who sleeps is heard of by then.
pub const ENTRY_LIMIT: u8 = 7;
/// How many tries may take the lock in front of one head.
pub const MAY_BARGE: u8 = 2;
/// Ticks of the timer of all others (5 s). More than `HEAD_LIMIT`, as in the protocol: that is what makes stamps necessary.
pub const LONG: u8 = 5;
/// Ticks for which a request may be carried out after it was sent (`not_after`), and for which its sender minds it.
pub const NOT_AFTER: u8 = 1;
/// A timer that is not running.
pub const NEVER: u8 = u8::MAX;

/// The bounds of the space and the rules of the game.
#[derive(Clone, Debug)]
pub struct Config {
    /// How many callers come in each of our processes, one after the other or together. At most [`crate::state::MAX`]
    /// processes.
    pub callers: &'static [u8],
    /// No process has waited before: each has to subscribe to its inbox first.
    pub fresh: bool,
    /// How often a caller gives up its wait.
    pub cancels: u8,
    /// How often a Redisson client takes the lock, past the queue as it does.
    pub foreign: u8,
    /// How often a client takes the lock that only tries, and never waits. It knows the queue, as Redisson does not.
    pub tries: u8,
    /// How often a process tries, beside its contender and past its own line.
    pub own_tries: u8,
    /// How often somebody frees the lock by force.
    pub forces: u8,
    /// How many faults happen, of the kinds that `kinds` allows.
    pub faults: u8,
    /// Ticks of a lease. Nobody renews: a lease that ends is a renewal that failed.
    pub lease: u8,
    /// The kinds of fault.
    pub kinds: Kinds,
    /// The rules of the protocol.
    pub rules: Rules,
    /// Keeps in the state what has happened on the way to it, for the `sometimes` properties. It makes the space larger, so
    /// only the test that looks at those asks for it.
    pub remember: bool,
    /// Counts silence as far as `ENTRY_LIMIT`, and not only to `HEAD_LIMIT`: for spaces in which a lease is long enough for
    /// that to matter.
    pub long_silence: bool,
    /// Counts the acquires of each process between two ticks, for the property that nobody spins. That too makes the space
    /// larger.
    pub count_asks: bool,
}

impl Config {
    /// Processes with so many callers each, under the rules of the protocol, in a world without faults.
    pub fn new(callers: &'static [u8]) -> Config {
        Config {
            callers,
            fresh: false,
            cancels: 0,
            foreign: 0,
            tries: 0,
            own_tries: 0,
            forces: 0,
            lease: 2,
            faults: 0,
            kinds: Kinds::NONE,
            rules: Rules::PROTOCOL,
            remember: false,
            long_silence: false,
            count_asks: false,
        }
    }

    /// The same with so many faults of these kinds.
    pub fn faults(self, faults: u8, kinds: Kinds) -> Config {
        Config { faults, kinds, ..self }
    }
}

/// Which faults may happen.
#[derive(Clone, Copy, Debug)]
pub struct Kinds {
    /// A process ends.
    pub crash: bool,
    /// A process stops, for as long as it likes.
    pub pause: bool,
    /// A reply is lost; the process asks again with the same owner.
    pub reply: bool,
    /// A request is stuck on a dead connection and may arrive at any later time; the process asks again at once.
    pub stuck: bool,
    /// A message is lost.
    pub message: bool,
    /// A message comes at any later time.
    pub late: bool,
    /// A replica falls behind and is promoted.
    pub failover: bool,
    /// The queue's keys are gone: evicted, deleted, or nobody could ask for a minute.
    pub forget: bool,
    /// The server's clock jumps ahead, by more than any lease or silence.
    pub jump: bool,
}

impl Kinds {
    /// No kind.
    pub const NONE: Kinds = Kinds {
        crash: false,
        pause: false,
        reply: false,
        stuck: false,
        message: false,
        late: false,
        failover: false,
        forget: false,
        jump: false,
    };
    /// Every kind but failover.
    pub const NETWORK_AND_PROCESSES: Kinds =
        Kinds { crash: true, pause: true, reply: true, stuck: true, message: true, late: true, ..Kinds::NONE };
    /// Every kind but what happens to the server's keys and clock.
    pub const ALL: Kinds = Kinds { failover: true, ..Kinds::NETWORK_AND_PROCESSES };
    /// What happens to the server's keys and clock, and a process that ends.
    pub const SERVER: Kinds = Kinds { forget: true, jump: true, crash: true, ..Kinds::NONE };
}

/// Each rule can be taken out, to see what it is for.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// A process that subscribed, to its inbox or to the lock's own channel, asks once more before it sleeps.
    pub recheck: bool,
    /// A repeated acquire that finds its own field is granted, and changes nothing.
    pub idempotent: bool,
    /// A process that becomes head or next is stamped by whoever makes it so.
    pub stamps: bool,
    /// The draft: a release and a cancel stamp head and next even when neither moved.
    pub stamp_all: bool,
    /// A head that has been silent for long is dropped by the next caller.
    pub prune: bool,
    /// Entries at the front whose inbox nobody listens to are dropped with a dead head.
    pub drops_deaf: bool,
    /// But not before they had the time of a head to connect anew.
    pub deaf_have_time: bool,
    /// A `free` that the head does not hear is told to the first behind it that does.
    pub passes_on: bool,
    /// The server refuses a request that comes after its `not_after`.
    pub not_after: bool,
    /// Head and next have a timer.
    pub head_timer: bool,
    /// A release deletes only its own owner's field.
    pub release_by_owner: bool,
    /// An attempt that was never answered is released once more when its `not_after` has passed.
    pub clean_up: bool,
    /// A message that comes while a request is in flight makes the process ask again after the reply.
    pub again: bool,
    /// So does the message that one is next. The draft: only `free`.
    pub again_for_next: bool,
    /// What a request without an answer may have done is seen to only when nothing of the process is in flight and the
    /// attempt's own hold is over. The draft: when its `not_after` has passed.
    pub clean_up_waits: bool,
    /// A timer runs from when its acquire was sent: the answer to a process that was stopped is as old as its stop.
    pub timer_from_asking: bool,
    /// A release that rejoins and finds itself head asks at once.
    pub rejoined_head_asks: bool,
    /// A hold that is lost lets the next local caller contend at once.
    pub lost_hands_on: bool,
    /// A cancel tells those who move up.
    pub cancel_tells: bool,
    /// Tokens are never below the server's clock.
    pub clock_tokens: bool,
    /// Who tells the second of the queue that it is now second. The draft: the release. Mended: the take, which is what moves
    /// it.
    pub take_tells_next: bool,
    /// Who finds the lock free but not its own sleeps no longer than `SHORT`. The draft: next until the head counts as dead,
    /// and those behind for `LONG`.
    pub stays_short: bool,
    /// A message for a lock that nobody here waits for is answered with a cancel.
    pub strays_cancel: bool,
    /// A process that waits again after a cancel without an answer asks once more when that cancel's `not_after` has passed,
    /// because its bytes may have taken the new place in the queue.
    pub late_cancel_rejoins: bool,
    /// A cancel that is refused as too late is sent once more.
    pub late_cancel_repeats: bool,
    /// Whoever is behind an entry that has been silent for very long drops it.
    pub prune_entries: bool,
    /// And tells who becomes next by that.
    pub prune_tells: bool,
    /// A third try in a row respects the queue.
    pub tries_respect: bool,
    /// The tries in front of a head are counted until another is head. Else: until the lock is released.
    pub tries_counted_over_releases: bool,
    /// Whoever is told that its lock was freed by force looks at it before it believes that.
    pub lost_is_a_hint: bool,
}

impl Rules {
    /// The protocol as it is to be built.
    pub const PROTOCOL: Rules = Rules {
        recheck: true,
        idempotent: true,
        stamps: true,
        stamp_all: false,
        prune: true,
        drops_deaf: true,
        deaf_have_time: true,
        passes_on: true,
        not_after: true,
        head_timer: true,
        release_by_owner: true,
        clean_up: true,
        again: true,
        again_for_next: true,
        clean_up_waits: true,
        timer_from_asking: true,
        rejoined_head_asks: true,
        lost_hands_on: true,
        cancel_tells: true,
        clock_tokens: true,
        take_tells_next: true,
        stays_short: true,
        strays_cancel: true,
        late_cancel_rejoins: true,
        late_cancel_repeats: true,
        prune_entries: true,
        prune_tells: true,
        tries_respect: true,
        tries_counted_over_releases: true,
        lost_is_a_hint: true,
    };
}
