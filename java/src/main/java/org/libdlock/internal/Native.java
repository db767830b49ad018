package org.libdlock.internal;

import org.jspecify.annotations.Nullable;

/**
 * The functions of the native library: a handle or number is a {@code long}, a text is UTF-8, a duration is in milliseconds unless its
 * name says otherwise.
 *
 * <p>Those that take {@code port} and {@code id} start an operation and return its handle, for {@link #cancel}; what comes of it is drained
 * from the port under that id. The others answer at once, unless they say that they wait. All throw what {@code
 * org.libdlock.Errors} makes of an error.
 */
public final class Native {
    private Native() {}

    // <api:natives> written by `python3 api/write.py` from api/natives.json
    /** Opens the library's own file, for good; its descriptor. */
    static native long libraryKeep(byte[] path);

    static native long portOpen();

    static native byte[] portDrain(long port, int max, long timeoutMs);

    /** Ends an operation with {@code CANCELLED}; false when it is finished already. */
    static native boolean cancel(long op);

    static native long cancelNew();

    static native void cancelFire(long token);

    /** Gives an object back, of whatever kind: a hold that was its handle's own is not renewed any more. */
    public static native void free(long object);

    static native long holderFresh();

    /** Brings a client. */
    public static native long clientOpen(long port, long id, byte[] texts);

    public static native long clientClose(long port, long id, long client, boolean release);

    public static native void clientAbandon(long client, long holder);

    public static native long[] clientStats(long client);

    public static native long lockOpen(long client, byte[] name, long leaseMs, long watchdogLeaseMs, int reentrant);

    public static native int lockHoldCount(long lock, long holder);

    /** A view of what the holder has, lost or not; 0 when it has nothing. */
    public static native long lockHeld(long lock, long holder);

    /** No wait is for ever, no lease the lock's own. Brings a hold. */
    public static native long lockAcquire(long port, long id, long lock, long holder, long waitMs, long leaseMs);

    /**
     * Waits in native code, until {@code cancel} (0 for none) is fired. {@code granted} gets handle and token; when it
     * was busy false, or the error.
     */
    public static native boolean lockAcquireBlocking(
            long lock, long holder, long waitMs, long leaseMs, long cancel, boolean busyThrows, long[] granted);

    /** One more level of what the holder holds; false when that takes more than counting. */
    public static native boolean lockReenter(long lock, long holder, long waitMs, long leaseMs);

    /** One level less; false when that takes more than counting. */
    public static native boolean lockReleaseReentry(long lock, long holder);

    /** Brings a hold. */
    public static native long lockAttach(long port, long id, long lock, long holder, byte[] detached);

    public static native long lockRelease(long port, long id, long lock, long holder);

    /** Waits in native code. */
    public static native void lockReleaseBlocking(long lock, long holder);

    public static native long lockExtend(long port, long id, long lock, long holder, long leaseMs);

    /** Brings a text. */
    public static native long lockDetach(long port, long id, long lock, long holder);

    /** Brings a flag. */
    public static native long lockForceRelease(long port, long id, long lock);

    /** Brings an inspection. */
    public static native long lockInspect(long port, long id, long lock);

    public static native long semaphoreOpen(long client, byte[] name, long permits, long leaseMs, long watchdogLeaseMs);

    public static native int semaphoreHoldCount(long semaphore, long holder);

    /** A view of the holder's latest hold, lost or not; 0 when it has none. */
    public static native long semaphoreHeld(long semaphore, long holder);

    /** How many of the holder's latest holds have exactly so many permits together. */
    public static native int semaphoreHoldsOf(long semaphore, long holder, long permits);

    /** Brings a hold. */
    public static native long semaphoreAcquire(
            long port, long id, long semaphore, long holder, long permits, long waitMs, long leaseMs);

    /** Waits in native code, as {@code lockAcquireBlocking} does. */
    public static native boolean semaphoreAcquireBlocking(
            long semaphore,
            long holder,
            long permits,
            long waitMs,
            long leaseMs,
            long cancel,
            boolean busyThrows,
            long[] granted);

    /** Ends the holder's latest hold. */
    public static native long semaphoreRelease(long port, long id, long semaphore, long holder);

