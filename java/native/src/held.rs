//! Holds: asked about, and, where a hold is its handle's own, ended through it.

use jni::objects::{JByteArray, JClass};
use jni::sys::{jboolean, jint, jlong};
use jni::{EnvUnowned, jni_mangle};
use libdlock_bridge::ops;

use crate::call::{array, plain, submit, with_env};

#[jni_mangle("org.libdlock.internal.Native")]
pub fn held_valid(env: EnvUnowned<'_>, _: JClass<'_>, held: jlong) -> jboolean {
    plain(env, "heldValid", |state| ops::held_valid(state, held as u64))
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn held_owner<'local>(env: EnvUnowned<'local>, _: JClass<'local>, held: jlong) -> JByteArray<'local> {
    with_env(env, "heldOwner", |state, env| array(env, ops::held_owner(state, held as u64)?.as_bytes()))
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
