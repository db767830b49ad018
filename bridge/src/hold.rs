//! What a handle shows of a hold: the grant of one object, or those of several locks that are held as one.

use std::sync::Arc;
use std::time::Duration;

use libdlock::embed::{self, Members};
use libdlock::lease::{Grant, HolderId, LossReason};
use libdlock::queue::Delivery;
use libdlock::{Result, Wait, Worker};

use crate::leased::{Granting, Leased};

/// Cheap to clone.
#[derive(Clone)]
pub(crate) enum Hold {
    /// Of one object.
    One { of: Arc<dyn Granting>, grant: Grant },
    /// Of a set: over as soon as one of its locks is lost.
    Set { of: Arc<dyn Leased>, members: Members },
}

impl Hold {
    /// What is held.
    pub(crate) fn of(&self) -> &dyn Leased {
        match self {
            Hold::One { of, .. } => &**of,
            Hold::Set { of, .. } => &**of,
        }
    }

    /// The one grant; none of a set.
    pub(crate) fn grant(&self) -> Option<&Grant> {
        match self {
            Hold::One { grant, .. } => Some(grant),
            Hold::Set { .. } => None,
        }
    }

    /// 0 for what has no token, or several.
    pub(crate) fn token(&self) -> u64 {
        match self {
            Hold::One { of, grant } => of.token(grant),
            Hold::Set { .. } => 0,
        }
    }

    /// Of a set the name and the token of each lock.
    pub(crate) fn tokens(&self) -> Vec<(String, u64)> {
        match self {
            Hold::One { .. } => Vec::new(),
            Hold::Set { members, .. } => members.tokens().map(|(name, token)| (name.to_owned(), token)).collect(),
        }
    }

    /// The worker number that is held, if it is one.
    pub(crate) fn worker(&self) -> Option<&Worker> {
        match self {
            Hold::One { of, .. } => of.worker(),
            Hold::Set { .. } => None,
        }
    }

    /// The job that was delivered, if it is one.
    pub(crate) fn delivery(&self) -> Option<&Arc<Delivery>> {
        match self {
            Hold::One { of, .. } => of.delivery(),
            Hold::Set { .. } => None,
        }
    }

    pub(crate) fn permits(&self) -> Vec<String> {
        match self {
            Hold::One { of, grant } => of.permits(grant),
            Hold::Set { .. } => Vec::new(),
        }
    }

    /// On the wire; none of a set, whose locks have one each.
    pub(crate) fn owner(&self) -> &str {
        match self {
            Hold::One { grant, .. } => grant.owner(),
            Hold::Set { .. } => "",
        }
    }

    pub(crate) fn is_valid(&self) -> bool {
        !self.remaining().is_zero()
    }

    pub(crate) fn remaining(&self) -> Duration {
        match self {
            Hold::One { grant, .. } => grant.remaining(),
            Hold::Set { members, .. } => members.remaining(),
        }
    }

    pub(crate) fn loss(&self) -> Option<LossReason> {
        match self {
            Hold::One { grant, .. } => grant.loss(),
            Hold::Set { members, .. } => members.loss().map(|lost| lost.reason),
        }
    }

    /// The name of the lock of a set that was lost, and why.
    pub(crate) fn lost_member(&self) -> Option<(String, LossReason)> {
        match self {
            Hold::One { .. } => None,
            Hold::Set { members, .. } => members.loss().map(|lost| (lost.name, lost.reason)),
        }
    }

    pub(crate) async fn lost_within(&self, wait: Wait) -> Result<Option<LossReason>> {
        match self {
            Hold::One { grant, .. } => grant.lost_within(wait).await,
            Hold::Set { members, .. } => Ok(members.lost_within(wait).await?.map(|lost| lost.reason)),
        }
    }

    /// Lets a hold of a thread or a task outlive the last handle of its object.
    pub(crate) fn keep_while_held(&self) {
        match self {
            Hold::One { of, grant } => of.keep_while_held(grant),
            Hold::Set { members, .. } => embed::keep_members_while_held(members),
        }
    }

    /// Gives back what nobody got: the holder does not have it any more when this returns.
    pub(crate) fn release_in_background(&self, holder: HolderId) {
        match self {
            Hold::One { of, grant } => of.release_in_background(holder, grant.token()),
            Hold::Set { members, .. } => embed::release_members_in_background(members, holder),
        }
    }
}