    /** Waits in native code. */
    public static native void semaphoreReleaseBlocking(long semaphore, long holder);

    public static native long semaphoreExtend(long port, long id, long semaphore, long holder, long leaseMs);

    public static native long semaphoreSetPermits(long port, long id, long semaphore, long permits);

    /** Brings an inspection. */
    public static native long semaphoreInspect(long port, long id, long semaphore);

    /** One side, the write side or the read side. */
    public static native long rwLockOpen(
            long client,
            byte[] name,
            boolean write,
            long leaseMs,
            long watchdogLeaseMs,
            int reentrant,
            long sharedAgeMs);

    public static native int rwLockHoldCount(long side, long holder);

    /** Brings a hold. */
    public static native long rwLockAcquire(long port, long id, long side, long holder, long waitMs, long leaseMs);

    /** Waits in native code, as {@code lockAcquireBlocking} does. */
    public static native boolean rwLockAcquireBlocking(
            long side, long holder, long waitMs, long leaseMs, long cancel, boolean busyThrows, long[] granted);

    public static native long rwLockRelease(long port, long id, long side, long holder);

    /** Waits in native code. */
    public static native void rwLockReleaseBlocking(long side, long holder);

    public static native long rwLockExtend(long port, long id, long side, long holder, long leaseMs);

    /** Brings a flag. */
    public static native long rwLockForceRelease(long port, long id, long side);

    /** Brings an inspection. */
    public static native long rwLockInspect(long port, long id, long side);

    public static native long latchOpen(long client, byte[] name);

    /** Brings a flag. */
    public static native long latchTrySetCount(long port, long id, long latch, long count);

    /** Brings a number. */
    public static native long latchCountDown(long port, long id, long latch, long by);

    /** Brings a number. */
    public static native long latchCount(long port, long id, long latch);

    /** Brings a flag. */
    public static native long latchWait(long port, long id, long latch, long waitMs);

    /** Waits in native code, until {@code cancel} (0 for none) is fired. */
    public static native boolean latchWaitBlocking(long latch, long waitMs, long cancel);

    /** Brings a flag. */
    public static native long latchDelete(long port, long id, long latch);

    /** {@code rate} has the bits of a double; no time to live is {@code NOT_GIVEN}. */
    public static native long bloomFilterOpen(long client, byte[] name, long expected, long rate, long ttlMs);

    public static native long bloomFilterSize(long filter);

    public static native long bloomFilterHashes(long filter);

    /** The items are packed. Brings an answer to each item. */
    public static native long bloomFilterAdd(long port, long id, long filter, byte[] items);

    /** The items are packed. Brings an answer to each item. */
    public static native long bloomFilterContains(long port, long id, long filter, byte[] items);

    /** Brings a number. */
    public static native long bloomFilterCount(long port, long id, long filter);

    /** Brings a rate. */
    public static native long bloomFilterFalsePositiveRate(long port, long id, long filter);

    /** Brings a flag. */
    public static native long bloomFilterClear(long port, long id, long filter);

    public static native long idGeneratorOpen(long client, byte[] name, long block, long start);

    public static native long idGeneratorBlockSize(long generator);

    /** Brings a number. */
    public static native long idGeneratorNextId(long port, long id, long generator);

    /** Waits in native code; not at all as long as the process has an id. */
    public static native long idGeneratorNextIdBlocking(long generator);

    /** Waits in native code, as {@code idGeneratorNextIdBlocking} does. */
    public static native long[] idGeneratorNextIdsBlocking(long generator, long count);

    /** Brings ids. */
    public static native long idGeneratorNextIds(long port, long id, long generator, long count);

    public static native long countingSemaphoreOpen(long client, byte[] name);

    /** Brings a flag. */
    public static native long countingSemaphoreTrySetPermits(long port, long id, long semaphore, long permits);

    public static native long countingSemaphoreAcquire(long port, long id, long semaphore, long permits, long waitMs);

    /** Waits in native code, until {@code cancel} (0 for none) is fired; false when it was busy. */
    public static native boolean countingSemaphoreAcquireBlocking(
            long semaphore, long permits, long waitMs, long cancel);

