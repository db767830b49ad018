package org.libdlock.internal;

import java.lang.ref.WeakReference;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The way to and from the native library: any thread starts operations, and one daemon thread fetches what came of them, a batch at a
 * time. Threads that wait for one sleep here, in Java, where they can be interrupted and virtual ones give up their carrier.
 * No native thread ever enters the JVM, so the JVM can exit at any time.
 *
 * <p>The thread is there while a client is open or an operation under way. It ends with the last of them, so that the class loader of an
 * application that was undeployed can be collected; the next operation starts another.
 */
public final class Port implements Wire.Sink {
    private static final int BATCH = 256;
    /** With this number of callbacks of a lane blocked, the callbacks behind them wait. */
    private static final int CALLBACK_THREADS = 64;
    /** So many events wait for a log handler that blocks; more are counted and dropped. */
    private static final int LOG_MAX = 1024;

    /** How often to look for threads that have ended while they held something. */
    private static final long LOOK_FOR_DEAD_MS = 1000;

    private static @Nullable Port instance;

    private final AtomicLong ids = new AtomicLong();
    private final Map<Long, Pending> pending = new ConcurrentHashMap<>();
    private final Map<Lane, Callbacks> lanes = new EnumMap<>(Lane.class);
    private final Callbacks log = new Callbacks("libdlock-log", 1);
    private final AtomicLong dropped = new AtomicLong();
    private final List<WeakReference<Holders>> clients = new CopyOnWriteArrayList<>();
    private final AtomicLong open = new AtomicLong();

    /** Whether a thread drains the port, whose handle is good then. Written under this object's monitor, after the handle. */
    private volatile boolean isDrained;

    private volatile long handle;

    private Port() {
        for (Lane lane : Lane.values()) {
            lanes.put(lane, new Callbacks(lane.threads, lane.maxThreads));
        }
    }

    /**
     * The one of this JVM; the first call loads the library.
     *
     * @return the port
     */
    public static synchronized Port get() {
        if (instance == null) {
            Library.load();
            instance = new Port();
        }
        return instance;
    }

    /** Which threads run what depends on a future. What blocks those of one lane does not keep the others' from their work. */
    public enum Lane {
        /** Callbacks of the user's. */
        CALLBACKS("libdlock-callbacks", CALLBACK_THREADS),
        /** Lost signals, and replies that nobody wants any more: neither may wait for a callback. */
        SIGNALS("libdlock-signals", CALLBACK_THREADS),
        /** The steps of queue consumers, one for each job that a consumer may have in hand. */
        CONSUMERS("libdlock-consumers", Integer.MAX_VALUE);

        private final String threads;
        private final int maxThreads;

        Lane(String threads, int maxThreads) {
            this.threads = threads;
            this.maxThreads = maxThreads;
        }
    }

    /** Starts an operation. */
    @FunctionalInterface
    public interface Submit {
        /**
         * One call of {@link Native}.
         *
         * @param port the port's handle
         * @param id the number under which the operation is to be completed
         * @return the operation's handle
         */
        long submit(long port, long id);
    }

    /**
     * Runs an operation while the calling thread waits. An interrupt neither ends the wait nor gets lost.
     *
     * @param call starts it
     * @return what {@link Wire} read
     */
    public Object call(Submit call) {
        Parked parked = new Parked();
        submit(call, parked);
        return parked.await();
    }

