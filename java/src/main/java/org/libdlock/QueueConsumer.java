package org.libdlock;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Port;

/**
 * Takes jobs of a queue and has a handler do them, made by {@link DistributedQueue#consume}.
 *
 * <pre>{@code
 * QueueConsumer consumer = mails.consume(pool, this::send, ConsumerOptions.defaults().concurrency(8));
 * Runtime.getRuntime().addShutdownHook(new Thread(consumer::close));   // for SIGTERM
 * consumer.awaitEnd(null);
 * }</pre>
 *
 * <p>It has no thread that keeps the JVM from exiting, so the main thread of a worker waits for its end. It goes on, also when nobody has it
 * any more, until it is closed or its client is.
 *
 * <p>A server that cannot be reached does not end it: it tries again, with pauses of up to 5 s. An error that does not pass, such as
 * {@link NoPermissionException}, ends it, and so does an executor that refuses a job: {@link #awaitEnd} and {@link #close} throw it.
 */
public final class QueueConsumer implements AutoCloseable {
    /** Of a job whose consumer stopped before it was done. */
    private static final String STOPPED = "its consumer stopped";

    /** How long it waits before it asks again a server that it could not ask. */
    private static final Backoff RETRIES = new Backoff(Duration.ofMillis(100), Duration.ofSeconds(5));

    /** The time that a stop waits for jobs that it puts back: when the server is away, that may take as long as an operation. */
    private static final Duration PUT_BACK = Duration.ofSeconds(1);

    private final DistributedQueue queue;
    private final Executor executor;
    private final JobHandler handler;
    private final ConsumerOptions options;
    private final CompletableFuture<@Nullable Void> ended = new CompletableFuture<>();

    /** Those that have not ended; guarded by this, as what is below and in them. */
    private final Set<Slot> slots = new HashSet<>();

    private boolean stopping;
    private @Nullable RuntimeException failure;

    QueueConsumer(DistributedQueue queue, Executor executor, JobHandler handler, ConsumerOptions options) {
        this.queue = queue;
        this.executor = executor;
        this.handler = handler;
        this.options = options;
    }

    void start() {
        List<Slot> all = new ArrayList<>();
        for (int at = 0; at < options.concurrency(); at++) {
            all.add(new Slot());
        }
        synchronized (this) {
            slots.addAll(all);
        }
        all.forEach(Slot::next);
    }

    /** Takes no more jobs, and returns at once. Those in hand are finished. For handlers of jobs, too. */
    public void requestStop() {
        List<CompletableFuture<?>> idle = new ArrayList<>();
        synchronized (this) {
            stopping = true;
            for (Slot slot : slots) {
                if (slot.idle != null) {
                    idle.add(slot.idle);
                }
            }
        }
        idle.forEach(waiting -> waiting.cancel(false));
    }

    /**
     * As {@link #stop(Duration)}, with the grace of the {@linkplain ConsumerOptions#grace options}.
     *
     * @return whether all jobs in hand were done in time
     */
    public boolean stop() {
        return stop(options.grace());
    }

