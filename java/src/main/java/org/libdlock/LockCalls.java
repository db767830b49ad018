package org.libdlock;

import org.libdlock.internal.Native;

/** The functions of {@link Native} for what has the verbs of a lock. */
abstract class LockCalls {
    static final LockCalls LOCK = new OfLocks();
    static final LockCalls READ = new OfSides("rw_lock read", "the read side");
    static final LockCalls WRITE = new OfSides("rw_lock write", "the write side");
    static final LockCalls ALL = new OfSets();

    private final String kind;
    private final String what;

    private LockCalls(String kind, String what) {
        this.kind = kind;
        this.what = what;
    }

    /** What tells its names from those of others. */
    final String kind() {
        return kind;
    }

    /** For messages. */
    final String what() {
        return what;
    }

    abstract long acquire(long port, long id, long of, long holder, long waitMillis, long leaseMillis);

    abstract boolean acquireBlocking(
            long of, long holder, long waitMillis, long leaseMillis, long cancel, boolean busyThrows, long[] granted);

    /** One more level of what the holder holds; false when that takes an acquire. */
    boolean reenter(long of, long holder, long waitMillis, long leaseMillis) {
        return false;
    }

    /** One level less, if it is not the last; false when that takes a release. */
    boolean releaseReentry(long of, long holder) {
        return false;
    }

    abstract long release(long port, long id, long of, long holder);

    abstract void releaseBlocking(long of, long holder);

    abstract int holdCount(long of, long holder);

    /** A view of what the holder has, lost or not; 0 when it has nothing, or when this kind is never acquired through another. */
    long held(long of, long holder) {
        return 0;
    }

    abstract long extend(long port, long id, long of, long holder, long leaseMillis);

    private static final class OfLocks extends LockCalls {
        OfLocks() {
            super("lock", "the lock");
        }

        @Override
        long acquire(long port, long id, long of, long holder, long waitMillis, long leaseMillis) {
            return Native.lockAcquire(port, id, of, holder, waitMillis, leaseMillis);
        }

        @Override
        boolean acquireBlocking(
                long of,
                long holder,
                long waitMillis,
                long leaseMillis,
                long cancel,
                boolean busyThrows,
                long[] granted) {
            return Native.lockAcquireBlocking(of, holder, waitMillis, leaseMillis, cancel, busyThrows, granted);
        }

        @Override
        boolean reenter(long of, long holder, long waitMillis, long leaseMillis) {
            return Native.lockReenter(of, holder, waitMillis, leaseMillis);
        }

        @Override
        boolean releaseReentry(long of, long holder) {
            return Native.lockReleaseReentry(of, holder);
        }

        @Override
        long release(long port, long id, long of, long holder) {
            return Native.lockRelease(port, id, of, holder);
        }

        @Override
        void releaseBlocking(long of, long holder) {
            Native.lockReleaseBlocking(of, holder);
        }

        @Override
        int holdCount(long of, long holder) {
            return Native.lockHoldCount(of, holder);
        }

        @Override
        long held(long of, long holder) {
            return Native.lockHeld(of, holder);
        }

        @Override
        long extend(long port, long id, long of, long holder, long leaseMillis) {
            return Native.lockExtend(port, id, of, holder, leaseMillis);
        }
    }

    private static final class OfSides extends LockCalls {
        OfSides(String kind, String what) {
            super(kind, what);
        }

        @Override
        long acquire(long port, long id, long of, long holder, long waitMillis, long leaseMillis) {
            return Native.rwLockAcquire(port, id, of, holder, waitMillis, leaseMillis);
        }

        @Override
        boolean acquireBlocking(
                long of,
                long holder,
                long waitMillis,
                long leaseMillis,
                long cancel,
                boolean busyThrows,
                long[] granted) {
            return Native.rwLockAcquireBlocking(of, holder, waitMillis, leaseMillis, cancel, busyThrows, granted);
        }

        @Override
        long release(long port, long id, long of, long holder) {
            return Native.rwLockRelease(port, id, of, holder);
        }

        @Override
        void releaseBlocking(long of, long holder) {
            Native.rwLockReleaseBlocking(of, holder);
        }

        @Override
        int holdCount(long of, long holder) {
            return Native.rwLockHoldCount(of, holder);
        }

        @Override
        long extend(long port, long id, long of, long holder, long leaseMillis) {
            return Native.rwLockExtend(port, id, of, holder, leaseMillis);
        }
    }

    private static final class OfSets extends LockCalls {
        OfSets() {
            super("lock all", "all of these locks");
        }

        @Override
        long acquire(long port, long id, long of, long holder, long waitMillis, long leaseMillis) {
            return Native.lockAllAcquire(port, id, of, holder, waitMillis, leaseMillis);
        }

        @Override
        boolean acquireBlocking(
                long of,
                long holder,
                long waitMillis,
                long leaseMillis,
                long cancel,
                boolean busyThrows,
                long[] granted) {
            return Native.lockAllAcquireBlocking(of, holder, waitMillis, leaseMillis, cancel, busyThrows, granted);
        }

        @Override
        long release(long port, long id, long of, long holder) {
            return Native.lockAllRelease(port, id, of, holder);
        }

        @Override
        void releaseBlocking(long of, long holder) {
            Native.lockAllReleaseBlocking(of, holder);
        }

        @Override
        int holdCount(long of, long holder) {
            return Native.lockAllHoldCount(of, holder);
        }

        @Override
        long extend(long port, long id, long of, long holder, long leaseMillis) {
            return Native.lockAllExtend(port, id, of, holder, leaseMillis);
        }
    }
}
