package org.libdlock.internal;

import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.spi.AbstractSelectableChannel;
import java.nio.channels.spi.AbstractSelector;
import java.util.Set;
import java.util.function.LongPredicate;
import org.libdlock.CancelledException;

/**
 * Lets an interrupt reach a platform thread that waits in native code: {@link Thread#interrupt} wakes the selector that a thread is in,
 * whoever wrote it, and this is one that has nothing to select.
 */
public final class NativeWait extends AbstractSelector {
    /** Guarded by this; 0 when nobody waits any more. */
    private long cancel = Native.cancelNew();

    private NativeWait() {
        super(null);
    }

    /**
     * Waits where an interrupt is heard.
     *
     * @param wait a call into native code that waits until it is done or the cancel token, which it is given, is fired
     * @return what it answered; should the interrupt have come when it was done already, it is kept for later
     * @throws InterruptedException when the interrupt has ended it
     */
    public static boolean interruptibly(LongPredicate wait) throws InterruptedException {
        NativeWait here = new NativeWait();
        try {
            // A thread that is interrupted already is told so at once.
            here.begin();
            return wait.test(here.cancel);
        } catch (CancelledException cancelled) {
            Thread.interrupted();
            throw new InterruptedException();
        } finally {
            here.end();
            here.over();
        }
    }

    /** Called by whoever interrupts, in the middle of it: only tells. */
    @Override
    public synchronized Selector wakeup() {
        if (cancel != 0) {
            Native.cancelFire(cancel);
        }
        return this;
    }

    private synchronized void over() {
        Native.free(cancel);
        cancel = 0;
    }

    @Override
    protected void implCloseSelector() {}

    @Override
    protected SelectionKey register(AbstractSelectableChannel channel, int operations, Object attachment) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Set<SelectionKey> keys() {
        return Set.of();
    }

    @Override
    public Set<SelectionKey> selectedKeys() {
        return Set.of();
    }

    @Override
    public int selectNow() {
        return 0;
    }

    @Override
    public int select(long timeout) {
        return 0;
    }

    @Override
    public int select() {
        return 0;
    }
}
