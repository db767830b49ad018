package org.libdlock;

import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Hold;
import org.libdlock.internal.Native;
import org.libdlock.internal.SeenSides;

/**
 * One side of a {@link DistributedReadWriteLock}, with the rules of that side of a
 * {@link java.util.concurrent.locks.ReentrantReadWriteLock}.
 *
 * <p>The holder is the <em>thread</em> (platform or virtual). One that writes may read as well, and goes on as a reader when it unlocks the
 * write side. One that only reads gets a {@link DeadlockException} when it acquires the write side: it would wait for itself, and two such
 * threads for each other. {@link #acquire()} and the {@code ...Async} methods give holds that belong to a {@link RwLockHandle} instead,
 * and to no thread; each of them is a holder of its own.
 */
public final class RwLockSide extends FencedLock<RwLockHandle> {
    /** The read side of the lock of which this is the write side. */
    private final @Nullable RwLockSide read;

    private RwLockSide(Client client, LockCalls calls, String name, long handle, @Nullable RwLockSide read) {
        super(client, calls, name, handle);
        this.read = read;
    }

    static RwLockSide read(Client client, String name, long handle) {
        return new RwLockSide(client, LockCalls.READ, name, handle, null);
    }

    static RwLockSide write(Client client, String name, long handle, RwLockSide read) {
        return new RwLockSide(client, LockCalls.WRITE, name, handle, read);
    }

    /** The side of readers: this one, or the other one. */
    RwLockSide read() {
        return read == null ? this : read;
    }

    @Override
    RwLockHandle handle(Hold hold) {
        return new RwLockHandle(this, client.port(), hold);
    }

    /**
     * Which side it is.
     *
     * @return true for the one that one holder may have at a time, false for the one that any number may have
     */
    public boolean isWrite() {
        return read != null;
    }

    /**
     * Whether anybody holds this side, as the server says now.
     *
     * @return true also for holders elsewhere
     */
    @Override
    public boolean isLocked() {
        RwLockInspection seen = inspect();
        return isWrite() ? seen.writer() != null : seen.readers() > 0;
    }

    boolean forceRelease() {
        Object reply = inner.call((port, id, side, holder) -> Native.rwLockForceRelease(port, id, side));
        return Replies.of(reply, Boolean.class);
    }

    RwLockInspection inspect() {
        Object reply = inner.call((port, id, side, holder) -> Native.rwLockInspect(port, id, side));
        return RwLockInspection.of(Replies.of(reply, SeenSides.class));
    }

    /** The lock's name and the side, for logs and debuggers. */
    @Override
    public String toString() {
        return "RwLockSide[" + name() + ", " + (isWrite() ? "write" : "read") + "]";
    }
}
