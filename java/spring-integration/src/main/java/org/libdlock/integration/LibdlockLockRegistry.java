package org.libdlock.integration;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import org.libdlock.Client;
import org.libdlock.HoldEndedException;
import org.libdlock.LockOptions;
import org.springframework.integration.support.locks.DistributedLock;
import org.springframework.integration.support.locks.ExpirableLockRegistry;
import org.springframework.integration.support.locks.RenewableLockRegistry;
import org.springframework.scheduling.TaskScheduler;

/**
 * Spring Integration's locks as libdlock's: the key {@code k} of the registry {@code r} is the lock {@code r:k}.
 *
 * <p>The holder is the thread, and the client: registries of one client with the same registry key share their locks, and a thread may
 * enter again through either. Waiters of all processes form a queue, in order of arrival.
 *
 * <p>Without {@code expireAfter} a lock is renewed for as long as it is held and the process lives. May be shared between threads.
 */
public class LibdlockLockRegistry
        implements ExpirableLockRegistry<DistributedLock>, RenewableLockRegistry<DistributedLock> {
    private static final int DEFAULT_CACHE_CAPACITY = 100_000;

    /** An extension never shortens: the shortest lease asks whether the lock is held, and renews nothing. */
    private static final Duration NO_EXTENSION = Duration.ofMillis(100);

    private final Client client;
    private final String registryKey;
    private final Duration renewal;

    /** Of the locks that are opened from now on. */
    private volatile LockOptions options;

    private final boolean expires;

    /** In the order of their last use; guarded by itself. */
    private final Map<String, RegisteredLock> locks = new LinkedHashMap<>(16, 0.75f, true);

    private volatile int cacheCapacity = DEFAULT_CACHE_CAPACITY;

    /**
     * Locks that are renewed for as long as they are held, with the client's lease.
     *
     * @param client which stays the caller's to close
     * @param registryKey what the locks' names begin with
     */
    public LibdlockLockRegistry(Client client, String registryKey) {
        this(client, registryKey, LockOptions.defaults(), NO_EXTENSION, false);
    }

    /**
     * Locks with a lease that ends, as those of {@code RedisLockRegistry} do, unless {@link #setRenewalTaskScheduler} is called.
     *
     * @param client which stays the caller's to close
     * @param registryKey what the locks' names begin with
     * @param expireAfter 100 ms to 24 h
     */
    public LibdlockLockRegistry(Client client, String registryKey, Duration expireAfter) {
        this(client, registryKey, LockOptions.defaults().lease(expireAfter), expireAfter, true);
    }

    private LibdlockLockRegistry(
            Client client, String registryKey, LockOptions options, Duration renewal, boolean expires) {
        this.client = Objects.requireNonNull(client, "client");
        this.registryKey = Objects.requireNonNull(registryKey, "registryKey");
        this.options = options;
        this.renewal = renewal;
        this.expires = expires;
    }

    /**
     * The lock of a key; costs no I/O.
     *
     * @param lockKey a {@code String}
     * @return the same one for the same key, until it is unused and {@link #expireUnusedOlderThan} or the capacity removes it
     * @throws IllegalArgumentException for a key that is no {@code String}, or makes no name of a lock
     */
    @Override
    public DistributedLock obtain(Object lockKey) {
        if (!(lockKey instanceof String key)) {
            String type = lockKey == null ? "null" : lockKey.getClass().getName();
            throw new IllegalArgumentException(
                    "a key of the lock registry \"" + registryKey + "\" must be a String, not " + type);
        }
        synchronized (locks) {
            RegisteredLock lock = locks.get(key);
            if (lock == null) {
                makeRoom();
                lock = new RegisteredLock(client.lock(registryKey + ":" + key, options));
                locks.put(key, lock);
            }
            return lock;
        }
    }

    /** Those that are held stay, for as long as that makes more than the capacity. */
    private void makeRoom() {
        int surplus = locks.size() - cacheCapacity + 1;
        var eldest = locks.values().iterator();
        while (surplus > 0 && eldest.hasNext()) {
            if (!eldest.next().isHeldHere()) {
                eldest.remove();
                surplus--;
            }
        }
    }

    /**
     * Forgets locks that no thread of this registry holds and that were not acquired for a time. That changes nothing about a lock: who
     * has one of those may go on using it.
     *
     * @param age in milliseconds
     */
    @Override
    public void expireUnusedOlderThan(long age) {
        long now = System.nanoTime();
        synchronized (locks) {
            locks.values().removeIf(lock -> !lock.isHeldHere() && lock.unusedMillis(now) >= age);
        }
    }

    /**
     * How many locks are remembered, 100 000 unless this is called. Beyond it those go first that were not asked for the longest.
     *
     * @param cacheCapacity at least 1
     */
    public void setCacheCapacity(int cacheCapacity) {
        if (cacheCapacity < 1) {
            throw new IllegalArgumentException("cacheCapacity " + cacheCapacity + " is out of range (at least 1)");
        }
        this.cacheCapacity = cacheCapacity;
    }

    /** How many are remembered. */
    int size() {
        synchronized (locks) {
            return locks.size();
        }
    }

    /**
     * Lets the lock last for {@code expireAfter} from now on, for the thread that holds it. One that is renewed anyway is only asked for
     * on the server.
     *
     * @throws IllegalStateException when this thread does not hold it, or not any more
     */
    @Override
    public void renewLock(Object lockKey) {
        renewLock(lockKey, renewal);
    }

    /**
     * Lets the lock last for a time from now on, or as long as it did if that is longer, for the thread that holds it.
     *
     * @param ttl 100 ms to 24 h
     * @throws IllegalStateException when this thread does not hold it, or not any more
     */
    @Override
    public void renewLock(Object lockKey, Duration ttl) {
        try {
            ((RegisteredLock) obtain(lockKey)).extend(ttl);
        } catch (HoldEndedException over) {
            throw new IllegalStateException(over.getMessage(), over);
        }
    }

    /**
     * Has locks with {@code expireAfter} renewed for as long as they are held: those that are obtained from now on for the first time.
     *
     * @param renewalTaskScheduler is not used: the client renews all of its locks together
     */
    @Override
    public void setRenewalTaskScheduler(TaskScheduler renewalTaskScheduler) {
        Objects.requireNonNull(renewalTaskScheduler, "renewalTaskScheduler");
        if (expires) {
            options = LockOptions.defaults().watchdogLease(renewal);
        }
    }

    /** The registry's key, for logs and debuggers. */
    @Override
    public String toString() {
        return "LibdlockLockRegistry[" + registryKey + "]";
    }
}