    public static native long countingSemaphoreRelease(long port, long id, long semaphore, long permits);

    public static native long countingSemaphoreAddPermits(long port, long id, long semaphore, long permits);

    /** Brings a number. */
    public static native long countingSemaphoreDrain(long port, long id, long semaphore);

    /** Brings an inspection. */
    public static native long countingSemaphoreInspect(long port, long id, long semaphore);

    /** The names are packed texts. */
    public static native long lockAllOpen(long client, byte[] names, long leaseMs, long watchdogLeaseMs, int reentrant);

    /** Each once, in order, with NULs between them. */
    public static native byte[] lockAllNames(long set);

    public static native int lockAllHoldCount(long set, long holder);

    /** A view of what the holder has of all of them, lost or not; 0 when it has none. */
    public static native long lockAllHeld(long set, long holder);

    /** Brings a hold. */
    public static native long lockAllAcquire(long port, long id, long set, long holder, long waitMs, long leaseMs);

    /** Waits in native code, as {@code lockAcquireBlocking} does. */
    public static native boolean lockAllAcquireBlocking(
            long set, long holder, long waitMs, long leaseMs, long cancel, boolean busyThrows, long[] granted);

    public static native long lockAllRelease(long port, long id, long set, long holder);

    /** Waits in native code. */
    public static native void lockAllReleaseBlocking(long set, long holder);

    public static native long lockAllExtend(long port, long id, long set, long holder, long leaseMs);

    public static native boolean heldValid(long held);

    public static native long heldToken(long held);

    static native byte[] heldOwner(long held);

    /** Their ids, with commas between them. */
    public static native byte[] heldPermits(long held);

    public static native long heldRemaining(long held);

    public static native byte @Nullable [] heldLoss(long held);

    /** Of several locks: name and token of each, with NULs between them. */
    public static native byte[] heldTokens(long held);

    /** Of several locks, that of this name. */
    public static native long heldTokenOf(long held, byte[] name);

    /** Of several locks: name and reason of the one that was lost, with a NUL between them; null when none was. */
    public static native byte @Nullable [] heldLostMember(long held);

    public static native int heldHoldCount(long held);

    public static native void heldReenter(long held);

    /** Brings a loss when the hold is over. */
    public static native long heldWaitLost(long port, long id, long held);

    public static native long heldRelease(long port, long id, long held);

    /** Waits in native code. */
    public static native void heldReleaseBlocking(long held);

    public static native long heldExtend(long port, long id, long held, long leaseMs);

    /** Brings a text. */
    public static native long heldDetach(long port, long id, long held);

    /** Brings a hold of the read side. */
    public static native long heldDowngrade(long port, long id, long held);

    /**
     * Each rate is tokens, microseconds, whether it has a burst, and the burst; the words of the algorithms are packed
     * texts. {@code prefetch} has the bits of a double, 0 for none.
     */
    public static native long limiterOpen(
            long client, byte[] name, long[] rates, byte[] algorithms, byte[] absent, long shareOf, long prefetch);

    /** Brings a decision. */
    public static native long limiterAcquire(
            long port, long id, long limiter, long cost, long waitMs, byte @Nullable [] ofKey);

    /** The keys are packed texts. Brings an answer to each item. */
    public static native long limiterAcquireMany(long port, long id, long limiter, byte[] keys, long[] costs);

    /**
     * Waits in native code, until {@code cancel} (0 for none) is fired. {@code numbers} gets what {@link Judged} has
     * besides the answer.
     */
    public static native boolean limiterAcquireBlocking(
            long limiter, long cost, long waitMs, byte @Nullable [] ofKey, long cancel, long[] numbers);

    /**
     * 0 when the server has to be asked, 1 for a refusal, 2 for a grant. {@code numbers} gets what {@link Judged} has
     * besides the answer.
     */
    public static native int limiterTryAcquireNow(long limiter, long cost, long[] numbers);

    public static native long limiterReset(long port, long id, long limiter, byte @Nullable [] ofKey);

    /** Brings a decision. */
    public static native long limiterReserve(
            long port, long id, long limiter, long cost, long waitMs, byte @Nullable [] ofKey);

