//! Several locks as one: opened by their names, acquired and released for a holder.

use jni::objects::{JByteArray, JClass, JLongArray};
use jni::sys::{jboolean, jint, jlong};
use jni::{EnvUnowned, jni_mangle};
use libdlock::embed;
use libdlock_bridge::ops::{self, given};

use crate::call::{NOT_GIVEN, array, bytes, plain, submit, token, with_env};
use crate::held::{granted_to, holding};
use crate::lock::flag;
use crate::wire;

/// Between texts that are no name of their own: no name has one.
pub(crate) const BETWEEN: &str = "\0";

/// `reentrant`: see [`flag`].
#[jni_mangle("org.libdlock.internal.Native")]
pub fn lock_all_open<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    client: jlong,
    names: JByteArray<'local>,
    lease_ms: jlong,
    watchdog_lease_ms: jlong,
    reentrant: jint,
) -> jlong {
    with_env(env, "lockAllOpen", |state, env| {
        let names = wire::texts(&bytes(env, &names)?)?;
        let (lease, watchdog_lease) = (given(lease_ms, NOT_GIVEN), given(watchdog_lease_ms, NOT_GIVEN));
        let opened = ops::lock_all_open(state, client as u64, &names, lease, watchdog_lease, flag(reentrant));
        opened.map(|set| set as jlong)
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn lock_all_names<'local>(env: EnvUnowned<'local>, _: JClass<'local>, set: jlong) -> JByteArray<'local> {
    with_env(env, "lockAllNames", |state, env| {
        array(env, ops::lock_all_names(state, set as u64)?.join(BETWEEN).as_bytes())
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn lock_all_hold_count(env: EnvUnowned<'_>, _: JClass<'_>, set: jlong, holder: jlong) -> jint {
    plain(env, "lockAllHoldCount", |state| {
        ops::lock_all_hold_count(state, set as u64, embed::holder(holder as u64)).map(|count| count as jint)
    })
}

/// A view of what the holder has of all of them, lost or not; 0 when it has none.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn lock_all_held(env: EnvUnowned<'_>, _: JClass<'_>, set: jlong, holder: jlong) -> jlong {
    plain(env, "lockAllHeld", |state| {
        let held = ops::lock_all_held(state, set as u64, embed::holder(holder as u64))?;
        Ok(held.map_or(0, |held| held.handle as jlong))
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn lock_all_acquire(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    port: jlong,
    id: jlong,
    set: jlong,
    holder: jlong,
    wait_ms: jlong,
    lease_ms: jlong,
) -> jlong {
    submit(env, "lockAllAcquire", port, id, async move |state| {
        let (wait, lease) = (given(wait_ms, NOT_GIVEN), given(lease_ms, NOT_GIVEN));
        ops::lock_all_acquire(state, set as u64, holding(holder), wait, lease).await
    })
}

/// As [`lock_all_acquire`], for a thread that may block: it makes its round trips and waits in here, until somebody fires
/// `cancel` (0 for none). `granted` gets the handle of the hold; false when it was not to be had in that time.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn lock_all_acquire_blocking<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    set: jlong,
    holder: jlong,
    wait_ms: jlong,
    lease_ms: jlong,
    cancel: jlong,
    busy_throws: jboolean,
    granted: JLongArray<'local>,
) -> jboolean {
    with_env(env, "lockAllAcquireBlocking", |state, env| {
        let (wait, lease) = (given(wait_ms, NOT_GIVEN), given(lease_ms, NOT_GIVEN));
        let acquire = ops::lock_all_acquire(state, set as u64, holding(holder), wait, lease);
        granted_to(&granted, state, env, acquire, token(cancel), busy_throws)
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn lock_all_release(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    port: jlong,
    id: jlong,
    set: jlong,
    holder: jlong,
) -> jlong {
    submit(env, "lockAllRelease", port, id, async move |state| {
        ops::lock_all_release(state, set as u64, embed::holder(holder as u64), None).await
    })
}

/// As [`lock_all_release`], for a thread that may block: it makes its round trip, and waits in here for what that leaves to do.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn lock_all_release_blocking(env: EnvUnowned<'_>, _: JClass<'_>, set: jlong, holder: jlong) {
    plain(env, "lockAllReleaseBlocking", |state| {
        state.wait(ops::lock_all_release(state, set as u64, embed::holder(holder as u64), None), None)
    });
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn lock_all_extend(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    port: jlong,
    id: jlong,
    set: jlong,
    holder: jlong,
    lease_ms: jlong,
) -> jlong {
    submit(env, "lockAllExtend", port, id, async move |state| {
        ops::lock_all_extend(state, set as u64, embed::holder(holder as u64), lease_ms).await
    })
}
