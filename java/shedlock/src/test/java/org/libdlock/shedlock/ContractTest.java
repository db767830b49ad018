package org.libdlock.shedlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import org.junit.jupiter.api.Test;

/**
 * What ShedLock asks of every provider: the cases of AbstractExtensibleLockProviderIntegrationTest and its FuzzTester, of its module
 * shedlock-test-support, which is in no repository of packages.
 */
class ContractTest extends WithProvider {
    @Test
    void aLockIsTakenAndReleased() {
        SimpleLock lock = lock().orElseThrow();
        assertThat(isLocked()).isTrue();
        lock.unlock();
        assertThat(isLocked()).isFalse();
    }

    @Test
    void aSecondLockIsRefused() {
        SimpleLock lock = lock().orElseThrow();
        assertThat(lock()).isEmpty();
        lock.unlock();
    }

    @Test
    void locksOfTwoNamesAreIndependent() {
        SimpleLock first = lock().orElseThrow();
        SimpleLock second = provider.lock(configuration(name + "-2", Duration.ofMinutes(5), Duration.ZERO))
                .orElseThrow();
        first.unlock();
        second.unlock();
    }

    @Test
    void aLockCanBeTakenTwiceInARow() {
        lock().orElseThrow().unlock();
        lock().orElseThrow().unlock();
    }

    @Test
    void aLockCanBeTakenRightAfterEachUnlock() {
        for (int i = 0; i < 10; i++) {
            SimpleLock lock = lock().orElseThrow();
            assertThat(lock()).isEmpty();
            lock.unlock();
        }
    }

    @Test
    void aLockEndsAfterLockAtMostFor() throws Exception {
        Duration most = Duration.ofMillis(50);
        assertThat(provider.lock(configuration(most, Duration.ZERO))).isPresent();
        Thread.sleep(most.multipliedBy(2).toMillis());
        assertThat(isLocked()).isFalse();
        provider.lock(configuration(most, Duration.ZERO)).orElseThrow().unlock();
    }

    @Test
    void aLockIsKeptForLockAtLeastFor() throws Exception {
        Duration least = Duration.ofSeconds(2);
        locked(least.multipliedBy(2), least).unlock();
        assertThat(lock()).as("before lockAtLeastFor is over").isEmpty();
        Thread.sleep(least.plusMillis(100).toMillis());
        lock().orElseThrow().unlock();
    }

    @Test
    void aLockCanBeExtended() throws Exception {
        Duration most = Duration.ofSeconds(1);
        SimpleLock lock = locked(most, Duration.ZERO);
        SimpleLock longer = lock.extend(Duration.ofSeconds(10), Duration.ZERO).orElseThrow();
        Thread.sleep(most.toMillis());
        assertThat(isLocked()).isTrue();
        longer.unlock();
        assertThat(isLocked()).isFalse();
    }

    @Test
    void anUnlockedLockCannotBeExtended() {
        SimpleLock lock = locked(Duration.ofSeconds(1), Duration.ZERO);
        lock.unlock();
        assertThatIllegalStateException().isThrownBy(() -> lock.extend(Duration.ofSeconds(10), Duration.ZERO));
    }

    @Test
    void anExpiredLockCannotBeExtended() throws Exception {
        SimpleLock lock = locked(Duration.ofMillis(1), Duration.ZERO);
        Thread.sleep(1);
        assertThat(lock.extend(Duration.ofSeconds(10), Duration.ZERO)).isEmpty();
        assertThat(isLocked()).isFalse();
    }

    @Test
    void extendingCanSetLockAtLeastFor() {
        SimpleLock lock = locked(Duration.ofSeconds(10), Duration.ZERO);
        lock.extend(Duration.ofSeconds(10), Duration.ofSeconds(9)).orElseThrow().unlock();
        assertThat(isLocked()).isTrue();
    }

    @Test
    void aLockCannotBeExtendedTwice() {
        SimpleLock lock = locked(Duration.ofSeconds(10), Duration.ZERO);
        assertThat(lock.extend(Duration.ofSeconds(10), Duration.ofSeconds(9))).isPresent();
        assertThatIllegalStateException().isThrownBy(() -> lock.extend(Duration.ofSeconds(10), Duration.ofSeconds(9)));
    }

    @Test
    void aLockCannotBeUnlockedAfterExtending() {
        SimpleLock lock = locked(Duration.ofSeconds(10), Duration.ZERO);
        assertThat(lock.extend(Duration.ofSeconds(10), Duration.ofSeconds(9))).isPresent();
        assertThatIllegalStateException().isThrownBy(lock::unlock);
    }

    @Test
    void eightThreadsOnTwoLocksCountRight() throws Exception {
        fuzz(100, Duration.ZERO);
    }

    @Test
    void eightThreadsCountRightWithLockAtLeastFor() throws Exception {
        // Each turn is 100 ms, the shortest lockAtLeastFor.
        fuzz(5, Duration.ofMillis(5));
    }

    /** Threads add to two counters that nothing but the locks protects, the first thread less often. */
    private void fuzz(int times, Duration atLeast) throws Exception {
        int threads = 8;
        int[] counters = new int[2];
        ExecutorService executor = Executors.newFixedThreadPool(threads);
        try {
            List<Callable<Boolean>> tasks = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                int counter = i % 2;
                int turns = i == 0 ? times / 5 : times;
                LockConfiguration configuration = configuration(name + "-" + counter, Duration.ofMinutes(5), atLeast);
                tasks.add(() -> count(counters, counter, turns, configuration));
            }
            for (Future<Boolean> task : executor.invokeAll(tasks, 60, TimeUnit.SECONDS)) {
                assertThat(task.get()).isTrue();
            }
        } finally {
            executor.shutdownNow();
        }
        assertThat(counters).containsExactly(3 * times + times / 5, 4 * times);
    }

    private boolean count(int[] counters, int counter, int turns, LockConfiguration configuration)
            throws InterruptedException {
        int done = 0;
        while (done < turns) {
            Optional<SimpleLock> lock = provider.lock(configuration);
            if (lock.isPresent()) {
                int seen = counters[counter];
                Thread.sleep(1);
                counters[counter] = seen + 1;
                lock.get().unlock();
                done++;
            } else {
                // Two processors, of which others want their share.
                Thread.sleep(1);
            }
        }
        return true;
    }
}
