package org.libdlock.integration;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Lock;
import org.junit.jupiter.api.AfterEach;
import org.libdlock.Client;
import org.libdlock.Dlock;
import org.libdlock.support.Logged;
import org.libdlock.support.RedisServer;

/** A real server, and for each test a registry key of its own. */
abstract class WithRegistry {
    private static final AtomicLong NAMES = new AtomicLong();

    static {
        Logged.quiet();
    }

    final String key = getClass().getSimpleName() + "-" + NAMES.incrementAndGet();

    private final List<Client> clients = new ArrayList<>();

    final Client connect() {
        Client client = Dlock.connect(RedisServer.shared().url());
        clients.add(client);
        return client;
    }

    /** Of another process, as it were. */
    final LibdlockLockRegistry registry() {
        return new LibdlockLockRegistry(connect(), key);
    }

    final LibdlockLockRegistry registry(Duration expireAfter) {
        return new LibdlockLockRegistry(connect(), key, expireAfter);
    }

    /** What a call does in a thread of its own. */
    static <T> CompletableFuture<T> elsewhere(Callable<T> call) {
        CompletableFuture<T> done = new CompletableFuture<>();
        Thread thread = new Thread(() -> {
            try {
                done.complete(call.call());
            } catch (Exception e) {
                done.completeExceptionally(e);
            }
        });
        thread.setDaemon(true);
        thread.start();
        return done;
    }

    static <T> T soon(CompletableFuture<T> future) throws Exception {
        try {
            return future.get(10, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            throw e.getCause() instanceof Exception cause ? cause : e;
        }
    }

    /** Whether another thread gets the lock, which ends then. */
    static boolean triedElsewhere(Lock lock) throws Exception {
        return soon(elsewhere(lock::tryLock));
    }

    @AfterEach
    void close() {
        clients.forEach(Client::close);
    }
}
