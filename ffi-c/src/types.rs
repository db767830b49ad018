//! Handles, options and answers, as C sees them.

use std::ffi::{c_char, c_void};

use libdlock_bridge::ops::given;
use libdlock_bridge::{Handle, Inspection};

use crate::error::refuse_for;
use crate::text::{Text, fill};

/// A client: its connections and options.
pub struct dlock_client_t(());
/// A lock, by name.
pub struct dlock_lock_t(());
/// A hold of a lock, of several as one, of a side of one, or of permits, or a delivery of a queue: its fencing token, whether it is still valid, whether
/// it was lost.
pub struct dlock_held_t(());
/// A completion port: where submitted operations and log events queue up.
pub struct dlock_port_t(());
/// An operation submitted to a port.
pub struct dlock_op_t(());
/// Ends blocking calls from another thread.
pub struct dlock_cancel_t(());

/// The number that a handle of C is. Never an address that may be followed.
pub(crate) fn id<T>(handle: *const T) -> Handle {
    handle.addr() as Handle
}

pub(crate) fn optional_id<T>(handle: *const T) -> Option<Handle> {
    (!handle.is_null()).then(|| id(handle))
}

pub(crate) fn handle<T>(id: Handle) -> *mut T {
    std::ptr::without_provenance_mut(id as usize)
}

/// One option of a client. Texts are UTF-8 with their length and need no NUL.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_option_t {
    /// A name of the table of options, such as "lease".
    pub name: *const c_char,
    /// Bytes of `name`.
    pub name_len: usize,
    /// The value, such as "30s", "250ms", "true".
    pub value: *const c_char,
    /// Bytes of `value`.
    pub value_len: usize,
}

/// How to open a client. Begin with DLOCK_CLIENT_OPTIONS_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_client_options_t {
    /// `sizeof(dlock_client_options_t)`.
    pub struct_size: usize,
    /// Options on top of those in the URL; may be NULL when `options_len` is 0.
    pub options: *const dlock_option_t,
    /// How many options; at most 256.
    pub options_len: usize,
    /// Where the client's log events go; NULL for nowhere.
    pub log_port: *const dlock_port_t,
    /// Ends the call when fired; may be NULL.
    pub cancel: *const dlock_cancel_t,
}

/// How to open a lock. Begin with DLOCK_LOCK_OPTIONS_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_lock_options_t {
    /// `sizeof(dlock_lock_options_t)`.
    pub struct_size: usize,
    /// 0: a lease that is renewed for as long as the lock is held, see `watchdog_lease_ms`. Otherwise a lease of 100 to
    /// 86400000 ms that is not renewed.
    pub lease_ms: i64,
    /// 1: the holder may acquire again. 0: that fails with DLOCK_DEADLOCK. -1: as the client's option says.
    pub reentrant: i32,
    /// With `lease_ms` 0: the lease that is renewed, 100 to 86400000 ms, every third of it; 0 is the client's. With another
    /// `lease_ms` it has to be 0.
    pub watchdog_lease_ms: i64,
}

/// How to acquire. Begin with DLOCK_ACQUIRE_OPTIONS_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_acquire_options_t {
    /// `sizeof(dlock_acquire_options_t)`.
    pub struct_size: usize,
    /// How long to wait: -1 for ever, 0 not at all.
    pub wait_ms: i64,
    /// 0: that of the object that is acquired. Otherwise a lease of 100 to 86400000 ms that is not renewed.
    pub lease_ms: i64,
    /// Ends the wait when fired; may be NULL.
    pub cancel: *const dlock_cancel_t,
}

/// Bytes of an owner, its NUL included; a foreign owner that is longer is cut.
pub const DLOCK_OWNER_SIZE: usize = 128;
/// Bytes of a detached hold, its NUL included.
pub const DLOCK_DETACHED_SIZE: usize = 2048;
/// Bytes of a name, its NUL included.
pub const DLOCK_NAME_SIZE: usize = 513;

/// Who holds a lock, as the server sees it. Begin with DLOCK_INSPECTION_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_inspection_t {
    /// `sizeof(dlock_inspection_t)`.
    pub struct_size: usize,
    /// Whether anybody holds it.
    pub held: bool,
    /// Whether this client does.
    pub ours: bool,
    /// What is left of the lease in ms; -1 when there is none (not held, or a foreign key without a time to live).
    pub ttl_ms: i64,
    /// The last token reserved under this name; 0 when the server remembers none. A process of which several callers wait
    /// reserves a few at once, so the holder's may be lower.
    pub token: u64,
    /// Its owner, NUL-terminated; empty when nobody holds it.
    pub holder: [c_char; DLOCK_OWNER_SIZE],
    /// How many processes stand in the queue.
    pub queued: u64,
}

impl dlock_inspection_t {
    pub(crate) const EMPTY: Self = Self {
        struct_size: size_of::<Self>(),
        held: false,
        ours: false,
        ttl_ms: -1,
        token: 0,
        holder: [0; DLOCK_OWNER_SIZE],
        queued: 0,
    };

    pub(crate) fn of(seen: &Inspection) -> Self {
        let mut answer = Self {
            held: seen.holder.is_some(),
            ours: seen.ours,
            ttl_ms: seen.ttl.map_or(-1, crate::text::millis),
            token: seen.token.unwrap_or(0),
            queued: seen.queued,
            ..Self::EMPTY
        };
        fill(&mut answer.holder, seen.holder.as_deref().unwrap_or(""));
        answer
    }
}

/// A hold on its way to another thread or process. Begin with DLOCK_DETACHED_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_detached_t {
    /// `sizeof(dlock_detached_t)`.
    pub struct_size: usize,
    /// Bytes of `text`.
    pub text_len: usize,
    /// What dlock_lock_attach() takes, NUL-terminated.
    pub text: [c_char; DLOCK_DETACHED_SIZE],
}

impl dlock_detached_t {
    pub(crate) fn of(text: &str) -> libdlock::Result<Self> {
        let mut answer = Self { struct_size: size_of::<Self>(), text_len: text.len(), text: [0; DLOCK_DETACHED_SIZE] };
        match fill(&mut answer.text, text) {
            Text::Whole => Ok(answer),
            Text::Cut => Err(libdlock::Error::new(
                libdlock::ErrorKind::Internal,
                "detach",
                format!("a detached hold of {} bytes does not fit", text.len()),
            )),
        }
    }
}

/// What a host gives with an operation and gets back with its completion.
pub(crate) fn user_data(pointer: *mut c_void) -> u64 {
    pointer.expose_provenance() as u64
}

/// A wait as the header has it: -1 is for ever.
pub(crate) fn wait(wait_ms: i64) -> Option<i64> {
    given(wait_ms, -1)
}

/// A lease as the header has it: 0 is that of the object.
pub(crate) fn lease(lease_ms: i64) -> Option<i64> {
    given(lease_ms, 0)
}

/// Whether a holder may acquire again, as the header has it: -1 is the client's option.
pub(crate) fn reentrant(given: i32, op: &'static str) -> libdlock::Result<Option<bool>> {
    match given {
        -1 => Ok(None),
        0 => Ok(Some(false)),
        1 => Ok(Some(true)),
        _ => Err(refuse_for(op, format_args!("reentrant is {given}"), "-1 (the client's option), 0 and 1")),
    }
}

/// How old a hold of readers may be to be joined, as the header has it: -1 is the default.
pub(crate) fn shared_age(age_ms: i64) -> Option<i64> {
    given(age_ms, -1)
}
