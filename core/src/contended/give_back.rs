//! What becomes of a grant that ends: it is handed on in the process, or freed on the server.

use std::sync::Arc;
use std::time::Duration;

use super::confirmed;
use super::contend::{self, First};
use super::delivery::Delivery;
use super::line::{Pass, Rest};
use super::object::Contended;
use super::owed;
use super::{Primitive, Released, TakenTogether, Wanted, server};
use crate::backend::{Done, Failed};
use crate::ended::cut_off;
use crate::error::{Error, ErrorKind, Result};
use crate::event::Level;
use crate::lease::{Grant, GrantKind, LossReason};
use crate::stats::{HoldCounts, Way};
use crate::step::{Step, channels};
use crate::time::Tick;

impl<P: Primitive> Contended<P> {
    /// The operation's name in errors.
    const OP: &'static str = P::Release::OP;

    /// Frees a grant that has been taken out of the holds. With [`LastHolder::CallerUntilClosed`] its holder, which may still
    /// be at work, learns of it as of a loss.
    pub(crate) async fn release(self: &Arc<Self>, grant: Grant, last_holder: LastHolder) -> Result<()> {
        match self.end_hold(&grant, last_holder)? {
            Some(freeing) => self.free_to_the_end(grant, freeing).await,
            None => Ok(()),
        }
    }

    /// As [`Contended::release`], by another step of the primitive's that ends the hold for good: what it has done is not told
    /// from what another holder did once the lease is over. Dropping the future does not stop it.
    pub(crate) async fn end_by<S: Step<Reply = Released>>(self: &Arc<Self>, grant: Grant, step: S) -> Result<Released> {
        let shared = self.clone();
        self.end_with(S::OP, grant, async move { shared.client().operate(shared.name(), &step).await }).await
    }

    /// As [`Contended::end_by`], by what asks the server.
    pub(crate) async fn end_with(
        self: &Arc<Self>,
        op: &'static str,
        grant: Grant,
        asking: impl Future<Output = Result<Done<Released>, Failed>> + Send + 'static,
    ) -> Result<Released> {
        let on = |error: Error| error.renamed(op);
        let Some(freeing) = self.end_hold(&grant, LastHolder::Caller).map_err(on)? else {
            return Ok(Released::Freed { announced: true, rank: None });
        };
        let (shared, its_grant) = (self.clone(), grant.clone());
        let ending = async move { shared.ended(op, &its_grant, freeing, asking.await) };
        let ended = self.client().tasks.operation(ending).await;
        self.reported(&grant, ended.unwrap_or_else(|| self.end_cut_off(op))).map_err(on)
    }

    /// As [`Contended::end_by`], of several, by what asks the server for all whose owners it is given: an answer for each.
    pub(crate) async fn end_each<F>(
        self: &Arc<Self>,
        op: &'static str,
        grants: &[Grant],
        asking: impl FnOnce(Vec<String>) -> F,
    ) -> Vec<Result<Released>>
    where
        F: Future<Output = Vec<Result<Done<Released>, Failed>>> + Send + 'static,
    {
        let mut answers: Vec<Option<Result<Released>>> = Vec::with_capacity(grants.len());
        let mut ends: Vec<(usize, Grant, Freeing)> = Vec::with_capacity(grants.len());
        for (at, grant) in grants.iter().enumerate() {
            answers.push(match self.end_hold(grant, LastHolder::Caller) {
                Ok(Some(freeing)) => {
                    ends.push((at, grant.clone(), freeing));
                    None
                }
                Ok(None) => Some(Ok(Released::Freed { announced: true, rank: None })),
                Err(error) => Some(Err(error)),
            });
        }
        if !ends.is_empty() {
            let asking = asking(ends.iter().map(|(_, grant, _)| grant.owner().to_owned()).collect());
            let shared = self.clone();
            let ending = async move {
                let each = ends.into_iter().zip(asking.await);
                let each = each.map(|((at, grant, freeing), done)| (at, shared.ended(op, &grant, freeing, done)));
                each.collect::<Vec<_>>()
            };
            for (at, ended) in self.client().tasks.operation(ending).await.unwrap_or_default() {
                answers[at] = Some(self.reported(&grants[at], ended));
            }
        }
        let answers = answers.into_iter().zip(grants).map(|(answer, grant)| {
            let answer = answer.unwrap_or_else(|| self.reported(grant, self.end_cut_off(op)));
            answer.map_err(|error| error.renamed(op))
        });
        answers.collect()
    }

