//! Binds the functions to the class `internal.Native`, in whatever package it lies: a build that shades libdlock moves it.
//!
//! The name of that class is seen from the one that loads this library, `internal.Library`, on the stack of the loading thread.

use std::ffi::c_void;
use std::sync::OnceLock;

use jni::errors::Result;
use jni::objects::JThrowable;
use jni::strings::JNIString;
use jni::sys::{JNI_ERR, JNI_VERSION_1_8, jint};
use jni::{Env, JavaVM, NativeMethod, jni_sig, jni_str};
use libdlock_bridge::guard;

use crate::call::jvm_refused;

/// The class that loads this library, below libdlock's package.
const LOADER: &str = ".internal.Library";

/// Where libdlock's classes lie, with slashes.
static PACKAGE: OnceLock<String> = OnceLock::new();

/// A class of libdlock's, as the JVM looks it up.
pub(crate) fn class(name: &str) -> JNIString {
    let package = PACKAGE.get().map_or("org/libdlock", String::as_str);
    JNIString::new(format!("{package}/{name}"))
}

/// Called by the JVM when it loads this library.
#[unsafe(no_mangle)]
pub extern "system" fn JNI_OnLoad(vm: *mut jni::sys::JavaVM, _: *mut c_void) -> jint {
    let bound = guard("JNI_OnLoad", || {
        // SAFETY: it is the JVM that calls, with itself.
        let vm = unsafe { JavaVM::from_raw(vm) };
        vm.attach_current_thread(bind).map_err(jvm_refused)
    });
    if bound.is_ok() { JNI_VERSION_1_8 } else { JNI_ERR }
}

fn bind(env: &mut Env<'_>) -> Result<()> {
    if let Some(package) = loading_package(env)? {
        // A library is loaded once: nobody else sets it.
        let _ = PACKAGE.set(package);
    }
    let natives = env.find_class(class("internal/Native"))?;
    // SAFETY: each function below has the signature beside it, and takes a class as its second parameter: Native's methods are
    // static.
    unsafe { env.register_native_methods(natives, &methods()) }
}

/// The package of the class that is loading this library; `None` where the JVM does not show stacks.
fn loading_package(env: &mut Env<'_>) -> Result<Option<String>> {
    let here = env.new_object(jni_str!("java/lang/Throwable"), jni_sig!("()V"), &[])?;
    let stack = env.cast_local::<JThrowable>(here)?.get_stack_trace(env)?;
    for at in 0..stack.len(env)? {
        let frame = stack.get_element(env, at)?;
        let class = frame.get_class_name(env)?.mutf8_chars(env)?.to_string();
        if let Some(package) = class.strip_suffix(LOADER) {
            return Ok(Some(package.replace('.', "/")));
        }
    }
    Ok(None)
}

macro_rules! methods {
    ($($name:literal $signature:literal $module:ident::$function:ident,)*) => {
        // SAFETY: as in `bind`; a test of Java's compares names and signatures with those of the class.
        [$(unsafe {
            NativeMethod::from_raw_parts(
                jni_str!($name),
                jni_str!($signature),
                crate::$module::$function as *mut c_void,
            )
        }),*]
    };
}

