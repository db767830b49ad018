//! What the client does to a limiter as to any object that it has opened: next to nothing, since nothing is held.

use std::sync::Arc;

use super::shared::LimitShared;
use crate::error::Error;
use crate::lease::HolderId;
use crate::objects::{Kind, Object, Releasing};

impl Kind for LimitShared {
    const KIND: &'static str = "rate limiter";
}

impl Object for LimitShared {
    /// Each caller waits for the end of the client itself.
    fn refuse_waiters(&self, _error: &Error) {}

    /// Callers wait for a time that the server gave them, not for a message.
    fn look_again(&self) {}

    fn abandon(&self, _holder: HolderId) {}

    fn let_go(&self) {}

    fn release_all(self: Arc<Self>) -> Vec<Releasing> {
        Vec::new()
    }
}
