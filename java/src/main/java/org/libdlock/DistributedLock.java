package org.libdlock;

import java.util.concurrent.CompletableFuture;
import org.libdlock.internal.Hold;
import org.libdlock.internal.Native;
import org.libdlock.internal.Seen;

/**
 * A lock of one name, made by {@link Client#lock(String)}, with the rules of {@link java.util.concurrent.locks.ReentrantLock}: the holder
 * is the <em>thread</em> (platform or virtual), which may acquire again unless told otherwise, must release as often, and nobody else
 * can. {@link #acquire()} and the {@code ...Async} methods give holds that belong to a {@link LockHandle} instead, and to no thread.
 *
 * <p>A thread that ends while it holds the lock is noticed within about a second: renewal stops, a warning is logged, and the lease runs
 * out. May be shared between threads.
 */
public final class DistributedLock extends FencedLock<LockHandle> {
    DistributedLock(Client client, String name, long handle) {
        super(client, LockCalls.LOCK, name, handle);
    }

    @Override
    LockHandle handle(Hold hold) {
        return new LockHandle(this, client.port(), hold);
    }

    @Override
    public boolean isLocked() {
        return inspect().holder() != null;
    }

    /**
     * Lets go of this thread's hold without freeing the lock: it stays taken for a lease that starts anew.
     *
     * @return a text for {@link #attach} in another thread or process, good for one of them
     * @throws NotHeldException when this thread does not hold it, or not any more
     * @throws InvalidArgumentException when it holds it more than once
     */
    public String detach() {
        String text = Replies.of(inner.call(Native::lockDetach), String.class);
        inner.left();
        return text;
    }

    /**
     * Makes this thread the holder of what {@link #detach} let go of, in this process or another, with the same token.
     *
     * @param detached the text
     * @throws NotHeldException when that hold is over
     * @throws InvalidArgumentException for a text that is no detached hold of this lock
     */
    public void attach(String detached) {
        Arguments.notNull(detached, "detached");
        byte[] text = Arguments.textBytes(detached, "detached hold", "attach");
        inner.enter(() -> inner.call((port, id, lock, holder) -> Native.lockAttach(port, id, lock, holder, text)));
    }

    /**
     * Who holds the lock, for how long, and the last token, as the server says now.
     *
     * @return what it said
     */
    public Inspection inspect() {
        Object reply = inner.call((port, id, lock, holder) -> Native.lockInspect(port, id, lock));
        return Inspection.of(Replies.of(reply, Seen.class));
    }

    /**
     * Frees the lock whoever holds it: for operators, since the holder may still be at work. A hold of this client is lost when this
     * returns; another client is sent a message and looks at once; until then only its fencing token protects the resource.
     *
     * @return whether anybody did
     */
    public boolean forceRelease() {
        Object reply = inner.call((port, id, lock, holder) -> Native.lockForceRelease(port, id, lock));
        return Replies.of(reply, Boolean.class);
    }

    /**
     * As {@link #attach}, for a handle.
     *
     * @param detached the text that {@link #detach} gave
     * @return the hold; when the future is cancelled the hold is released, and the text may be used up all the same
     */
    public CompletableFuture<LockHandle> attachAsync(String detached) {
        Arguments.notNull(detached, "detached");
        try {
            byte[] text = Arguments.textBytes(detached, "detached hold", "attach");
            return inner.takeAsync((port, id, lock, holder) -> Native.lockAttach(port, id, lock, holder, text));
        } catch (InvalidArgumentException refused) {
            return CompletableFuture.failedFuture(refused);
        }
    }
}