    public static native long limiterPenalty(long port, long id, long limiter, long tokens, byte @Nullable [] ofKey);

    public static native long limiterReward(long port, long id, long limiter, long tokens, byte @Nullable [] ofKey);

    public static native long limiterBlock(long port, long id, long limiter, long lengthMs, byte @Nullable [] ofKey);

    /** No lease is the client's. Brings a hold. */
    public static native long workerLease(long port, long id, long client, byte[] pool, long bits, long leaseMs);

    public static native long workerNumber(long held);

    public static native long workerBits(long held);

    /** A layout as for snowflakeOpen. */
    public static native long workerSnowflake(long held, long @Nullable [] layout);

    public static native long backoffMs(long attempt, long baseMs, long mostMs);

    public static native long queueOpen(
            long client,
            byte[] name,
            long leaseMs,
            long watchdogLeaseMs,
            long maxAttempts,
            long maxPayload,
            long maxLength);

    public static native long queueFollowedBy(long queue, long other);

    public static native byte[] deliveryQueue(long held);

    /** Brings what was put: one. */
    public static native long queuePut(
            long port,
            long id,
            long queue,
            byte[] payload,
            byte @Nullable [] jobId,
            long delayMs,
            long atMs,
            long priority);

    /** Waits in native code. An answer as of a completion. */
    public static native byte[] queuePutBlocking(
            long queue, byte[] payload, byte @Nullable [] jobId, long delayMs, long atMs, long priority);

    /** Waits in native code, until {@code cancel} (0 for none) is fired. An answer as of a completion. */
    public static native byte[] queueTakeBlocking(long queue, long waitMs, long cancel);

    /** Waits in native code. */
    public static native void deliveryAckBlocking(long held);

    /**
     * Payloads and ids are packed; the numbers of each job are 1 when it has an id, its delay, its due time and its
     * priority. Brings what was put.
     */
    public static native long queuePutMany(long port, long id, long queue, byte[] payloads, byte[] ids, long[] numbers);

    /** Brings deliveries: one, or none. */
    public static native long queueTake(long port, long id, long queue, long waitMs);

    /** Brings deliveries. */
    public static native long queueTakeMany(long port, long id, long queue, long most, long waitMs);

    /** Brings counts. */
    public static native long queueCounts(long port, long id, long queue);

    /** Brings jobs. */
    public static native long queuePeek(long port, long id, long queue, long most);

    /** Brings jobs. */
    public static native long queueDead(long port, long id, long queue, long most);

    /** Brings a flag. */
    public static native long queueCancel(long port, long id, long queue, byte[] jobId);

    /** Brings a number. */
    public static native long queuePurge(long port, long id, long queue);

    /** Brings a flag. */
    public static native long queueRemoveDead(long port, long id, long queue, byte[] jobId);

    /** Brings a number. */
    public static native long queuePurgeDead(long port, long id, long queue);

    /** Brings a flag. */
    public static native long queueRequeueDead(long port, long id, long queue, byte[] jobId);

    /** Brings a number. */
    public static native long queueRequeueAllDead(long port, long id, long queue);

    /** Brings an answer to each hold. */
    public static native long queueAckMany(long port, long id, long queue, long[] helds);

    public static native long deliveryAck(long port, long id, long held);

    public static native long deliveryNack(long port, long id, long held, long delayMs, byte[] reason);

    public static native long deliveryGiveBack(long port, long id, long held);

    /** A layout is its epoch and the bits of time, datacenter, worker and sequence; null for the default. */
    public static native long snowflakeOpen(
            long datacenter, long worker, long @Nullable [] layout, long borrowAheadMs, long startWaitMs);

    public static native long snowflakeNextId(long snowflake);

    public static native long[] snowflakeNextIds(long snowflake, long count);

    public static native long[] snowflakeLayout(long snowflake);

    public static native long[] snowflakeDecode(long snowflake, long id);

    public static native long[] layoutNamed(byte[] name);

    public static native long[] layoutDecode(long[] layout, long id);

    public static native byte[] idEncode(long id, long base);

    public static native long idParse(byte[] text, long base);

    // </api:natives>
}
