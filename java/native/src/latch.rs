//! Count-down latches: opened by name, counted down, waited for.

use jni::objects::{JByteArray, JClass};
use jni::sys::{jboolean, jlong};
use jni::{EnvUnowned, jni_mangle};
use libdlock_bridge::ops::{self, given};

use crate::call::{NOT_GIVEN, bytes, plain, submit, token, with_env};

#[jni_mangle("org.libdlock.internal.Native")]
pub fn latch_open<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    client: jlong,
    name: JByteArray<'local>,
) -> jlong {
    with_env(env, "latchOpen", |state, env| {
        let name = bytes(env, &name)?;
        ops::latch_open(state, client as u64, &name).map(|latch| latch as jlong)
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn latch_try_set_count(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    port: jlong,
    id: jlong,
    latch: jlong,
    count: jlong,
) -> jlong {
    submit(env, "latchTrySetCount", port, id, async move |state| {
        ops::latch_try_set_count(state, latch as u64, count).await
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn latch_count_down(env: EnvUnowned<'_>, _: JClass<'_>, port: jlong, id: jlong, latch: jlong, by: jlong) -> jlong {
    submit(env, "latchCountDown", port, id, async move |state| ops::latch_count_down(state, latch as u64, by).await)
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn latch_count(env: EnvUnowned<'_>, _: JClass<'_>, port: jlong, id: jlong, latch: jlong) -> jlong {
    submit(env, "latchCount", port, id, async move |state| ops::latch_count(state, latch as u64).await)
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn latch_wait(env: EnvUnowned<'_>, _: JClass<'_>, port: jlong, id: jlong, latch: jlong, wait_ms: jlong) -> jlong {
    submit(env, "latchWait", port, id, async move |state| {
        ops::latch_wait(state, latch as u64, given(wait_ms, NOT_GIVEN)).await
    })
}

/// As [`latch_wait`], for a thread that may block: it waits in here, until somebody fires `cancel` (0 for none).
#[jni_mangle("org.libdlock.internal.Native")]
pub fn latch_wait_blocking(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    latch: jlong,
    wait_ms: jlong,
    cancel: jlong,
) -> jboolean {
    plain(env, "latchWaitBlocking", |state| {
        let waits = ops::latch_wait(state, latch as u64, given(wait_ms, NOT_GIVEN));
        state.wait(state.with_cancel(token(cancel), waits), None)
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn latch_delete(env: EnvUnowned<'_>, _: JClass<'_>, port: jlong, id: jlong, latch: jlong) -> jlong {
    submit(env, "latchDelete", port, id, async move |state| ops::latch_delete(state, latch as u64).await)
}
