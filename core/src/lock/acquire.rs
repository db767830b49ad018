//! Acquiring: re-entry, the local line, and contention on the server.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::release::undo;
use super::step::{self, Acquired};
use super::{Acquire, Held, HolderId, Lock, LockShared};
use crate::config::check_lease;
use crate::deadline::by_deadline;
use crate::error::{Error, ErrorKind, Result};
use crate::lease::{Grant, GrantSpec, Lease};
use crate::task::UnderWay;
use crate::time::Tick;
use crate::wait::{Turn, next_look, while_open};

const OP: &str = "acquire";

/// Attempts that come back stale are repeated at once, but not without end: the server's clock may be jumping.
const STALE_IN_A_ROW: u32 = 3;

/// What one attempt on the server came to.
enum Attempted {
    Granted(Delivery),
    Busy {
        ttl: i64,
        holder: String,
    },
    Stale,
    /// Granted, but the answer took longer than the lease: given back.
    Late,
}

/// A grant on its way to the caller: nobody's hold until it is accepted, given back if it never is.
struct Delivery {
    shared: Arc<LockShared>,
    grant: Option<Grant>,
    /// A client that closes waits for it to arrive or to be given back.
    _under_way: UnderWay,
}

/// What was last seen to stand in the way.
enum Obstacle {
    /// Somebody holds it; a ttl of -1 is without end.
    Holder { holder: String, ttl: i64 },
    /// Others of this process wait in front.
    Line,
    /// The server could not be asked.
    Outage(Error),
}

impl Lock {
    /// Acquires for `holder`. What it holds already it gets again, counted, without a round trip; each acquire needs its
    /// own release.
    ///
    /// A re-entry never shortens the lease: one that asks for a longer given lease prolongs it, and one that asks for the
    /// watchdog hands the hold to it.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] when it was not free within the wait; [`ErrorKind::Deadlock`] when the holder holds a lock that
    /// is not re-entrant; [`ErrorKind::Lost`] when it has lost this hold and not yet released it;
    /// [`ErrorKind::InvalidArgument`] for the lease; else as [`Lock::acquire`].
    ///
    /// # Cancel safety
    /// As [`Lock::acquire`].
    pub async fn acquire_as(&self, holder: HolderId, how: Acquire) -> Result<Held> {
        let lease = how.lease.unwrap_or(self.lease);
        if let Lease::Fixed(lease) = lease {
            check_lease(OP, lease).map_err(|error| error.on(self.key()))?;
        }
        let deadline = how.wait.until(OP, &self.client().clock).map_err(|error| error.on(self.key()))?;
        self.shared.check_open(OP)?;
        let present = self.shared.holds().grant(holder);
        let grant = match present {
            Some(grant) => self.reenter(holder, grant, lease).await?,
            None => self.contend(holder, deadline, lease).await?,
        };
        Ok(Held::new(self.clone(), holder, grant))
    }

    /// Counts one more acquire of what `holder` holds, without I/O: its lease stays as it is, and it takes one more release.
    ///
    /// # Errors
    /// [`ErrorKind::NotHeld`] when `holder` does not hold it; [`ErrorKind::Deadlock`] and [`ErrorKind::Lost`] as
    /// [`Lock::acquire_as`].
    pub fn reenter_as(&self, holder: HolderId) -> Result<Held> {
        self.shared.check_open(OP)?;
        let present = self.shared.holds().grant(holder);
        let grant = present.ok_or_else(|| self.shared.not_held(OP, None))?;
        self.check_reentry(&grant)?;
        self.count_reentry(holder, grant).map(|grant| Held::new(self.clone(), holder, grant))
    }

    async fn reenter(&self, holder: HolderId, grant: Grant, lease: Lease) -> Result<Grant> {
        self.check_reentry(&grant)?;
        match lease {
            Lease::Watchdog if !grant.is_renewed() => {
                let lease = self.client().options.lease;
                self.shared.extend(OP, &grant, lease).await?;
                grant.renew_from_now(lease);
                self.client().keeper.watch(&grant);
            }
            Lease::Fixed(lease) if !grant.is_renewed() || lease > grant.lease() => {
                self.shared.extend(OP, &grant, lease).await?;
            }
            Lease::Watchdog | Lease::Fixed(_) => {}
        }
        self.count_reentry(holder, grant)
    }

    fn check_reentry(&self, grant: &Grant) -> Result<()> {
        let refuse = |kind, message: String| Err(Error::new(kind, OP, message).on(self.key()));
        if let Some(reason) = grant.loss() {
            return refuse(
                ErrorKind::Lost,
                format!("this holder has lost it ({reason}) and not released it yet; release first"),
            );
        }
        if !self.reentrant {
            let token = grant.token();
            return refuse(
                ErrorKind::Deadlock,
                format!(
                    "this holder holds it already (token {token}) and it is not re-entrant; it would wait for itself"
                ),
            );
        }
        Ok(())
    }

    /// It may have been released since it was looked up.
    fn count_reentry(&self, holder: HolderId, grant: Grant) -> Result<Grant> {
        if self.shared.holds().enter_again(holder, &grant) {
            Ok(grant)
        } else {
            Err(self.shared.not_held(OP, Some(&grant)))
        }
    }

