//! What a primitive sees of its client: the way to the server, its leases, its clock, and everything it has opened.
//!
//! Knows no primitive. What the objects of one kind share within a client, beyond this, belongs to that kind.

mod close;
mod inbox;
mod once;
mod owners;
mod rights;

use std::sync::{Arc, OnceLock};

use tokio::runtime::Handle;
use uuid::Uuid;

use self::close::{CloseOnDrop, EndWithRuntime};
use self::inbox::Inbox;
pub(crate) use self::inbox::{Recipient, inbox, message};
use self::owners::OwnerNumbers;
use self::rights::Asked;
use crate::backend::{Backend, Done, Failed, Tried};
use crate::config::{Config, Options};
use crate::ended::ended;
use crate::error::Result;
use crate::event::{Events, Level};
use crate::lease::{Grant, Keeper, LossReason};
use crate::name::ObjectName;
use crate::objects::Objects;
use crate::stats::Counters;
use crate::step::{Batch, BatchStep, JointStep, State, Step};
use crate::task::{Life, OwnRuntime, Tasks, watch_forks};
use crate::time::{Clock, Tick};

/// See the module. Ends with the last clone of the client and the last object that was opened by it.
pub(crate) struct Context {
    /// Shown in errors.
    pub(crate) target: String,
    pub(crate) options: Options,
    pub(crate) clock: Clock,
    pub(crate) events: Events,
    pub(crate) tasks: Tasks,
    pub(crate) counters: Arc<Counters>,
    pub(crate) backend: Arc<Backend>,
    pub(crate) keeper: Keeper,
    pub(crate) objects: Objects,
    inbox: Inbox,
    id: String,
    owner_numbers: OwnerNumbers,
    /// The kinds of objects whose rights were looked at.
    asked: Asked,
    /// Set when no runtime of the caller's carries the client.
    own_runtime: OnceLock<OwnRuntime>,
}

impl Context {
    /// Connects, and looks after holds from then on.
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing behind.
    pub(crate) async fn connect(config: Config) -> Result<Arc<Context>> {
        watch_forks("connect")?;
        config.check()?;
        let tasks = Tasks::new(Handle::current(), config.events.clone());
        // Ends what connecting has started if the future is dropped or fails.
        let guard = CloseOnDrop::new(&tasks);
        let counters = Arc::new(Counters::default());
        let backend = Arc::new(Backend::connect(&config, &tasks, &counters).await?);
        let keeper = Keeper::new(config.clock.clone(), config.events.clone(), counters.clone());
        guard.keep();
        // Version nibble 8, where Redisson's client ids have 4: a foreign holder can be told from one of ours.
        let id = Uuid::new_v8(Uuid::new_v4().into_bytes()).to_string();
        let context = Arc::new(Context {
            target: config.target.to_string(),
            options: config.options,
            events: config.events,
            tasks,
            counters,
            backend,
            keeper,
            objects: Objects::default(),
            inbox: Inbox::default(),
            id,
            owner_numbers: OwnerNumbers::new(config.clock.now()),
            asked: Asked::default(),
            clock: config.clock,
            own_runtime: OnceLock::new(),
        });
        EndWithRuntime::watch(&context);
        context.watch_moves();
        context.keeper.start(&context.backend, &context.tasks);
        Ok(context)
    }

    /// The runtime ends with the client.
    pub(crate) fn own(&self, runtime: OwnRuntime) {
        // Of a fresh client, so that none is there yet.
        let _ = self.own_runtime.set(runtime);
    }

    /// The client's id on the wire.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Refuses calls on a client that has ended.
    pub(crate) fn check_open(&self, op: &'static str) -> Result<()> {
        match self.tasks.life() {
            Life::Open => Ok(()),
            life => Err(ended(op, life)),
        }
    }

    /// The full name of an object with this state that is about to be opened by `op`: with the key prefix, and checked. The first
    /// of its kind has the user's rights looked at in the background.
    pub(crate) fn name_of<S: State>(&self, op: &'static str, name: &str) -> Result<ObjectName> {
        self.check_open(op)?;
        let checked = ObjectName::new(&self.options.key_prefix, name);
        let name = checked.map_err(|error| error.renamed(op))?;
        if let (Some(quorum), false) = (self.backend.quorum(), S::AT_SEVERAL) {
            return Err(quorum.refuse(op).on(&name).error);
        }
        self.look_at_rights::<S>(op, &name);
        Ok(name)
    }