    fn end_cut_off(&self, op: &'static str) -> Result<Released> {
        Err(cut_off(op, &self.client().tasks, "the end of the hold"))
    }

    /// What the server said of the end of a hold.
    fn ended(
        self: &Arc<Self>,
        op: &'static str,
        grant: &Grant,
        freeing: Freeing,
        done: Result<Done<Released>, Failed>,
    ) -> Result<Released> {
        let over = grant.valid_until() <= self.client().clock.now();
        match done {
            Ok(done) if done.reply == Released::NotHeld && done.echo_until.is_some() && over => {
                let message = "an answer was lost, and the lease was over when a repeat was answered: the first attempt may \
                               or may not have been carried out";
                let error = Error::new(ErrorKind::OutcomeUnknown, op, message);
                let failed = Failed { error, echo_until: done.echo_until, away: false };
                self.freed(grant, freeing, Err(failed))
            }
            done => self.freed(grant, freeing, done),
        }
    }

    /// Frees a hold; dropping the future does not stop that.
    async fn free_to_the_end(self: &Arc<Self>, grant: Grant, freeing: Freeing) -> Result<()> {
        let (shared, its_grant) = (self.clone(), grant.clone());
        let freeing = async move { shared.free(&its_grant, freeing).await };
        let freed = self.client().tasks.operation(freeing).await;
        let freed = freed.unwrap_or_else(|| Err(cut_off(Self::OP, &self.client().tasks, "the release")));
        self.reported(&grant, freed).map(drop)
    }

    /// Ends a hold that its holder has. `None` when the next caller of this process has it, an error when it was lost.
    fn end_hold(self: &Arc<Self>, grant: &Grant, last_holder: LastHolder) -> Result<Option<Freeing>> {
        let now = self.client().clock.now();
        self.client().keeper.expire(grant, now);
        if let Some(loss) = grant.loss_at(now) {
            self.check_open(Self::OP)?;
            // The key outlives the client's validity by the margin, for which waiters need not wait.
            if loss == LossReason::Expired {
                self.give_back(grant, LastHolder::Caller);
            }
            return Err(self.not_held(Self::OP, Some(grant)));
        }
        Ok(self.pass_on(grant, last_holder, now))
    }

    /// The result of a release, for its holder.
    fn reported(&self, grant: &Grant, freed: Result<Released>) -> Result<Released> {
        match freed {
            Ok(freed @ (Released::Freed { .. } | Released::Discarded)) => Ok(freed),
            Ok(Released::NotHeld) => Err(self.taken_away(Self::OP, grant)),
            // The hold is over in any case: a second release would find none.
            Err(error) => Err(error.permanent().on(self.name().as_str())),
        }
    }

    /// The error of a call that finds out that the server does not show the hold any more.
    pub(crate) fn taken_away(&self, op: &'static str, grant: &Grant) -> Error {
        let message = format!(
            "the server did not show it as held any more: it was taken away or removed since its last renewal; work done with \
             {} may have overlapped another holder's",
            grant.which()
        );
        Error::new(ErrorKind::NotHeld, op, message).on(self.name().as_str())
    }

    /// Ends, in the background, a hold that nobody wants, or that is over for its holder.
    pub(crate) fn give_back(self: &Arc<Self>, grant: &Grant, last_holder: LastHolder) {
        if !P::Renew::LEASED {
            return owed::undo_granted(self, grant);
        }
        let Some(freeing) = self.pass_on(grant, last_holder, self.client().clock.now()) else { return };
        let (shared, grant) = (self.clone(), grant.clone());
        self.client().tasks.spawn_operation(async move {
            let freed = shared.free(&grant, freeing).await;
            shared.warn_unless_freed(&grant, &freed);
        });
    }

    /// Nobody else is told of a release that was not confirmed and that nobody waits for.
    fn warn_unless_freed(&self, grant: &Grant, freed: &Result<Released>) {
        if let Err(error) = freed {
            let message = format!("not confirmed as released, the lease runs out instead: {}", error.message());
            self.client().events.emit_of(Level::Warn, grant.for_event(), message);
        }
    }

