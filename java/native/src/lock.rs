//! Locks: opened by name, acquired and released for a holder.

use jni::objects::{JByteArray, JClass, JLongArray};
use jni::sys::{jboolean, jint, jlong};
use jni::{EnvUnowned, jni_mangle};
use libdlock::embed;
use libdlock_bridge::ops::{self, given};

use crate::call::{NOT_GIVEN, bytes, plain, start, submit, token, with_env};
use crate::held::{granted_to, holding};

/// 0 no, 1 yes, anything else the client's option.
pub(crate) fn flag(given: jint) -> Option<bool> {
    match given {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

/// `reentrant`: see [`flag`].
#[jni_mangle("org.libdlock.internal.Native")]
pub fn lock_open<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    client: jlong,
    name: JByteArray<'local>,
    lease_ms: jlong,
    watchdog_lease_ms: jlong,
    reentrant: jint,
) -> jlong {
    with_env(env, "lockOpen", |state, env| {
        let name = bytes(env, &name)?;
        let (lease, watchdog_lease) = (given(lease_ms, NOT_GIVEN), given(watchdog_lease_ms, NOT_GIVEN));
        let opened = ops::lock_open(state, client as u64, &name, lease, watchdog_lease, flag(reentrant));
        opened.map(|lock| lock as jlong)
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn lock_hold_count(env: EnvUnowned<'_>, _: JClass<'_>, lock: jlong, holder: jlong) -> jint {
    plain(env, "lockHoldCount", |state| {
        ops::lock_hold_count(state, lock as u64, embed::holder(holder as u64)).map(|count| count as jint)
    })
}

/// A view of what the holder has, lost or not; 0 when it has nothing.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn lock_held(env: EnvUnowned<'_>, _: JClass<'_>, lock: jlong, holder: jlong) -> jlong {
    plain(env, "lockHeld", |state| {
        let held = ops::lock_held(state, lock as u64, embed::holder(holder as u64))?;
        Ok(held.map_or(0, |held| held.handle as jlong))
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn lock_acquire(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    port: jlong,
    id: jlong,
    lock: jlong,
    holder: jlong,
    wait_ms: jlong,
    lease_ms: jlong,
) -> jlong {
    submit(env, "lockAcquire", port, id, async move |state| {
        let (wait, lease) = (given(wait_ms, NOT_GIVEN), given(lease_ms, NOT_GIVEN));
        ops::lock_acquire(state, lock as u64, holding(holder), wait, lease).await
    })
}

/// As [`lock_acquire`], for a thread that may block: it makes its round trip and waits in here, until somebody fires `cancel`
/// (0 for none). `granted` gets handle and token of the hold; false when it was not to be had in that time.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn lock_acquire_blocking<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    lock: jlong,
    holder: jlong,
    wait_ms: jlong,
    lease_ms: jlong,
    cancel: jlong,
    busy_throws: jboolean,
    granted: JLongArray<'local>,
) -> jboolean {
    with_env(env, "lockAcquireBlocking", |state, env| {
        let (wait, lease) = (given(wait_ms, NOT_GIVEN), given(lease_ms, NOT_GIVEN));
        let acquire = ops::lock_acquire(state, lock as u64, holding(holder), wait, lease);
        granted_to(&granted, state, env, acquire, token(cancel), busy_throws)
    })
}

/// One more level of what the holder holds; false when that takes [`lock_acquire`].
#[jni_mangle("org.libdlock.internal.Native")]
pub fn lock_reenter(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    lock: jlong,
    holder: jlong,
    wait_ms: jlong,
    lease_ms: jlong,
) -> jboolean {
    plain(env, "lockReenter", |state| {
        let (wait, lease) = (given(wait_ms, NOT_GIVEN), given(lease_ms, NOT_GIVEN));
        ops::lock_reenter(state, lock as u64, embed::holder(holder as u64), wait, lease)
    })
}

/// One level less, if it is not the last; false when that takes [`lock_release`].
#[jni_mangle("org.libdlock.internal.Native")]
pub fn lock_release_reentry(env: EnvUnowned<'_>, _: JClass<'_>, lock: jlong, holder: jlong) -> jboolean {
    plain(env, "lockReleaseReentry", |state| {
        ops::lock_release_reentry(state, lock as u64, embed::holder(holder as u64), None)
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn lock_attach<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    port: jlong,
    id: jlong,
    lock: jlong,
    holder: jlong,
    detached: JByteArray<'local>,
) -> jlong {
    with_env(env, "lockAttach", |state, env| {
        let detached = bytes(env, &detached)?;
        start(state, port, id, async move { ops::lock_attach(state, lock as u64, holding(holder), detached).await })
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn lock_release(env: EnvUnowned<'_>, _: JClass<'_>, port: jlong, id: jlong, lock: jlong, holder: jlong) -> jlong {
    submit(env, "lockRelease", port, id, async move |state| {
        ops::lock_release(state, lock as u64, embed::holder(holder as u64), None).await
    })
}

/// As [`lock_release`], for a thread that may block: it makes its round trip, and waits in here for what that leaves to do.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn lock_release_blocking(env: EnvUnowned<'_>, _: JClass<'_>, lock: jlong, holder: jlong) {
    plain(env, "lockReleaseBlocking", |state| {
        state.wait(ops::lock_release(state, lock as u64, embed::holder(holder as u64), None), None)
    });
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn lock_extend(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    port: jlong,
    id: jlong,
    lock: jlong,
    holder: jlong,
    lease_ms: jlong,
) -> jlong {
    submit(env, "lockExtend", port, id, async move |state| {
        ops::lock_extend(state, lock as u64, embed::holder(holder as u64), lease_ms).await
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn lock_detach(env: EnvUnowned<'_>, _: JClass<'_>, port: jlong, id: jlong, lock: jlong, holder: jlong) -> jlong {
    submit(env, "lockDetach", port, id, async move |state| {
        ops::lock_detach(state, lock as u64, embed::holder(holder as u64)).await
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn lock_force_release(env: EnvUnowned<'_>, _: JClass<'_>, port: jlong, id: jlong, lock: jlong) -> jlong {
    submit(env, "lockForceRelease", port, id, async move |state| ops::lock_force_release(state, lock as u64).await)
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn lock_inspect(env: EnvUnowned<'_>, _: JClass<'_>, port: jlong, id: jlong, lock: jlong) -> jlong {
    submit(env, "lockInspect", port, id, async move |state| ops::lock_inspect(state, lock as u64).await)
}
