//! Bloom filters: opened by name, added to, looked into.

use jni::objects::{JByteArray, JClass};
use jni::sys::jlong;
use jni::{Env, EnvUnowned, jni_mangle};
use libdlock::Result;
use libdlock_bridge::ops::{self, BloomItems, given};

use crate::call::{NOT_GIVEN, bytes, plain, start, submit, with_env};
use crate::wire;

/// `rate` has the bits of a double.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn bloom_filter_open<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    client: jlong,
    name: JByteArray<'local>,
    expected: jlong,
    rate: jlong,
    ttl_ms: jlong,
) -> jlong {
    with_env(env, "bloomFilterOpen", |state, env| {
        let (name, rate) = (bytes(env, &name)?, f64::from_bits(rate as u64));
        let ttl_ms = given(ttl_ms, NOT_GIVEN);
        ops::bloom_filter_open(state, client as u64, &name, expected, rate, ttl_ms).map(|filter| filter as jlong)
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn bloom_filter_size(env: EnvUnowned<'_>, _: JClass<'_>, filter: jlong) -> jlong {
    plain(env, "bloomFilterSize", |state| ops::bloom_filter_size(state, filter as u64))
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn bloom_filter_hashes(env: EnvUnowned<'_>, _: JClass<'_>, filter: jlong) -> jlong {
    plain(env, "bloomFilterHashes", |state| ops::bloom_filter_hashes(state, filter as u64))
}

/// The items are packed.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn bloom_filter_add<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    port: jlong,
    id: jlong,
    filter: jlong,
    items: JByteArray<'local>,
) -> jlong {
    with_env(env, "bloomFilterAdd", |state, env| {
        let items = hashed(env, &items)?;
        start(state, port, id, ops::bloom_filter_add(state, filter as u64, items))
    })
}

/// The items are packed.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn bloom_filter_contains<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    port: jlong,
    id: jlong,
    filter: jlong,
    items: JByteArray<'local>,
) -> jlong {
    with_env(env, "bloomFilterContains", |state, env| {
        let items = hashed(env, &items)?;
        start(state, port, id, ops::bloom_filter_contains(state, filter as u64, items))
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn bloom_filter_count(env: EnvUnowned<'_>, _: JClass<'_>, port: jlong, id: jlong, filter: jlong) -> jlong {
    submit(env, "bloomFilterCount", port, id, async move |state| ops::bloom_filter_count(state, filter as u64).await)
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn bloom_filter_false_positive_rate(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    port: jlong,
    id: jlong,
    filter: jlong,
) -> jlong {
    submit(env, "bloomFilterFalsePositiveRate", port, id, async move |state| {
        ops::bloom_filter_false_positive_rate(state, filter as u64).await
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn bloom_filter_clear(env: EnvUnowned<'_>, _: JClass<'_>, port: jlong, id: jlong, filter: jlong) -> jlong {
    submit(env, "bloomFilterClear", port, id, async move |state| ops::bloom_filter_clear(state, filter as u64).await)
}

fn hashed(env: &Env<'_>, items: &JByteArray<'_>) -> Result<BloomItems> {
    Ok(wire::packed(&bytes(env, items)?)?.iter().collect())
}