    async fn contend(&self, holder: HolderId, deadline: Option<Tick>, lease: Lease) -> Result<Grant> {
        let contender = Contender { shared: &self.shared, holder, lease };
        match deadline {
            None => contender.once().await,
            Some(deadline) => contender.until(deadline).await,
        }
    }
}

/// One caller that wants the lock.
struct Contender<'a> {
    shared: &'a Arc<LockShared>,
    holder: HolderId,
    lease: Lease,
}

impl Contender<'_> {
    /// One attempt, no waiting.
    async fn once(&self) -> Result<Grant> {
        let obstacle = self.shared.holds().valid().map(local_obstacle);
        if let Some(obstacle) = obstacle {
            return Err(self.out_of_time(Some(&obstacle), Duration::ZERO));
        }
        // The turn is taken if it is free, so that waiters of this process need not ask the server in vain; a contender that
        // waits for another process is overtaken.
        let mut turn = self.shared.queue.try_turn();
        let deadline = self.shared.client().operation_deadline();
        for _ in 0..STALE_IN_A_ROW {
            match self.while_open(self.attempt(&mut turn, deadline)).await?? {
                Attempted::Granted(delivery) => return delivery.accept(self.holder),
                Attempted::Busy { ttl, holder } => {
                    return Err(self.out_of_time(Some(&Obstacle::Holder { holder, ttl }), Duration::ZERO));
                }
                Attempted::Stale => {}
                Attempted::Late => return Err(self.late()),
            }
        }
        Err(self.stale())
    }

    async fn until(&self, deadline: Tick) -> Result<Grant> {
        let client = self.shared.client();
        let started = client.clock.now();
        let place = self.shared.queue.join();
        let turn = self.bounded(deadline, self.shared.queue.turn()).await?;
        let Some(turn) = turn else {
            let obstacle = self.shared.holds().valid().map(local_obstacle);
            let obstacle = obstacle.unwrap_or(Obstacle::Line);
            return Err(self.out_of_time(Some(&obstacle), client.clock.now().since(started)));
        };
        let mut turn = Some(turn);
        let mut obstacle = None;
        let mut stale = 0;
        loop {
            let attempt_deadline = client.operation_deadline().min(deadline);
            let attempted = self.bounded(deadline, self.attempt(&mut turn, attempt_deadline)).await?;
            let waited = client.clock.now().since(started);
            let pause = match attempted {
                Some(Ok(Attempted::Granted(delivery))) => return delivery.accept(self.holder),
                Some(Ok(Attempted::Busy { ttl, holder })) => {
                    stale = 0;
                    obstacle = Some(Obstacle::Holder { holder, ttl });
                    next_look(ttl, client.options.poll_interval)
                }
                // Neither the server nor the way to it is at fault for good: this process may have been stopped.
                Some(Ok(Attempted::Late)) => continue,
                Some(Ok(Attempted::Stale)) if stale < STALE_IN_A_ROW => {
                    stale += 1;
                    continue;
                }
                Some(Ok(Attempted::Stale)) => return Err(self.stale()),
                // A timed wait rides through an outage until its own deadline; an endless one may not hang.
                Some(Err(error)) if passes(error.kind()) && deadline != Tick::NEVER => {
                    if client.clock.now() >= deadline {
                        return Err(self.out_of_time(obstacle.as_ref(), waited));
                    }
                    obstacle = Some(Obstacle::Outage(error));
                    next_look(-1, client.options.poll_interval.min(Duration::from_millis(100)))
                }
                Some(Err(error)) => return Err(error),
                None => return Err(self.out_of_time(obstacle.as_ref(), waited)),
            };
            let subscription = place.listen(&client.backend, || step::channel(self.shared.name()));
            let look_at = client.clock.now().plus(pause).min(deadline);
            self.bounded(look_at, subscription.woken()).await?;
            if client.clock.now() >= deadline {
                return Err(self.out_of_time(obstacle.as_ref(), client.clock.now().since(started)));
            }
        }
    }

    /// Runs something until it completes or the client ends.
    async fn while_open<T>(&self, work: impl Future<Output = T>) -> Result<T> {
        let done = while_open(OP, &self.shared.client().tasks, work).await;
        done.map_err(|error| error.on(self.shared.name().as_str()))
    }

    /// Runs something until it completes, the time is over (`None`), or the client ends.
    async fn bounded<T>(&self, deadline: Tick, work: impl Future<Output = T>) -> Result<Option<T>> {
        self.while_open(by_deadline(&self.shared.client().clock, deadline, work)).await
    }

    /// One attempt on the server, in a task of its own: whatever becomes of the caller, the task sees it through, and gives
    /// back what nobody wants any more. The turn goes with it and comes back, or stays with the grant.
    async fn attempt(&self, turn: &mut Option<Turn>, deadline: Tick) -> Result<Attempted> {
        let (reply, replied) = oneshot::channel();
        let (shared, lease, mut its_turn) = (self.shared.clone(), self.lease, turn.take());
        self.shared.client().tasks.spawn_operation(async move {
            let attempted = run_attempt(shared, lease, &mut its_turn, deadline).await;
            // When nobody listens any more, dropping the grant gives it back.
            drop(reply.send((attempted, its_turn)));
        });
        let (attempted, its_turn) = replied.await.map_err(|_| {
            let message = "the attempt was cut off: its runtime was shut down, or libdlock has a defect";
            Error::new(ErrorKind::Internal, OP, message).on(self.shared.name().as_str())
        })?;
        *turn = its_turn;
        attempted
    }

    /// The error of a caller whose time is over. An answer that is merely on its way is no outage.
    fn out_of_time(&self, obstacle: Option<&Obstacle>, waited: Duration) -> Error {
        let client = self.shared.client();
        let (kind, message) = match obstacle {
            Some(Obstacle::Holder { holder, ttl }) => {
                let how_long = match u64::try_from(*ttl) {
                    Ok(ttl) => format!("for at most another {:?} unless renewed", Duration::from_millis(ttl)),
                    Err(_) => "without a lease that would run out".to_owned(),
                };
                (ErrorKind::Busy, format!("held by {holder} {how_long}; waited {waited:?}"))
            }
            Some(Obstacle::Line) => {
                (ErrorKind::Busy, format!("others of this process are waiting in front; waited {waited:?}"))
            }
            Some(Obstacle::Outage(error)) => {
                (error.kind(), format!("{}; waited {waited:?}, this caller holds nothing", error.message()))
            }
            None if waited < client.options.response_timeout => (
                ErrorKind::Busy,
                format!("{} had not answered yet when the wait of {waited:?} was over", client.target),
            ),
            None => (
                ErrorKind::Connection,
                format!("{} gave no answer within the wait of {waited:?}; nothing is held", client.target),
            ),
        };
        Error::new(kind, OP, message).on(self.shared.name().as_str())
    }

    fn late(&self) -> Error {
        let message = "the answer took longer than the lease, so the grant was given back; ask for a longer lease";
        Error::new(ErrorKind::Connection, OP, message).on(self.shared.name().as_str())
    }

    fn stale(&self) -> Error {
        let message = "the server's clock jumps back and forth; check its time synchronisation";
        Error::new(ErrorKind::Clock, OP, message).on(self.shared.name().as_str())
    }
}

