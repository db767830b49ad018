package org.libdlock;

import org.libdlock.internal.Native;

/**
 * The functions of {@link Native} for what has the verbs of a lock: a row for each kind.
 *
 * @param kind what tells its names from those of others
 * @param what for messages
 * @param reenter one more level of what the holder holds; false when that takes an acquire
 * @param releaseReentry one level less, if it is not the last; false when that takes a release
 * @param held a view of what the holder has, lost or not; none for a kind that is never acquired through another
 */
record LockCalls(
        String kind,
        String what,
        Acquire acquire,
        AcquireBlocking acquireBlocking,
        Reenter reenter,
        ReleaseReentry releaseReentry,
        Acquirable.Operation release,
        ReleaseBlocking releaseBlocking,
        HoldCount holdCount,
        Extend extend,
        Acquirable.View held) {
    private static final Reenter NO_REENTER = (of, holder, waitMillis, leaseMillis) -> false;
    private static final ReleaseReentry NO_RELEASE_REENTRY = (of, holder) -> false;
    private static final Acquirable.View NO_VIEW = (of, holder) -> 0;

    static final LockCalls LOCK = new LockCalls(
            "lock",
            "the lock",
            Native::lockAcquire,
            Native::lockAcquireBlocking,
            Native::lockReenter,
            Native::lockReleaseReentry,
            Native::lockRelease,
            Native::lockReleaseBlocking,
            Native::lockHoldCount,
            Native::lockExtend,
            Native::lockHeld);
    static final LockCalls READ = ofSide("rw_lock read", "the read side");
    static final LockCalls WRITE = ofSide("rw_lock write", "the write side");
    static final LockCalls ALL = new LockCalls(
            "lock all",
            "all of these locks",
            Native::lockAllAcquire,
            Native::lockAllAcquireBlocking,
            NO_REENTER,
            NO_RELEASE_REENTRY,
            Native::lockAllRelease,
            Native::lockAllReleaseBlocking,
            Native::lockAllHoldCount,
            Native::lockAllExtend,
            Native::lockAllHeld);

    private static LockCalls ofSide(String kind, String what) {
        return new LockCalls(
                kind,
                what,
                Native::rwLockAcquire,
                Native::rwLockAcquireBlocking,
                NO_REENTER,
                NO_RELEASE_REENTRY,
                Native::rwLockRelease,
                Native::rwLockReleaseBlocking,
                Native::rwLockHoldCount,
                Native::rwLockExtend,
                NO_VIEW);
    }

    /** Starts an acquire. */
    @FunctionalInterface
    interface Acquire {
        long submit(long port, long id, long of, long holder, long waitMillis, long leaseMillis);
    }

    /** Acquires, and waits in native code. */
    @FunctionalInterface
    interface AcquireBlocking {
        boolean block(
                long of,
                long holder,
                long waitMillis,
                long leaseMillis,
                long cancel,
                boolean busyThrows,
                long[] granted);
    }

    /** Enters again without I/O. */
    @FunctionalInterface
    interface Reenter {
        boolean enters(long of, long holder, long waitMillis, long leaseMillis);
    }

    /** Leaves one level without I/O. */
    @FunctionalInterface
    interface ReleaseReentry {
        boolean leaves(long of, long holder);
    }

    /** Releases, and waits in native code. */
    @FunctionalInterface
    interface ReleaseBlocking {
        void block(long of, long holder);
    }

    /** Counts levels. */
    @FunctionalInterface
    interface HoldCount {
        int count(long of, long holder);
    }

    /** Starts an extension. */
    @FunctionalInterface
    interface Extend {
        long submit(long port, long id, long of, long holder, long leaseMillis);
    }
}
