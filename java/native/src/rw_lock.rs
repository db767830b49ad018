//! Read-write locks: each side opened by name, acquired and released for a holder.

use jni::objects::{JByteArray, JClass, JLongArray};
use jni::sys::{jboolean, jint, jlong};
use jni::{EnvUnowned, jni_mangle};
use libdlock::embed;
use libdlock_bridge::ops::{self, RwLockArgs, given};

use crate::call::{NOT_GIVEN, bytes, plain, submit, token, with_env};
use crate::held::{granted_to, holding};
use crate::lock::flag;

/// A side. `reentrant`: see [`flag`].
#[jni_mangle("org.libdlock.internal.Native")]
pub fn rw_lock_open<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    client: jlong,
    name: JByteArray<'local>,
    write: jboolean,
    lease_ms: jlong,
    watchdog_lease_ms: jlong,
    reentrant: jint,
    shared_age_ms: jlong,
) -> jlong {
    with_env(env, "rwLockOpen", |state, env| {
        let name = bytes(env, &name)?;
        let args = RwLockArgs {
            lease_ms: given(lease_ms, NOT_GIVEN),
            watchdog_lease_ms: given(watchdog_lease_ms, NOT_GIVEN),
            reentrant: flag(reentrant),
            shared_age_ms: given(shared_age_ms, NOT_GIVEN),
        };
        ops::rw_lock_open(state, client as u64, &name, write, args).map(|side| side as jlong)
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn rw_lock_hold_count(env: EnvUnowned<'_>, _: JClass<'_>, side: jlong, holder: jlong) -> jint {
    plain(env, "rwLockHoldCount", |state| {
        ops::rw_lock_hold_count(state, side as u64, embed::holder(holder as u64)).map(|count| count as jint)
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn rw_lock_acquire(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    port: jlong,
    id: jlong,
    side: jlong,
    holder: jlong,
    wait_ms: jlong,
    lease_ms: jlong,
) -> jlong {
    submit(env, "rwLockAcquire", port, id, async move |state| {
        let (wait, lease) = (given(wait_ms, NOT_GIVEN), given(lease_ms, NOT_GIVEN));
        ops::rw_lock_acquire(state, side as u64, holding(holder), wait, lease).await
    })
}

/// As [`rw_lock_acquire`], for a thread that may block: it makes its round trip and waits in here, until somebody fires `cancel`
/// (0 for none). `granted` gets handle and token of the hold; false when it was not to be had in that time.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn rw_lock_acquire_blocking<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    side: jlong,
    holder: jlong,
    wait_ms: jlong,
    lease_ms: jlong,
    cancel: jlong,
    busy_throws: jboolean,
    granted: JLongArray<'local>,
) -> jboolean {
    with_env(env, "rwLockAcquireBlocking", |state, env| {
        let (wait, lease) = (given(wait_ms, NOT_GIVEN), given(lease_ms, NOT_GIVEN));
        let acquire = ops::rw_lock_acquire(state, side as u64, holding(holder), wait, lease);
        granted_to(&granted, state, env, acquire, token(cancel), busy_throws)
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn rw_lock_release(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    port: jlong,
    id: jlong,
    side: jlong,
    holder: jlong,
) -> jlong {
    submit(env, "rwLockRelease", port, id, async move |state| {
        ops::rw_lock_release(state, side as u64, embed::holder(holder as u64), None).await
    })
}

/// As [`rw_lock_release`], for a thread that may block: it makes its round trip, and waits in here for what that leaves to do.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn rw_lock_release_blocking(env: EnvUnowned<'_>, _: JClass<'_>, side: jlong, holder: jlong) {
    plain(env, "rwLockReleaseBlocking", |state| {
        state.wait(ops::rw_lock_release(state, side as u64, embed::holder(holder as u64), None), None)
    });
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn rw_lock_extend(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    port: jlong,
    id: jlong,
    side: jlong,
    holder: jlong,
    lease_ms: jlong,
) -> jlong {
    submit(env, "rwLockExtend", port, id, async move |state| {
        ops::rw_lock_extend(state, side as u64, embed::holder(holder as u64), lease_ms).await
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn rw_lock_force_release(env: EnvUnowned<'_>, _: JClass<'_>, port: jlong, id: jlong, side: jlong) -> jlong {
    submit(env, "rwLockForceRelease", port, id, async move |state| ops::rw_lock_force_release(state, side as u64).await)
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn rw_lock_inspect(env: EnvUnowned<'_>, _: JClass<'_>, port: jlong, id: jlong, side: jlong) -> jlong {
    submit(env, "rwLockInspect", port, id, async move |state| ops::rw_lock_inspect(state, side as u64).await)
}
