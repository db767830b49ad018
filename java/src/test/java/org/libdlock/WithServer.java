package org.libdlock;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.libdlock.support.Eventually;
import org.libdlock.support.Logged;
import org.libdlock.support.RedisServer;

/** A real server, and for each test a name of its own and clients that are closed after it. */
abstract class WithServer {
    private static final AtomicLong NAMES = new AtomicLong();

    static {
        Logged.quiet();
    }

    final RedisServer server = RedisServer.shared();
    final String name = getClass().getSimpleName() + "-" + NAMES.incrementAndGet();

    private final List<AutoCloseable> open = new ArrayList<>();

    final Client connect() {
        return connect(Options.defaults());
    }

    final Client connect(Options options) {
        return closing(Dlock.connect(server.url(), options));
    }

    final <T extends AutoCloseable> T closing(T closeable) {
        open.add(0, closeable);
        return closeable;
    }

    /** Waits until a hold was renewed twice: once it may have been under way already. */
    static void awaitRenewals(Supplier<Duration> remaining) {
        AtomicReference<Duration> last = new AtomicReference<>(remaining.get());
        for (int i = 0; i < 2; i++) {
            // Only a renewal adds to it. A look just after one may see more than any later look does.
            Eventually.holds("it is renewed", () -> {
                Duration now = remaining.get();
                return now.compareTo(last.getAndSet(now)) > 0;
            });
        }
    }

    @AfterEach
    void closeAll() throws Exception {
        for (AutoCloseable closeable : open) {
            closeable.close();
        }
    }
}
