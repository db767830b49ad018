//! Follows the master that sentinels name.
//!
//! Before a connection is dialled, all sentinels are asked where the master is ([`ask`]), and one of their answers is taken
//! ([`choose`]). A task listens to one sentinel for failovers ([`follow`]). Whoever finds another master writes it down here, and
//! all connections to the former one are given up ([`Sentinels::left`]).

mod answer;
mod ask;
mod choose;
mod follow;
mod known;
mod refusal;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use self::answer::Named;
use self::ask::{Asker, Round};
use self::choose::{Followed, choose};
use self::known::Known;
use super::endpoint::Endpoint;
use super::verdict::DialError;
use crate::config::{Address, Options, Sentinels as OfUrl};
use crate::event::{Events, Level};
use crate::task::Tasks;
use crate::time::Clock;

/// The sentinels of one master. Clones share what is known.
#[derive(Clone)]
pub(super) struct Sentinels(Arc<Shared>);

struct Shared {
    asker: Asker,
    known: Mutex<Known>,
    /// The master that was named last; none until a sentinel has answered.
    followed: watch::Sender<Option<Followed>>,
    events: Events,
    /// What was said about sentinels that refuse, so that it is said once.
    said: Mutex<HashSet<String>>,
}

/// Says that the master is another one than when this was made, or last asked.
pub(super) struct News(Option<watch::Receiver<Option<Followed>>>);

impl News {
    /// Of a server that no sentinels name.
    pub(super) fn never() -> News {
        News(None)
    }

    /// Completes when it is. Cancel safe.
    pub(super) async fn changed(&mut self) {
        let changed = match &mut self.0 {
            Some(followed) => followed.changed().await.is_ok(),
            None => false,
        };
        if !changed {
            std::future::pending::<()>().await;
        }
    }
}

/// So many different complaints about sentinels are said in the life of a client.
const MOST_SAID: usize = 100;

impl Sentinels {
    pub(super) fn new(of_url: &OfUrl, tls: bool, options: &Options, events: &Events) -> Sentinels {
        Sentinels(Arc::new(Shared {
            asker: Asker::new(&of_url.master, tls, options),
            known: Mutex::new(Known::new(&of_url.addresses)),
            followed: watch::Sender::new(None),
            events: events.clone(),
            said: Mutex::default(),
        }))
    }

    /// Asks the sentinels where the master is, for no longer than `limit`. `first` for the caller of `connect`. Cancel safe.
    pub(super) async fn find(&self, limit: Duration, first: bool) -> Result<Endpoint, DialError> {
        let shared = &*self.0;
        let round = shared.asker.ask_all(self.known(), limit).await;
        if round.answers.is_empty() {
            return Err(refusal::no_answer(&shared.asker.master, &round.refusals, first));
        }
        shared.complain(&round);
        shared.known.lock().unwrap_or_else(PoisonError::into_inner).learn(&round.answers);
        let address = shared.take(&round).map_err(|apart| refusal::disagreement(&shared.asker.master, &apart))?;
        Ok(Endpoint::Master { address, name: shared.asker.master.clone() })
    }

    /// Completes when the master that is followed is not this one. Cancel safe.
    pub(super) async fn left(&self, endpoint: &Endpoint) {
        let is_other = |followed: &Option<Followed>| {
            followed.as_ref().is_some_and(|followed| Some(&followed.named.address) != endpoint.address())
        };
        // The sender lives in `self`, so the only way out is another master.
        let _ = self.0.followed.subscribe().wait_for(is_other).await;
    }

    /// Listens for failovers until the client is closed.
    pub(super) fn follow(&self, options: &Options, clock: &Clock, tasks: &Tasks) {
        follow::start(self, options, clock, tasks);
    }

    /// Tells when the master is another one than now.
    pub(super) fn news(&self) -> News {
        News(Some(self.0.followed.subscribe()))
    }

    /// The master could not be reached, or is none. If its sentinel has not been heard of since, what the others say is right.
    pub(super) fn failed(&self, endpoint: &Endpoint) {
        self.0.followed.send_if_modified(|followed| {
            let is_it = |known: &Followed| known.is_doubted && Some(&known.named.address) == endpoint.address();
            if followed.as_ref().is_some_and(is_it) {
                *followed = None;
            }
            false
        });
    }

    /// Whether a sentinel that says this may know more than those who were asked before.
    fn is_news(&self, named: &Named) -> bool {
        let followed = self.0.followed.borrow();
        followed.as_ref().is_none_or(|followed| {
            named.epoch > followed.named.epoch
                || !named.is_same_server(&followed.named) && named.epoch == followed.named.epoch
        })
    }

    /// The addresses of all sentinels that are known.
    fn known(&self) -> Vec<Address> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner).addresses()
    }
}

impl Shared {
    /// Follows the right one of these answers, and tells everybody if that is another server than before.
    fn take(&self, round: &Round) -> Result<Address, Box<choose::Disagreement>> {
        let mut chosen = None;
        self.followed.send_if_modified(|followed| {
            let next = match choose(&round.answers, round.refusals.is_empty(), followed.as_ref()) {
                Ok(next) => next,
                Err(apart) => {
                    chosen = Some(Err(apart));
                    return false;
                }
            };
            chosen = Some(Ok(next.named.address.clone()));
            let before = followed.replace(next.clone());
            before.is_none_or(|before| before.named.address != next.named.address)
        });
        chosen.expect("it was called")
    }

    /// Some have answered: says what is wrong with the others before these are needed.
    fn complain(&self, round: &Round) {
        for (address, refusal) in round.refusals.iter().filter(|(_, refusal)| refusal.is_final()) {
            self.warn_once(format!("the sentinel {address} {refusal}; others answer"));
        }
    }

    fn warn_once(&self, message: String) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.len() < MOST_SAID && said.insert(message.clone()) {
            drop(said);
            self.events.emit(Level::Warn, None, message);
        }
    }
}
