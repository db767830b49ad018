//! How the contender waits: with a place in the queue, until its inbox or the looker says to ask again.

use super::contend::{Contender, Next};
use super::line::Mail;
use super::object::Obstacle;
use super::sleepers::{Alarm, WakeReason};
use super::{Primitive, Wanted, is_ours};
use crate::backend::Failed;
use crate::time::Tick;

/// How a contender sleeps.
pub(super) struct SleepPlan {
    pub(super) alarm: Alarm,
    /// When it last renewed the time to live of the queue's keys.
    pub(super) keys_renewed: Tick,
}

impl<P: Primitive> Contender<P> {
    /// It is held, and the process has a place in the queue.
    pub(super) fn busy(&mut self, ttl: i64, holder: String, rank: u64, sent: Tick, keys_renewed: Tick) -> Next<P> {
        self.listen(P::HAS_FOREIGN && rank == 0 && (!self.shared.has_queue() || !is_ours(&holder)));
        self.in_the_way(Obstacle::Holder { holder, ttl });
        self.queue_up(ttl, rank, sent, keys_renewed)
    }

    pub(super) fn in_the_way(&mut self, obstacle: Obstacle) {
        self.waited = true;
        self.shared.set_obstacle(Some(obstacle));
    }

    /// Listens to the object's own channel while the head waits for a foreign holder, which announces nowhere else.
    pub(super) fn listen(&mut self, foreign: bool) {
        match (foreign, &self.channel) {
            (false, _) => self.channel = None,
            (true, Some(_)) => {}
            (true, None) => self.channel = Some(self.shared.listen_on_channel()),
        }
    }

    /// The process has a place in the queue. It looks again at the end of the lease in the way, or of the interval of its rank.
    pub(super) fn queue_up(&mut self, ttl: i64, rank: u64, sent: Tick, keys_renewed: Tick) -> Next<P> {
        self.queued = true;
        let mail = {
            let mut line = self.shared.line();
            // This answer confirms the place: there is no older one to leave.
            line.settle_leaving();
            line.take_mail()
        };
        // `next` counts as well: the answer may be older than the message.
        if mail.ask || mail.next {
            return Next::Ask;
        }
        // Counted from the sending: a process that was stopped must not sleep on an old answer.
        let alarm = match mail.missed {
            true => Alarm::exactly(sent),
            false => self.shared.home().looker.alarm(ttl, rank, sent),
        };
        let alarm = mail.due.filter(|due| *due < alarm.at).map_or(alarm, Alarm::exactly);
        Next::Sleep(SleepPlan { alarm, keys_renewed })
    }

    pub(super) fn joined(&mut self, rank: u64, sent: Tick) -> Next<P> {
        // No message tells the queue head that it is the head.
        if rank == 0 {
            return Next::Ask;
        }
        self.in_the_way(Obstacle::Queue);
        self.queue_up(-1, rank, sent, sent)
    }

    pub(super) async fn sleep(&mut self, plan: SleepPlan) -> Next<P> {
        let shared = self.shared.clone();
        let client = shared.client();
        let looker = &shared.home().looker;
        let entry = looker.enter(&shared, plan.alarm, plan.keys_renewed, self.channel.is_some());
        loop {
            // Taken before the mail: an answer may be older than a message.
            let reason = entry.take_reason();
            let mail = {
                let mut line = shared.line();
                let Some(wanted) = line.wanted() else { return Next::Leave };
                // Callers have left, and perhaps others have come since: the queue keeps room for what nobody here wants.
                if self.kept.is_some_and(|kept| kept != wanted.permits()) {
                    return Next::Ask;
                }
                if matches!(reason, Some(WakeReason::Held { .. })) { Mail::default() } else { line.take_mail() }
            };
            match reason {
                _ if mail.ask => return Next::Ask,
                None => {}
                Some(WakeReason::Ask) => return Next::Ask,
                Some(WakeReason::AskInTurn) => {
                    drop(entry);
                    return self.ask_in_turn().await;
                }
                Some(WakeReason::Held { ttl, holder, rank, sent, keys_renewed }) => {
                    return self.busy(ttl, holder, rank, sent, keys_renewed);
                }
                Some(WakeReason::Failed { error, sent }) => {
                    return self.failed(Failed { error, echo_until: None, away: true }, sent);
                }
            }
            let now = client.clock.now();
            let next = || looker.alarm(-1, 1, now).at;
            let hurries = |at: Option<Tick>| at.is_none_or(|at| entry.hurry(at));
            if !hurries(mail.missed.then_some(now)) || !hurries(mail.next.then(next)) || !hurries(mail.due) {
                // The answer that came meanwhile may be older than the mail: both count then.
                shared.line().note(mail);
            }
            shared.noted().await;
        }
    }

    /// Waits for its turn to ask, as one of many contenders that a look has told to.
    async fn ask_in_turn(&mut self) -> Next<P> {
        let client = self.shared.client();
        self.turn = tokio::select! {
            turn = self.shared.home().looker.turn() => turn,
            // A message, or nobody waits any more.
            () = self.shared.noted() => None,
        };
        match self.turn {
            Some(_) => Next::Ask,
            None => Next::Sleep(SleepPlan { alarm: Alarm::exactly(client.clock.now()), keys_renewed: Tick(0) }),
        }
    }
}
