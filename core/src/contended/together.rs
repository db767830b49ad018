//! Several objects of one kind that one holder takes together: all of them or none, by one request that does not wait.
//!
//! To each line it is a non-blocking attempt of its own, whose grant is admitted, delivered and given back as any other. What
//! is taken is held by each object for itself.

use std::pin::pin;
use std::sync::Arc;

use super::acknowledged::acknowledged_together;
use super::caller::Caller;
use super::delivery::Delivery;
use super::give_back::LastHolder;
use super::object::{Contended, Obstacle};
use super::outcome::{NonBlocking, NonBlockingOutcome, TOO_LATE_IN_A_ROW};
use super::owed::Undone;
use super::{Acquired, Primitive, Released, server};
use crate::backend::{Done, Failed, echo_until};
use crate::ended::{cut_off, while_open};
use crate::error::{Error, ErrorKind, Result};
use crate::lease::{Grant, HolderId};
use crate::step::{BatchStep, JointStep, Step};
use crate::time::{ServerTime, Tick};
use crate::wait::by_deadline;

/// A primitive of which several can be taken and freed by one request.
pub(crate) trait TakenTogether: Primitive {
    type AcquireAll: JointStep<Reply = Joint>;
    type ReleaseAll: BatchStep<Reply = Released>;

    /// A non-blocking `step` as one of a joint request, which `jumps` the queues as such an attempt may, or takes nothing that
    /// others wait for.
    fn acquire_all(step: &Self::Acquire, jumps: bool) -> Self::AcquireAll;

    /// A release as one of many.
    fn release_all(step: Self::Release) -> Self::ReleaseAll;
}

/// What the server says of one of the objects that are to be taken together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Joint {
    /// As to an acquire of it alone. Granted: as all the others are.
    Is(Acquired),
    /// It could be had, and is not taken because of another.
    Free { now: ServerTime },
    /// Its key holds something else.
    WrongType { now: ServerTime },
}

impl Joint {
    /// The server's time.
    pub(crate) fn now(&self) -> ServerTime {
        match self {
            Joint::Is(acquired) => acquired.now(),
            Joint::Free { now } | Joint::WrongType { now } => *now,
        }
    }
}

/// One caller that wants several objects, of all of which it holds none.
pub(crate) struct Together<P: TakenTogether> {
    pub(crate) objects: Vec<Arc<Contended<P>>>,
    pub(crate) holder: HolderId,
    pub(crate) wanted: P::Wanted,
    pub(crate) asked_at: Tick,
}

/// What came of a joint request.
pub(crate) enum TakenOrNot {
    /// The grants, in the order of the objects. They are the holder's.
    Taken(Vec<Grant>),
    /// None is taken.
    Refused(Refusal),
}

/// Why none was taken.
pub(crate) struct Refusal {
    /// Each object that is in the way, by its place among all, and how. None: the server has not said.
    in_the_way: Vec<(usize, Obstacle)>,
}

impl Refusal {
    /// The first of the objects that is in the way, or the very first when the server has not said.
    pub(crate) fn first(&self) -> usize {
        self.in_the_way.first().map_or(0, |(at, _)| *at)
    }

    /// The first of the objects that is free, with others in front, if nobody holds any of them.
    pub(crate) fn queue(&self) -> Option<usize> {
        let (at, _) = self.in_the_way.first()?;
        self.in_the_way.iter().all(|(_, how)| matches!(how, Obstacle::Queue)).then_some(*at)
    }

    /// The error of a caller that does not wait.
    pub(crate) fn error<P: TakenTogether>(&self, whole: &Together<P>) -> Error {
        let held = self.in_the_way.iter().find(|(_, how)| !matches!(how, Obstacle::Queue));
        match held.or(self.in_the_way.first()) {
            Some((at, how)) => whole.caller(*at).out_of_time(Some(how)),
            None => whole.caller(0).out_of_time(None),
        }
    }
}

/// What came of the attempt at each.
enum Attempt<P: Primitive> {
    Granted(Vec<Delivery<P>>),
    Refused(Refusal),
    TooLate(Vec<Undone>),
    LeaseOver(String),
    /// The server cannot be reached, or refuses for now.
    Away(Error),
}

