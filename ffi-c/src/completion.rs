//! A completion as C sees it: one struct with a place for every answer.

use std::ffi::{c_char, c_void};

use libdlock::Error;
use libdlock::event::Level;
use libdlock_bridge::ops::{self, Puts};
use libdlock_bridge::{Completion, Outcome, State, What};

use crate::counting_semaphore::dlock_counting_semaphore_inspection_t;
use crate::decision::dlock_decision_t;
use crate::error::{DLOCK_LIMITED, DLOCK_OK, dlock_error_t, dlock_status_t};
use crate::held::{DLOCK_LOSS_NONE, dlock_loss_t, loss};
use crate::queue_jobs::{dlock_jobs_t, dlock_queue_counts_t};
use crate::rate_limiter::refused;
use crate::rw_lock::dlock_rw_lock_inspection_t;
use crate::semaphore::dlock_semaphore_inspection_t;
use crate::text::fill;
use crate::types::{DLOCK_DETACHED_SIZE, dlock_client_t, dlock_held_t, dlock_inspection_t, dlock_op_t, handle};

/// What a completion brings, and so which of its fields are filled in.
pub type dlock_completion_kind_t = i32;
// <api:completions> written by `python3 api/write.py` from api/wire.json
/// The operation failed: `status` and `error`.
pub const DLOCK_COMPLETION_ERROR: dlock_completion_kind_t = 0;
/// The operation is done and has no answer.
pub const DLOCK_COMPLETION_DONE: dlock_completion_kind_t = 1;
/// A client was opened: `client`. Free it.
pub const DLOCK_COMPLETION_CLIENT: dlock_completion_kind_t = 2;
/// Something was acquired or attached: `held`, and `token`, 0 for permits. Release it through `held`, then free
/// that.
pub const DLOCK_COMPLETION_HELD: dlock_completion_kind_t = 3;
/// Yes or no: `flag`. Of a forced release whether anybody held it; of a latch and of a counting semaphore as the
/// function says.
pub const DLOCK_COMPLETION_FLAG: dlock_completion_kind_t = 4;
/// A hold was detached: `text`.
pub const DLOCK_COMPLETION_TEXT: dlock_completion_kind_t = 5;
/// An inspection: `inspection`.
pub const DLOCK_COMPLETION_INSPECTION: dlock_completion_kind_t = 6;
/// A hold is over: `loss` says why it was lost, DLOCK_LOSS_NONE that it was released.
pub const DLOCK_COMPLETION_LOSS: dlock_completion_kind_t = 7;
/// A client's log event, of no operation: `log_level`, the message in `text`, the object, if any, in
/// `error.name`.
pub const DLOCK_COMPLETION_LOG: dlock_completion_kind_t = 8;
/// A rate limiter's answer: `decision`, and when it refused, `status` DLOCK_LIMITED and `error`.
pub const DLOCK_COMPLETION_DECISION: dlock_completion_kind_t = 9;
/// An inspection of a semaphore: `semaphore_inspection`.
pub const DLOCK_COMPLETION_SEMAPHORE_INSPECTION: dlock_completion_kind_t = 10;
/// An inspection of a read-write lock: `rw_lock_inspection`.
pub const DLOCK_COMPLETION_RW_LOCK_INSPECTION: dlock_completion_kind_t = 11;
/// A number: `number`. The count of a latch, or how many permits were drained.
pub const DLOCK_COMPLETION_NUMBER: dlock_completion_kind_t = 12;
/// An inspection of a counting semaphore: `counting_semaphore_inspection`.
pub const DLOCK_COMPLETION_COUNTING_SEMAPHORE_INSPECTION: dlock_completion_kind_t = 13;
/// A job was put into a queue, or was there: its id in `text`, and in `flag` whether it is new.
pub const DLOCK_COMPLETION_PUT: dlock_completion_kind_t = 14;
/// How many jobs a queue has: `queue_counts`.
pub const DLOCK_COMPLETION_QUEUE_COUNTS: dlock_completion_kind_t = 15;
/// A list of jobs of a queue: `jobs`. Free it.
pub const DLOCK_COMPLETION_JOBS: dlock_completion_kind_t = 16;
// </api:completions>

/// How much a log event matters.
pub type dlock_log_level_t = i32;
/// For those who look for a fault in libdlock itself.
pub const DLOCK_LOG_DEBUG: dlock_log_level_t = 0;
/// Worth a line in a log.
pub const DLOCK_LOG_INFO: dlock_log_level_t = 1;
/// Something an operator should look at.
pub const DLOCK_LOG_WARN: dlock_log_level_t = 2;
/// A defect, or a promise that could not be kept.
pub const DLOCK_LOG_ERROR: dlock_log_level_t = 3;

