package org.libdlock;

import java.lang.ref.Reference;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Hold;
import org.libdlock.internal.Holders;
import org.libdlock.internal.Native;
import org.libdlock.internal.Threads;

/**
 * The native half of a lock, or of a side of a read-write lock: a thread that holds it may acquire it again, which takes no more than
 * counting.
 */
class NativeLock<H extends Held> extends Acquirable<H> {
    private final LockCalls calls;
    private final LeasedLock<H> lock;

    /** Of the thread that was the last to acquire through this object: found without a map. Racy; who reads it compares the holder. */
    private Holders.@Nullable Levels latest;

    NativeLock(Client client, LockCalls calls, LeasedLock<H> lock, String name, long handle) {
        super(client, calls.kind(), name, handle);
        this.calls = calls;
        this.lock = lock;
    }

    /** One acquire. */
    record Taking(LockCalls calls, long waitMillis, long leaseMillis) implements Acquire {
        @Override
        public long submit(long port, long id, long of, long holder) {
            return calls.acquire().submit(port, id, of, holder, waitMillis, leaseMillis);
        }

        @Override
        public boolean block(long of, long holder, long cancel, boolean busyThrows, long[] granted) {
            return calls.acquireBlocking().block(of, holder, waitMillis, leaseMillis, cancel, busyThrows, granted);
        }
    }

    Taking taking(long waitMillis, long leaseMillis) {
        return new Taking(calls, waitMillis, leaseMillis);
    }

    /** Acquires; an interrupt is kept for later. False when it was not to be had in that time. */
    boolean acquire(long waitMillis, long leaseMillis) {
        return entersAgain(waitMillis, leaseMillis) || acquire(taking(waitMillis, leaseMillis));
    }

    /** As {@link #acquire}, but an interrupt ends it. */
    boolean acquireInterruptibly(long waitMillis, long leaseMillis) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        return entersAgain(waitMillis, leaseMillis) || acquireInterruptibly(taking(waitMillis, leaseMillis));
    }

    /** Gives up one level of the calling thread. */
    void release() {
        long holder = Holders.thisThread();
        Holders.Levels levels = levels(holder);
        try {
            if (levels != null && calls.releaseReentry().leaves(handle, holder)) {
                if (!levels.take()) {
                    // What is left was acquired through a set of locks.
                    left();
                }
                return;
            }
            release(holder);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    private void release(long holder) {
        try {
            if (Threads.mayBlock()) {
                calls.releaseBlocking().block(handle, holder);
            } else {
                Replies.check(call(calls.release()));
            }
        } finally {
            left();
        }
    }

    /** The calling thread holds one level less, or has lost what it held. */
    void left() {
        latest = null;
        client.holders().leave(key);
    }

    /** The calling thread knows that it holds nothing, or nothing any more. */
    void told() {
        latest = null;
        client.holders().forget(key);
    }

    /** How many levels the calling thread holds. An answer of 0 tells it of a loss, so that it may acquire anew. */
    int holdCount() {
        try {
            int count = calls.holdCount().count(handle, Holders.thisThread());
            if (count == 0) {
                told();
            }
            return count;
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** What the calling thread got last through an object of this name, or null. */
    @Nullable
    Hold hold() {
        return client.holders().hold(key);
    }

    /** Asks about what the calling thread has, also through a set of locks; null when that is nothing. */
    <T> @Nullable T ask(Question<T> question) {
        Hold hold = hold();
        return hold == null ? askWithoutLosses(question) : question.ask(hold.handle());
    }

    /** What the thread has lost it is told of through the set, which it still has to release. */
    private <T> @Nullable T askWithoutLosses(Question<T> question) {
        return ask(calls.held(), held -> Native.heldLoss(held) == null ? question.ask(held) : null);
    }

    /** One more level of what this thread holds, if that takes no more than counting. */
    private boolean entersAgain(long waitMillis, long leaseMillis) {
        long holder = Holders.thisThread();
        Holders.Levels levels = levels(holder);
        try {
            if (levels == null || !calls.reenter().enters(handle, holder, waitMillis, leaseMillis)) {
                return false;
            }
        } finally {
            Reference.reachabilityFence(this);
        }
        levels.add();
        return true;
    }

    /** What this thread holds of the lock, through this object or another. */
    private Holders.@Nullable Levels levels(long holder) {
        Holders.Levels seen = latest;
        return seen != null && seen.holder() == holder ? seen : client.holders().levels(key);
    }

    @Override
    H handle(Hold hold) {
        return lock.handle(hold);
    }

    @Override
    void keep(Hold granted) {
        client.holders().granted(key, granted);
        latest = client.holders().levels(key);
    }
}
