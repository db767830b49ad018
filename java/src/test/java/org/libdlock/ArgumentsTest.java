package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.libdlock.support.Background;

/** Every possible duration is refused, or means what its documentation says; never a key without a time to live. */
class ArgumentsTest extends WithServer {
    private static final Duration ENDLESS = Duration.ofSeconds(Long.MAX_VALUE);

    @Test
    void leasesOutOfBoundsAreRefusedBeforeAnyIo() {
        DistributedLock lock = connect().lock(name);
        for (long lease : new long[] {0, -2, 1, 99, 86_400_001, 1L << 53, Long.MAX_VALUE, Long.MIN_VALUE}) {
            assertThatThrownBy(() -> lock.tryLock(0, lease, TimeUnit.MILLISECONDS))
                    .as("lease %d", lease)
                    .isInstanceOf(InvalidArgumentException.class)
                    .hasMessageContaining("100");
        }
        for (Duration lease : List.of(
                Duration.ZERO,
                Duration.ofMillis(-1),
                Duration.ofNanos(-1),
                Duration.ofMillis(99),
                Duration.ofHours(25),
                ENDLESS,
                ENDLESS.negated())) {
            assertThatThrownBy(() -> lock.tryLock(null, lease)).isInstanceOf(InvalidArgumentException.class);
            assertThatThrownBy(() -> lock.lockAsync(null, lease).join())
                    .hasCauseInstanceOf(InvalidArgumentException.class);
            assertThatThrownBy(() -> connect().lock(name, LockOptions.defaults().lease(lease)))
                    .isInstanceOf(InvalidArgumentException.class);
            assertThatThrownBy(() -> connect(Options.defaults().lease(lease)))
                    .isInstanceOf(InvalidArgumentException.class);
        }
        assertThat(server.command("EXISTS", name)).isEqualTo(0L);
        lock.lock();
        assertThatThrownBy(() -> lock.extend(Duration.ZERO)).isInstanceOf(InvalidArgumentException.class);
        assertThatThrownBy(() -> lock.extend(Duration.ofMillis(-5))).isInstanceOf(InvalidArgumentException.class);
        assertThatThrownBy(() -> lock.extend(ENDLESS)).isInstanceOf(InvalidArgumentException.class);
        assertThat((Long) server.command("PTTL", name)).isPositive();
        lock.unlock();
    }

    @Test
    void aNegativeWaitDoesNotWait() throws Exception {
        DistributedLock lock = connect().lock(name);
        RateLimiter limiter = connect().rateLimiter(name, Rate.of(4, Duration.ofHours(1)));
        for (Duration wait : List.of(Duration.ofNanos(-1), ENDLESS.negated())) {
            assertThat(lock.tryLock(wait, null)).isTrue();
            lock.unlock();
            LockHandle handle = lock.lockAsync(wait, null).get(5, TimeUnit.SECONDS);
            assertThat(lock.tryLock(wait, null)).isFalse();
            assertThatThrownBy(() -> lock.lockAsync(wait, null).join())
                    .hasCauseInstanceOf(AcquireTimeoutException.class);
            handle.close();
            assertThat(limiter.acquire(1, wait).allowed()).isTrue();
            assertThat(limiter.acquireAsync(1, wait).get(5, TimeUnit.SECONDS).allowed())
                    .isTrue();
        }
        assertThat(limiter.acquire(1, Duration.ofSeconds(-1)).allowed()).isFalse();
    }

    @Test
    void waitsMayBeAsLongAsTheJdkAllows() throws Exception {
        DistributedLock lock = connect().lock(name);
        lock.lock();
        List<Background<Boolean>> waiting = List.of(
                Background.run(() -> tryAndUnlock(lock, 2, TimeUnit.DAYS)),
                Background.run(() -> tryAndUnlock(lock, Long.MAX_VALUE - 1, TimeUnit.DAYS)),
                Background.run(() -> tryAndUnlock(lock, Long.MAX_VALUE, TimeUnit.NANOSECONDS)),
                Background.run(() -> {
                    lock.lockAsync(ENDLESS, null).get().release();
                    return true;
                }));
        lock.unlock();
        for (Background<Boolean> each : waiting) {
            assertThat(each.get()).isTrue();
        }
        RateLimiter limiter = connect().rateLimiter(name, Rate.of(1, Duration.ofMillis(100)));
        limiter.acquire(1, null);
        assertThat(limiter.acquire(1, Duration.ofDays(2)).allowed()).isTrue();
        assertThat(limiter.acquire(1, ENDLESS).allowed()).isTrue();
    }