/// One thing that a port has for its host. Fields that `kind` does not name are zero.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_completion_t {
    /// What it brings.
    pub kind: dlock_completion_kind_t,
    /// DLOCK_OK, DLOCK_LIMITED for a limiter's refusal, or why the operation failed.
    pub status: dlock_status_t,
    /// The operation; NULL for a log event. It is over: there is nothing to free.
    pub op: *mut dlock_op_t,
    /// What was given with the operation.
    pub user_data: *mut c_void,
    /// See DLOCK_COMPLETION_HELD.
    pub held: *mut dlock_held_t,
    /// See DLOCK_COMPLETION_HELD.
    pub token: u64,
    /// See DLOCK_COMPLETION_CLIENT.
    pub client: *mut dlock_client_t,
    /// See DLOCK_COMPLETION_LOSS.
    pub loss: dlock_loss_t,
    /// See DLOCK_COMPLETION_LOG.
    pub log_level: dlock_log_level_t,
    /// See DLOCK_COMPLETION_FLAG and DLOCK_COMPLETION_PUT.
    pub flag: bool,
    /// Bytes of `text`.
    pub text_len: usize,
    /// See DLOCK_COMPLETION_TEXT, DLOCK_COMPLETION_PUT and DLOCK_COMPLETION_LOG; NUL-terminated.
    pub text: [c_char; DLOCK_DETACHED_SIZE],
    /// See DLOCK_COMPLETION_INSPECTION.
    pub inspection: dlock_inspection_t,
    /// See DLOCK_COMPLETION_ERROR and DLOCK_COMPLETION_DECISION.
    pub error: dlock_error_t,
    /// See DLOCK_COMPLETION_DECISION.
    pub decision: dlock_decision_t,
    /// See DLOCK_COMPLETION_SEMAPHORE_INSPECTION.
    pub semaphore_inspection: dlock_semaphore_inspection_t,
    /// See DLOCK_COMPLETION_RW_LOCK_INSPECTION.
    pub rw_lock_inspection: dlock_rw_lock_inspection_t,
    /// See DLOCK_COMPLETION_NUMBER.
    pub number: i64,
    /// See DLOCK_COMPLETION_COUNTING_SEMAPHORE_INSPECTION.
    pub counting_semaphore_inspection: dlock_counting_semaphore_inspection_t,
    /// See DLOCK_COMPLETION_QUEUE_COUNTS.
    pub queue_counts: dlock_queue_counts_t,
    /// See DLOCK_COMPLETION_JOBS.
    pub jobs: *mut dlock_jobs_t,
}

impl dlock_completion_t {
    const EMPTY: Self = Self {
        kind: DLOCK_COMPLETION_DONE,
        status: DLOCK_OK,
        op: std::ptr::null_mut(),
        user_data: std::ptr::null_mut(),
        held: std::ptr::null_mut(),
        token: 0,
        client: std::ptr::null_mut(),
        loss: DLOCK_LOSS_NONE,
        log_level: DLOCK_LOG_DEBUG,
        flag: false,
        text_len: 0,
        text: [0; DLOCK_DETACHED_SIZE],
        inspection: dlock_inspection_t::EMPTY,
        error: dlock_error_t::EMPTY,
        decision: dlock_decision_t::EMPTY,
        semaphore_inspection: dlock_semaphore_inspection_t::EMPTY,
        rw_lock_inspection: dlock_rw_lock_inspection_t::EMPTY,
        number: 0,
        counting_semaphore_inspection: dlock_counting_semaphore_inspection_t::EMPTY,
        queue_counts: dlock_queue_counts_t::EMPTY,
        jobs: std::ptr::null_mut(),
    };

    pub(crate) fn of(state: &State, completion: Completion) -> Self {
        let mut answer = Self::EMPTY;
        answer.op = handle(completion.op);
        answer.user_data = std::ptr::with_exposed_provenance_mut(completion.user_data as usize);
        match completion.what {
            What::Done(Ok(outcome)) => answer.fill_in(state, outcome),
            What::Done(Err(error)) => answer.fail(&error),
            What::Log(event) => {
                answer.kind = DLOCK_COMPLETION_LOG;
                answer.log_level = level(event.level);
                answer.put_text(&event.message);
                fill(&mut answer.error.name, event.name.as_deref().unwrap_or(""));
            }
        }
        answer
    }

