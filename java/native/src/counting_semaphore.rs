//! Counting semaphores: opened by name, permits acquired and released by anybody.

use jni::objects::{JByteArray, JClass};
use jni::sys::{jboolean, jlong};
use jni::{EnvUnowned, jni_mangle};
use libdlock::ErrorKind;
use libdlock_bridge::ops::{self, given};

use crate::call::{NOT_GIVEN, bytes, plain, submit, token, with_env};

#[jni_mangle("org.libdlock.internal.Native")]
pub fn counting_semaphore_open<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    client: jlong,
    name: JByteArray<'local>,
) -> jlong {
    with_env(env, "countingSemaphoreOpen", |state, env| {
        let name = bytes(env, &name)?;
        ops::counting_semaphore_open(state, client as u64, &name).map(|semaphore| semaphore as jlong)
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn counting_semaphore_try_set_permits(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    port: jlong,
    id: jlong,
    semaphore: jlong,
    permits: jlong,
) -> jlong {
    submit(env, "countingSemaphoreTrySetPermits", port, id, async move |state| {
        ops::counting_semaphore_try_set_permits(state, semaphore as u64, permits).await
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn counting_semaphore_acquire(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    port: jlong,
    id: jlong,
    semaphore: jlong,
    permits: jlong,
    wait_ms: jlong,
) -> jlong {
    submit(env, "countingSemaphoreAcquire", port, id, async move |state| {
        ops::counting_semaphore_acquire(state, semaphore as u64, permits, given(wait_ms, NOT_GIVEN)).await
    })
}

/// As [`counting_semaphore_acquire`], for a thread that may block: it makes its round trip and waits in here, until somebody
/// fires `cancel` (0 for none). False when so many were not to be had in that time.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn counting_semaphore_acquire_blocking(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    semaphore: jlong,
    permits: jlong,
    wait_ms: jlong,
    cancel: jlong,
) -> jboolean {
    plain(env, "countingSemaphoreAcquireBlocking", |state| {
        let acquire = ops::counting_semaphore_acquire(state, semaphore as u64, permits, given(wait_ms, NOT_GIVEN));
        match state.wait(state.with_cancel(token(cancel), acquire), None) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::Busy => Ok(false),
            Err(error) => Err(error),
        }
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn counting_semaphore_release(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    port: jlong,
    id: jlong,
    semaphore: jlong,
    permits: jlong,
) -> jlong {
    submit(env, "countingSemaphoreRelease", port, id, async move |state| {
        ops::counting_semaphore_release(state, semaphore as u64, permits).await
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn counting_semaphore_add_permits(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    port: jlong,
    id: jlong,
    semaphore: jlong,
    permits: jlong,
) -> jlong {
    submit(env, "countingSemaphoreAddPermits", port, id, async move |state| {
        ops::counting_semaphore_add_permits(state, semaphore as u64, permits).await
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn counting_semaphore_drain(env: EnvUnowned<'_>, _: JClass<'_>, port: jlong, id: jlong, semaphore: jlong) -> jlong {
    submit(env, "countingSemaphoreDrain", port, id, async move |state| {
        ops::counting_semaphore_drain(state, semaphore as u64).await
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn counting_semaphore_inspect(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    port: jlong,
    id: jlong,
    semaphore: jlong,
) -> jlong {
    submit(env, "countingSemaphoreInspect", port, id, async move |state| {
        ops::counting_semaphore_inspect(state, semaphore as u64).await
    })
}
