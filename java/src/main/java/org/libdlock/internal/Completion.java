package org.libdlock.internal;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * The future of an operation. A thread for callbacks delivers the reply, because what depends on this future is the user's and may
 * block. While nothing depends on it, a thread that asks for the reply delivers it, so that it needs none of those threads.
 */
abstract class Completion<T extends @Nullable Object> extends CompletableFuture<T> implements Pending, Runnable {
    /** The stage that completes {@link #arrived}. */
    private static final int OWN_DEPENDENTS = 1;

    private final Executor callbacks;
    private final Executor signals;
    private final AtomicBoolean delivered = new AtomicBoolean();

    /** Complete when the reply or another result is there. Nothing but waiting threads depends on it. */
    private final CompletableFuture<@Nullable Void> arrived = new CompletableFuture<>();

    private volatile @Nullable Object reply;

    /**
     * A future without a reply.
     *
     * @param callbacks delivers the reply
     * @param signals delivers a reply that came when the future was complete already, of which no callback hears
     */
    Completion(Executor callbacks, Executor signals) {
        this.callbacks = callbacks;
        this.signals = signals;
        Future<?> unused = super.whenComplete((value, error) -> over());
    }

    /** Makes the result of the reply, once. */
    abstract void deliver(Object reply);

    /** Told twice, it delivers once. */
    @Override
    public final void done(Object reply) {
        this.reply = reply;
        (super.isDone() ? signals : callbacks).execute(this);
        arrived.complete(null);
    }

    /** Delivers the reply. */
    @Override
    public final void run() {
        Object reply = this.reply;
        if (reply != null && delivered.compareAndSet(false, true)) {
            deliver(reply);
        }
    }

    private void over() {
        arrived.complete(null);
        run();
    }

    /** A stage that depends on it runs on a thread for callbacks: here it would hold up a thread that only asks. */
    private void deliverUnlessNeeded() {
        if (reply != null && !super.isDone() && getNumberOfDependents() <= OWN_DEPENDENTS) {
            run();
        }
    }

    @Override
    public T get() throws InterruptedException, ExecutionException {
        arrived.get();
        deliverUnlessNeeded();
        return super.get();
    }

    @Override
    public T get(long timeout, TimeUnit unit) throws InterruptedException, ExecutionException, TimeoutException {
        long deadline = System.nanoTime() + unit.toNanos(timeout);
        arrived.get(timeout, unit);
        deliverUnlessNeeded();
        return super.get(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
    }

    @Override
    public T join() {
        arrived.join();
        deliverUnlessNeeded();
        return super.join();
    }

    @Override
    public T getNow(T absent) {
        deliverUnlessNeeded();
        return super.getNow(absent);
    }

    @Override
    public boolean isDone() {
        deliverUnlessNeeded();
        return super.isDone();
    }

    @Override
    public boolean isCancelled() {
        deliverUnlessNeeded();
        return super.isCancelled();
    }

    @Override
    public boolean isCompletedExceptionally() {
        deliverUnlessNeeded();
        return super.isCompletedExceptionally();
    }

    @Override
    public <U> CompletableFuture<U> newIncompleteFuture() {
        return new CompletableFuture<>();
    }
}
