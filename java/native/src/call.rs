//! How every call crosses: into the bridge's panic guard, back with a value or with a pending exception.

use std::future::Future;

use jni::errors::{Error as JniError, ThrowRuntimeExAndDefault};
use jni::objects::{JByteArray, JLongArray, JThrowable};
use jni::{Env, EnvUnowned, JValue, jni_sig, jni_str};
use libdlock::{Error, ErrorKind, Result};
use libdlock_bridge::{Outcome, State, enter, guard};

use crate::natives::class;
use crate::wire;

/// For calls whose arguments and answer are numbers: the environment is not touched unless the call fails.
pub(crate) fn plain<T: Default>(
    env: EnvUnowned<'_>,
    export: &'static str,
    call: impl FnOnce(&'static State) -> Result<T>,
) -> T {
    guard(export, || call(enter()?)).unwrap_or_else(|error| throw(env, &error))
}

/// For calls that read or make an array.
pub(crate) fn with_env<'local, T: Default>(
    mut env: EnvUnowned<'local>,
    export: &'static str,
    call: impl FnOnce(&'static State, &mut Env<'local>) -> Result<T>,
) -> T {
    let guarded = guard(export, || {
        let state = enter()?;
        match env.with_env_no_catch(|env| Ok::<_, JniError>(call(state, env))).into_outcome() {
            jni::Outcome::Ok(called) => called,
            jni::Outcome::Err(error) => Err(jvm_refused(error)),
            jni::Outcome::Panic(panic) => std::panic::resume_unwind(panic),
        }
    });
    guarded.unwrap_or_else(|error| throw(env, &error))
}

/// For calls that may wait: starts the operation, which is completed in `port` under `id`. The answer is its handle.
pub(crate) fn submit<F, T>(
    env: EnvUnowned<'_>,
    export: &'static str,
    port: i64,
    id: i64,
    call: impl FnOnce(&'static State) -> F,
) -> i64
where
    F: Future<Output = Result<T>> + Send + 'static,
    T: Into<Outcome>,
{
    plain(env, export, |state| start(state, port, id, call(state)))
}

/// As [`submit`], for calls that already stand in the guard.
pub(crate) fn start<F, T>(state: &'static State, port: i64, id: i64, operation: F) -> Result<i64>
where
    F: Future<Output = Result<T>> + Send + 'static,
    T: Into<Outcome>,
{
    state.submit(port as u64, id as u64, operation).map(|op| op as i64)
}

/// Stands for a wait or a lease that is not given.
pub(crate) const NOT_GIVEN: i64 = i64::MIN;

/// A cancel token, of which 0 is none.
pub(crate) fn token(cancel: i64) -> Option<u64> {
    (cancel != 0).then_some(cancel as u64)
}

/// The bytes of a Java array.
pub(crate) fn bytes(env: &Env<'_>, array: &JByteArray<'_>) -> Result<Vec<u8>> {
    env.convert_byte_array(array).map_err(jvm_refused)
}

/// A Java array of these bytes.
pub(crate) fn array<'local>(env: &mut Env<'local>, bytes: &[u8]) -> Result<JByteArray<'local>> {
    env.byte_array_from_slice(bytes).map_err(jvm_refused)
}

/// As [`array`].
pub(crate) fn longs<'local>(env: &mut Env<'local>, numbers: &[i64]) -> Result<JLongArray<'local>> {
    let array = JLongArray::new(env, numbers.len()).map_err(jvm_refused)?;
    array.set_region(env, 0, numbers).map_err(jvm_refused)?;
    Ok(array)
}

/// Where the JVM threw (it is out of memory), its exception is still pending, and [`throw`] lets it be.
pub(crate) fn jvm_refused(error: JniError) -> Error {
    Error::new(ErrorKind::Internal, "cross", format!("the JVM refused: {error}"))
}

/// Leaves the exception for `error` pending; the value is never looked at.
fn throw<T: Default>(mut env: EnvUnowned<'_>, error: &Error) -> T {
    env.with_env(|env| {
        if env.exception_check() {
            return Ok(());
        }
        let failure = env.byte_array_from_slice(&wire::failure(error))?;
        let exception = env
            .call_static_method(
                class("Errors"),
                jni_str!("fromNative"),
                jni_sig!("([B)Ljava/lang/RuntimeException;"),
                &[JValue::Object(failure.as_ref())],
            )?
            .l()?;
        let exception = env.cast_local::<JThrowable>(exception)?;
        env.throw(exception)
    })
    .resolve::<ThrowRuntimeExAndDefault>();
    T::default()
}
