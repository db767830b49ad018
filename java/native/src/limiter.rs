//! Rate limiters.

use jni::objects::{JByteArray, JClass, JLongArray};
use jni::sys::{jboolean, jint, jlong};
use jni::{Env, EnvUnowned, jni_mangle};
use libdlock::{Error, ErrorKind, Result};
use libdlock_bridge::ops::{self, RateArgs, given};

use crate::call::{NOT_GIVEN, bytes, jvm_refused, start, token, with_env};
use crate::wire;

/// Tokens, microseconds, whether it has a burst, and the burst.
const NUMBERS_OF_RATE: usize = 4;

/// `rates` has [`NUMBERS_OF_RATE`] for each, `algorithms` their words as packed texts. `absent` is a policy's word, `share_of`
/// what goes with it. `prefetch` has the bits of a double, 0 for none.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn limiter_open<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    client: jlong,
    name: JByteArray<'local>,
    rates: JLongArray<'local>,
    algorithms: JByteArray<'local>,
    absent: JByteArray<'local>,
    share_of: jlong,
    prefetch: jlong,
) -> jlong {
    with_env(env, "limiterOpen", |state, env| {
        let name = bytes(env, &name)?;
        let absent = String::from_utf8(bytes(env, &absent)?)
            .map_err(|_| Error::new(ErrorKind::InvalidArgument, "rate limiter", "the policy is no UTF-8"))?;
        let absent = ops::absent(&absent, given(share_of, NOT_GIVEN))?;
        let words = wire::packed(&bytes(env, &algorithms)?)?;
        let mut numbers = vec![0; words.len() * NUMBERS_OF_RATE];
        rates.get_region(env, 0, &mut numbers).map_err(jvm_refused)?;
        let read = |(word, numbers): (&Vec<u8>, &[jlong])| -> Result<RateArgs> {
            let algorithm = String::from_utf8_lossy(word).parse()?;
            let burst = (numbers[2] != 0).then_some(numbers[3]);
            Ok(RateArgs { tokens: numbers[0], per_us: numbers[1], burst, algorithm })
        };
        let rates: Vec<RateArgs> =
            words.iter().zip(numbers.chunks(NUMBERS_OF_RATE)).map(read).collect::<Result<_>>()?;
        let prefetch = (prefetch != 0).then(|| f64::from_bits(prefetch as u64));
        ops::limiter_open(state, client as u64, &name, &rates, absent, prefetch).map(|limiter| limiter as jlong)
    })
}

/// `of_key`: null for the limiter itself.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn limiter_acquire<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    port: jlong,
    id: jlong,
    limiter: jlong,
    cost: jlong,
    wait_ms: jlong,
    of_key: JByteArray<'local>,
) -> jlong {
    with_env(env, "limiterAcquire", |state, env| {
        let (of_key, wait_ms) = (key(env, &of_key)?, given(wait_ms, NOT_GIVEN));
        start(state, port, id, ops::limiter_acquire(state, limiter as u64, of_key, cost, wait_ms))
    })
}

/// Without the server, as far as that goes: 0 when it has to be asked, 1 for a refusal, 2 for a grant. `numbers` gets what
/// [`wire::decision`] gives.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn limiter_try_acquire_now<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    limiter: jlong,
    cost: jlong,
    numbers: JLongArray<'local>,
) -> jint {
    with_env(env, "limiterTryAcquireNow", |state, env| {
        let Some(decision) = ops::limiter_try_acquire_now(state, limiter as u64, cost)? else { return Ok(0) };
        numbers.set_region(env, 0, &wire::decision(&decision)).map_err(jvm_refused)?;
        Ok(1 + jint::from(decision.allowed))
    })
}

/// The keys are packed texts; each has a cost.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn limiter_acquire_many<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    port: jlong,
    id: jlong,
    limiter: jlong,
    keys: JByteArray<'local>,
    costs: JLongArray<'local>,
) -> jlong {
    with_env(env, "limiterAcquireMany", |state, env| {
        let keys = wire::packed(&bytes(env, &keys)?)?;
        let mut each = vec![0; keys.len()];
        costs.get_region(env, 0, &mut each).map_err(jvm_refused)?;
        let items = keys.into_iter().zip(each).collect();
        start(state, port, id, ops::limiter_acquire_many(state, limiter as u64, items))
    })
}

/// As [`limiter_acquire`], for a thread that may block: it makes its round trip and waits in here, until somebody fires
/// `cancel` (0 for none). `numbers` gets what [`wire::decision`] gives; the answer is whether the tokens were granted.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn limiter_acquire_blocking<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    limiter: jlong,
    cost: jlong,
    wait_ms: jlong,
    of_key: JByteArray<'local>,
    cancel: jlong,
    numbers: JLongArray<'local>,
) -> jboolean {
    with_env(env, "limiterAcquireBlocking", |state, env| {
        let (of_key, wait_ms) = (key(env, &of_key)?, given(wait_ms, NOT_GIVEN));
        let asking = ops::limiter_acquire(state, limiter as u64, of_key, cost, wait_ms);
        let decision = state.wait(state.with_cancel(token(cancel), asking), None)?;
        numbers.set_region(env, 0, &wire::decision(&decision)).map_err(jvm_refused)?;
        Ok(decision.allowed)
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn limiter_reset<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    port: jlong,
    id: jlong,
    limiter: jlong,
    of_key: JByteArray<'local>,
) -> jlong {
    with_env(env, "limiterReset", |state, env| {
        let of_key = key(env, &of_key)?;
        start(state, port, id, ops::limiter_reset(state, limiter as u64, of_key))
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn limiter_reserve<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    port: jlong,
    id: jlong,
    limiter: jlong,
    cost: jlong,
    wait_ms: jlong,
    of_key: JByteArray<'local>,
) -> jlong {
    with_env(env, "limiterReserve", |state, env| {
        let (of_key, wait_ms) = (key(env, &of_key)?, given(wait_ms, NOT_GIVEN));
        start(state, port, id, ops::limiter_reserve(state, limiter as u64, of_key, cost, wait_ms))
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn limiter_penalty<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    port: jlong,
    id: jlong,
    limiter: jlong,
    tokens: jlong,
    of_key: JByteArray<'local>,
) -> jlong {
    with_env(env, "limiterPenalty", |state, env| {
        let of_key = key(env, &of_key)?;
        start(state, port, id, ops::limiter_penalty(state, limiter as u64, of_key, tokens))
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn limiter_reward<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    port: jlong,
    id: jlong,
    limiter: jlong,
    tokens: jlong,
    of_key: JByteArray<'local>,
) -> jlong {
    with_env(env, "limiterReward", |state, env| {
        let of_key = key(env, &of_key)?;
        start(state, port, id, ops::limiter_reward(state, limiter as u64, of_key, tokens))
    })
}

#[jni_mangle("org.libdlock.internal.Native")]
pub fn limiter_block<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    port: jlong,
    id: jlong,
    limiter: jlong,
    length_ms: jlong,
    of_key: JByteArray<'local>,
) -> jlong {
    with_env(env, "limiterBlock", |state, env| {
        let of_key = key(env, &of_key)?;
        start(state, port, id, ops::limiter_block(state, limiter as u64, of_key, length_ms))
    })
}

fn key(env: &Env<'_>, given: &JByteArray<'_>) -> Result<Option<Vec<u8>>> {
    if given.is_null() { Ok(None) } else { bytes(env, given).map(Some) }
}
