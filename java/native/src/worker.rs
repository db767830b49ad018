//! Worker numbers: leased from a pool, and generators of ids under them.

use jni::objects::{JByteArray, JClass, JLongArray};
use jni::sys::jlong;
use jni::{EnvUnowned, jni_mangle};
use libdlock_bridge::ops::{self, given};

use crate::call::{NOT_GIVEN, bytes, plain, start, with_env};
use crate::snowflake::optional_layout;

#[jni_mangle("org.libdlock.internal.Native")]
pub fn worker_lease<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    port: jlong,
    id: jlong,
    client: jlong,
    pool: JByteArray<'local>,
    bits: jlong,
    lease_ms: jlong,
) -> jlong {
    with_env(env, "workerLease", |state, env| {
        let pool = bytes(env, &pool)?;
        let (bits, lease) = (given(bits, NOT_GIVEN), given(lease_ms, NOT_GIVEN));
        start(state, port, id, ops::worker_lease(state, client as u64, pool, bits, lease))
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn worker_number(env: EnvUnowned<'_>, _: JClass<'_>, held: jlong) -> jlong {
    plain(env, "workerNumber", |state| ops::worker_number(state, held as u64))
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn worker_bits(env: EnvUnowned<'_>, _: JClass<'_>, held: jlong) -> jlong {
    plain(env, "workerBits", |state| ops::worker_bits(state, held as u64))
}

/// `layout` as for [`snowflake_open`](crate::snowflake::snowflake_open).
#[jni_mangle("org.libdlock.internal.Native")]
pub fn worker_snowflake<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    held: jlong,
    layout: JLongArray<'local>,
) -> jlong {
    with_env(env, "workerSnowflake", |state, env| {
        let layout = optional_layout(env, &layout)?;
        ops::worker_snowflake(state, held as u64, layout).map(|snowflake| snowflake as jlong)
    })
}
