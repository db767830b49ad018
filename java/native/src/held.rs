//! Holds: granted, asked about, and, where a hold is its handle's own, ended through it.

use std::future::Future;

use jni::objects::{JByteArray, JClass, JLongArray};
use jni::sys::{jboolean, jint, jlong};
use jni::{Env, EnvUnowned, jni_mangle};
use libdlock::{ErrorKind, Result, embed};
use libdlock_bridge::ops::{self, Holding};
use libdlock_bridge::{Held, State};

use crate::call::{array, bytes, jvm_refused, plain, submit, with_env};
use crate::lock_all::BETWEEN;

/// Holder 0 stands for a hold that is its handle's own.
pub(crate) fn holding(holder: jlong) -> Holding {
    if holder == 0 { Holding::ByHandle } else { Holding::ByHolder(embed::holder(holder as u64)) }
}

/// Acquires while the calling thread waits in here, until somebody fires `cancel`. `granted` gets handle and token of the hold;
/// false when it was not to be had in that time.
pub(crate) fn granted_to<F: Future<Output = Result<Held>> + Send>(
    granted: &JLongArray<'_>,
    state: &'static State,
    env: &mut Env<'_>,
    acquire: F,
    cancel: Option<u64>,
    busy_throws: bool,
) -> Result<bool> {
    let held = match state.wait(state.with_cancel(cancel, acquire), None) {
        Ok(held) => held,
        Err(error) if error.kind() == ErrorKind::Busy && !busy_throws => return Ok(false),
        Err(error) => return Err(error),
    };
    let numbers = [held.handle as i64, held.token as i64];
    granted.set_region(env, 0, &numbers).map(|()| true).map_err(|error| {
        state.undo(held.handle);
        jvm_refused(error)
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn held_valid(env: EnvUnowned<'_>, _: JClass<'_>, held: jlong) -> jboolean {
    plain(env, "heldValid", |state| ops::held_valid(state, held as u64))
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn held_token(env: EnvUnowned<'_>, _: JClass<'_>, held: jlong) -> jlong {
    plain(env, "heldToken", |state| ops::held_token(state, held as u64).map(|token| token as jlong))
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn held_owner<'local>(env: EnvUnowned<'local>, _: JClass<'local>, held: jlong) -> JByteArray<'local> {
    with_env(env, "heldOwner", |state, env| array(env, ops::held_owner(state, held as u64)?.as_bytes()))
}

/// The ids of the permits, with commas between them.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn held_permits<'local>(env: EnvUnowned<'local>, _: JClass<'local>, held: jlong) -> JByteArray<'local> {
    with_env(env, "heldPermits", |state, env| array(env, ops::held_permits(state, held as u64)?.join(",").as_bytes()))
}

/// In nanoseconds.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn held_remaining(env: EnvUnowned<'_>, _: JClass<'_>, held: jlong) -> jlong {
    plain(env, "heldRemaining", |state| ops::held_remaining(state, held as u64).map(|left| left.as_nanos() as jlong))
}

/// The reason in one word; null while the hold is not lost.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn held_loss<'local>(env: EnvUnowned<'local>, _: JClass<'local>, held: jlong) -> JByteArray<'local> {
    with_env(env, "heldLoss", |state, env| match ops::held_loss(state, held as u64)? {
        Some(reason) => array(env, reason.as_str().as_bytes()),
        None => Ok(JByteArray::default()),
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn held_wait_lost(env: EnvUnowned<'_>, _: JClass<'_>, port: jlong, id: jlong, held: jlong) -> jlong {
    submit(env, "heldWaitLost", port, id, async move |state| ops::held_wait_lost(state, held as u64, None).await)
}

/// Of several locks: name and token of each, with NULs between them.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn held_tokens<'local>(env: EnvUnowned<'local>, _: JClass<'local>, held: jlong) -> JByteArray<'local> {
    with_env(env, "heldTokens", |state, env| {
        let tokens = ops::held_tokens(state, held as u64)?;
        let words: Vec<String> = tokens.into_iter().flat_map(|(name, token)| [name, token.to_string()]).collect();
        array(env, words.join(BETWEEN).as_bytes())
    })
}

/// Of several locks, that of this name.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn held_token_of<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    held: jlong,
    name: JByteArray<'local>,
) -> jlong {
    with_env(env, "heldTokenOf", |state, env| {
        ops::held_token_of(state, held as u64, &bytes(env, &name)?).map(|token| token as jlong)
    })
}

/// Of several locks: name and reason of the one that was lost, with a NUL between them; null when none was.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn held_lost_member<'local>(env: EnvUnowned<'local>, _: JClass<'local>, held: jlong) -> JByteArray<'local> {
    with_env(env, "heldLostMember", |state, env| match ops::held_lost_member(state, held as u64)? {
        Some((name, reason)) => array(env, [name.as_str(), reason.as_str()].join(BETWEEN).as_bytes()),
        None => Ok(JByteArray::default()),
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn held_hold_count(env: EnvUnowned<'_>, _: JClass<'_>, held: jlong) -> jint {
    plain(env, "heldHoldCount", |state| ops::held_hold_count(state, held as u64).map(|count| count as jint))
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn held_reenter(env: EnvUnowned<'_>, _: JClass<'_>, held: jlong) {
    plain(env, "heldReenter", |state| ops::held_reenter(state, held as u64));
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn held_release(env: EnvUnowned<'_>, _: JClass<'_>, port: jlong, id: jlong, held: jlong) -> jlong {
    submit(env, "heldRelease", port, id, async move |state| ops::held_release(state, held as u64).await)
}

/// As [`held_release`], for a thread that may block: it makes its round trip, and waits in here for what that leaves to do.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn held_release_blocking(env: EnvUnowned<'_>, _: JClass<'_>, held: jlong) {
    plain(env, "heldReleaseBlocking", |state| state.wait(ops::held_release(state, held as u64), None));
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn held_extend(env: EnvUnowned<'_>, _: JClass<'_>, port: jlong, id: jlong, held: jlong, lease_ms: jlong) -> jlong {
    submit(env, "heldExtend", port, id, async move |state| ops::held_extend(state, held as u64, lease_ms).await)
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn held_detach(env: EnvUnowned<'_>, _: JClass<'_>, port: jlong, id: jlong, held: jlong) -> jlong {
    submit(env, "heldDetach", port, id, async move |state| ops::held_detach(state, held as u64).await)
}

/// Brings the hold of the read side; `held` is a hold of a write side.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn held_downgrade(env: EnvUnowned<'_>, _: JClass<'_>, port: jlong, id: jlong, held: jlong) -> jlong {
    submit(env, "heldDowngrade", port, id, async move |state| ops::held_downgrade(state, held as u64).await)
}
