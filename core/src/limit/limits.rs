//! What the limiters of one client share.

use std::sync::Arc;

use super::redisson::Known;
use super::shares::Shares;
use crate::context::Context;

/// Ends with the last clone of the client and the last of its limiters.
pub(crate) struct Limits {
    context: Arc<Context>,
    pub(super) shares: Shares,
    pub(super) known: Known,
}

impl Limits {
    pub(crate) fn new(context: &Arc<Context>) -> Arc<Limits> {
        Arc::new(Limits { context: context.clone(), shares: Shares::default(), known: Known::default() })
    }

    pub(super) fn context(&self) -> &Context {
        &self.context
    }
}
