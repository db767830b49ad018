//! What a request to a node of a cluster knows of its slot, and how it goes on at another node.

use super::cluster::Routes;
use super::direct::Begun;
use crate::backend::Failed;
use crate::config::Address;

/// That a request is about objects of a slot, at a node of a cluster.
#[derive(Clone, Copy)]
pub(super) struct InSlot<'a> {
    pub(super) routes: &'a Routes,
    pub(super) slot: u16,
    /// The node that serves the slot, which is not this one if it is `asking`: that moves the slot to this one.
    pub(super) home: &'a Address,
    pub(super) asking: bool,
}

impl InSlot<'_> {
    /// Completes when the slot is served by another node. Cancel safe.
    pub(super) async fn left(&self) {
        self.routes.served(self.slot, Some(self.home)).await;
    }

    pub(super) fn is_left(&self) -> bool {
        self.routes.place(self.slot).is_none_or(|place| place.node.address != *self.home)
    }
}

/// Why a request ends at a node without an answer.
pub(super) enum Halt {
    Failed(Failed),
    /// It goes on at another node.
    Elsewhere(Elsewhere),
}

pub(super) struct Elsewhere {
    pub(super) to: To,
    /// The attempts so far that got no answer.
    pub(super) begun: Option<Begun>,
}

/// Where a request goes on.
pub(super) enum To {
    /// At this node, which serves the slot from now on.
    Moved(Address),
    /// At this node, once.
    Ask(Address),
    /// At the one that the table names.
    Owner,
}

impl From<Failed> for Halt {
    fn from(failed: Failed) -> Halt {
        Halt::Failed(failed)
    }
}

impl Halt {
    pub(super) fn map(self, change: impl FnOnce(Failed) -> Failed) -> Halt {
        match self {
            Halt::Failed(failed) => Halt::Failed(change(failed)),
            elsewhere => elsewhere,
        }
    }

    /// Of a request to the only server that there is.
    pub(super) fn failed(self) -> Failed {
        match self {
            Halt::Failed(failed) => failed,
            Halt::Elsewhere(_) => unreachable!("there is no other node"),
        }
    }
}