    /// Hands a hold to the next in line without the server, if it may, or leaves it to those that share it. Otherwise the hold
    /// ends here, and has to be freed there.
    fn pass_on(self: &Arc<Self>, grant: &Grant, last_holder: LastHolder, now: Tick) -> Option<Freeing> {
        let (client, held_for) = (self.client(), now.since(grant.since()));
        if !grant.leave() {
            // Others of this process have it too.
            last_holder.count(P::Renew::counts(&client.counters), held_for);
            return None;
        }
        // Told before anybody else can have it. What is lost is not handed on.
        let taken = last_holder.until_closed() && grant.take_from_holder();
        // A hold that is not renewed, or was extended, is not handed on: its keys last for another time than the next caller
        // wants.
        let held_as = P::held_as(grant);
        let hand_over = |token| {
            let next = held_as.term().is_renewed().then(|| client.keeper.hand_over(grant, token));
            next.flatten()
        };
        let mut line = self.line();
        let pass = match P::handed_on_as(client, grant, now) {
            Some(token) => line.pass_one_of_several(held_as, || hand_over(token)),
            None => line.pass(grant.token(), held_as, now.0, hand_over),
        };
        match &pass {
            // A contender goes on beside several holders.
            Pass::To(..) if !P::ONE_GRANT_ENDS => self.has_left(line, Some(held_as)),
            _ => drop(line),
        }
        let freeing = match pass {
            Pass::To(ticket, next) => {
                last_holder.count(P::Renew::counts(&client.counters), held_for);
                ticket.deliver(Delivery::new(self, next, Way::Local));
                return None;
            }
            Pass::Release { rejoin } => Freeing { rejoin: rejoin && self.has_queue(), contends: true, since: now },
            Pass::Aside => Freeing { rejoin: false, contends: false, since: now },
        };
        if taken || grant.begin_release() {
            last_holder.count(P::Renew::counts(&client.counters), held_for);
        }
        client.keeper.forget(grant);
        Some(freeing)
    }

    /// Frees a hold on the server, then lets the next caller contend.
    async fn free(self: &Arc<Self>, grant: &Grant, freeing: Freeing) -> Result<Released> {
        let freed = self.send_release(&P::release(grant.owner(), freeing.rejoin)).await;
        self.freed(grant, freeing, freed)
    }

    /// What the server said to the release of a hold; lets the next caller contend.
    fn freed(
        self: &Arc<Self>,
        grant: &Grant,
        freeing: Freeing,
        freed: Result<Done<Released>, Failed>,
    ) -> Result<Released> {
        grant.release();
        let reached = freed.as_ref().ok().map(|done| done.reached);
        let outcome = match freed {
            // A retry that finds nothing: the first attempt freed it.
            Ok(done) if done.reply == Released::NotHeld && done.echo_until.is_some() => {
                Ok(Released::Freed { announced: true, rank: None })
            }
            Ok(done) => Ok(done.reply),
            Err(failed) => Err(failed.error),
        };
        if freeing.contends {
            let rank = match outcome {
                Ok(Released::Freed { rank, .. }) => rank,
                _ => None,
            };
            self.go_on(freeing, rank);
        }
        if let Ok(Released::Freed { announced: false, .. }) = outcome {
            let message = format!(
                "released, but the server's access rules forbid to tell the waiters, who come by their timers; allow the \
                 channels with {}",
                channels::<<P::Release as Step>::State>()
            );
            self.client().events.emit_of(Level::Warn, grant.for_event(), message);
        }
        if let (Ok(Released::Freed { .. } | Released::Discarded), Some(reached)) = (&outcome, reached) {
            confirmed::note(self.home(), self.name(), grant, reached);
        }
        owed::after_release(self.home(), self.name(), grant);
        outcome
    }

    /// A release is over: waiters contend, and a place in the queue that nobody needs is left.
    fn go_on(self: &Arc<Self>, freeing: Freeing, rank: Option<u64>) {
        let Freeing { rejoin: rejoined, since, .. } = freeing;
        let mut line = self.line();
        // A release without a reply does not know whether it has joined.
        if rejoined && line.wanted().is_none() {
            line.owe_leaving();
        }
        let rest = line.rest();
        drop(line);
        match (rest, rank) {
            (Rest::Waiting, Some(rank)) => contend::start(self, First::Joined { rank, sent: since }),
            (Rest::Waiting, None) => contend::start(self, First::Ask { queued: rejoined }),
            (rest, _) => contend::go_on(self, rest),
        }
    }
}

