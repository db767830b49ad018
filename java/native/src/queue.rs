//! Delayed queues: opened by name, jobs put, taken and ended, and what is in them.

use jni::objects::{JByteArray, JClass, JLongArray};
use jni::sys::jlong;
use jni::{Env, EnvUnowned, jni_mangle};
use libdlock::{Error, ErrorKind, Result};
use libdlock_bridge::ops::{self, JobArgs, QueueArgs, given};

use crate::call::{NOT_GIVEN, array, bytes, jvm_refused, plain, start, submit, token, with_env};
use crate::wire;

/// How many numbers a job has in what [`queue_put_many`] takes.
const NUMBERS: usize = 4;

#[jni_mangle("org.libdlock.internal.Native")]
pub fn backoff_ms(env: EnvUnowned<'_>, _: JClass<'_>, attempt: jlong, base_ms: jlong, longest_ms: jlong) -> jlong {
    plain(env, "backoffMs", |_| ops::backoff_ms(attempt, base_ms, longest_ms))
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn queue_open<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    client: jlong,
    name: JByteArray<'local>,
    lease_ms: jlong,
    watchdog_lease_ms: jlong,
    max_attempts: jlong,
    max_payload: jlong,
    max_length: jlong,
) -> jlong {
    with_env(env, "queueOpen", |state, env| {
        let how = QueueArgs {
            lease_ms: given(lease_ms, NOT_GIVEN),
            watchdog_lease_ms: given(watchdog_lease_ms, NOT_GIVEN),
            max_attempts: given(max_attempts, NOT_GIVEN),
            max_payload: given(max_payload, NOT_GIVEN),
            max_length: given(max_length, NOT_GIVEN),
        };
        ops::queue_open(state, client as u64, &bytes(env, &name)?, how).map(|queue| queue as jlong)
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn queue_followed_by(env: EnvUnowned<'_>, _: JClass<'_>, queue: jlong, other: jlong) -> jlong {
    plain(env, "queueFollowedBy", |state| {
        ops::queue_followed_by(state, queue as u64, other as u64).map(|both| both as jlong)
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn delivery_queue<'local>(env: EnvUnowned<'local>, _: JClass<'local>, held: jlong) -> JByteArray<'local> {
    with_env(env, "deliveryQueue", |state, env| array(env, ops::delivery_queue(state, held as u64)?.as_bytes()))
}

/// `id` is null for a new one.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn queue_put<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    port: jlong,
    id: jlong,
    queue: jlong,
    payload: JByteArray<'local>,
    job_id: JByteArray<'local>,
    delay_ms: jlong,
    at_ms: jlong,
    priority: jlong,
) -> jlong {
    with_env(env, "queuePut", |state, env| {
        let job = job(env, &payload, &job_id, [delay_ms, at_ms, priority])?;
        start(state, port, id, ops::queue_put(state, queue as u64, job))
    })
}

/// As [`queue_put`], for a thread that may block: it makes its round trip, and waits in here for what that leaves to do.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn queue_put_blocking<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    queue: jlong,
    payload: JByteArray<'local>,
    job_id: JByteArray<'local>,
    delay_ms: jlong,
    at_ms: jlong,
    priority: jlong,
) -> JByteArray<'local> {
    with_env(env, "queuePutBlocking", |state, env| {
        let job = job(env, &payload, &job_id, [delay_ms, at_ms, priority])?;
        let put = state.wait(ops::queue_put(state, queue as u64, job), None)?;
        array(env, &wire::answer(put))
    })
}

fn job(
    env: &Env<'_>,
    payload: &JByteArray<'_>,
    job_id: &JByteArray<'_>,
    [delay_ms, at_ms, priority]: [jlong; 3],
) -> Result<JobArgs> {
    Ok(JobArgs {
        payload: bytes(env, payload)?,
        id: if job_id.is_null() { None } else { Some(bytes(env, job_id)?) },
        delay_ms: given(delay_ms, NOT_GIVEN),
        at_ms: given(at_ms, NOT_GIVEN),
        priority,
    })
}

/// Payloads and ids are packed; the numbers of each job are 1 when it has an id, its delay, its due time and its priority.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn queue_put_many<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    port: jlong,
    id: jlong,
    queue: jlong,
    payloads: JByteArray<'local>,
    ids: JByteArray<'local>,
    numbers: JLongArray<'local>,
) -> jlong {
    with_env(env, "queuePutMany", |state, env| {
        let jobs = jobs(env, &payloads, &ids, &numbers)?;
        start(state, port, id, ops::queue_put_many(state, queue as u64, jobs))
    })
}

fn jobs(
    env: &Env<'_>,
    payloads: &JByteArray<'_>,
    ids: &JByteArray<'_>,
    numbers: &JLongArray<'_>,
) -> Result<Vec<JobArgs>> {
    let mut of_all = vec![0; numbers.len(env).map_err(jvm_refused)?];
    numbers.get_region(env, 0, &mut of_all).map_err(jvm_refused)?;
    let (numbers, _) = of_all.as_chunks::<NUMBERS>();
    let (payloads, ids) = (wire::packed(&bytes(env, payloads)?)?, wire::packed(&bytes(env, ids)?)?);
    if payloads.len() != numbers.len() || ids.len() != numbers.len() {
        return Err(Error::new(ErrorKind::Internal, "cross", "packed jobs are cut short"));
    }
    let jobs = payloads.into_iter().zip(ids).zip(numbers);
    Ok(jobs
        .map(|((payload, id), &[has_id, delay_ms, at_ms, priority])| JobArgs {
            payload,
            id: (has_id != 0).then_some(id),
            delay_ms: given(delay_ms, NOT_GIVEN),
            at_ms: given(at_ms, NOT_GIVEN),
            priority,
        })
        .collect())
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn queue_take(env: EnvUnowned<'_>, _: JClass<'_>, port: jlong, id: jlong, queue: jlong, wait_ms: jlong) -> jlong {
    submit(env, "queueTake", port, id, |state| ops::queue_take(state, queue as u64, given(wait_ms, NOT_GIVEN)))
}

/// As [`queue_take`], for a thread that may block: it waits in here, until somebody fires `cancel` (0 for none).
#[jni_mangle("org.libdlock.internal.Native")]
pub fn queue_take_blocking<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    queue: jlong,
    wait_ms: jlong,
    cancel: jlong,
) -> JByteArray<'local> {
    with_env(env, "queueTakeBlocking", |state, env| {
        let taking = ops::queue_take(state, queue as u64, given(wait_ms, NOT_GIVEN));
        let taken = state.wait(state.with_cancel(token(cancel), taking), None)?;
        let held = taken.as_ref().map(|delivered| delivered.held.handle);
        array(env, &wire::answer(taken)).inspect_err(|_| held.into_iter().for_each(|held| state.undo(held)))
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn queue_take_many(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    port: jlong,
    id: jlong,
    queue: jlong,
    most: jlong,
    wait_ms: jlong,
) -> jlong {
    submit(env, "queueTakeMany", port, id, |state| {
        ops::queue_take_many(state, queue as u64, most, given(wait_ms, NOT_GIVEN))
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn queue_counts(env: EnvUnowned<'_>, _: JClass<'_>, port: jlong, id: jlong, queue: jlong) -> jlong {
    submit(env, "queueCounts", port, id, |state| ops::queue_counts(state, queue as u64))
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn queue_peek(env: EnvUnowned<'_>, _: JClass<'_>, port: jlong, id: jlong, queue: jlong, most: jlong) -> jlong {
    submit(env, "queuePeek", port, id, |state| ops::queue_peek(state, queue as u64, most))
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn queue_dead(env: EnvUnowned<'_>, _: JClass<'_>, port: jlong, id: jlong, queue: jlong, most: jlong) -> jlong {
    submit(env, "queueDead", port, id, |state| ops::queue_dead(state, queue as u64, most))
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn queue_cancel<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    port: jlong,
    id: jlong,
    queue: jlong,
    job_id: JByteArray<'local>,
) -> jlong {
    with_env(env, "queueCancel", |state, env| {
        start(state, port, id, ops::queue_cancel(state, queue as u64, bytes(env, &job_id)?))
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn queue_purge(env: EnvUnowned<'_>, _: JClass<'_>, port: jlong, id: jlong, queue: jlong) -> jlong {
    submit(env, "queuePurge", port, id, |state| ops::queue_purge(state, queue as u64))
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn queue_remove_dead<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    port: jlong,
    id: jlong,
    queue: jlong,
    job_id: JByteArray<'local>,
) -> jlong {
    with_env(env, "queueRemoveDead", |state, env| {
        start(state, port, id, ops::queue_remove_dead(state, queue as u64, bytes(env, &job_id)?))
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn queue_purge_dead(env: EnvUnowned<'_>, _: JClass<'_>, port: jlong, id: jlong, queue: jlong) -> jlong {
    submit(env, "queuePurgeDead", port, id, |state| ops::queue_purge_dead(state, queue as u64))
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn queue_requeue_dead<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    port: jlong,
    id: jlong,
    queue: jlong,
    job_id: JByteArray<'local>,
) -> jlong {
    with_env(env, "queueRequeueDead", |state, env| {
        start(state, port, id, ops::queue_requeue_dead(state, queue as u64, bytes(env, &job_id)?))
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn queue_requeue_all_dead(env: EnvUnowned<'_>, _: JClass<'_>, port: jlong, id: jlong, queue: jlong) -> jlong {
    submit(env, "queueRequeueAllDead", port, id, |state| ops::queue_requeue_all_dead(state, queue as u64))
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn queue_ack_many<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    port: jlong,
    id: jlong,
    queue: jlong,
    helds: JLongArray<'local>,
) -> jlong {
    with_env(env, "queueAckMany", |state, env| {
        let mut of_all = vec![0; helds.len(env).map_err(jvm_refused)?];
        helds.get_region(env, 0, &mut of_all).map_err(jvm_refused)?;
        let helds = of_all.into_iter().map(i64::cast_unsigned).collect();
        start(state, port, id, ops::queue_ack_many(state, queue as u64, helds))
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn delivery_ack(env: EnvUnowned<'_>, _: JClass<'_>, port: jlong, id: jlong, held: jlong) -> jlong {
    submit(env, "deliveryAck", port, id, |state| ops::delivery_ack(state, held as u64))
}

/// As [`delivery_ack`], for a thread that may block: it makes its round trip, and waits in here for what that leaves to do.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn delivery_ack_blocking(env: EnvUnowned<'_>, _: JClass<'_>, held: jlong) {
    plain(env, "deliveryAckBlocking", |state| state.wait(ops::delivery_ack(state, held as u64), None));
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn delivery_nack<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    port: jlong,
    id: jlong,
    held: jlong,
    delay_ms: jlong,
    reason: JByteArray<'local>,
) -> jlong {
    with_env(env, "deliveryNack", |state, env| {
        let reason = bytes(env, &reason)?;
        start(state, port, id, ops::delivery_nack(state, held as u64, given(delay_ms, NOT_GIVEN), reason))
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn delivery_give_back(env: EnvUnowned<'_>, _: JClass<'_>, port: jlong, id: jlong, held: jlong) -> jlong {
    submit(env, "deliveryGiveBack", port, id, |state| ops::delivery_give_back(state, held as u64))
}