    fn fill_in(&mut self, state: &State, outcome: Outcome) {
        match outcome {
            // No operation of C brings several ids: dlock_id_generator_next_ids() has an array of its caller's.
            // Nor several answers, nor a rate: a filter's batch and rate have no asynchronous form in C.
            Outcome::Flags(_) | Outcome::Real(_) => {}
            Outcome::Unit | Outcome::Granted(_) | Outcome::Ids(_) => {}
            // One at most: no function of C submits a batch.
            Outcome::Puts(Puts(puts)) => {
                self.kind = DLOCK_COMPLETION_PUT;
                if let Some(put) = puts.first() {
                    self.put_text(&put.id);
                    self.flag = put.is_new;
                }
            }
            Outcome::Deliveries(_) => unreachable!("a delivery comes as the hold that it is"),
            Outcome::QueueCounts(counts) => {
                self.kind = DLOCK_COMPLETION_QUEUE_COUNTS;
                self.queue_counts = dlock_queue_counts_t::of(counts);
            }
            Outcome::ListedJobs(jobs) => match ops::listed_jobs_keep(state, jobs) {
                Ok(jobs) => {
                    self.kind = DLOCK_COMPLETION_JOBS;
                    self.jobs = handle(jobs);
                }
                Err(error) => self.fail(&error),
            },
            // <api:scalars> written by `python3 api/write.py` from api/wire.json
            Outcome::Bool(answer) => {
                self.kind = DLOCK_COMPLETION_FLAG;
                self.flag = answer;
            }
            Outcome::Number(answer) => {
                self.kind = DLOCK_COMPLETION_NUMBER;
                self.number = answer;
            }
            Outcome::Text(answer) => {
                self.kind = DLOCK_COMPLETION_TEXT;
                self.put_text(&answer);
            }
            // </api:scalars>
            Outcome::Held(held) => {
                self.kind = DLOCK_COMPLETION_HELD;
                self.held = handle(held.handle);
                self.token = held.token;
            }
            Outcome::Inspection(seen) => {
                self.kind = DLOCK_COMPLETION_INSPECTION;
                self.inspection = dlock_inspection_t::of(&seen);
            }
            Outcome::SemaphoreInspection(seen) => {
                self.kind = DLOCK_COMPLETION_SEMAPHORE_INSPECTION;
                self.semaphore_inspection = dlock_semaphore_inspection_t::of(&seen);
            }
            Outcome::RwLockInspection(seen) => {
                self.kind = DLOCK_COMPLETION_RW_LOCK_INSPECTION;
                self.rw_lock_inspection = dlock_rw_lock_inspection_t::of(&seen);
            }
            Outcome::CountingSemaphoreInspection(seen) => {
                self.kind = DLOCK_COMPLETION_COUNTING_SEMAPHORE_INSPECTION;
                self.counting_semaphore_inspection = dlock_counting_semaphore_inspection_t::of(&seen);
            }
            Outcome::Decision(decision) => {
                self.kind = DLOCK_COMPLETION_DECISION;
                self.status = if decision.allowed { DLOCK_OK } else { DLOCK_LIMITED };
                self.decision = dlock_decision_t::of(&decision);
                if !decision.allowed {
                    self.error = dlock_error_t::of(&refused(&decision));
                }
            }
            Outcome::Decisions(_) => unreachable!("no function of C submits a batch"),
            Outcome::Loss(reason) => {
                self.kind = DLOCK_COMPLETION_LOSS;
                self.loss = loss(reason);
            }
            Outcome::Handle(client) => {
                self.kind = DLOCK_COMPLETION_CLIENT;
                self.client = handle(client);
            }
        }
    }

    fn fail(&mut self, error: &Error) {
        self.kind = DLOCK_COMPLETION_ERROR;
        self.status = error.kind().code();
        self.error = dlock_error_t::of(error);
    }

    fn put_text(&mut self, text: &str) {
        fill(&mut self.text, text);
        self.text_len = self.text.iter().position(|byte| *byte == 0).unwrap_or(0);
    }
}

fn level(level: Level) -> dlock_log_level_t {
    match level {
        Level::Debug => DLOCK_LOG_DEBUG,
        Level::Info => DLOCK_LOG_INFO,
        Level::Warn => DLOCK_LOG_WARN,
        Level::Error => DLOCK_LOG_ERROR,
    }
}
