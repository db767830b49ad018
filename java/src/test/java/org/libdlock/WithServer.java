package org.libdlock;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
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

    @AfterEach
    void closeAll() throws Exception {
        for (AutoCloseable closeable : open) {
            closeable.close();
        }
    }
}
