package org.libdlock.shedlock;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Optional;
import net.javacrumbs.shedlock.core.SimpleLock;
import org.junit.jupiter.api.Test;
import org.libdlock.Client;
import org.libdlock.Dlock;
import org.libdlock.support.Proxy;

/** A server that answers later than {@code lockAtLeastFor} lasts: the task runs. */
class SlowServerTest extends WithProvider {
    private static final Duration AT_MOST = Duration.ofMinutes(5);
    private static final Duration AT_LEAST = Duration.ofMillis(50);

    /** Longer than the shortest lease, which the guard has. */
    private static final Duration LATE = Duration.ofMillis(150);

    /** Taking both locks and detaching one needs three, after some for a new connection. */
    private static final int REPLIES = 8;

    @Test
    void aShortLockAtLeastForDoesNotFailTheTask() {
        try (Proxy proxy = new Proxy(server);
                Client slow = Dlock.connect(proxy.url())) {
            LibdlockLockProvider through = new LibdlockLockProvider(slow);
            for (int late = 0; late < REPLIES; late++) {
                String task = name + "-" + late;
                proxy.delayReply(late, LATE);
                Optional<SimpleLock> lock = through.lock(configuration(task, AT_MOST, AT_LEAST));
                assertThat(lock).as("reply " + late + " is late").isPresent();
                assertThat(provider.lock(configuration(task, AT_MOST, AT_LEAST)))
                        .as("while it runs")
                        .isEmpty();
                lock.orElseThrow().unlock();
            }
        }
    }

    @Test
    void aLongLockAtLeastForIsKeptForAllItsTime() {
        try (Proxy proxy = new Proxy(server);
                Client slow = Dlock.connect(proxy.url())) {
            LibdlockLockProvider through = new LibdlockLockProvider(slow);
            for (int late = 0; late < REPLIES; late++) {
                String task = name + "-" + late;
                proxy.delayReply(late, LATE);
                through.lock(configuration(task, AT_MOST, AT_MOST))
                        .orElseThrow()
                        .unlock();
                assertThat(provider.lock(configuration(task, AT_MOST, AT_MOST)))
                        .as("after it ran")
                        .isEmpty();
            }
        }
    }

    @Test
    void extendingAShortLockAtLeastForDoesNotFailTheTask() {
        try (Proxy proxy = new Proxy(server);
                Client slow = Dlock.connect(proxy.url())) {
            LibdlockLockProvider through = new LibdlockLockProvider(slow);
            // The lock, then the release of the guard and a new one.
            for (int late = 0; late < REPLIES; late++) {
                SimpleLock lock = through.lock(configuration(name + "-" + late, AT_MOST, AT_LEAST))
                        .orElseThrow();
                proxy.delayReply(late, LATE);
                Optional<SimpleLock> longer = lock.extend(AT_MOST, AT_LEAST);
                assertThat(longer).as("reply " + late + " is late").isPresent();
                longer.orElseThrow().unlock();
            }
        }
    }
}