    /// The name of the object that has this key on the server, if a client with this key prefix can have one.
    pub(crate) fn name_of_key(&self, key: &str) -> Option<ObjectName> {
        let given = key.strip_prefix(self.options.key_prefix.as_str())?;
        ObjectName::new(&self.options.key_prefix, given).ok()
    }

    /// An owner that no acquire had before: what makes a retry recognisable.
    pub(crate) fn next_owner(&self) -> String {
        [self.id.as_str(), ":", itoa::Buffer::new().format(self.next_number())].concat()
    }

    /// A number that no owner had before, and no hold that is known by its number.
    pub(crate) fn next_number(&self) -> u64 {
        self.owner_numbers.next(self.clock.now())
    }

    pub(crate) fn owns(&self, owner: &str) -> bool {
        owner.strip_prefix(self.id.as_str()).is_some_and(|rest| rest.starts_with(':'))
    }

    /// The deadline of a call that does not wait.
    pub(crate) fn operation_deadline(&self) -> Tick {
        self.clock.now().plus(self.options.operation_timeout)
    }

    /// Runs a step within `operation_timeout`, which its error names. This and its kin are the way to the server of every call
    /// that the option may end.
    pub(crate) async fn operate<S: Step>(&self, name: &ObjectName, step: &S) -> Result<Done<S::Reply>, Failed> {
        self.operate_for(name, step, self.operation_deadline(), Tick::NEVER).await
    }

    /// As [`Context::operate`], with a deadline that was set before, for a call that is over at `end` if that is sooner.
    pub(crate) async fn operate_until<S: Step>(
        &self,
        name: &ObjectName,
        step: &S,
        deadline: Tick,
        end: Tick,
    ) -> Result<Done<S::Reply>, Failed> {
        let outcome = self.backend.run(name, step, deadline.min(end)).await;
        outcome.map_err(|failed| self.overran(deadline, failed))
    }

    /// As [`Context::operate`], with a deadline that was set before, and for a caller that waits until `caller`.
    pub(crate) async fn operate_for<S: Step>(
        &self,
        name: &ObjectName,
        step: &S,
        deadline: Tick,
        caller: Tick,
    ) -> Result<Done<S::Reply>, Failed> {
        let outcome = self.backend.run_for(name, step, deadline, caller).await;
        outcome.map_err(|failed| self.overran(deadline, failed))
    }

    /// One attempt of many steps at once; see [`Backend::run_pipelined`].
    pub(crate) async fn operate_pipelined<S: Step>(
        &self,
        items: &[(&ObjectName, &S)],
        deadline: Tick,
        alone: Option<bool>,
    ) -> Vec<Tried<S::Reply>> {
        let tried = Box::pin(self.backend.run_pipelined(items, deadline, alone)).await;
        tried.into_iter().map(|tried| Some(tried?.map_err(|failed| self.overran(deadline, failed)))).collect()
    }

    /// As [`Context::operate_until`], of one kind of step over many names.
    pub(crate) async fn operate_batch<S: BatchStep>(
        &self,
        batch: Batch<S>,
        deadline: Tick,
        end: Tick,
    ) -> Result<Done<Vec<S::Reply>>, Failed> {
        let outcome = self.backend.run_batch(batch, deadline.min(end)).await;
        outcome.map_err(|failed| self.overran(deadline, failed))
    }

    /// As [`Context::operate_batch`], of a step that changes all of the objects or none of them.
    pub(crate) async fn operate_jointly<S: JointStep>(
        &self,
        batch: Batch<S>,
        deadline: Tick,
    ) -> Result<Done<Vec<S::Reply>>, Failed> {
        let outcome = self.backend.run_jointly(batch, deadline).await;
        outcome.map_err(|failed| self.overran(deadline, failed))
    }

    /// Names the option that ended a call at `deadline`, if its time was over.
    fn overran(&self, deadline: Tick, failed: Failed) -> Failed {
        failed.naming_timeout(self.options.operation_timeout, deadline, self.clock.now())
    }

    /// Ends a hold without telling the server, and warns.
    pub(crate) fn abandon_grant(&self, grant: &Grant) {
        self.keeper.forget(grant);
        grant.lose(LossReason::Closed, || {
            grant.counts(&self.counters).lost();
            let message =
                format!("abandoned while held, {}: its holder went away; the lease runs out by itself", grant.which());
            self.events.emit_of(Level::Warn, grant.for_event(), message);
        });
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        self.close_unused();
    }
}
