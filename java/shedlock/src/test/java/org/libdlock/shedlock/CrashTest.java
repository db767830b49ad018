package org.libdlock.shedlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import org.junit.jupiter.api.Test;
import org.libdlock.Client;
import org.libdlock.ConnectionException;
import org.libdlock.Dlock;
import org.libdlock.Options;
import org.libdlock.OutcomeUnknownException;
import org.libdlock.support.Eventually;
import org.libdlock.support.Jvm;
import org.libdlock.support.Logged;
import org.libdlock.support.RedisServer;

/** Both times hold whatever becomes of the process, and of the server. */
class CrashTest extends WithProvider {
    private static final Duration AT_MOST = Duration.ofSeconds(6);
    private static final Duration AT_LEAST = Duration.ofSeconds(2);

    /** What the lower bound may miss: the clock of the node counts whole milliseconds. */
    private static final Duration TICK = Duration.ofMillis(1);

    /** Looking takes a moment, on a busy machine a long one; less than one time is longer than the other. */
    private static final Duration LATE = Duration.ofMillis(3_900);

    /** Runs a task and says when it began: {@code main URL NAME during|after AT-MOST AT-LEAST}. */
    static final class Node {
        public static void main(String[] args) throws Exception {
            LibdlockLockProvider provider = new LibdlockLockProvider(Dlock.connect(args[0]));
            long began = System.currentTimeMillis();
            SimpleLock lock = provider.lock(configuration(args[1], Duration.parse(args[3]), Duration.parse(args[4])))
                    .orElseThrow();
            if (args[2].equals("after")) {
                lock.unlock();
            }
            System.out.println(began);
            Thread.sleep(TimeUnit.MINUTES.toMillis(1));
        }
    }

    /** Kills a node during or after its task: how long the task is refused from its beginning on. */
    private Duration refusedAfterKill(String when) {
        long began;
        try (Jvm node = Jvm.start(Node.class, server.url(), name, when, AT_MOST.toString(), AT_LEAST.toString())) {
            began = Long.parseLong(node.line());
            node.signal("KILL");
        }
        Eventually.holds("the task can run", () -> lock().map(lock -> {
                    lock.unlock();
                    return true;
                })
                .orElse(false));
        return Duration.ofMillis(System.currentTimeMillis() - began);
    }

    @Test
    void killedAfterTheTaskLeavesLockAtLeastFor() {
        assertThat(refusedAfterKill("after")).isBetween(AT_LEAST.minus(TICK), AT_LEAST.plus(LATE));
    }

    /** However long the test is busy: a minute is not over. */
    @Test
    void killedAfterTheTaskLeavesTheGuardAndNotTheLock() {
        try (Jvm node = Jvm.start(Node.class, server.url(), name, "after", "PT5M", "PT1M")) {
            node.line();
            node.signal("KILL");
        }
        assertThat(lock()).as("too soon").isEmpty();
        assertThat(client.lock(name).isLocked()).as("its lock").isFalse();
        assertThat(client.lock(name + ":at-least").isLocked()).as("its guard").isTrue();
    }

    @Test
    void killedDuringTheTaskLeavesLockAtMostFor() {
        assertThat(refusedAfterKill("during")).isBetween(AT_MOST.minus(TICK), AT_MOST.plus(LATE));
    }

    @Test
    void closingTheClientKeepsLockAtLeastFor() {
        try (Client stopped = Dlock.connect(server.url())) {
            new LibdlockLockProvider(stopped)
                    .lock(configuration(AT_MOST, AT_LEAST))
                    .orElseThrow()
                    .unlock();
        }
        assertThat(lock()).isEmpty();
    }

    @Test
    void extendingCanShortenLockAtLeastFor() {
        SimpleLock lock = locked(Duration.ofMinutes(1), Duration.ofMinutes(1));
        lock.extend(Duration.ofMinutes(1), Duration.ZERO).orElseThrow().unlock();
        assertThat(isLocked()).isFalse();
    }

    @Test
    void aTaskThatRanTooLongIsToldInTheLog() throws Exception {
        SimpleLock lock = locked(Duration.ofMillis(100), Duration.ZERO);
        Thread.sleep(150);
        SimpleLock other = lock().orElseThrow();
        try (Logged log = new Logged()) {
            lock.unlock();
            assertThat(log.warned("the task \"" + name + "\" ran longer than lockAtMostFor (PT0.1S)"))
                    .isTrue();
        }
        assertThat(isLocked()).as("the other's lock").isTrue();
        other.unlock();
    }

    @Test
    void moreThanADayIsRefusedWithWhatIsAllowed() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> locked(Duration.ofHours(25), Duration.ZERO))
                .withMessageContaining(
                        "lockAtMostFor PT25H of the task \"" + name + "\" is out of range (at most 24 h)");
        assertThat(isLocked()).isFalse();
    }

    @Test
    void aTaskWithTheNameOfAGuardIsRefused() {
        LockConfiguration guard =
                new LockConfiguration(Instant.now(), name + ":at-least", Duration.ofMinutes(1), Duration.ZERO);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new LibdlockLockProvider(client).lock(guard))
                .withMessageContaining("give the task another name");
    }

    @Test
    void theLockHasTheTasksNameBehindThePrefix() {
        LibdlockLockProvider prefixed = new LibdlockLockProvider(client, "job:");
        Optional<SimpleLock> lock = prefixed.lock(configuration(Duration.ofMinutes(1), Duration.ZERO));
        assertThat(client.lock("job:" + name).isLocked()).isTrue();
        assertThat(lock()).as("another lock").isPresent();
        lock.orElseThrow().unlock();
        assertThat(client.lock("job:" + name).isLocked()).isFalse();
    }

    @Test
    void aServerThatIsAwayIsNoFreeLock() {
        try (RedisServer own = new RedisServer();
                Client lonely = Dlock.connect(own.url(), Options.defaults().operationTimeout(Duration.ofMillis(500)))) {
            own.kill();
            assertThatThrownBy(() -> new LibdlockLockProvider(lonely)
                            .lock(configuration(Duration.ofMinutes(1), Duration.ofSeconds(1))))
                    .as("refused, or sent before the end of the connection was seen")
                    .isInstanceOfAny(ConnectionException.class, OutcomeUnknownException.class);
        }
    }
}
