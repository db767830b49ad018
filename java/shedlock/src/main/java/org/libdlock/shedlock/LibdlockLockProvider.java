package org.libdlock.shedlock;

import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import org.jspecify.annotations.Nullable;
import org.libdlock.Client;
import org.libdlock.LockHandle;
import org.libdlock.LockOptions;

/**
 * ShedLock's locks as libdlock's: a task {@code report} is the lock {@code report}, behind the prefix if there is one.
 *
 * <p>{@code lockAtMostFor} is the lock's lease, which nothing renews: 100 ms to 24 h, a shorter one is 100 ms on the server.
 *
 * <p>{@code lockAtLeastFor} is a second lock, {@code report:at-least}. It is taken before the task starts, for that long, and no
 * program releases it: when the task ends, or its process dies, at any moment, there is nothing left to do for it. A task that is
 * refused by either lock is skipped. A time below 100 ms counts as 100 ms.
 *
 * <p>May be shared between threads.
 */
public class LibdlockLockProvider implements ExtensibleLockProvider {
    private static final Duration SHORTEST_LEASE = Duration.ofMillis(100);
    private static final Duration LONGEST_LEASE = Duration.ofHours(24);

    /** What the name of a task's guard has at its end. */
    private static final String GUARD = ":at-least";

    private final Client client;
    private final String prefix;

    /**
     * Locks with the tasks' names.
     *
     * @param client which stays the caller's to close, after the tasks have ended
     */
    public LibdlockLockProvider(Client client) {
        this(client, "");
    }

    /**
     * Locks with the tasks' names behind a prefix.
     *
     * @param client which stays the caller's to close, after the tasks have ended
     * @param prefix such as {@code "job:"}; empty for none
     */
    public LibdlockLockProvider(Client client, String prefix) {
        this.client = Objects.requireNonNull(client, "client");
        this.prefix = Objects.requireNonNull(prefix, "prefix");
    }

    /**
     * Takes the lock if it is free, without waiting.
     *
     * @param configuration name and times
     * @return empty when another node runs the task, or has run it and {@code lockAtLeastFor} is not over
     * @throws IllegalArgumentException when {@code lockAtMostFor} is more than 24 h, or the name is none of a lock, or ends in
     *     {@code :at-least}, as the locks do that keep {@code lockAtLeastFor}
     * @throws org.libdlock.DlockException when the server cannot be asked; nothing is locked then, or it ends with its lease
     */
    @Override
    public Optional<SimpleLock> lock(LockConfiguration configuration) {
        checkName(configuration.getName());
        Duration lease = lease(configuration);
        long sent = System.nanoTime();
        LockHandle handle = tryAcquire(prefix + configuration.getName(), lease);
        if (handle == null) {
            return Optional.empty();
        }
        try {
            Guard guard = guard(configuration);
            Optional<Guard.Hold> hold = guard.take(configuration.getLockAtLeastFor());
            if (hold.isEmpty()) {
                handle.close();
                return Optional.empty();
            }
            long until = sent + configuration.getLockAtMostFor().toNanos();
            return Optional.of(new ScheduledLock(this, configuration, handle, until, hold.get()));
        } catch (RuntimeException failed) {
            releaseAfter(failed, handle);
            throw failed;
        }
    }

    private static void checkName(String name) {
        if (name.endsWith(GUARD)) {
            throw new IllegalArgumentException("the task \"" + name + "\" cannot be locked: names that end in \""
                    + GUARD + "\" are those of the locks that keep lockAtLeastFor; give the task another name");
        }
    }

    /** The lock of the task, or {@code null} when others have it. */
    private @Nullable LockHandle tryAcquire(String name, Duration lease) {
        return client.lock(name, LockOptions.defaults().lease(lease)).tryAcquire();
    }

    /** What keeps the task from running again too soon. */
    Guard guard(LockConfiguration configuration) {
        return new Guard(client, prefix + configuration.getName() + GUARD);
    }

    /** The lease on the server of {@code lockAtMostFor}. */
    static Duration lease(LockConfiguration configuration) {
        Duration most = configuration.getLockAtMostFor();
        if (most.compareTo(LONGEST_LEASE) > 0) {
            throw new IllegalArgumentException(
                    "lockAtMostFor " + most + " of the task \"" + configuration.getName()
                            + "\" is out of range (at most 24 h); for a longer task use a KeepAliveLockProvider with a shorter one");
        }
        return atLeastTheShortest(most);
    }

    static Duration atLeastTheShortest(Duration wanted) {
        return wanted.compareTo(SHORTEST_LEASE) < 0 ? SHORTEST_LEASE : wanted;
    }

    /** The task will not run: nobody has to wait for its lease. */
    private static void releaseAfter(RuntimeException failed, LockHandle handle) {
        try {
            handle.close();
        } catch (RuntimeException also) {
            failed.addSuppressed(also);
        }
    }
}
