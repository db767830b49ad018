//! Calls on the server that concern a lock and need no turn.

use super::LockObject;
use crate::error::Result;
use crate::step::Step;

impl LockObject {
    /// Runs a step that does not wait, within `operation_timeout`.
    pub(super) async fn run_now<S: Step>(&self, step: &S) -> Result<S::Reply> {
        self.check_open(S::OP)?;
        let done = self.client().operate(self.name(), step).await;
        done.map(|done| done.reply).map_err(|failed| failed.error)
    }
}
