//! Keys that went away, and what that excuses.
//!
//! What a fault excuses, and nothing else:
//!
//! * **Overlap.** A key that was taken away (DEL, FLUSHALL, a restart, a server's clock that moved ahead, a failover to a
//!   replica that had not heard of it, or not of its last renewal) lets a second holder in while the first still believes, or
//!   before the first has its answer. Excused when the first one's grant (the one with the smaller token) was asked for before
//!   the key went, the second one's came after it began to go, and the first believed no longer than a renewal sent at the last
//!   moment allows. Which of the two has the smaller token does not count when the token was forgotten as below.
//! * **Too many permits**, by the same rule: what let a holder in that the first one knows nothing of. Which of two was the first
//!   nobody can tell.
//! * **A smaller token** behind a larger one, or the same once more. By the same rule; else only when the token key was lost
//!   *while the server's clock was behind where it had been*, or before it went back to before that.
//! * **A loss** other than by expiry, **a release refused** although the hold was valid: only when the key was taken away
//!   between the hold's request and that.

use super::history::Hold;

/// A time within which keys went away.
#[derive(Clone, Debug)]
pub struct Removal {
    /// Of this name; of all when there is none.
    pub name: Option<String>,
    /// The first instant at which they may have gone.
    pub from: i64,
    /// The last.
    pub to: i64,
    /// What became of the tokens.
    pub tokens: Tokens,
}

/// What a removal did to the keys of the tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tokens {
    /// They are still there.
    Kept,
    /// They went too. The next ones grow all the same: by the server's clock.
    Lost,
    /// They went too, and the server's clock was, or came to be, behind where it had been.
    Forgotten,
}

impl Tokens {
    /// Those of a removal of all keys.
    pub fn lost(clock_is_behind: bool) -> Tokens {
        if clock_is_behind { Tokens::Forgotten } else { Tokens::Lost }
    }
}

impl Removal {
    pub(super) fn concerns(&self, name: &str) -> bool {
        self.name.as_deref().is_none_or(|mine| mine == name)
    }

    /// Whether the second's token may be smaller, because the first's was forgotten.
    pub(super) fn forgot(&self, name: &str, first: &Hold, second: &Hold) -> bool {
        self.tokens == Tokens::Forgotten
            && self.concerns(name)
            && self.from <= second.acquired_at
            && self.to >= first.sent
    }

    /// Whether it let the second in while the first still believed.
    pub(super) fn excuses(&self, name: &str, first: &Hold, second: &Hold) -> bool {
        self.concerns(name)
            && first.sent <= self.to
            && self.from <= second.acquired_at
            && first.ended_at <= self.to + first.validity
    }
}