/// Errors that a server gets over.
fn passes(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Connection | ErrorKind::OutcomeUnknown | ErrorKind::Server)
}

fn local_obstacle(grant: &Grant) -> Obstacle {
    let ttl = grant.remaining().as_millis() as i64;
    Obstacle::Holder { holder: format!("another holder in this process, token {},", grant.token()), ttl }
}

async fn run_attempt(
    shared: Arc<LockShared>,
    lease: Lease,
    turn: &mut Option<Turn>,
    deadline: Tick,
) -> Result<Attempted> {
    let client = shared.client();
    // A client that closes waits for what is granted here until it has arrived or was given back.
    let under_way = client.tasks.under_way();
    let owner = client.next_owner();
    let duration = lease.duration(client.options.lease);
    let acquire = step::Acquire {
        owner: owner.clone(),
        lease: duration,
        token_ttl: client.options.token_ttl,
        block: 1,
        waits: false,
    };
    let outcome = client.backend.run(shared.name(), &acquire, deadline).await;
    // An attempt without an answer may have been granted, or may yet be. Unless this is that grant, nobody will hold it.
    let echo_until = match &outcome {
        Ok(done) => done.echo_until,
        Err(failed) => failed.echo_until,
    };
    let forsake = || undo(&shared, owner.clone(), duration, echo_until);
    let granted = outcome.as_ref().is_ok_and(|done| matches!(done.reply, Acquired::Granted { .. }));
    if echo_until.is_some() && !granted {
        forsake();
    }
    let done = outcome.map_err(|failed| failed.error)?;
    let token = match done.reply {
        Acquired::Granted { token, .. } => token,
        Acquired::Busy { ttl, holder, .. } => return Ok(Attempted::Busy { ttl, holder }),
        Acquired::NotYourTurn { .. } => return Ok(Attempted::Stale),
        Acquired::Stale { .. } => return Ok(Attempted::Stale),
    };
    let spec = GrantSpec {
        name: shared.name().clone(),
        owner: owner.clone(),
        token,
        lease: duration,
        watchdog: (lease == Lease::Watchdog).then_some(duration),
        sent: done.sent,
        echo_until,
        server_generation: client.backend.server_generation(),
    };
    let Some(grant) = shared.admit(spec, turn) else {
        forsake();
        return Ok(Attempted::Late);
    };
    Ok(Attempted::Granted(Delivery { shared: shared.clone(), grant: Some(grant), _under_way: under_way }))
}

impl Delivery {
    /// Makes it the holder's hold, unless the client has begun to close.
    fn accept(mut self, holder: HolderId) -> Result<Grant> {
        self.shared.check_open(OP)?;
        let grant = self.grant.take().expect("a delivery is accepted once");
        self.shared.holds().enter(holder, grant.clone());
        Ok(grant)
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        if let Some(grant) = self.grant.take() {
            self.shared.give_back(&grant);
        }
    }
}