#[rustfmt::skip]
fn methods() -> Box<[NativeMethod<'static>]> {
    Box::new(methods! {
        // <api:natives> written by `python3 api/write.py` from api/natives.json
        "libraryKeep" "([B)J" library::library_keep,
        "portOpen" "()J" port::port_open,
        "portDrain" "(JIJ)[B" port::port_drain,
        "cancel" "(J)Z" port::cancel,
        "cancelNew" "()J" port::cancel_new,
        "cancelFire" "(J)V" port::cancel_fire,
        "free" "(J)V" port::free,
        "holderFresh" "()J" port::holder_fresh,
        "clientOpen" "(JJ[B)J" client::client_open,
        "clientClose" "(JJJZ)J" client::client_close,
        "clientAbandon" "(JJ)V" client::client_abandon,
        "clientStats" "(J)[J" client::client_stats,
        "lockOpen" "(J[BJJI)J" lock::lock_open,
        "lockHoldCount" "(JJ)I" lock::lock_hold_count,
        "lockHeld" "(JJ)J" lock::lock_held,
        "lockAcquire" "(JJJJJJ)J" lock::lock_acquire,
        "lockAcquireBlocking" "(JJJJJZ[J)Z" lock::lock_acquire_blocking,
        "lockReenter" "(JJJJ)Z" lock::lock_reenter,
        "lockReleaseReentry" "(JJ)Z" lock::lock_release_reentry,
        "lockAttach" "(JJJJ[B)J" lock::lock_attach,
        "lockRelease" "(JJJJ)J" lock::lock_release,
        "lockReleaseBlocking" "(JJ)V" lock::lock_release_blocking,
        "lockExtend" "(JJJJJ)J" lock::lock_extend,
        "lockDetach" "(JJJJ)J" lock::lock_detach,
        "lockForceRelease" "(JJJ)J" lock::lock_force_release,
        "lockInspect" "(JJJ)J" lock::lock_inspect,
        "semaphoreOpen" "(J[BJJJ)J" semaphore::semaphore_open,
        "semaphoreHoldCount" "(JJ)I" semaphore::semaphore_hold_count,
        "semaphoreHeld" "(JJ)J" semaphore::semaphore_held,
        "semaphoreHoldsOf" "(JJJ)I" semaphore::semaphore_holds_of,
        "semaphoreAcquire" "(JJJJJJJ)J" semaphore::semaphore_acquire,
        "semaphoreAcquireBlocking" "(JJJJJJZ[J)Z" semaphore::semaphore_acquire_blocking,
        "semaphoreRelease" "(JJJJ)J" semaphore::semaphore_release,
        "semaphoreReleaseBlocking" "(JJ)V" semaphore::semaphore_release_blocking,
        "semaphoreExtend" "(JJJJJ)J" semaphore::semaphore_extend,
        "semaphoreSetPermits" "(JJJJ)J" semaphore::semaphore_set_permits,
        "semaphoreInspect" "(JJJ)J" semaphore::semaphore_inspect,
        "rwLockOpen" "(J[BZJJIJ)J" rw_lock::rw_lock_open,
        "rwLockHoldCount" "(JJ)I" rw_lock::rw_lock_hold_count,
        "rwLockAcquire" "(JJJJJJ)J" rw_lock::rw_lock_acquire,
        "rwLockAcquireBlocking" "(JJJJJZ[J)Z" rw_lock::rw_lock_acquire_blocking,
        "rwLockRelease" "(JJJJ)J" rw_lock::rw_lock_release,
        "rwLockReleaseBlocking" "(JJ)V" rw_lock::rw_lock_release_blocking,
        "rwLockExtend" "(JJJJJ)J" rw_lock::rw_lock_extend,
        "rwLockForceRelease" "(JJJ)J" rw_lock::rw_lock_force_release,
        "rwLockInspect" "(JJJ)J" rw_lock::rw_lock_inspect,
        "latchOpen" "(J[B)J" latch::latch_open,
        "latchTrySetCount" "(JJJJ)J" latch::latch_try_set_count,
        "latchCountDown" "(JJJJ)J" latch::latch_count_down,
        "latchCount" "(JJJ)J" latch::latch_count,
        "latchWait" "(JJJJ)J" latch::latch_wait,
        "latchWaitBlocking" "(JJJ)Z" latch::latch_wait_blocking,
        "latchDelete" "(JJJ)J" latch::latch_delete,
        "bloomFilterOpen" "(J[BJJJ)J" bloom_filter::bloom_filter_open,
        "bloomFilterSize" "(J)J" bloom_filter::bloom_filter_size,
        "bloomFilterHashes" "(J)J" bloom_filter::bloom_filter_hashes,
        "bloomFilterAdd" "(JJJ[B)J" bloom_filter::bloom_filter_add,
        "bloomFilterContains" "(JJJ[B)J" bloom_filter::bloom_filter_contains,
        "bloomFilterCount" "(JJJ)J" bloom_filter::bloom_filter_count,
        "bloomFilterFalsePositiveRate" "(JJJ)J" bloom_filter::bloom_filter_false_positive_rate,
        "bloomFilterClear" "(JJJ)J" bloom_filter::bloom_filter_clear,
        "idGeneratorOpen" "(J[BJJ)J" id_generator::id_generator_open,
        "idGeneratorBlockSize" "(J)J" id_generator::id_generator_block_size,
        "idGeneratorNextId" "(JJJ)J" id_generator::id_generator_next_id,
        "idGeneratorNextIdBlocking" "(J)J" id_generator::id_generator_next_id_blocking,
        "idGeneratorNextIdsBlocking" "(JJ)[J" id_generator::id_generator_next_ids_blocking,
        "idGeneratorNextIds" "(JJJJ)J" id_generator::id_generator_next_ids,
        "countingSemaphoreOpen" "(J[B)J" counting_semaphore::counting_semaphore_open,
        "countingSemaphoreTrySetPermits" "(JJJJ)J" counting_semaphore::counting_semaphore_try_set_permits,
        "countingSemaphoreAcquire" "(JJJJJ)J" counting_semaphore::counting_semaphore_acquire,
        "countingSemaphoreAcquireBlocking" "(JJJJ)Z" counting_semaphore::counting_semaphore_acquire_blocking,
        "countingSemaphoreRelease" "(JJJJ)J" counting_semaphore::counting_semaphore_release,
        "countingSemaphoreAddPermits" "(JJJJ)J" counting_semaphore::counting_semaphore_add_permits,
        "countingSemaphoreDrain" "(JJJ)J" counting_semaphore::counting_semaphore_drain,
        "countingSemaphoreInspect" "(JJJ)J" counting_semaphore::counting_semaphore_inspect,
        "lockAllOpen" "(J[BJJI)J" lock_all::lock_all_open,
        "lockAllNames" "(J)[B" lock_all::lock_all_names,
        "lockAllHoldCount" "(JJ)I" lock_all::lock_all_hold_count,
        "lockAllHeld" "(JJ)J" lock_all::lock_all_held,
        "lockAllAcquire" "(JJJJJJ)J" lock_all::lock_all_acquire,
        "lockAllAcquireBlocking" "(JJJJJZ[J)Z" lock_all::lock_all_acquire_blocking,
        "lockAllRelease" "(JJJJ)J" lock_all::lock_all_release,
        "lockAllReleaseBlocking" "(JJ)V" lock_all::lock_all_release_blocking,
        "lockAllExtend" "(JJJJJ)J" lock_all::lock_all_extend,
        "heldValid" "(J)Z" held::held_valid,
        "heldToken" "(J)J" held::held_token,
        "heldOwner" "(J)[B" held::held_owner,
        "heldPermits" "(J)[B" held::held_permits,
        "heldRemaining" "(J)J" held::held_remaining,
        "heldLoss" "(J)[B" held::held_loss,
        "heldTokens" "(J)[B" held::held_tokens,
        "heldTokenOf" "(J[B)J" held::held_token_of,
        "heldLostMember" "(J)[B" held::held_lost_member,
        "heldHoldCount" "(J)I" held::held_hold_count,
        "heldReenter" "(J)V" held::held_reenter,
        "heldWaitLost" "(JJJ)J" held::held_wait_lost,
        "heldRelease" "(JJJ)J" held::held_release,
        "heldReleaseBlocking" "(J)V" held::held_release_blocking,
        "heldExtend" "(JJJJ)J" held::held_extend,
        "heldDetach" "(JJJ)J" held::held_detach,
        "heldDowngrade" "(JJJ)J" held::held_downgrade,
        "limiterOpen" "(J[B[J[B[BJJ)J" limiter::limiter_open,
        "limiterAcquire" "(JJJJJ[B)J" limiter::limiter_acquire,
        "limiterAcquireMany" "(JJJ[B[J)J" limiter::limiter_acquire_many,
        "limiterAcquireBlocking" "(JJJ[BJ[J)Z" limiter::limiter_acquire_blocking,
        "limiterTryAcquireNow" "(JJ[J)I" limiter::limiter_try_acquire_now,
        "limiterReset" "(JJJ[B)J" limiter::limiter_reset,
        "limiterReserve" "(JJJJJ[B)J" limiter::limiter_reserve,
        "limiterPenalty" "(JJJJ[B)J" limiter::limiter_penalty,
        "limiterReward" "(JJJJ[B)J" limiter::limiter_reward,
        "limiterBlock" "(JJJJ[B)J" limiter::limiter_block,
        "workerLease" "(JJJ[BJJ)J" worker::worker_lease,
        "workerNumber" "(J)J" worker::worker_number,
        "workerBits" "(J)J" worker::worker_bits,
        "workerSnowflake" "(J[J)J" worker::worker_snowflake,
        "backoffMs" "(JJJ)J" queue::backoff_ms,
        "queueOpen" "(J[BJJJJJ)J" queue::queue_open,
        "queueFollowedBy" "(JJ)J" queue::queue_followed_by,
        "deliveryQueue" "(J)[B" queue::delivery_queue,
        "queuePut" "(JJJ[B[BJJJ)J" queue::queue_put,
        "queuePutBlocking" "(J[B[BJJJ)[B" queue::queue_put_blocking,
        "queueTakeBlocking" "(JJJ)[B" queue::queue_take_blocking,
        "deliveryAckBlocking" "(J)V" queue::delivery_ack_blocking,
        "queuePutMany" "(JJJ[B[B[J)J" queue::queue_put_many,
        "queueTake" "(JJJJ)J" queue::queue_take,
        "queueTakeMany" "(JJJJJ)J" queue::queue_take_many,
        "queueCounts" "(JJJ)J" queue::queue_counts,
        "queuePeek" "(JJJJ)J" queue::queue_peek,
        "queueDead" "(JJJJ)J" queue::queue_dead,
        "queueCancel" "(JJJ[B)J" queue::queue_cancel,
        "queuePurge" "(JJJ)J" queue::queue_purge,
        "queueRemoveDead" "(JJJ[B)J" queue::queue_remove_dead,
        "queuePurgeDead" "(JJJ)J" queue::queue_purge_dead,
        "queueRequeueDead" "(JJJ[B)J" queue::queue_requeue_dead,
        "queueRequeueAllDead" "(JJJ)J" queue::queue_requeue_all_dead,
        "queueAckMany" "(JJJ[J)J" queue::queue_ack_many,
        "deliveryAck" "(JJJ)J" queue::delivery_ack,
        "deliveryNack" "(JJJJ[B)J" queue::delivery_nack,
        "deliveryGiveBack" "(JJJ)J" queue::delivery_give_back,
        "snowflakeOpen" "(JJ[JJJ)J" snowflake::snowflake_open,
        "snowflakeNextId" "(J)J" snowflake::snowflake_next_id,
        "snowflakeNextIds" "(JJ)[J" snowflake::snowflake_next_ids,
        "snowflakeLayout" "(J)[J" snowflake::snowflake_layout,
        "snowflakeDecode" "(JJ)[J" snowflake::snowflake_decode,
        "layoutNamed" "([B)[J" snowflake::layout_named,
        "layoutDecode" "([JJ)[J" snowflake::layout_decode,
        "idEncode" "(JJ)[B" snowflake::id_encode,
        "idParse" "([BJ)J" snowflake::id_parse,
        // </api:natives>
    })
}
