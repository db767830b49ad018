//! The scripts of the delayed queue, as pure functions of its keys.

use std::collections::{BTreeMap, BTreeSet};

use super::Rules;

/// Ticks of a lease on the server.
pub const LEASE: i8 = 2;

/// A worker, and the number of its take: names one delivery.
pub type Owner = (usize, u8);

/// What the hash of jobs says of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Job {
    /// When it is due, and behind which other jobs of that time.
    pub rank: (i8, u8),
    /// The lower, the sooner it comes once it is due.
    pub urgency: i8,
    /// How often it was delivered.
    pub attempts: u8,
}

/// The score of a job that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Score {
    /// It was found to be due.
    Ready {
        /// As the job has it.
        urgency: i8,
    },
    /// By its due time alone.
    Later,
}

/// The keys of the queue. Times are those of the server's clock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Keys {
    /// The hash of jobs.
    pub jobs: BTreeMap<u8, Job>,
    /// The sorted set of those that wait, in their order.
    pub due: BTreeSet<(Score, (i8, u8), u8)>,
    /// The sorted set of deliveries, and until when each lasts.
    pub leases: BTreeMap<Owner, i8>,
    /// The hash of deliveries, and of what each is.
    pub holds: BTreeMap<Owner, u8>,
    /// The dead list.
    pub dead: BTreeSet<u8>,
    /// Puts that were carried out, by producer.
    pub remembered: BTreeSet<usize>,
    /// What tells jobs of one due time apart.
    pub arrivals: u8,
    /// What a script without the rule `one_script` has taken out and not yet put in.
    pub between: BTreeSet<u8>,
    /// The workers that wait, in the order in which they came.
    pub line: Vec<usize>,
    /// The workers that a script has told to ask.
    pub told: BTreeSet<usize>,
}

/// What a script answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reply {
    /// Put now; false: the id is there.
    Put(bool),
    /// A job.
    Delivery(u8),
    /// Nothing is due; the next one is at this time.
    Nothing(Option<i8>),
    /// Acknowledged or put back.
    Done,
    /// The delivery is over.
    NotHeld,
}

impl Keys {
    fn first_due(&self) -> Option<i8> {
        self.due.first().map(|(_, (due, _), _)| *due)
    }

    /// Whether the first that waits is due.
    pub fn has_due(&self, now: i8) -> bool {
        self.due.first().is_some_and(|(score, (due, _), _)| *score != Score::Later || *due <= now)
    }

    /// Puts a job among those that wait.
    pub fn insert(&mut self, id: u8, now: i8, rules: Rules) {
        let Some(Job { rank, urgency, .. }) = self.jobs.get(&id).copied() else { return };
        let urgency = if rules.by_priority { urgency } else { 0 };
        let score = if rank.0 <= now { Score::Ready { urgency } } else { Score::Later };
        self.due.insert((score, rank, id));
    }

    fn tell_head(&mut self) {
        self.told.extend(self.line.first());
    }

    /// Puts a job among those that wait, and tells the head what it has to know.
    fn enter(&mut self, id: u8, rank: (i8, u8), now: i8, rules: Rules, wakes: bool) {
        let earlier = self.first_due().is_none_or(|first| rank.0 < first);
        self.insert(id, now, rules);
        let tells = if rank.0 <= now { rules.put_wakes && wakes } else { earlier && rules.earlier_wakes && wakes };
        if tells {
            self.tell_head();
        }
    }

    /// `put.lua`.
    pub fn put(&mut self, by: usize, id: u8, (delay, urgency): (i8, i8), now: i8, rules: Rules) -> Reply {
        if rules.remembers && self.remembered.contains(&by) {
            return Reply::Put(true);
        }
        if rules.one_of_an_id && self.jobs.contains_key(&id) {
            return Reply::Put(false);
        }
        self.remembered.insert(by);
        let rank = (now + delay, self.arrivals);
        self.arrivals += 1;
        self.jobs.insert(id, Job { rank, urgency, attempts: 0 });
        self.enter(id, rank, now, rules, true);
        Reply::Put(true)
    }

    /// What is to become of a delivery that is over without an acknowledgement: back into the queue, or dead.
    fn give_back(&mut self, owner: Owner, due: Option<i8>, max: u8, now: i8, rules: Rules, wakes: bool) {
        self.leases.remove(&owner);
        let Some(id) = self.holds.remove(&owner) else { return };
        let Some(job) = self.jobs.get_mut(&id) else { return };
        if rules.counts_attempts && job.attempts >= max {
            self.dead.insert(id);
            return;
        }
        if let Some(due) = due {
            job.rank.0 = due;
        }
        if !rules.keeps_rank {
            job.rank = (now, self.arrivals);
            self.arrivals += 1;
        }
        let rank = job.rank;
        if !rules.one_script {
            self.between.insert(id);
            return;
        }
        self.enter(id, rank, now, rules, wakes);
    }