impl<P: TakenTogether> Together<P> {
    /// The operation's name in errors.
    const OP: &'static str = P::Acquire::OP;

    /// One of the objects alone.
    pub(crate) fn caller(&self, at: usize) -> Caller<'_, P> {
        Caller::new(&self.objects[at], self.holder, self.wanted, self.asked_at)
    }

    /// One request, no waiting, and no jumping over those that wait unless it `jumps`. A caller that waits has a deadline: it is
    /// not told of an outage, but that the server has not said.
    ///
    /// # Cancel safety
    /// What is granted to a future that was dropped is given back.
    pub(crate) async fn once(&self, jumps: bool, waits_until: Option<Tick>) -> Result<TakenOrNot> {
        let client = self.objects[0].client();
        let unsaid = || TakenOrNot::Refused(Refusal { in_the_way: Vec::new() });
        for _ in 0..=TOO_LATE_IN_A_ROW {
            let in_the_way = self.in_the_way_here(jumps);
            if !in_the_way.is_empty() {
                return Ok(TakenOrNot::Refused(Refusal { in_the_way }));
            }
            let until = waits_until.unwrap_or(Tick::NEVER);
            let attempt = pin!(self.attempt(jumps));
            let attempt = pin!(by_deadline(&client.clock, until, attempt));
            let Some(attempt) = while_open(Self::OP, &client.tasks, attempt).await? else { return Ok(unsaid()) };
            match attempt? {
                Attempt::Granted(deliveries) => return self.accept(deliveries).map(TakenOrNot::Taken),
                Attempt::Refused(refusal) => return Ok(TakenOrNot::Refused(refusal)),
                // A timed wait rides through an outage until its own deadline; an endless wait must not hang.
                Attempt::Away(_) if waits_until.is_some_and(|until| until < Tick::NEVER) => return Ok(unsaid()),
                Attempt::Away(error) => return Err(error),
                Attempt::LeaseOver(_) if waits_until.is_some() => return Ok(unsaid()),
                Attempt::LeaseOver(how) => return Err(self.caller(0).lease_over(&how)),
                Attempt::TooLate(undone) => {
                    // Else the next request could find an object held by this one.
                    for undone in undone {
                        let deadline = until.min(client.operation_deadline());
                        let undone = pin!(undone);
                        let undone = pin!(by_deadline(&client.clock, deadline, undone));
                        while_open(Self::OP, &client.tasks, undone).await?;
                    }
                }
            }
        }
        Err(self.objects[0].too_late(Self::OP))
    }

    /// Those that other holders of this process have, or wait for.
    fn in_the_way_here(&self, jumps: bool) -> Vec<(usize, Obstacle)> {
        let waits = |object: &Contended<P>| (!jumps && object.line().wanted().is_some()).then_some(Obstacle::Line);
        let how = |object: &Contended<P>| object.obstacle_here(self.wanted).or_else(|| waits(object));
        self.objects.iter().enumerate().filter_map(|(at, object)| Some((at, how(object)?))).collect()
    }

    /// One request to the server, which is carried through even if the caller goes away: an unwanted grant is given back.
    async fn attempt(&self, jumps: bool) -> Result<Attempt<P>> {
        let (client, objects, wanted) = (self.objects[0].client(), self.objects.clone(), self.wanted);
        let request = |object: &Arc<Contended<P>>| {
            let step = P::acquire(client, object.name(), wanted, false, true);
            NonBlocking { wanted, step, contends: object.line().begin() }
        };
        let requests: Vec<_> = objects.iter().map(request).collect();
        let deadline = client.operation_deadline();
        let trying = client.tasks.operation(async move {
            let step = |request: &NonBlocking<P>| P::acquire_all(&request.step, jumps);
            let items = objects.iter().zip(&requests).map(|(object, request)| (object.name().clone(), step(request)));
            let mut outcome = server::send_acquires::<P>(objects[0].client(), items.collect(), deadline).await;
            if let Ok(done) = outcome {
                let steps: Vec<_> = requests.iter().map(|request| &request.step).collect();
                outcome = Box::pin(acknowledged_together(&objects, &steps, done)).await;
            }
            done(&objects, requests, outcome)
        });
        let cut_off = || Err(cut_off(Self::OP, &client.tasks, "the attempt").on(self.objects[0].name().as_str()));
        trying.await.unwrap_or_else(cut_off)
    }

    /// Makes all of them the holder's, or none.
    fn accept(&self, deliveries: Vec<Delivery<P>>) -> Result<Vec<Grant>> {
        let mut grants = Vec::with_capacity(deliveries.len());
        for delivery in deliveries {
            match delivery.accept(Self::OP, self.holder, self.asked_at) {
                Ok(grant) => grants.push(grant),
                Err(error) => {
                    for object in &self.objects[..grants.len()] {
                        let taken = object.primitive().take(self.holder);
                        taken.iter().for_each(|grant| object.give_back(grant, LastHolder::Caller));
                    }
                    return Err(error);
                }
            }
        }
        Ok(grants)
    }
}

