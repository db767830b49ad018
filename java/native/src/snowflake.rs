//! Ids. Nothing here waits for I/O, so every call answers at once.

use jni::objects::{JByteArray, JClass, JLongArray};
use jni::sys::jlong;
use jni::{Env, EnvUnowned, jni_mangle};
use libdlock::id::{Layout, Parts};
use libdlock::{Error, ErrorKind, Result};
use libdlock_bridge::ops::{self, SnowflakeArgs};

use crate::call::{NOT_GIVEN, array, bytes, longs, plain, with_env};

/// `layout`: epoch and the four numbers of bits, null for the default.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn snowflake_open<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    datacenter: jlong,
    worker: jlong,
    layout: JLongArray<'local>,
    borrow_ahead_ms: jlong,
    start_wait_ms: jlong,
) -> jlong {
    with_env(env, "snowflakeOpen", |state, env| {
        let layout = optional_layout(env, &layout)?;
        let args = SnowflakeArgs {
            datacenter,
            worker,
            layout,
            borrow_ahead_ms,
            start_wait_ms: ops::given(start_wait_ms, NOT_GIVEN),
        };
        ops::snowflake_open(state, args).map(|snowflake| snowflake as jlong)
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn snowflake_next_id(env: EnvUnowned<'_>, _: JClass<'_>, snowflake: jlong) -> jlong {
    plain(env, "snowflakeNextId", |state| ops::snowflake_next_id(state, snowflake as u64))
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn snowflake_next_ids<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    snowflake: jlong,
    count: jlong,
) -> JLongArray<'local> {
    with_env(env, "snowflakeNextIds", |state, env| {
        longs(env, &ops::snowflake_next_ids(state, snowflake as u64, count)?)
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn snowflake_layout<'local>(env: EnvUnowned<'local>, _: JClass<'local>, snowflake: jlong) -> JLongArray<'local> {
    with_env(env, "snowflakeLayout", |state, env| taken(env, ops::snowflake_layout(state, snowflake as u64)?))
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn snowflake_decode<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    snowflake: jlong,
    id: jlong,
) -> JLongArray<'local> {
    with_env(env, "snowflakeDecode", |state, env| parts(env, ops::snowflake_decode(state, snowflake as u64, id)?))
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn layout_named<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    name: JByteArray<'local>,
) -> JLongArray<'local> {
    with_env(env, "layoutNamed", |_, env| {
        let name = bytes(env, &name)?;
        taken(env, ops::layout_named(&name)?)
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn layout_decode<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    layout: JLongArray<'local>,
    id: jlong,
) -> JLongArray<'local> {
    with_env(env, "layoutDecode", |_, env| {
        let layout = given(env, &layout)?;
        parts(env, layout.decode(id)?)
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn id_encode<'local>(env: EnvUnowned<'local>, _: JClass<'local>, id: jlong, base: jlong) -> JByteArray<'local> {
    with_env(env, "idEncode", |_, env| array(env, ops::id_encode(id, base)?.as_bytes()))
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn id_parse<'local>(env: EnvUnowned<'local>, _: JClass<'local>, text: JByteArray<'local>, base: jlong) -> jlong {
    with_env(env, "idParse", |_, env| {
        let text = bytes(env, &text)?;
        ops::id_parse(&text, base)
    })
}

/// Null is the default.
pub(crate) fn optional_layout(env: &Env<'_>, layout: &JLongArray<'_>) -> Result<Option<Layout>> {
    if layout.is_null() { Ok(None) } else { given(env, layout).map(Some) }
}

fn given(env: &Env<'_>, layout: &JLongArray<'_>) -> Result<Layout> {
    let mut numbers = [0; 5];
    layout.get_region(env, 0, &mut numbers).map_err(|error| {
        Error::new(ErrorKind::InvalidArgument, "layout", format!("a layout is five numbers: {error}"))
    })?;
    let [epoch_ms, bits @ ..] = numbers;
    ops::layout(epoch_ms, bits)
}

fn taken<'local>(env: &mut Env<'local>, layout: Layout) -> Result<JLongArray<'local>> {
    let bits = [layout.time_bits, layout.datacenter_bits, layout.worker_bits, layout.sequence_bits].map(i64::from);
    longs(env, &[layout.epoch_ms, bits[0], bits[1], bits[2], bits[3]])
}

fn parts<'local>(env: &mut Env<'local>, parts: Parts) -> Result<JLongArray<'local>> {
    let Parts { time_ms, datacenter, worker, sequence } = parts;
    longs(env, &[time_ms, i64::from(datacenter), i64::from(worker), i64::from(sequence)])
}
