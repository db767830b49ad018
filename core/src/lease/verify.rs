//! When a client verifies all its holds, which is to ask the server whether it still shows them: soon after that is asked for,
//! and not more often than once a second.

use std::time::Duration;

use crate::time::Tick;

/// The shortest time between two of them: a connection for messages that breaks again and again asks for one each time.
pub(super) const PAUSE: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct VerifyPace {
    /// When the next one may begin.
    from: Tick,
    asked: bool,
}

impl VerifyPace {
    pub(super) fn ask(&mut self) {
        self.asked = true;
    }

    /// Whether one begins now, which then answers everything that was asked for so far.
    pub(super) fn begin(&mut self, now: Tick) -> bool {
        let begins = now >= self.next();
        if begins {
            *self = VerifyPace { from: now.plus(PAUSE), asked: false };
        }
        begins
    }

    /// When the one that is asked for begins; [`Tick::NEVER`] if none is.
    pub(super) fn next(&self) -> Tick {
        if self.asked { self.from } else { Tick::NEVER }
    }
}
