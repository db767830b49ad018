//! Clients.

use jni::objects::{JByteArray, JClass, JLongArray};
use jni::sys::{jboolean, jlong};
use jni::{EnvUnowned, jni_mangle};
use libdlock::embed;
use libdlock_bridge::ops::{self, LogTo};

use crate::call::{bytes, longs, plain, start, submit, with_env};
use crate::wire;

/// `texts`: the URL, then each option's name and value. Events come under `id` too.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn client_open<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    port: jlong,
    id: jlong,
    texts: JByteArray<'local>,
) -> jlong {
    with_env(env, "clientOpen", |state, env| {
        let mut texts = wire::texts(&bytes(env, &texts)?)?.into_iter();
        let url = texts.next().unwrap_or_default();
        let mut options = Vec::new();
        while let (Some(name), Some(value)) = (texts.next(), texts.next()) {
            options.push((name, value));
        }
        let log = LogTo { port: port as u64, user_data: id as u64 };
        start(state, port, id, async move { ops::client_open(state, url, options, Some(log)).await })
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn client_close(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    port: jlong,
    id: jlong,
    client: jlong,
    release: jboolean,
) -> jlong {
    submit(env, "clientClose", port, id, async move |state| ops::client_close(state, client as u64, release).await)
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn client_abandon(env: EnvUnowned<'_>, _: JClass<'_>, client: jlong, holder: jlong) {
    plain(env, "clientAbandon", |state| ops::client_abandon(state, client as u64, embed::holder(holder as u64)));
}

/// The counters in the order of `org.libdlock.Stats`; then of each histogram count, sum, mean, p50, p99, max (in us) and
/// buckets.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn client_stats<'local>(env: EnvUnowned<'local>, _: JClass<'local>, client: jlong) -> JLongArray<'local> {
    with_env(env, "clientStats", |state, env| {
        let stats = ops::client_stats(state, client as u64)?;
        let mut numbers = ops::counters(&stats).to_vec();
        for times in ops::histograms(&stats) {
            numbers.extend([times.count, times.sum_us, times.mean_us, times.p50_us, times.p99_us, times.max_us]);
            numbers.extend(times.buckets);
        }
        let numbers: Vec<i64> = numbers.into_iter().map(u64::cast_signed).collect();
        longs(env, &numbers)
    })
}
