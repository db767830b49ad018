package org.libdlock.integration;

import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import org.libdlock.HoldEndedException;
import org.libdlock.LockLostException;
import org.springframework.integration.support.locks.DistributedLock;

/** A lock of a registry. */
final class RegisteredLock implements DistributedLock {
    private final org.libdlock.DistributedLock lock;

    /** How many levels each thread believes to hold: one that has lost the lock is told so by its unlock. */
    private final Map<Thread, Integer> levels = new ConcurrentHashMap<>();

    /** Of {@link System#nanoTime}: when it was acquired last, or made. */
    private volatile long used = System.nanoTime();

    RegisteredLock(org.libdlock.DistributedLock lock) {
        this.lock = lock;
    }

    boolean isHeldHere() {
        // A thread that has ended without unlocking holds nothing for much longer.
        levels.keySet().removeIf(thread -> !thread.isAlive());
        return !levels.isEmpty();
    }

    long unusedMillis(long now) {
        return TimeUnit.NANOSECONDS.toMillis(now - used);
    }

    void extend(Duration lease) {
        lock.extend(lease);
    }

    @Override
    public void lock() {
        this.<RuntimeException>counted(() -> {
            lock.lock();
            return true;
        });
    }

    @Override
    public void lock(Duration ttl) {
        this.<RuntimeException>counted(() -> {
            lock.lock(ttl.toMillis(), TimeUnit.MILLISECONDS);
            return true;
        });
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
        this.<InterruptedException>counted(() -> {
            lock.lockInterruptibly();
            return true;
        });
    }

    @Override
    public boolean tryLock() {
        return this.<RuntimeException>counted(lock::tryLock);
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        return this.<InterruptedException>counted(() -> lock.tryLock(time, unit));
    }

    @Override
    public boolean tryLock(Duration waitTime, Duration ttl) throws InterruptedException {
        return this.<InterruptedException>counted(() -> lock.tryLock(waitTime, ttl));
    }

    /**
     * Gives up one level.
     *
     * @throws IllegalMonitorStateException when this thread does not hold it
     * @throws ConcurrentModificationException when the lock was lost while this thread held it
     */
    @Override
    public void unlock() {
        Thread thread = Thread.currentThread();
        boolean believed = levels.containsKey(thread);
        try {
            lock.unlock();
        } catch (HoldEndedException over) {
            if (believed) {
                throw new ConcurrentModificationException(over.getMessage(), over);
            }
            throw over;
        } finally {
            levels.computeIfPresent(thread, (key, count) -> count > 1 ? count - 1 : null);
        }
    }

    @Override
    public Condition newCondition() {
        return lock.newCondition();
    }

    @Override
    public String toString() {
        return "RegisteredLock[" + lock.name() + "]";
    }

    private interface Acquire<E extends Exception> {
        boolean run() throws E;
    }

    private <E extends Exception> boolean counted(Acquire<E> acquire) throws E {
        boolean acquired;
        try {
            acquired = acquire.run();
        } catch (LockLostException told) {
            levels.remove(Thread.currentThread());
            throw told;
        }
        if (acquired) {
            levels.merge(Thread.currentThread(), 1, Integer::sum);
            used = System.nanoTime();
        }
        return acquired;
    }
}
