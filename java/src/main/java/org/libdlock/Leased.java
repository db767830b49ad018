package org.libdlock;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Failure;
import org.libdlock.internal.Hold;
import org.libdlock.internal.Native;
import org.libdlock.internal.Port;
import org.libdlock.internal.Reclaimer;
import org.libdlock.internal.Wire;

/**
 * What this object has on the server for as long as a lease lasts, whichever thread uses it: a {@link Held}, which is released, or a
 * {@link Delivery}, which is acknowledged or put back.
 */
public abstract sealed class Leased implements AutoCloseable permits Delivery, Held {
    /** The first loss in the life of a JVM comes 25 ms before the end of the lease: too short to load classes then. */
    private static final AtomicBoolean REHEARSED = new AtomicBoolean();

    /** For messages: what is held, "the lock", and its name. */
    private final String what;

    private final String name;
    private final Port port;
    private final Hold hold;
    private final Reclaimer.Action freeing;

    /** Guarded by this, and with it every use of the native handle, which is given back at the end. */
    private boolean ended;

    private @Nullable LossReason lossAtEnd;
    private @Nullable String ownerAtEnd;

    Leased(String what, String name, Port port, Hold hold) {
        this(what, name, port, hold, new Freeing(hold.handle()));
    }

    /** {@code freeing} runs at the end, or when this is collected. */
    Leased(String what, String name, Port port, Hold hold, Runnable freeing) {
        this.what = what;
        this.name = name;
        this.port = port;
        this.hold = hold;
        this.freeing = Reclaimer.register(this, freeing);
    }

    private record Freeing(long handle) implements Runnable {
        @Override
        public void run() {
            Native.free(handle);
        }
    }

    /** As the server knows it, also after the end; of several locks, which have one each, empty. */
    final synchronized String ownerOnTheServer() {
        return ownerAtEnd != null ? ownerAtEnd : hold.owner();
    }

    /** What is to be known after the end; the native handle is there for the last time. */
    void atEnd(long held) {}

    /**
     * Whether it is still held for certain, by this machine's monotonic clock. No I/O.
     *
     * @return false from the end of the lease on, and after the release
     */
    public final boolean isValid() {
        return ask(false, Native::heldValid);
    }

    /**
     * How long the hold stays valid without another renewal. No I/O.
     *
     * @return zero when it is over
     */
    public final Duration remaining() {
        return Duration.ofNanos(ask(0L, Native::heldRemaining));
    }

    /**
     * The signal that the hold was lost, as {@link LeasedLock#onLost()} has it.
     *
     * @return completes with the reason; cancelled when the hold ends otherwise
     */
    public final CompletableFuture<LossReason> onLost() {
        synchronized (this) {
            if (ended) {
                return lossAtEnd == null
                        ? CompletableFuture.failedFuture(released())
                        : CompletableFuture.completedFuture(lossAtEnd);
            }
            return lossOf(port, hold.handle());
        }
    }

    /**
     * Makes the hold last for {@code lease} from now, or as long as it did if that is longer.
     *
     * @param lease 100 ms to 24 h
     * @throws NotHeldException when it is over
     */
    public final void extend(Duration lease) {
        Arguments.notNull(lease, "lease");
        long millis = Arguments.millis(lease);
        Replies.check(port.call(whileHeld("extend", (to, id) -> Native.heldExtend(to, id, hold.handle(), millis))));
    }

    /** As it was granted. */
    final Hold granted() {
        return hold;
    }

    /** Ends it, unless it was ended before. */
    @Override
    public abstract void close();

    final Port port() {
        return port;
    }

    /** Whether the end is known here. */
    final synchronized boolean isOver() {
        return ended;
    }

    /** Why it was lost, once the end is known here. */
    final synchronized @Nullable LossReason lossAtEnd() {
        return lossAtEnd;
    }

    static CompletableFuture<LossReason> lossOf(Port port, long held) {
        if (REHEARSED.compareAndSet(false, true)) {
            Future<?> unused = port.rehearseSignal("expired", Leased::loss).thenAccept(reason -> {});
        }
        return port.startSignal((to, id) -> Native.heldWaitLost(to, id, held), Leased::loss);
    }

    private static LossReason loss(Object reply) {
        if (reply == Wire.NOT_LOST) {
            throw released();
        }
        return LossReason.of(Replies.of(reply, String.class));
    }

    private static CancelledException released() {
        return new CancelledException(new Failure(Kind.CANCELLED.code(), "lost", null, "lost: the hold was released"));
    }

    /** One call of {@link Native} that starts an operation. */
    @FunctionalInterface
    interface Ending {
        long submit(long port, long id, long held);
    }

    interface Question<T> {
        T ask(long held);
    }

    final synchronized <T> T ask(T afterTheEnd, Question<T> question) {
        return ended ? afterTheEnd : question.ask(hold.handle());
    }

    final synchronized void check(String op) {
        if (ended) {
            throw notHeld(op, "this handle does not hold " + what + " any more");
        }
    }

    final NotHeldException notHeld(String op, String why) {
        String message = op + " \"" + name + "\": " + why;
        return new NotHeldException(new Failure(Kind.NOT_HELD.code(), op, name, message));
    }

    /** The native library looks the handle up before the call returns. */
    final Port.Submit whileHeld(String op, Port.Submit call) {
        return (to, id) -> {
            synchronized (this) {
                check(op);
                return call.submit(to, id);
            }
        };
    }

    /** After what may have ended the hold. The native handle is not left to the garbage collector, which knows nothing of its weight. */
    final synchronized Object left(Object reply) {
        if (!ended && Native.heldHoldCount(hold.handle()) == 0) {
            ended = true;
            ownerAtEnd = hold.owner();
            byte[] loss = Native.heldLoss(hold.handle());
            lossAtEnd = loss == null ? null : LossReason.of(new String(loss, StandardCharsets.UTF_8));
            atEnd(hold.handle());
            freeing.run();
        }
        return reply;
    }
}