    /**
     * Takes no more jobs and waits for those in hand. What is not done in time is put back, for another worker, and that delivery counts; its
     * handler goes on, and sees {@link Delivery#isValid} false. This waits up to 1 s for the server to have put them back, which goes on
     * after that. An interrupt ends the wait as the end of the grace does, and is kept for
     * later. A handler calls {@link #requestStop} instead: this would wait for itself.
     *
     * @param grace zero does not wait
     * @return whether all jobs in hand were done in time
     * @throws InvalidArgumentException for a negative time
     */
    public boolean stop(Duration grace) {
        long millis = Arguments.millis(ConsumerOptions.checkedGrace(grace));
        requestStop();
        try {
            if (endsWithin(millis)) {
                return true;
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
        putBackInHand();
        return false;
    }

    /**
     * Waits until it has ended: after a stop, or when the queue or the executor cannot be used any more. Then the error is thrown, such as
     * {@link ClosedException}.
     *
     * @param wait zero or less does not wait; {@code null} waits for ever
     * @return false when it goes on after that time
     * @throws InterruptedException when interrupted before or while waiting; the consumer goes on
     */
    public boolean awaitEnd(@Nullable Duration wait) throws InterruptedException {
        long millis = Arguments.waitMillis(wait);
        boolean over = endsWithin(millis == Arguments.NOT_GIVEN ? Long.MAX_VALUE : millis);
        if (over) {
            throwFailure();
        }
        return over;
    }

    /** Stops as {@link #stop()} does; throws the error that ended it before, if one did. */
    @Override
    public void close() {
        stop();
        throwFailure();
    }

    private boolean endsWithin(long millis) throws InterruptedException {
        try {
            // A copy, because what waits stays in a future until that is complete.
            ended.copy().get(millis, TimeUnit.MILLISECONDS);
            return true;
        } catch (java.util.concurrent.TimeoutException late) {
            return false;
        } catch (java.util.concurrent.ExecutionException never) {
            throw new IllegalStateException(never);
        }
    }

    private void throwFailure() {
        RuntimeException failed;
        synchronized (this) {
            failed = failure;
        }
        if (failed != null) {
            throw failed;
        }
    }

    private void putBackInHand() {
        List<Delivery> left = new ArrayList<>();
        synchronized (this) {
            for (Slot slot : slots) {
                if (slot.inHand != null && !slot.inHand.isEnded()) {
                    left.add(slot.inHand);
                }
            }
        }
        List<CompletableFuture<?>> puttingBack = new ArrayList<>();
        for (Delivery delivery : left) {
            puttingBack.add(
                    delivery.nackAsync(Port.Lane.CONSUMERS, null, STOPPED).exceptionally(error -> {
                        tellUnended(delivery, error);
                        return null;
                    }));
        }
        CompletableFuture.allOf(puttingBack.toArray(CompletableFuture[]::new))
                .completeOnTimeout(null, PUT_BACK.toMillis(), TimeUnit.MILLISECONDS)
                .join();
    }

    private void fail(RuntimeException error) {
        synchronized (this) {
            if (failure == null) {
                failure = error;
            }
        }
        requestStop();
    }

    private synchronized boolean isStopping() {
        return stopping;
    }

    /** One job at a time: taken, done, ended. */
    private final class Slot {
        /** What it waits for while it has no job. */
        private @Nullable CompletableFuture<?> idle;

        private @Nullable Delivery inHand;
        private int failures;

        void next() {
            CompletableFuture<Delivery> taking;
            synchronized (QueueConsumer.this) {
                inHand = null;
                if (stopping) {
                    taking = null;
                } else {
                    taking = take();
                    idle = taking;
                }
            }
            if (taking == null) {
                over();
                return;
            }
            Future<?> unused = taking.whenComplete((delivery, error) -> {
                if (error == null) {
                    came(delivery);
                } else {
                    notTaken(error);
                }
            });
        }

        private CompletableFuture<Delivery> take() {
            try {
                return queue.takeAsync(Port.Lane.CONSUMERS);
            } catch (DlockException refused) {
                return CompletableFuture.failedFuture(refused);
            }
        }

        private void notTaken(Throwable error) {
            if (isStopping()) {
                over();
            } else if (error instanceof DlockError known && known.retryable()) {
                failures++;
                Duration pause = RETRIES.delay(failures);
                log(
                        "no job could be taken from queue \"" + queue.name() + "\"; the next attempt follows in "
                                + pause,
                        error);
                pause(pause);
            } else {
                fail(error instanceof RuntimeException known ? known : new IllegalStateException(error));
                over();
            }
        }

        private void pause(Duration pause) {
            CompletableFuture<@Nullable Void> waiting = new CompletableFuture<>();
            synchronized (QueueConsumer.this) {
                idle = waiting;
                if (stopping) {
                    waiting.cancel(false);
                }
            }
            Future<?> unused = waiting.completeOnTimeout(null, pause.toMillis(), TimeUnit.MILLISECONDS)
                    .whenComplete((over, stopped) -> next());
        }

        private void came(Delivery delivery) {
            synchronized (QueueConsumer.this) {
                failures = 0;
                idle = null;
                inHand = delivery;
            }
            try {
                executor.execute(() -> work(delivery));
            } catch (Throwable refused) {
                String message = "consume \"" + queue.name() + "\": the executor refused a job, which goes back";
                fail(new RejectedExecutionException(message, refused));
                end(delivery, delivery.giveBackAsync(Port.Lane.CONSUMERS));
            }
        }

        private void work(Delivery delivery) {
            CompletableFuture<@Nullable Void> ending;
            try {
                handler.handle(delivery);
                ending = delivery.isEnded() ? done() : delivery.ackAsync(Port.Lane.CONSUMERS);
            } catch (Throwable error) {
                tellFailed(delivery, error);
                if (error instanceof InterruptedException) {
                    Thread.currentThread().interrupt();
                }
                Duration delay = options.backoff().delay(delivery.attempt());
                ending = delivery.isEnded()
                        ? done()
                        : delivery.nackAsync(Port.Lane.CONSUMERS, delay, options.reasonOf(error));
            }
            end(delivery, ending);
        }

        private CompletableFuture<@Nullable Void> done() {
            return CompletableFuture.completedFuture(null);
        }

        private void end(Delivery delivery, CompletableFuture<@Nullable Void> ending) {
            Future<?> unused = ending.whenComplete((done, error) -> {
                if (error != null) {
                    tellUnended(delivery, error);
                }
                next();
            });
        }

        private void over() {
            boolean last;
            synchronized (QueueConsumer.this) {
                slots.remove(this);
                last = slots.isEmpty();
            }
            if (last) {
                ended.complete(null);
            }
        }
    }

    private void tellFailed(Delivery delivery, Throwable error) {
        log(
                "job \"" + delivery.id() + "\" of queue \"" + delivery.queue().name() + "\" failed in its delivery "
                        + delivery.attempt(),
                error);
    }

    /** Of a job that could not be acknowledged or put back. */
    private void tellUnended(Delivery delivery, Throwable error) {
        Throwable cause = error instanceof java.util.concurrent.CompletionException && error.getCause() != null
                ? error.getCause()
                : error;
        String how = cause instanceof NotHeldException ? "was lost" : "could not be ended";
        log(
                "delivery of job \"" + delivery.id() + "\" of queue \""
                        + delivery.queue().name() + "\" " + how + ", and the job may come again",
                cause);
    }

    private static void log(String message, Throwable error) {
        System.getLogger("org.libdlock").log(System.Logger.Level.WARNING, message, error);
    }

    /** The queue's name, for logs and debuggers. */
    @Override
    public String toString() {
        return "QueueConsumer[" + queue.name() + "]";
    }
}
