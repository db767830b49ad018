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

    public static native boolean heldValid(long held);

    static native byte[] heldOwner(long held);

    public static native long heldRemaining(long held);

    public static native byte @Nullable [] heldLoss(long held);

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

    /** {@code burst} counts only where there is one. */
    public static native long limiterOpen(
            long client,
            byte[] name,
            long tokens,
            long perMicros,
            boolean hasBurst,
            long burst,
            byte[] absent,
            long shareOf);

    /** Brings a decision. */
    public static native long limiterAcquire(long port, long id, long limiter, long cost, long waitMs);

    /**
     * Waits in native code, until {@code cancel} (0 for none) is fired. {@code numbers} gets what {@link Judged} has
     * besides the answer.
     */
    public static native boolean limiterAcquireBlocking(
            long limiter, long cost, long waitMs, long cancel, long[] numbers);

    public static native long limiterReset(long port, long id, long limiter);

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
