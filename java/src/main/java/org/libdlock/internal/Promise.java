package org.libdlock.internal;

import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The future of an operation that ends with it: to complete it otherwise ({@link #cancel}, {@link #orTimeout(long, TimeUnit)},
 * {@link #complete}) cancels the operation.
 */
class Promise<T extends @Nullable Object> extends Completion<T> {
    private static final Failure CANCELLED = new Failure(-12, "cancel", null, "cancel: the future was cancelled");

    private final Function<Object, T> convert;
    private final Consumer<T> unwanted;
    private final AtomicBoolean decided = new AtomicBoolean();
    private volatile long op;

    /**
     * A future of what {@code convert} makes of the reply, or throws.
     *
     * @param unwanted undoes what came too late
     */
    Promise(Executor callbacks, Executor signals, Function<Object, T> convert, Consumer<T> unwanted) {
        super(callbacks, signals);
        this.convert = convert;
        this.unwanted = unwanted;
    }

    void started(long op) {
        this.op = op;
    }

    @Override
    final void deliver(Object reply) {
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
}