    /// `take.lua`.
    pub fn take(&mut self, owner: Owner, max: u8, now: i8, rules: Rules) -> Reply {
        if let (true, Some(id)) = (rules.knows_repeat, self.holds.get(&owner).copied()) {
            if let Some(lease) = self.leases.get_mut(&owner) {
                *lease = now + LEASE;
            }
            return Reply::Delivery(id);
        }
        if rules.reclaims {
            let over: Vec<Owner> =
                self.leases.iter().filter(|(_, end)| **end <= now).map(|(owner, _)| *owner).collect();
            for over in over {
                // The take tells the others what is left.
                self.give_back(over, None, max, now, rules, false);
            }
        }
        if rules.finds_due {
            let due = |(score, rank, _): &&(Score, (i8, u8), u8)| *score == Score::Later && rank.0 <= now;
            for found in self.due.iter().filter(due).copied().collect::<Vec<_>>() {
                self.due.remove(&found);
                self.insert(found.2, now, rules);
            }
        }
        let is_due = self.has_due(now) || !rules.waits_until_due;
        let first = self.due.first().copied().filter(|_| is_due);
        let worker = owner.0;
        let Some((_, _, id)) = first else {
            if !self.line.contains(&worker) {
                self.line.push(worker);
            }
            // Only the head sleeps until then. What is held may come back.
            let next = self.first_due().into_iter().chain(self.leases.values().min().copied()).min();
            return Reply::Nothing(next.filter(|_| self.line.first() == Some(&worker)));
        };
        self.due.pop_first();
        self.holds.insert(owner, id);
        self.leases.insert(owner, now + LEASE);
        self.jobs.entry(id).and_modify(|job| job.attempts += 1);
        self.line.retain(|other| *other != worker);
        if rules.hands_on && !self.due.is_empty() {
            self.tell_head();
        }
        Reply::Delivery(id)
    }

    /// `ack.lua`; `id` is what the worker believes to hold.
    pub fn ack(&mut self, owner: Owner, id: u8, rules: Rules) -> Reply {
        let held = self.holds.get(&owner) == Some(&id);
        if !held && (rules.by_delivery || !self.jobs.contains_key(&id)) {
            return Reply::NotHeld;
        }
        let owners: Vec<Owner> = self.holds.iter().filter(|(_, held)| **held == id).map(|(owner, _)| *owner).collect();
        for owner in owners {
            self.holds.remove(&owner);
            self.leases.remove(&owner);
        }
        self.remove(id);
        Reply::Done
    }

    /// `nack.lua`, with a delay of a tick.
    pub fn nack(&mut self, owner: Owner, id: u8, max: u8, now: i8, rules: Rules) -> Reply {
        let owner = match self.holds.get(&owner) == Some(&id) {
            true => owner,
            // The job alone: whose delivery it is now.
            false if !rules.by_delivery => match self.holds.iter().find(|(_, held)| **held == id) {
                Some((other, _)) => *other,
                None => return Reply::NotHeld,
            },
            false => return Reply::NotHeld,
        };
        self.give_back(owner, Some(now + 1), max, now, rules, rules.nack_wakes);
        Reply::Done
    }

    /// The release of an owner behind the end of its delivery, when its take had an attempt without an answer: `nack.lua` with the
    /// token that its worker has seen.
    pub fn release_late(&mut self, owner: Owner, max: u8, now: i8, rules: Rules) {
        let job = self.holds.get(&owner).and_then(|id| self.jobs.get_mut(id));
        if let (Some(job), false) = (job, rules.counts_seen) {
            job.attempts -= 1;
        }
        self.give_back(owner, None, max, now, rules, rules.nack_wakes);
    }

    /// `cancel_job.lua`; whether it was cancelled.
    pub fn cancel(&mut self, id: u8, rules: Rules) -> bool {
        if !self.jobs.contains_key(&id) {
            return false;
        }
        if rules.cancels_waiting && !self.waits(id) {
            return false;
        }
        self.remove(id);
        true
    }

    /// A waiter leaves the line: `cancel.lua`.
    pub fn leave(&mut self, worker: usize, rules: Rules) {
        let was_head = self.line.first() == Some(&worker);
        self.line.retain(|other| *other != worker);
        self.told.remove(&worker);
        if was_head && rules.leave_tells && !self.due.is_empty() {
            self.tell_head();
        }
    }

    fn remove(&mut self, id: u8) {
        self.jobs.remove(&id);
        self.due.retain(|(_, _, other)| *other != id);
        self.dead.remove(&id);
    }

    /// Whether a job waits.
    pub fn waits(&self, id: u8) -> bool {
        self.due.iter().any(|(_, _, other)| *other == id)
    }

    /// In how many places a job is.
    pub fn places(&self, id: u8) -> usize {
        let waiting = self.due.iter().filter(|(_, _, other)| *other == id).count();
        let held = self.holds.iter().filter(|(owner, held)| **held == id && self.leases.contains_key(owner)).count();
        waiting + held + usize::from(self.dead.contains(&id))
    }
}
