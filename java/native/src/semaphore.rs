//! Semaphores: opened by name, permits acquired and released for a holder.

use jni::objects::{JByteArray, JClass, JLongArray};
use jni::sys::{jboolean, jint, jlong};
use jni::{EnvUnowned, jni_mangle};
use libdlock::embed;
use libdlock_bridge::ops::{self, given};

use crate::call::{NOT_GIVEN, bytes, plain, submit, token, with_env};
use crate::held::{granted_to, holding};

#[jni_mangle("org.libdlock.internal.Native")]
pub fn semaphore_open<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    client: jlong,
    name: JByteArray<'local>,
    permits: jlong,
    lease_ms: jlong,
    watchdog_lease_ms: jlong,
) -> jlong {
    with_env(env, "semaphoreOpen", |state, env| {
        let name = bytes(env, &name)?;
        let (lease, watchdog_lease) = (given(lease_ms, NOT_GIVEN), given(watchdog_lease_ms, NOT_GIVEN));
        let opened = ops::semaphore_open(state, client as u64, &name, permits, lease, watchdog_lease);
        opened.map(|semaphore| semaphore as jlong)
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn semaphore_hold_count(env: EnvUnowned<'_>, _: JClass<'_>, semaphore: jlong, holder: jlong) -> jint {
    plain(env, "semaphoreHoldCount", |state| {
        ops::semaphore_hold_count(state, semaphore as u64, embed::holder(holder as u64)).map(|count| count as jint)
    })
}

/// A view of the holder's latest hold, lost or not; 0 when it has none.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn semaphore_held(env: EnvUnowned<'_>, _: JClass<'_>, semaphore: jlong, holder: jlong) -> jlong {
    plain(env, "semaphoreHeld", |state| {
        let held = ops::semaphore_held(state, semaphore as u64, embed::holder(holder as u64))?;
        Ok(held.map_or(0, |held| held.handle as jlong))
    })
}

/// How many of the holder's latest holds have exactly so many permits together.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn semaphore_holds_of(env: EnvUnowned<'_>, _: JClass<'_>, semaphore: jlong, holder: jlong, permits: jlong) -> jint {
    plain(env, "semaphoreHoldsOf", |state| {
        let holder = embed::holder(holder as u64);
        ops::semaphore_holds_of(state, semaphore as u64, holder, permits).map(|count| count as jint)
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn semaphore_acquire(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    port: jlong,
    id: jlong,
    semaphore: jlong,
    holder: jlong,
    permits: jlong,
    wait_ms: jlong,
    lease_ms: jlong,
) -> jlong {
    submit(env, "semaphoreAcquire", port, id, async move |state| {
        let (wait, lease) = (given(wait_ms, NOT_GIVEN), given(lease_ms, NOT_GIVEN));
        ops::semaphore_acquire(state, semaphore as u64, holding(holder), permits, wait, lease).await
    })
}

/// As [`semaphore_acquire`], for a thread that may block: it makes its round trip and waits in here, until somebody fires
/// `cancel` (0 for none). `granted` gets the handle of the hold; false when it was not to be had in that time.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn semaphore_acquire_blocking<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    semaphore: jlong,
    holder: jlong,
    permits: jlong,
    wait_ms: jlong,
    lease_ms: jlong,
    cancel: jlong,
    busy_throws: jboolean,
    granted: JLongArray<'local>,
) -> jboolean {
    with_env(env, "semaphoreAcquireBlocking", |state, env| {
        let (wait, lease) = (given(wait_ms, NOT_GIVEN), given(lease_ms, NOT_GIVEN));
        let acquire = ops::semaphore_acquire(state, semaphore as u64, holding(holder), permits, wait, lease);
        granted_to(&granted, state, env, acquire, token(cancel), busy_throws)
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn semaphore_release(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    port: jlong,
    id: jlong,
    semaphore: jlong,
    holder: jlong,
) -> jlong {
    submit(env, "semaphoreRelease", port, id, async move |state| {
        ops::semaphore_release(state, semaphore as u64, embed::holder(holder as u64), None).await
    })
}

/// As [`semaphore_release`], for a thread that may block: it makes its round trip, and waits in here for what that leaves to do.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn semaphore_release_blocking(env: EnvUnowned<'_>, _: JClass<'_>, semaphore: jlong, holder: jlong) {
    plain(env, "semaphoreReleaseBlocking", |state| {
        state.wait(ops::semaphore_release(state, semaphore as u64, embed::holder(holder as u64), None), None)
    });
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn semaphore_extend(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    port: jlong,
    id: jlong,
    semaphore: jlong,
    holder: jlong,
    lease_ms: jlong,
) -> jlong {
    submit(env, "semaphoreExtend", port, id, async move |state| {
        ops::semaphore_extend(state, semaphore as u64, embed::holder(holder as u64), None, lease_ms).await
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn semaphore_set_permits(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    port: jlong,
    id: jlong,
    semaphore: jlong,
    permits: jlong,
) -> jlong {
    submit(env, "semaphoreSetPermits", port, id, async move |state| {
        ops::semaphore_set_permits(state, semaphore as u64, permits).await
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn semaphore_inspect(env: EnvUnowned<'_>, _: JClass<'_>, port: jlong, id: jlong, semaphore: jlong) -> jlong {
    submit(env, "semaphoreInspect", port, id, async move |state| ops::semaphore_inspect(state, semaphore as u64).await)
}
