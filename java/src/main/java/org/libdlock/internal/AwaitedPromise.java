package org.libdlock.internal;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The future of something that its caller then has. A {@code get} that ends without it gives it up: the caller has gone on, and a lock
 * that arrived later would be renewed for nobody.
 */
final class AwaitedPromise<T extends @Nullable Object> extends Promise<T> {
    AwaitedPromise(Executor callbacks, Executor signals, Function<Object, T> convert, Consumer<T> unwanted) {
        super(callbacks, signals, convert, unwanted);
    }

    @Override
    public T get() throws InterruptedException, ExecutionException {
        try {
            return super.get();
        } catch (InterruptedException interrupted) {
            return orElseThrow(interrupted);
        }
    }

    @Override
    public T get(long timeout, TimeUnit unit) throws InterruptedException, ExecutionException, TimeoutException {
        try {
            return super.get(timeout, unit);
        } catch (InterruptedException interrupted) {
            return orElseThrow(interrupted);
        } catch (TimeoutException late) {
            return orElseThrow(late);
        }
    }

    /** Gives it up, unless it has arrived just now: then the caller gets it. */
    private <E extends Exception> T orElseThrow(E ended) throws E, ExecutionException {
        if (cancel(true) || isCancelled()) {
            throw ended;
        }
        boolean interrupted = ended instanceof InterruptedException;
        try {
            while (true) {
                try {
                    return super.get();
                } catch (InterruptedException again) {
                    // What was decided is there in a moment.
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