    /**
     * Runs an operation while the calling thread waits; an interrupt cancels it.
     *
     * @param call starts it
     * @return what {@link Wire} read
     * @throws InterruptedException when it was cancelled
     */
    public Object callInterruptibly(Submit call) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        Parked parked = new Parked();
        return parked.awaitOrCancel(submit(call, parked));
    }

    /**
     * Starts an operation that completes a future.
     *
     * @param <T> what it brings
     * @param call starts it
     * @param convert makes the value of what {@link Wire} read, or throws; has no effect of its own
     * @param unwanted undoes a value that nobody gets, because the future was completed or cancelled in the meantime
     * @return the future
     */
    public <T extends @Nullable Object> CompletableFuture<T> start(
            Submit call, Function<Object, T> convert, Consumer<T> unwanted) {
        return start(call, promise(Lane.CALLBACKS, convert, unwanted));
    }

    /**
     * As {@link #start}, for a signal, which must not wait for a callback.
     *
     * @param <T> what it brings
     * @param call as for {@link #start}
     * @param convert as for {@link #start}
     * @return the future
     */
    public <T> CompletableFuture<T> startSignal(Submit call, Function<Object, T> convert) {
        return start(call, promise(Lane.SIGNALS, convert, unwanted -> {}));
    }

    /**
     * Has a reply go the way that one of {@link #startSignal} goes, so that the JVM has loaded what lies on it before it matters.
     *
     * @param <T> what {@code convert} makes of it
     * @param reply as {@link Wire} reads it
     * @param convert as for {@link #start}
     * @return completes as the one of {@link #startSignal} does
     */
    public <T> CompletableFuture<T> rehearseSignal(Object reply, Function<Object, T> convert) {
        Promise<T> promise = promise(Lane.SIGNALS, convert, unwanted -> {});
        promise.done(reply);
        return promise;
    }

    /**
     * As {@link #start}, for an operation that waits for something the caller then has: a {@code get} that times out or is interrupted
     * gives it up, because nobody may ever ask for the value again.
     *
     * @param <T> what it brings
     * @param call as for {@link #start}
     * @param convert as for {@link #start}
     * @param unwanted as for {@link #start}
     * @return the future
     */
    public <T extends @Nullable Object> CompletableFuture<T> startWaiting(
            Submit call, Function<Object, T> convert, Consumer<T> unwanted) {
        return startWaiting(Lane.CALLBACKS, call, convert, unwanted);
    }

    /**
     * As the one above.
     *
     * @param <T> what it brings
     * @param lane runs what depends on the future
     * @param call as for {@link #start}
     * @param convert as for {@link #start}
     * @param unwanted as for {@link #start}
     * @return the future
     */
    public <T extends @Nullable Object> CompletableFuture<T> startWaiting(
            Lane lane, Submit call, Function<Object, T> convert, Consumer<T> unwanted) {
        return start(call, new AwaitedPromise<>(threads(lane), threads(Lane.SIGNALS), convert, unwanted));
    }

    /**
     * Starts an operation that goes on, and has its effect, whatever becomes of the future.
     *
     * @param <T> what it brings
     * @param lane runs what depends on the future
     * @param call starts it
     * @param effect makes the value of what {@link Wire} read, or throws; is called once
     * @return the future
     */
    public <T extends @Nullable Object> CompletableFuture<T> startEnding(
            Lane lane, Submit call, Function<Object, T> effect) {
        Ending<T> ending = new Ending<>(threads(lane), threads(Lane.SIGNALS), effect);
        submit(call, ending);
        return ending;
    }

    private <T extends @Nullable Object> Promise<T> start(Submit call, Promise<T> promise) {
        promise.started(submit(call, promise));
        return promise;
    }

    private <T extends @Nullable Object> Promise<T> promise(
            Lane lane, Function<Object, T> convert, Consumer<T> unwanted) {
        return new Promise<>(threads(lane), threads(Lane.SIGNALS), convert, unwanted);
    }

    private Callbacks threads(Lane lane) {
        return Objects.requireNonNull(lanes.get(lane));
    }

    private long submit(Submit call, Pending waiting) {
        long id = ids.incrementAndGet();
        pending.put(id, waiting);
        boolean submitted = false;
        try {
            beDrained();
            long op = call.submit(handle, id);
            submitted = true;
            return op;
        } finally {
            if (!submitted) {
                pending.remove(id);
            }
        }
    }

    /**
     * As {@link #call}, for the operation that opens a client: its events come to the port from then on, which is there until
     * {@link #callLast}.
     *
     * @param call starts it
     * @return what {@link Wire} read
     */
    public Object callFirst(Submit call) {
        open.incrementAndGet();
        boolean opened = false;
        try {
            Object reply = call(call);
            opened = !(reply instanceof Failure);
            return reply;
        } finally {
            if (!opened) {
                open.decrementAndGet();
            }
        }
    }

    /**
     * Looks after the threads that hold something.
     *
     * @param holders a new client's; kept as long as the client keeps them
     */
    public void watch(Holders holders) {
        clients.removeIf(client -> client.get() == null);
        clients.add(new WeakReference<>(holders));
    }

    /**
     * As {@link #call}, for the operation that closes a client: with the last one the thread ends.
     *
     * @param call starts it
     * @return what {@link Wire} read
     */
    public Object callLast(Submit call) {
        Closing closing = new Closing();
        boolean submitted = false;
        try {
            submit(call, closing);
            submitted = true;
        } finally {
            if (!submitted) {
                closing.over();
            }
        }
        return closing.await();
    }

    /** The client counts until its end has come: the thread that brings it looks then whether it was the last one. */
    private final class Closing extends Parked {
        private final AtomicBoolean isOver = new AtomicBoolean();

        @Override
        public void done(Object reply) {
            over();
            super.done(reply);
        }

        private void over() {
            if (isOver.compareAndSet(false, true)) {
                open.decrementAndGet();
            }
        }
    }

    private void beDrained() {
        if (!isDrained) {
            startDraining();
        }
    }

    private synchronized void startDraining() {
        if (!isDrained) {
            long opened = Native.portOpen();
            boolean started = false;
            try {
                Callbacks.daemon("libdlock", () -> drain(opened));
                started = true;
            } finally {
                if (!started) {
                    Native.free(opened);
                }
            }
            handle = opened;
            isDrained = true;
        }
    }

    private void drain(long port) {
        Wire.Reader batch = new Wire.Reader(new byte[0]);
        long lookedForDead = System.nanoTime();
        while (true) {
            try {
                // A batch is read to its end, however long a JVM without memory takes: somebody waits for each of it.
                while (batch.hasMore()) {
                    batch.next(this);
                }
                Reclaimer.look();
                long now = System.nanoTime();
                if (now - lookedForDead >= TimeUnit.MILLISECONDS.toNanos(LOOK_FOR_DEAD_MS)) {
                    lookedForDead = now;
                    lookForDead();
                }
                boolean mayEnd = !isNeeded();
                batch = new Wire.Reader(Native.portDrain(port, BATCH, mayEnd ? 0 : timeout()));
                if (mayEnd && !batch.hasMore() && ended(port)) {
                    return;
                }
            } catch (Throwable error) {
                // Nothing of the user's runs here, so this is a JVM in need. What could not cross is kept on the other
                // side.
                Log.failed("the completion port could not be drained yet", error);
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
            }
        }
    }

    private boolean isNeeded() {
        return open.get() > 0 || !pending.isEmpty() || watch();
    }

    /** An operation that begins from here on starts another thread; one that has begun since {@link #isNeeded} keeps this one. */
    private synchronized boolean ended(long port) {
        isDrained = false;
        if (isNeeded()) {
            isDrained = true;
            return false;
        }
        Native.free(port);
        lanes.values().forEach(Callbacks::rest);
        log.rest();
        Reclaimer.rest();
        return true;
    }

    @Override
    public void completed(long id, Object reply) {
        Pending waiting = pending.get(id);
        if (waiting != null) {
            waiting.done(reply);
            pending.remove(id);
        }
    }

    @Override
    public void logged(String level, @Nullable String object, String message) {
        long missed = dropped.getAndSet(0);
        String text = missed == 0 ? message : message + " (" + missed + " events before this one were dropped)";
        if (!log.executeUnless(LOG_MAX, () -> Log.event(level, object, text))) {
            dropped.addAndGet(missed + 1);
        }
    }

    private long timeout() {
        // Always bounded, because an acquire on the direct path wakes nobody here.
        return watch() ? Callbacks.STALL_MS : LOOK_FOR_DEAD_MS;
    }

    /** Whether callbacks wait for a thread. */
    private boolean watch() {
        boolean busy = log.watch();
        for (Callbacks lane : lanes.values()) {
            busy |= lane.watch();
        }
        return busy;
    }

    private void lookForDead() {
        for (WeakReference<Holders> client : clients) {
            Holders holders = client.get();
            if (holders != null) {
                holders.abandonDead();
            }
        }
    }
}