    private static boolean tryAndUnlock(DistributedLock lock, long time, TimeUnit unit) throws InterruptedException {
        boolean granted = lock.tryLock(time, unit);
        lock.unlock();
        return granted;
    }

    @Test
    void theLongestThereIsIsForEver() throws Exception {
        assertThat(Arguments.waitMillis(Long.MAX_VALUE, TimeUnit.NANOSECONDS)).isEqualTo(Arguments.NOT_GIVEN);
        assertThat(Arguments.waitMillis(ChronoUnit.FOREVER.getDuration())).isEqualTo(Arguments.NOT_GIVEN);
        DistributedLock lock = connect().lock(name);
        for (TimeUnit unit : TimeUnit.values()) {
            assertThat(lock.tryLock(Long.MAX_VALUE, unit)).isTrue();
            lock.unlock();
        }
    }

    @Test
    void durationsAreRoundedUp() {
        assertThat(Arguments.millis(1, TimeUnit.NANOSECONDS)).isEqualTo(1);
        assertThat(Arguments.millis(1_000_000, TimeUnit.NANOSECONDS)).isEqualTo(1);
        assertThat(Arguments.millis(1_000_001, TimeUnit.NANOSECONDS)).isEqualTo(2);
        assertThat(Arguments.millis(Long.MAX_VALUE, TimeUnit.NANOSECONDS)).isEqualTo(9_223_372_036_855L);
        assertThat(Arguments.millis(Long.MAX_VALUE, TimeUnit.DAYS)).isEqualTo(Long.MAX_VALUE);
        assertThat(Arguments.millis(-1, TimeUnit.NANOSECONDS)).isEqualTo(-1);
        assertThat(Arguments.millis(Long.MIN_VALUE, TimeUnit.DAYS)).isEqualTo(-Long.MAX_VALUE);
        assertThat(Arguments.millis(Long.MIN_VALUE, TimeUnit.MILLISECONDS)).isEqualTo(-Long.MAX_VALUE);
        assertThat(Arguments.millis(Duration.ofNanos(1))).isEqualTo(1);
        assertThat(Arguments.millis(Duration.ofMillis(5))).isEqualTo(5);
        assertThat(Arguments.millis(Duration.ofNanos(-1))).isEqualTo(-1);
        assertThat(Arguments.millis(ENDLESS)).isEqualTo(Long.MAX_VALUE);
        assertThat(Arguments.millis(ENDLESS.negated())).isEqualTo(-Long.MAX_VALUE);
    }

    @Test
    void badUrlsAreRefusedAndNoPasswordIsRepeated() {
        for (String url :
                List.of("", "http://x", "redis://:hunter2@host:99999", "redis://h/\ud800", "redis://h?lease=hunter2")) {
            assertThatThrownBy(() -> Dlock.connect(url)).as(url).isInstanceOf(InvalidArgumentException.class);
        }
        assertThatThrownBy(() -> Dlock.connect("redis://:hunter2@host:99999")).hasMessageNotContaining("hunter2");
        Options options = Options.defaults().user("me").password("hunter2");
        assertThat(options.toString()).contains("me").doesNotContain("hunter2");
        assertThatThrownBy(() -> connect(options))
                .isInstanceOf(DlockException.class)
                .hasMessageNotContaining("hunter2");
        assertThatThrownBy(() -> connect(Options.defaults().keyPrefix("a\0b"))).hasMessageContaining("NUL");
        assertThatThrownBy(() -> connect(Options.defaults().keyPrefix("\udc00")))
                .hasMessageContaining("key_prefix");
    }

    @Test
    void aServerThatIsNotThereIsAConnectionException() {
        assertThatThrownBy(() ->
                        Dlock.connect("redis://127.0.0.1:1", Options.defaults().connectTimeout(Duration.ofMillis(500))))
                .isInstanceOf(ConnectionException.class);
    }

    @Test
    void aKeyOfAnotherTypeIsLeftAlone() {
        server.command("SET", name, "precious");
        DistributedLock lock = connect().lock(name);
        assertThatThrownBy(lock::lock)
                .isInstanceOf(WrongTypeException.class)
                .satisfies(error -> assertThat(((DlockError) error).object()).isEqualTo(name));
        assertThat(server.command("GET", name)).isEqualTo("precious");
    }
}
