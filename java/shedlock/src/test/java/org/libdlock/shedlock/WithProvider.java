package org.libdlock.shedlock;

import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import org.junit.jupiter.api.AfterEach;
import org.libdlock.Client;
import org.libdlock.Dlock;
import org.libdlock.support.Logged;
import org.libdlock.support.RedisServer;

/** A real server, a provider, and for each test a task of its own. */
abstract class WithProvider {
    private static final AtomicLong NAMES = new AtomicLong();

    static {
        Logged.quiet();
    }

    final RedisServer server = RedisServer.shared();
    final Client client = Dlock.connect(server.url());
    final LibdlockLockProvider provider = new LibdlockLockProvider(client);
    final String name = getClass().getSimpleName() + "-" + NAMES.incrementAndGet();

    @AfterEach
    void close() {
        client.close();
    }

    final LockConfiguration configuration(Duration atMost, Duration atLeast) {
        return configuration(name, atMost, atLeast);
    }

    static LockConfiguration configuration(String name, Duration atMost, Duration atLeast) {
        return new LockConfiguration(Instant.now(), name, atMost, atLeast);
    }

    /** Takes the lock for five minutes at most. */
    final Optional<SimpleLock> lock() {
        return provider.lock(configuration(Duration.ofMinutes(5), Duration.ZERO));
    }

    final SimpleLock locked(Duration atMost, Duration atLeast) {
        return provider.lock(configuration(atMost, atLeast)).orElseThrow();
    }

    /** Whether anything keeps the task from running, as the server says. */
    final boolean isLocked() {
        return client.lock(name).isLocked() || client.lock(name + ":at-least").isLocked();
    }
}
