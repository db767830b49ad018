package org.libdlock;

import java.lang.ref.Reference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.libdlock.internal.Hold;
import org.libdlock.internal.Holders;
import org.libdlock.internal.Native;
import org.libdlock.internal.Port;
import org.libdlock.internal.Reclaimer;
import org.libdlock.internal.Wire;

/**
 * A connected client, made by {@link Dlock#connect(String)}. May be shared by any number of threads.
 *
 * <p>Close it. One that is collected while open warns through the logger {@code org.libdlock}, and what it holds runs out with its leases.
 * The JVM exits by itself while clients are open and locks are held.
 */
public class Client implements AutoCloseable {
    private final Port port;
    private final long handle;
    private final Holders holders;
    private final Ending ending;

    Client(Port port, long handle) {
        this.port = port;
        this.handle = handle;
        this.holders = new Holders(handle);
        this.ending = new Ending(port, handle, holders.views());
        Reclaimer.register(this, ending);
        port.watch(holders);
    }

    /** What is left to do when nobody has the client any more. Knows no more than that, so that it keeps nothing alive. */
    private static final class Ending implements Runnable {
        private final Port port;
        private final long handle;
        private final Holders.Views views;
        private final AtomicBoolean closed = new AtomicBoolean();

        Ending(Port port, long handle, Holders.Views views) {
            this.port = port;
            this.handle = handle;
            this.views = views;
        }

        boolean isClosed() {
            return closed.get();
        }

        void close(boolean release) {
            if (closed.compareAndSet(false, true)) {
                Replies.check(port.callLast((to, id) -> Native.clientClose(to, id, handle, release)));
            }
        }

        @Override
        public void run() {
            try {
                if (!isClosed()) {
                    System.getLogger("org.libdlock")
                            .log(
                                    System.Logger.Level.WARNING,
                                    "a client was not closed: its locks are no longer renewed");
                    close(false);
                }
            } finally {
                views.free();
                Native.free(handle);
            }
        }
    }

    /**
     * The lock of that name, as the client's options say. Costs no I/O; make it again where you need it: all of one client and name are
     * the same lock.
     *
     * @param name 1 to 512 bytes of UTF-8, key prefix included
     * @return a lock that waits for nothing yet
     * @throws InvalidNameException when the name cannot be used
     */
    public DistributedLock lock(String name) {
        return lock(name, LockOptions.defaults());
    }

