package org.libdlock.internal;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Runs what may run code of the user's: the dependents of futures, and log handlers.
 *
 * <p>One daemon thread as long as nothing blocks it. When one task takes longer than {@link #STALL_MS} while others wait, another thread
 * comes to its help, up to a limit; so callbacks that block, even for ever, delay others but do not stop them, and a burst of a thousand
 * short ones needs no thousand threads. Threads with nothing to do end.
 */
final class Callbacks implements Executor {
    static final long STALL_MS = 10;
    private static final long KEEP_IDLE_MS = 10_000;

    private final String name;
    private final int maxThreads;
    private final Queue<Runnable> queue = new ArrayDeque<>();
    private int threads;
    private int idle;
    private boolean isResting;
    private long lastTaken;

    Callbacks(String name, int maxThreads) {
        this.name = name;
        this.maxThreads = maxThreads;
    }

    @Override
    public synchronized void execute(Runnable task) {
        isResting = false;
        queue.add(task);
        if (idle > 0) {
            notify();
        } else if (threads == 0) {
            startThread();
        }
    }

    /** As {@link #execute}, unless so many wait already. */
    synchronized boolean executeUnless(int waiting, Runnable task) {
        if (queue.size() >= waiting) {
            return false;
        }
        execute(task);
        return true;
    }

    /**
     * Sends help where it is needed.
     *
     * @return whether to look again after {@link #STALL_MS}
     */
    synchronized boolean watch() {
        if (queue.isEmpty()) {
            return false;
        }
        boolean stalled = System.nanoTime() - lastTaken > TimeUnit.MILLISECONDS.toNanos(STALL_MS);
        if (idle == 0 && stalled && threads < maxThreads) {
            startThread();
        }
        return threads < maxThreads;
    }

    /** Ends the threads that have nothing to do, and after the next task no thread waits for another one. */
    synchronized void rest() {
        isResting = true;
        notifyAll();
    }

    private void startThread() {
        try {
            daemon(name, this::run);
            threads++;
        } catch (OutOfMemoryError noThread) {
            // What is queued stays queued; watch() tries again.
            Log.failed("no thread for callbacks could be started yet", noThread);
        }
        lastTaken = System.nanoTime();
    }

    /** A thread that has nothing of whoever happened to come first: neither inherited thread-locals nor a class loader. */
    static void daemon(String name, Runnable work) {
        Thread thread = new Thread(null, work, name, 0, false);
        thread.setContextClassLoader(ClassLoader.getSystemClassLoader());
        thread.setDaemon(true);
        thread.start();
    }

    private void run() {
        while (runOne(take())) {
            // No variable here keeps the last task, and what the user has of it, from the garbage collector.
        }
    }

    private static boolean runOne(@Nullable Runnable task) {
        if (task == null) {
            return false;
        }
        try {
            task.run();
        } catch (Throwable error) {
            Log.failed("a callback failed", error);
        }
        return true;
    }

    private synchronized @Nullable Runnable take() {
        long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(KEEP_IDLE_MS);
        idle++;
        try {
            while (queue.isEmpty()) {
                long left = TimeUnit.NANOSECONDS.toMillis(until - System.nanoTime());
                if (isResting || left <= 0) {
                    threads--;
                    return null;
                }
                wait(left);
            }
        } catch (InterruptedException interrupted) {
            // Somebody interrupts every thread there is: this one ends, and watch() starts another for what is queued.
            threads--;
            return null;
        } finally {
            idle--;
        }
        lastTaken = System.nanoTime();
        return queue.poll();
    }
}
