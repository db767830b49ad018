//! Generators of ids in blocks: opened by name, asked for the next ids.

use jni::objects::{JByteArray, JClass, JLongArray};
use jni::sys::jlong;
use jni::{EnvUnowned, jni_mangle};
use libdlock_bridge::ops;

use crate::call::{bytes, longs, plain, submit, with_env};

#[jni_mangle("org.libdlock.internal.Native")]
pub fn id_generator_open<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    client: jlong,
    name: JByteArray<'local>,
    block: jlong,
    start: jlong,
) -> jlong {
    with_env(env, "idGeneratorOpen", |state, env| {
        let name = bytes(env, &name)?;
        ops::id_generator_open(state, client as u64, &name, block, start).map(|generator| generator as jlong)
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn id_generator_block_size(env: EnvUnowned<'_>, _: JClass<'_>, generator: jlong) -> jlong {
    plain(env, "idGeneratorBlockSize", |state| ops::id_generator_block_size(state, generator as u64))
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn id_generator_next_id(env: EnvUnowned<'_>, _: JClass<'_>, port: jlong, id: jlong, generator: jlong) -> jlong {
    submit(env, "idGeneratorNextId", port, id, async move |state| {
        ops::id_generator_next_id(state, generator as u64).await
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn id_generator_next_ids(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    port: jlong,
    id: jlong,
    generator: jlong,
    count: jlong,
) -> jlong {
    submit(env, "idGeneratorNextIds", port, id, async move |state| {
        ops::id_generator_next_ids(state, generator as u64, count).await
    })
}

/// As [`id_generator_next_id`], for a thread that may block. As long as the process has an id, nothing waits, and no other thread
/// is asked.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn id_generator_next_id_blocking(env: EnvUnowned<'_>, _: JClass<'_>, generator: jlong) -> jlong {
    plain(env, "idGeneratorNextIdBlocking", |state| {
        state.wait(ops::id_generator_next_id(state, generator as u64), None)
    })
}

/// As [`id_generator_next_ids`], for a thread that may block.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn id_generator_next_ids_blocking<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    generator: jlong,
    count: jlong,
) -> JLongArray<'local> {
    with_env(env, "idGeneratorNextIdsBlocking", |state, env| {
        longs(env, &state.wait(ops::id_generator_next_ids(state, generator as u64, count), None)?.0)
    })
}
