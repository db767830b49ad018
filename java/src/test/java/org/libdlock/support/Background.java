package org.libdlock.support;

import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

/** A thread of its own for one piece of work, whose result or exception is looked at. */
public final class Background<T> {
    private final CompletableFuture<T> result = new CompletableFuture<>();
    private final Thread thread;

    private Background(Callable<T> work) {
        thread = new Thread(() -> {
            try {
                result.complete(work.call());
            } catch (Throwable e) {
                result.completeExceptionally(e);
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    public static <T> Background<T> run(Callable<T> work) {
        return new Background<>(work);
    }

    public Thread thread() {
        return thread;
    }

    /** Waits until it does: in Java, or in the native call that asks. */
    public Background<T> waits() {
        Eventually.holds("the thread waits", () -> sleeps() || asksInNativeCode());
        return this;
    }

    private boolean sleeps() {
        Thread.State state = thread.getState();
        return state == Thread.State.WAITING || state == Thread.State.TIMED_WAITING;
    }

    private boolean asksInNativeCode() {
        StackTraceElement[] stack = thread.getStackTrace();
        String method = stack.length > 0 ? stack[0].getMethodName() : "";
        return method.endsWith("AcquireBlocking") || method.endsWith("WaitBlocking") || method.endsWith("TakeBlocking");
    }

    public boolean isDone() {
        return result.isDone();
    }

    /** What it returned; what it threw as the cause of an AssertionError. */
    public T get() {
        try {
            T value = result.get(60, TimeUnit.SECONDS);
            thread.join(5000);
            return value;
        } catch (Exception e) {
            Throwable cause = e.getCause();
            throw new AssertionError(cause == null ? e : cause);
        }
    }

    /** What it threw. */
    public Throwable thrown() {
        try {
            throw new AssertionError("returned " + result.get(60, TimeUnit.SECONDS));
        } catch (ExecutionException e) {
            Throwable cause = e.getCause();
            return cause == null ? e : cause;
        } catch (InterruptedException
                | java.util.concurrent.TimeoutException
                | java.util.concurrent.CancellationException e) {
            return e;
        }
    }
}