/// Handles the outcome for each of the objects, and lets callers of this process that came meanwhile contend.
fn done<P: TakenTogether>(
    objects: &[Arc<Contended<P>>],
    requests: Vec<NonBlocking<P>>,
    outcome: Result<Done<Vec<Joint>>, Failed>,
) -> Result<Attempt<P>> {
    let away = outcome.as_ref().err().filter(|failed| failed.away).map(|failed| failed.error.clone());
    let free: Vec<bool> = match &outcome {
        Ok(done) => done.reply.iter().map(|joint| matches!(joint, Joint::Free { .. })).collect(),
        Err(_) => vec![false; objects.len()],
    };
    let outcomes = (0..objects.len()).map(|at| each(P::Acquire::OP, &outcome, at));
    let handle = |((object, request), outcome): ((&Arc<Contended<P>>, _), _)| {
        let done = object.non_blocking_done(request, outcome);
        done.map_err(|error: Error| error.on(object.name().as_str()))
    };
    // All are handled before any of them decides.
    let handled: Vec<_> = objects.iter().zip(requests).zip(outcomes).map(handle).collect();
    if let Some(error) = away {
        return Ok(Attempt::Away(error.on(objects[0].name().as_str())));
    }
    let (mut granted, mut in_the_way, mut late) = (Vec::new(), Vec::new(), None);
    for (at, outcome) in handled.into_iter().enumerate() {
        match outcome? {
            NonBlockingOutcome::Granted(delivery) => granted.push(delivery),
            NonBlockingOutcome::Refused(_) if free[at] => {}
            NonBlockingOutcome::Refused(obstacle) => in_the_way.push((at, obstacle)),
            NonBlockingOutcome::TooLate(undone) => late.get_or_insert_with(Vec::new).extend(undone),
            NonBlockingOutcome::LeaseOver(how) => return Ok(Attempt::LeaseOver(how)),
        }
    }
    Ok(match late {
        Some(undone) => Attempt::TooLate(undone),
        None if granted.len() == objects.len() => Attempt::Granted(granted),
        None => Attempt::Refused(Refusal { in_the_way }),
    })
}

/// What a joint outcome is to one of the objects.
fn each(op: &'static str, outcome: &Result<Done<Vec<Joint>>, Failed>, at: usize) -> Result<Done<Acquired>, Failed> {
    let done = outcome.as_ref().map_err(Failed::clone)?;
    let reply = match &done.reply[at] {
        Joint::Is(acquired) => acquired.clone(),
        Joint::Free { now } => Acquired::NotYourTurn { now: *now, rank: None },
        Joint::WrongType { .. } => {
            let message = "the name belongs to another kind of object, which was left untouched, as were the other names; \
                           choose another name";
            let error = Error::new(ErrorKind::WrongType, op, message);
            return Err(Failed { error, echo_until: echo_until(outcome), away: false });
        }
    };
    Ok(Done { reply, sent: done.sent, echo_until: done.echo_until, reached: done.reached })
}
