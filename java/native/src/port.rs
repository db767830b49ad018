//! The completion port: one for the process, drained by a thread of Java's own that sleeps in here.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jni::objects::{JByteArray, JClass};
use jni::sys::{jboolean, jint, jlong};
use jni::{EnvUnowned, jni_mangle};
use libdlock::embed;
use libdlock::lease::HolderId;

use crate::call::{array, plain, with_env};
use crate::wire;

#[jni_mangle("org.libdlock.internal.Native")]
pub fn port_open(env: EnvUnowned<'_>, _: JClass<'_>) -> jlong {
    plain(env, "portOpen", |state| state.port_parked().map(|port| port as jlong))
}

/// What has completed, as `wire` writes it; empty when nothing did within `timeout_ms` (-1: for ever).
#[jni_mangle("org.libdlock.internal.Native")]
pub fn port_drain<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    port: jlong,
    max: jint,
    timeout_ms: jlong,
) -> JByteArray<'local> {
    with_env(env, "portDrain", |state, env| {
        // Completions are somebody's locks: a JVM without memory for an array gets them with its next call. Each class loader
        // has a port.
        static KEPT: Mutex<Vec<(jlong, Vec<u8>)>> = Mutex::new(Vec::new());
        let kept = || KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let again = kept().extract_if(.., |(of, _)| *of == port).next();
        let completions = match again {
            Some((_, completions)) => completions,
            None => {
                let timeout = u64::try_from(timeout_ms).ok().map(Duration::from_millis);
                wire::completions(&state.drain_wait(port as u64, max as usize, timeout)?)
            }
        };
        array(env, &completions).inspect_err(|_| kept().push((port, completions)))
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn cancel(env: EnvUnowned<'_>, _: JClass<'_>, op: jlong) -> jboolean {
    plain(env, "cancel", |state| state.cancel(op as u64))
}

/// A token that ends calls which wait in native code.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn cancel_new(env: EnvUnowned<'_>, _: JClass<'_>) -> jlong {
    plain(env, "cancelNew", |state| state.cancel_new().map(|token| token as jlong))
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn cancel_fire(env: EnvUnowned<'_>, _: JClass<'_>, token: jlong) {
    plain(env, "cancelFire", |state| state.cancel_fire(token as u64));
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn free(env: EnvUnowned<'_>, _: JClass<'_>, object: jlong) {
    plain(env, "free", |state| state.free_any(object as u64));
}

/// A holder that did not exist before, for a thread.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn holder_fresh(env: EnvUnowned<'_>, _: JClass<'_>) -> jlong {
    plain(env, "holderFresh", |_| Ok(embed::holder_number(HolderId::fresh()) as jlong))
}
