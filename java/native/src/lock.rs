//! Locks: opened by name, acquired and released for a holder.

use jni::objects::{JByteArray, JClass};
use jni::sys::{jint, jlong};
use jni::{EnvUnowned, jni_mangle};
use libdlock::HolderId;
use libdlock_bridge::ops::{self, Holding, given};

use crate::call::{NOT_GIVEN, bytes, plain, start, start_here, submit, with_env};

/// `reentrant`: 0 no, 1 yes, anything else the client's option.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn lock_open<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    client: jlong,
    name: JByteArray<'local>,
    lease_ms: jlong,
    reentrant: jint,
) -> jlong {
    with_env(env, "lockOpen", |state, env| {
        let name = bytes(env, &name)?;
        let reentrant = match reentrant {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        };
        ops::lock_open(state, client as u64, &name, given(lease_ms, NOT_GIVEN), reentrant).map(|lock| lock as jlong)
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn lock_free(env: EnvUnowned<'_>, _: JClass<'_>, lock: jlong) {
    plain(env, "lockFree", |state| ops::lock_free(state, lock as u64));
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn lock_hold_count(env: EnvUnowned<'_>, _: JClass<'_>, lock: jlong, holder: jlong) -> jint {
    plain(env, "lockHoldCount", |state| {
        ops::lock_hold_count(state, lock as u64, HolderId(holder as u64)).map(|count| count as jint)
    })
}

/// `token`: that of the hold that the holder has, 0 for none. One more level of it needs no wait and no new view: the answer
/// is then 0.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn lock_acquire(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    port: jlong,
    id: jlong,
    lock: jlong,
    holder: jlong,
    token: jlong,
    wait_ms: jlong,
    lease_ms: jlong,
) -> jlong {
    plain(env, "lockAcquire", |state| {
        let acquire = async move {
            ops::lock_acquire(
                state,
                lock as u64,
                holding(holder),
                given(wait_ms, NOT_GIVEN),
                given(lease_ms, NOT_GIVEN),
            )
            .await
        };
        if token == 0 {
            return start(state, port, id, acquire);
        }
        start_here(state, port, id, acquire, |held| {
            let again = held.token == token as u64;
            if again {
                ops::held_free(state, held.handle)?;
            }
            Ok(again)
        })
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

/// `view`: the handle that an acquire of this hold brought, to be given up with its last level. 0 when this is not known to
/// be the last: that needs no wait, and the answer is then 0.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn lock_release(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    port: jlong,
    id: jlong,
    lock: jlong,
    holder: jlong,
    view: jlong,
) -> jlong {
    plain(env, "lockRelease", |state| {
        let release = async move { ops::lock_release(state, lock as u64, HolderId(holder as u64)).await };
        if view == 0 {
            return start_here(state, port, id, release, |()| Ok(true));
        }
        let op = start(state, port, id, release)?;
        ops::held_free(state, view as u64)?;
        Ok(op)
    })
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
        ops::lock_extend(state, lock as u64, HolderId(holder as u64), lease_ms).await
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn lock_detach(env: EnvUnowned<'_>, _: JClass<'_>, port: jlong, id: jlong, lock: jlong, holder: jlong) -> jlong {
    submit(env, "lockDetach", port, id, async move |state| {
        ops::lock_detach(state, lock as u64, HolderId(holder as u64)).await
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

/// Holder 0 stands for a hold that is its handle's own.
fn holding(holder: jlong) -> Holding {
    if holder == 0 { Holding::ByHandle } else { Holding::ByHolder(HolderId(holder as u64)) }
}
