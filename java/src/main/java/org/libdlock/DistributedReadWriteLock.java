package org.libdlock;

import java.util.concurrent.locks.ReadWriteLock;

/**
 * A read-write lock of one name, made by {@link Client#rwLock(String)}: any number of readers or one writer among all processes, each
 * under a lease, with the rules of a fair {@link java.util.concurrent.locks.ReentrantReadWriteLock}.
 *
 * <p>It is served in the order of arrival: readers that stand next to one another are admitted together, and a reader that comes while a
 * writer waits stands behind it. So neither readers nor writers starve.
 *
 * <p>The holder is the <em>thread</em> (platform or virtual), of both sides: one that writes may read as well, and goes on as a reader,
 * with nobody writing in between, when it unlocks the write side first.
 *
 * <pre>{@code
 * lock.writeLock().lock();
 * lock.readLock().lock();
 * lock.writeLock().unlock();                        // readers that wait are woken
 * }</pre>
 *
 * <p>May be shared between threads.
 */
public final class DistributedReadWriteLock implements ReadWriteLock {
    private final RwLockSide read;
    private final RwLockSide write;

    DistributedReadWriteLock(RwLockSide read, RwLockSide write) {
        this.read = read;
        this.write = write;
    }

    /**
     * The name.
     *
     * @return without the client's key prefix
     */
    public String name() {
        return read.name();
    }

    /**
     * The side that any number may hold at a time, while nobody else writes.
     *
     * @return always the same object
     */
    @Override
    public RwLockSide readLock() {
        return read;
    }

    /**
     * The side that one may hold at a time, while nobody else reads.
     *
     * @return always the same object
     */
    @Override
    public RwLockSide writeLock() {
        return write;
    }

    /**
     * Who writes, or how many read, for how long, and the last token, as the server says now.
     *
     * @return what it said
     * @throws WrongTypeException when the key is no read-write lock
     */
    public RwLockInspection inspect() {
        return read.inspect();
    }

    /**
     * Ends every hold of both sides, whoever has it. Holds of this client are lost when this returns; other clients are sent a
     * message and look at once; until then only their fencing tokens protect the resource.
     *
     * @return whether anybody had one
     * @throws WrongTypeException when the key is no read-write lock
     */
    public boolean forceRelease() {
        return read.forceRelease();
    }

    /** The name, for logs and debuggers. */
    @Override
    public String toString() {
        return "DistributedReadWriteLock[" + name() + "]";
    }
}
