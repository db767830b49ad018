//! What the generators of one name share in one client: the ids that were fetched.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::IdGeneratorOptions;
use super::step::{Fetch, Fetched};
use super::stock::Stock;
use crate::context::Context;
use crate::error::{Error, ErrorKind, Result};
use crate::lease::HolderId;
use crate::name::ObjectName;
use crate::objects::{Object, ObjectKind, Releasing};
use crate::step::Step;

/// For how long nothing is fetched ahead after that failed.
const QUIET: Duration = Duration::from_secs(1);

pub(crate) struct IdGeneratorObject {
    name: ObjectName,
    context: Arc<Context>,
    stock: Mutex<Stock>,
}

impl IdGeneratorObject {
    pub(super) fn new(name: ObjectName, context: Arc<Context>) -> IdGeneratorObject {
        IdGeneratorObject { name, context, stock: Mutex::default() }
    }

    pub(super) fn name(&self) -> &ObjectName {
        &self.name
    }

    pub(super) fn client(&self) -> &Context {
        &self.context
    }

    pub(super) fn stock(&self) -> MutexGuard<'_, Stock> {
        self.stock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fetches in the background if little is left, or if callers still wait.
    pub(super) fn fetch_ahead(self: &Arc<Self>, stock: &mut Stock, still_wait: bool, options: IdGeneratorOptions) {
        if (still_wait || stock.is_low(|| self.context.clock.now())) && stock.begin() {
            self.context.tasks.spawn_operation(Fetching::new(self).run(options));
        }
    }

    /// Asks the server for so many, and for one block at least.
    async fn ask(&self, wanted: u64, options: IdGeneratorOptions) -> Result<Fetched> {
        let IdGeneratorOptions { block, start } = options;
        let step = Fetch { block, start, wanted: wanted.clamp(1, super::MAX_BATCH as u64) };
        let outcome = self.context.operate(&self.name, &step).await;
        let fetched = outcome.map(|done| done.reply).map_err(|failed| self.not_given(failed.error))?;
        if fetched.is_over {
            return Err(self.over(&fetched));
        }
        Ok(fetched)
    }

    /// A fetch whose reply was lost gave nothing to anybody: what it took is a gap, and the call may be repeated.
    fn not_given(&self, error: Error) -> Error {
        match error.kind() {
            ErrorKind::OutcomeUnknown => {
                Error::new(ErrorKind::Connection, Fetch::OP, error.message()).on(self.name.as_str())
            }
            _ => error,
        }
    }

    /// There are no more ids.
    fn over(&self, fetched: &Fetched) -> Error {
        let Fetched { first, count, .. } = fetched;
        let message = format!(
            "the ids of this generator are used up: {count} more, from {first} on, would go beyond {}; use another name, or set \
             the key to a lower number that was never given out",
            i64::MAX
        );
        Error::new(ErrorKind::Unsupported, Fetch::OP, message).on(self.name.as_str())
    }
}

/// A fetch under way, of which there is one at a time. Callers that wait are let down if it ends before its time.
pub(super) struct Fetching {
    object: Arc<IdGeneratorObject>,
    is_over: bool,
}

impl Fetching {
    /// For whoever [began](Stock::begin) it.
    pub(super) fn new(object: &Arc<IdGeneratorObject>) -> Fetching {
        Fetching { object: object.clone(), is_over: false }
    }

    /// Fetches once, and serves those that wait. What then is still to be done goes on in the background: a caller that came here
    /// on its own thread has its ids.
    pub(super) async fn run(mut self, options: IdGeneratorOptions) {
        let wanted = self.object.stock().wanted();
        let outcome = self.object.ask(wanted, options).await;
        self.is_over = true;
        let object = &self.object;
        let mut stock = object.stock();
        stock.stop();
        let still_wait = match outcome {
            Ok(fetched) => stock.add(&fetched),
            // It was begun for nobody: those that have come since have their own time.
            Err(error) if wanted == 0 && error.is_retryable() && stock.serve() => true,
            Err(error) => {
                stock.fail(&error, object.context.clock.now().plus(QUIET));
                false
            }
        };
        object.fetch_ahead(&mut stock, still_wait, options);
    }
}

impl Drop for Fetching {
    fn drop(&mut self) {
        // In a forked child a thread that is not there may have it locked.
        if !self.is_over && !self.object.context.tasks.is_forked() {
            self.object.stock().abandon();
        }
    }
}

impl ObjectKind for IdGeneratorObject {
    const KIND: &'static str = "id generator";
}

/// The client has next to nothing to do, since nothing is held.
impl Object for IdGeneratorObject {
    fn name(&self) -> &ObjectName {
        &self.name
    }

    fn refuse_waiters(&self, error: &Error) {
        self.stock().refuse(error);
    }

    /// Callers wait for an answer of the server, not for a message.
    fn look_again(&self) {}

    fn abandon(&self, _holder: HolderId) {}

    fn let_go(&self) {}

    fn release_all(self: Arc<Self>) -> Vec<Releasing> {
        Vec::new()
    }
}

impl Drop for IdGeneratorObject {
    fn drop(&mut self) {
        self.context.objects.forget::<IdGeneratorObject>(&self.name);
    }
}
