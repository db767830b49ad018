package org.libdlock.internal;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The future of an operation. Whoever completes it otherwise ({@link #cancel}, {@link #orTimeout(long, TimeUnit)}, {@link #complete})
 * cancels the operation.
 */
class Promise<T extends @Nullable Object> extends CompletableFuture<T> implements Pending, Runnable {
    private static final Failure CANCELLED = new Failure(-12, "cancel", null, "cancel: the future was cancelled");

    private final Callbacks callbacks;
    private final Function<Object, T> convert;
    private final Consumer<T> unwanted;
    private final AtomicBoolean decided = new AtomicBoolean();
    private final AtomicBoolean delivered = new AtomicBoolean();
    private volatile @Nullable Object reply;
    private volatile long op;

    /**
     * A future of what {@code convert} makes of the reply, or throws.
     *
     * @param unwanted undoes what came too late
     */
    Promise(Callbacks callbacks, Function<Object, T> convert, Consumer<T> unwanted) {
        this.callbacks = callbacks;
        this.convert = convert;
        this.unwanted = unwanted;
    }

    void started(long op) {
        this.op = op;
    }

    /** On another thread, because what depends on this future is the user's and may block. Told twice, it delivers once. */
    @Override
    public void done(Object reply) {
        this.reply = reply;
        callbacks.execute(this);
    }

    /** Delivers the reply. */
    @Override
    public void run() {
        Object reply = this.reply;
        if (reply == null || !delivered.compareAndSet(false, true)) {
            return;
        }
        T value;
        try {
            value = convert.apply(reply);
        } catch (RuntimeException exception) {
            if (decide()) {
                super.completeExceptionally(exception);
            }
            return;
        }
        if (!(decide() && super.complete(value))) {
            unwanted.accept(value);
        }
    }

    @Override
    public boolean complete(T value) {
        return takenOver() && super.complete(value);
    }

    @Override
    public boolean completeExceptionally(Throwable exception) {
        return takenOver() && super.completeExceptionally(exception);
    }

    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
        try {
            T never = convert.apply(CANCELLED);
            complete(never);
        } catch (RuntimeException cancelled) {
            completeExceptionally(cancelled);
        }
        return isCancelled();
    }

    /** Whether the caller is the first that has something to say. */
    private boolean decide() {
        return decided.compareAndSet(false, true);
    }

    /** Cancels the operation before anybody hears of it: who then asks for the lock meets nobody in the line. */
    private boolean takenOver() {
        if (!decide()) {
            return false;
        }
        Native.cancel(op);
        return true;
    }

    @Override
    public <U> CompletableFuture<U> newIncompleteFuture() {
        return new CompletableFuture<>();
    }
}