    /**
     * The lock of that name. Costs no I/O.
     *
     * @param name as for {@link #lock(String)}
     * @param options its lease, and whether it is re-entrant
     * @return a lock that waits for nothing yet
     * @throws InvalidNameException when the name cannot be used
     * @throws InvalidArgumentException for a lease or a watchdog's lease out of bounds, or when both are given
     */
    public DistributedLock lock(String name, LockOptions options) {
        Arguments.notNull(name, "name");
        Arguments.notNull(options, "options");
        byte[] bytes = Arguments.nameBytes(name, "lock");
        long lease = Arguments.leaseMillis(options.lease());
        long watchdogLease = Arguments.leaseMillis(options.watchdogLease());
        try {
            long lock = Native.lockOpen(handle, bytes, lease, watchdogLease, options.reentrantOrDefault());
            return new DistributedLock(this, name, lock);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * The locks of these names as one, as the client's options say: all of them are held, or none. Costs no I/O.
     *
     * @param names 1 to 100 different ones, each as for {@link #lock(String)}; one that is given twice counts once
     * @return locks that wait for nothing yet
     * @throws InvalidNameException when a name cannot be used
     * @throws InvalidArgumentException for no name, and for too many
     */
    public DistributedLockAll lockAll(String... names) {
        Arguments.notNull(names, "names");
        return lockAll(Arrays.asList(names), LockOptions.defaults());
    }

    /**
     * The locks of these names as one. Costs no I/O.
     *
     * @param names as for {@link #lockAll(String...)}
     * @param options the lease of each, and whether they are re-entrant
     * @return locks that wait for nothing yet
     * @throws InvalidNameException when a name cannot be used
     * @throws InvalidArgumentException for no name, and for too many; for a lease or a watchdog's lease out of bounds, or when both are
     *     given
     */
    public DistributedLockAll lockAll(Collection<String> names, LockOptions options) {
        Arguments.notNull(names, "names");
        Arguments.notNull(options, "options");
        List<byte[]> bytes = new ArrayList<>();
        for (String name : names) {
            Arguments.notNull(name, "a name");
            bytes.add(Arguments.nameBytes(name, "lock all"));
        }
        long lease = Arguments.leaseMillis(options.lease());
        long watchdogLease = Arguments.leaseMillis(options.watchdogLease());
        try {
            byte[] packed = Wire.pack(bytes);
            long set = Native.lockAllOpen(handle, packed, lease, watchdogLease, options.reentrantOrDefault());
            return new DistributedLockAll(this, set);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * The semaphore of that name, with leases as the client's options say. Costs no I/O; make it again where you need it: all of one
     * client and name are the same semaphore.
     *
     * @param name as for {@link #lock(String)}
     * @param permits how many there are in all, 1 to 2147483647. It counts when the first acquire makes the semaphore on the server; one
     *     that is there keeps its own number, see {@link DistributedSemaphore#setPermits}, and a warning is logged.
     * @return a semaphore that waits for nothing yet
     * @throws InvalidNameException when the name cannot be used
     * @throws InvalidArgumentException for any other number of permits
     */
    public DistributedSemaphore semaphore(String name, int permits) {
        return semaphore(name, permits, SemaphoreOptions.defaults());
    }

    /**
     * The semaphore of that name. Costs no I/O.
     *
     * @param name as for {@link #lock(String)}
     * @param permits as for {@link #semaphore(String, int)}
     * @param options its leases
     * @return a semaphore that waits for nothing yet
     * @throws InvalidNameException when the name cannot be used
     * @throws InvalidArgumentException for any other number of permits, for a lease or a watchdog's lease out of bounds, or when both
     *     are given
     */
    public DistributedSemaphore semaphore(String name, int permits, SemaphoreOptions options) {
        Arguments.notNull(name, "name");
        Arguments.notNull(options, "options");
        byte[] bytes = Arguments.nameBytes(name, "semaphore");
        long lease = Arguments.leaseMillis(options.lease());
        long watchdogLease = Arguments.leaseMillis(options.watchdogLease());
        try {
            long semaphore = Native.semaphoreOpen(handle, bytes, permits, lease, watchdogLease);
            return new DistributedSemaphore(this, name, permits, semaphore);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * The semaphore of that name whose permits have no owner and no lease, for fleets that share one with Redisson's {@code RSemaphore}.
     * All others are better served by {@link #semaphore(String, int)}, whose permits come back when their holder dies. Costs no I/O; make
     * it again where you need it: all of one client and name are the same semaphore.
     *
     * @param name as for {@link #lock(String)}
     * @return a semaphore that waits for nothing yet
     * @throws InvalidNameException when the name cannot be used
     */
    public DistributedCountingSemaphore countingSemaphore(String name) {
        Arguments.notNull(name, "name");
        byte[] bytes = Arguments.nameBytes(name, "counting semaphore");
        try {
            return new DistributedCountingSemaphore(this, name, Native.countingSemaphoreOpen(handle, bytes));
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * The count-down latch of that name. Costs no I/O; make it again where you need it: all of one client and name are the same latch.
     *
     * @param name as for {@link #lock(String)}
     * @return a latch that waits for nothing yet
     * @throws InvalidNameException when the name cannot be used
     */
    public DistributedCountDownLatch latch(String name) {
        Arguments.notNull(name, "name");
        byte[] bytes = Arguments.nameBytes(name, "latch");
        try {
            return new DistributedCountDownLatch(this, name, Native.latchOpen(handle, bytes));
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * The delayed queue of that name, with the defaults of {@link QueueOptions}. Costs no I/O; make it again where you need it.
     *
     * @param name as for {@link #lock(String)}
     * @return a queue that has asked nobody yet
     * @throws InvalidNameException when the name cannot be used
     * @throws UnsupportedException for a client of several independent servers
     */
    public DistributedQueue queue(String name) {
        return queue(name, QueueOptions.defaults());
    }

    /**
     * The delayed queue of that name. Costs no I/O.
     *
     * @param name as for {@link #lock(String)}
     * @param options the lease of its deliveries, how often a job is delivered, how large a job and the queue may be
     * @return a queue that has asked nobody yet
     * @throws InvalidNameException when the name cannot be used
     * @throws InvalidArgumentException for an option out of bounds, or when a lease and a watchdog's lease are given
     * @throws UnsupportedException for a client of several independent servers
     */
    public DistributedQueue queue(String name, QueueOptions options) {
        Arguments.notNull(name, "name");
        Arguments.notNull(options, "options");
        byte[] bytes = Arguments.nameBytes(name, "queue");
        try {
            return new DistributedQueue(this, name, options.open(handle, bytes));
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * The generator of ids of that name, in blocks of {@link IdGenerator#DEFAULT_BLOCK} unless the server knows another size. Costs no I/O;
     * make it again where you need it: all of one client and name are the same generator, as long as one of them is in use.
     *
     * @param name as for {@link #lock(String)}
     * @return a generator that has asked nobody yet
     * @throws InvalidNameException when the name cannot be used
     */
    public IdGenerator idGenerator(String name) {
        return idGenerator(name, IdGenerator.DEFAULT_BLOCK);
    }

    /**
     * The generator of ids of that name. Costs no I/O.
     *
     * @param name as for {@link #lock(String)}
     * @param block how many ids a process takes at a time, 1 to 2<sup>53</sup> - 1; counts only where the server knows none
     * @return a generator that has asked nobody yet
     * @throws InvalidArgumentException for the block
     */
    public IdGenerator idGenerator(String name, long block) {
        return idGenerator(name, block, 1);
    }

    /**
     * The generator of ids of that name. Costs no I/O.
     *
     * @param name as for {@link #lock(String)}
     * @param block how many ids a process takes at a time, 1 to 2<sup>53</sup> - 1; counts only where the server knows none
     * @param start the first id of all; counts only where the server knows none
     * @return a generator that has asked nobody yet
     * @throws InvalidArgumentException for the block
     */
    public IdGenerator idGenerator(String name, long block, long start) {
        Arguments.notNull(name, "name");
        byte[] bytes = Arguments.nameBytes(name, "id generator");
        try {
            return new IdGenerator(this, name, Native.idGeneratorOpen(handle, bytes, block, start));
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * The Bloom filter of that name, which is Redisson's {@code RBloomFilter}; it stays until it is cleared. Costs no I/O.
     *
     * @param name as for {@link #lock(String)}
     * @param expected for how many items it is, 1 to 2<sup>53</sup> - 1
     * @param falsePositiveRate the share of items that were not added and are found all the same, once so many were; above 0 and below 1
     * @return a filter that has asked nobody yet
     * @throws InvalidArgumentException for the numbers, and for a filter of more than 4,294,967,294 bits
     * @throws InvalidNameException when the name cannot be used
     */
    public BloomFilter bloomFilter(String name, long expected, double falsePositiveRate) {
        return openBloomFilter(name, expected, falsePositiveRate, Arguments.NOT_GIVEN);
    }

    /**
     * As {@link #bloomFilter(String, long, double)}, of a filter that ends.
     *
     * @param name as for {@link #lock(String)}
     * @param expected for how many items it is
     * @param falsePositiveRate the share of false positives
     * @param ttl how long it lives from its first item on, 1 ms to 100 years
     * @return a filter that has asked nobody yet
     */
    public BloomFilter bloomFilter(String name, long expected, double falsePositiveRate, Duration ttl) {
        Arguments.notNull(ttl, "ttl");
        return openBloomFilter(name, expected, falsePositiveRate, Arguments.millis(ttl));
    }

    private BloomFilter openBloomFilter(String name, long expected, double falsePositiveRate, long ttlMs) {
        Arguments.notNull(name, "name");
        byte[] bytes = Arguments.nameBytes(name, "bloom filter");
        long rate = Double.doubleToRawLongBits(falsePositiveRate);
        try {
            return new BloomFilter(this, name, Native.bloomFilterOpen(handle, bytes, expected, rate, ttlMs));
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Leases the lowest free worker number of that pool of 1,024, for ids that differ among all who use the pool.
     *
     * @param pool as for {@link #lock(String)}
     * @return the number, to be closed
     * @throws AcquireTimeoutException at once, when all are taken: {@link DlockException#retryAfter()} says when the next may be free
     * @throws InvalidNameException when the name cannot be used
     * @throws ConnectionException when the server has not answered for {@code operation_timeout}
     * @throws ClosedException when the client is closed
     */
    public Worker worker(String pool) {
        return worker(pool, WorkerOptions.defaults());
    }

    /**
     * As {@link #worker(String)}.
     *
     * @param pool as for {@link #lock(String)}
     * @param options how many bits the numbers of the pool have, and the lease
     * @return the number, to be closed
     * @throws InvalidArgumentException for an option out of bounds; else as {@link #worker(String)}
     */
    public Worker worker(String pool, WorkerOptions options) {
        return leased(pool, Replies.of(port.call(leasing(pool, options)), Hold.class));
    }

    /**
     * As {@link #worker(String)}, without holding up the calling thread.
     *
     * @param pool as for {@link #lock(String)}
     * @return the number, to be closed; cancelling the future leaves nothing leased
     */
    public CompletableFuture<Worker> workerAsync(String pool) {
        return workerAsync(pool, WorkerOptions.defaults());
    }

    /**
     * As {@link #worker(String, WorkerOptions)}, without holding up the calling thread.
     *
     * @param pool as for {@link #lock(String)}
     * @param options how many bits the numbers of the pool have, and the lease
     * @return the number, to be closed; cancelling the future leaves nothing leased
     */
    public CompletableFuture<Worker> workerAsync(String pool, WorkerOptions options) {
        return port.startWaiting(
                leasing(pool, options), reply -> leased(pool, Replies.of(reply, Hold.class)), Worker::forget);
    }

    private Port.Submit leasing(String pool, WorkerOptions options) {
        Arguments.notNull(pool, "pool");
        Arguments.notNull(options, "options");
        byte[] bytes = Arguments.nameBytes(pool, "worker");
        long lease = Arguments.leaseMillis(options.lease());
        return (to, id) -> {
            try {
                return Native.workerLease(to, id, handle, bytes, options.bitsOrDefault(), lease);
            } finally {
                Reference.reachabilityFence(this);
            }
        };
    }

    private Worker leased(String pool, Hold hold) {
        return new Worker(this, pool, hold);
    }

    /**
     * The read-write lock of that name, as the client's options say. Costs no I/O; make it again where you need it: all of one client and
     * name are the same lock.
     *
     * @param name as for {@link #lock(String)}
     * @return a lock that waits for nothing yet
     * @throws InvalidNameException when the name cannot be used
     */
    public DistributedReadWriteLock rwLock(String name) {
        return rwLock(name, RwLockOptions.defaults());
    }

    /**
     * The read-write lock of that name. Costs no I/O.
     *
     * @param name as for {@link #lock(String)}
     * @param options its leases, whether its sides are re-entrant, and how long readers join one another
     * @return a lock that waits for nothing yet
     * @throws InvalidNameException when the name cannot be used
     * @throws InvalidArgumentException for an option out of bounds, or when a lease and a watchdog's lease are given
     */
    public DistributedReadWriteLock rwLock(String name, RwLockOptions options) {
        Arguments.notNull(name, "name");
        Arguments.notNull(options, "options");
        byte[] bytes = Arguments.nameBytes(name, "rw lock");
        RwLockSide read = RwLockSide.read(this, name, rwLockSide(bytes, false, options));
        return new DistributedReadWriteLock(read, RwLockSide.write(this, name, rwLockSide(bytes, true, options), read));
    }

    private long rwLockSide(byte[] name, boolean write, RwLockOptions options) {
        long lease = Arguments.leaseMillis(options.lease());
        long watchdogLease = Arguments.leaseMillis(options.watchdogLease());
        long sharedAge = Arguments.leaseMillis(options.sharedAge());
        try {
            return Native.rwLockOpen(
                    handle, name, write, lease, watchdogLease, options.reentrantOrDefault(), sharedAge);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * The rate limiter of that name, an error while the server cannot be reached. Costs no I/O.
     *
     * @param name as for {@link #lock(String)}
     * @param rate what it lets through; whoever shares the name should give the same
     * @return a limiter
     * @throws InvalidNameException when the name cannot be used
     * @throws InvalidArgumentException for a rate out of bounds
     */
    public RateLimiter rateLimiter(String name, Rate rate) {
        return rateLimiter(name, rate, Absent.FAIL);
    }

    /**
     * The rate limiter of that name. Costs no I/O.
     *
     * @param name as for {@link #lock(String)}
     * @param rate what it lets through; whoever shares the name should give the same
     * @param absent what it answers while the server cannot be reached
     * @return a limiter
     * @throws InvalidNameException when the name cannot be used
     * @throws InvalidArgumentException for a rate or policy out of bounds
     */
    public RateLimiter rateLimiter(String name, Rate rate, Absent absent) {
        Arguments.notNull(rate, "rate");
        return limiter(name, List.of(rate), absent, 0);
    }

    /**
     * The rate limiter of that name, of which this client fetches tokens ahead: for a name that is asked for thousands of times a
     * second. Costs no I/O.
     *
     * <p>While the client has tokens, {@link RateLimiter#tryAcquire} decides in less than a microsecond, without a round trip; the
     * server is asked some 25 times a second, up to 45 when there is less than is wanted. The rate is kept as without it. The
     * price: a client that has fetched its share goes on for 80 ms or so while another is refused, and what a process has that dies,
     * never more than the rate brings in 0.9 s, is lost. A {@linkplain RateLimiter#keyed key} of the limiter fetches nothing ahead.
     *
     * @param name as for {@link #lock(String)}
     * @param rate what it lets through; whoever shares the name should give the same
     * @param absent what it answers while the server cannot be reached
     * @param prefetch the largest part of the burst that this client may fetch ahead, more than 0 and at most 1
     * @return a limiter
     * @throws InvalidNameException when the name cannot be used
     * @throws InvalidArgumentException for a rate, policy or share out of bounds
     */
    public RateLimiter rateLimiter(String name, Rate rate, Absent absent, double prefetch) {
        // The bits of 0.0 stand for none; those of -0.0 are refused as 0 is.
        Arguments.notNull(rate, "rate");
        return limiter(name, List.of(rate), absent, Double.doubleToRawLongBits(prefetch == 0 ? -0.0 : prefetch));
    }

    /**
     * The rate limiter of that name, of whose rates each decision needs all: when one of them refuses, none is charged. An error while
     * the server cannot be reached. Costs no I/O.
     *
     * @param name as for {@link #lock(String)}
     * @param rates 1 to 8; of two, the one with the longer period has more tokens. Whoever shares the name should give the same
     * @return a limiter
     * @throws InvalidNameException when the name cannot be used
     * @throws InvalidArgumentException for a rate out of bounds, and for rates that contradict each other
     */
    public RateLimiter rateLimiter(String name, List<Rate> rates) {
        return rateLimiter(name, rates, Absent.FAIL);
    }

    /**
     * As {@link #rateLimiter(String, List)}, with a policy for an absent server.
     *
     * @param name as for {@link #lock(String)}
     * @param rates as for {@link #rateLimiter(String, List)}
     * @param absent what it answers while the server cannot be reached
     * @return a limiter
     * @throws InvalidNameException when the name cannot be used
     * @throws InvalidArgumentException for a rate or policy out of bounds, and for rates that contradict each other
     */
    public RateLimiter rateLimiter(String name, List<Rate> rates, Absent absent) {
        return limiter(name, rates, absent, 0);
    }

    /** {@code prefetch} has the bits of a double, 0 for none. */
    private RateLimiter limiter(String name, List<Rate> rates, Absent absent, long prefetch) {
        Arguments.notNull(name, "name");
        Arguments.notNull(rates, "rates");
        Arguments.notNull(absent, "absent");
        byte[] bytes = Arguments.nameBytes(name, "rate limiter");
        rates.forEach(rate -> Arguments.notNull(rate, "rate"));
        List<Rate> given = List.copyOf(rates);
        byte[] algorithms =
                Wire.pack(given.stream().map(rate -> rate.algorithm().word()).toList());
        long[] numbers = given.stream().flatMapToLong(Rate::numbers).toArray();
        try {
            long limiter =
                    Native.limiterOpen(handle, bytes, numbers, algorithms, absent.word(), absent.shareOf(), prefetch);
            return new RateLimiter(this, name, limiter, given, prefetch != 0);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * What it has counted since it was opened. No I/O; also when it is closed.
     *
     * @return the numbers of now
     */
    public Stats stats() {
        try {
            return Stats.of(Native.clientStats(handle));
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** Closes the client as {@link #close(boolean) close(false)} does. */
    @Override
    public void close() {
        close(false);
    }

    /**
     * Closes the client: everybody who waits through it gets a {@link ClosedException}, renewal stops, and what is held runs out with
     * its lease. Closing again does nothing.
     *
     * @param release release first what is held
     * @throws DlockException with {@code release}: what kept a hold from being released. The client is closed all the same.
     */
    public void close(boolean release) {
        try {
            ending.close(release);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Whether {@link #close} was called.
     *
     * @return true from the call on
     */
    public boolean isClosed() {
        return ending.isClosed();
    }

    Port port() {
        return port;
    }

    Holders holders() {
        return holders;
    }
}