/// As [`Contended::release`], of grants of several objects of one client: what has to be freed on the server is freed by one
/// request. The first error, if there is one; the others are released all the same.
pub(crate) async fn release_together<P: TakenTogether>(holds: Vec<(Arc<Contended<P>>, Grant)>) -> Result<()> {
    let mut result = Ok(());
    let mut frees = Vec::new();
    for (object, grant) in holds {
        match object.end_hold(&grant, LastHolder::Caller) {
            Ok(Some(freeing)) => frees.push((object, grant, freeing)),
            Ok(None) => {}
            Err(error) => result = result.and(Err(error)),
        }
    }
    let Some((first, _, _)) = frees.first() else { return result };
    let (first, number) = (first.clone(), frees.len());
    let freed = first.client().tasks.operation(free_together(frees)).await;
    let cut_off = || cut_off(P::Release::OP, &first.client().tasks, "the release").on(first.name().as_str());
    let Some(freed) = freed else { return result.and(Err(cut_off())) };
    debug_assert_eq!(freed.len(), number);
    freed
        .into_iter()
        .fold(result, |result, (object, grant, freed)| result.and(object.reported(&grant, freed).map(drop)))
}

/// As [`Contended::give_back`], of grants of several objects of one client.
pub(crate) fn give_back_together<P: TakenTogether>(holds: Vec<(Arc<Contended<P>>, Grant)>) {
    let freeing = |(object, grant): (Arc<Contended<P>>, Grant)| {
        let freeing = object.pass_on(&grant, LastHolder::Caller, object.client().clock.now())?;
        Some((object, grant, freeing))
    };
    let frees: Vec<_> = holds.into_iter().filter_map(freeing).collect();
    let Some((first, _, _)) = frees.first() else { return };
    let first = first.clone();
    first.client().tasks.spawn_operation(async move {
        for (object, grant, freed) in free_together(frees).await {
            object.warn_unless_freed(&grant, &freed);
        }
    });
}

/// Frees these by one request.
async fn free_together<P: TakenTogether>(
    frees: Vec<(Arc<Contended<P>>, Grant, Freeing)>,
) -> Vec<(Arc<Contended<P>>, Grant, Result<Released>)> {
    let step = |grant: &Grant, freeing: &Freeing| P::release_all(P::release(grant.owner(), freeing.rejoin));
    let items = frees.iter().map(|(object, grant, freeing)| (object.name().clone(), step(grant, freeing))).collect();
    let outcome = match frees.first() {
        Some((first, _, _)) => server::send_releases::<P>(first.client(), items).await,
        None => return Vec::new(),
    };
    let one = |at: usize| {
        let done = outcome.as_ref().map_err(Failed::clone)?;
        Ok(Done { reply: done.reply[at], sent: done.sent, echo_until: done.echo_until, reached: done.reached })
    };
    let freed = |(at, (object, grant, freeing)): (usize, (Arc<Contended<P>>, Grant, Freeing))| {
        let freed = object.freed(&grant, freeing, one(at));
        (object, grant, freed)
    };
    frees.into_iter().enumerate().map(freed).collect()
}

/// Who held a grant that ends. One that reached a caller was counted as acquired, and counts as released.
#[derive(Clone, Copy)]
pub(crate) enum LastHolder {
    Caller,
    /// A caller that still holds it: the client, which closes, takes it away.
    CallerUntilClosed,
    Nobody,
}

impl LastHolder {
    fn count(self, counts: &HoldCounts, held_for: Duration) {
        match self {
            LastHolder::Caller | LastHolder::CallerUntilClosed => counts.released(held_for),
            LastHolder::Nobody => {}
        }
    }

    fn until_closed(self) -> bool {
        matches!(self, LastHolder::CallerUntilClosed)
    }
}

/// How to free, on the server, a hold that is over here.
#[derive(Clone, Copy)]
struct Freeing {
    /// Join the queue in the same step: callers of this process wait.
    rejoin: bool,
    /// The line waits for it.
    contends: bool,
    /// The release is sent after this.
    since: Tick,
}
