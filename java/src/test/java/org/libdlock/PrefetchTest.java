package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Rate limiters that fetch tokens ahead, in Java. The core's tests check that the rate is kept exactly. */
class PrefetchTest extends WithServer {
    private static final Duration SECOND = Duration.ofSeconds(1);
    private static final int RATE = 2_000;

    @Test
    void twoClientsUseTheRateAndNoMoreAndAskSeldom() throws Exception {
        RateLimiter one = connect().rateLimiter(name, Rate.of(RATE, SECOND), Absent.FAIL, 0.5);
        RateLimiter two = connect().rateLimiter(name, Rate.of(RATE, SECOND), Absent.FAIL, 0.5);
        List<Long> times = new ArrayList<>();
        int decided = 0;
        long before = scripts();
        long begun = System.nanoTime();
        while (System.nanoTime() - begun < SECOND.toNanos()) {
            Decision theirs = two.tryAcquireAsync(1).get(5, TimeUnit.SECONDS);
            for (Decision decision : List.of(one.tryAcquire(), theirs)) {
                decided++;
                if (decision.allowed()) {
                    times.add(decision.serverTimeUs().orElseThrow());
                }
            }
        }
        double seconds = (System.nanoTime() - begun) / 1e9;
        Collections.sort(times);
        double elapsed = (times.get(times.size() - 1) - times.get(0)) / 1e6;
        // A slow machine may ask for less than there is.
        assertThat((double) times.size()).isBetween(Math.min(RATE, decided) / 2.0, RATE + 1 + RATE * elapsed);
        assertThat((double) (scripts() - before)).isLessThanOrEqualTo(2 * (50 * seconds + 10));
    }

    @Test
    void aClientThatClosesGivesBackWhatItHas() {
        Rate rate = Rate.of(1_000, SECOND).burst(100_000);
        Client client = connect();
        RateLimiter limiter = client.rateLimiter(name, rate, Absent.FAIL, 0.5);
        for (int number = 0; number < 2_000; number++) {
            assertThat(limiter.tryAcquire().allowed()).isTrue();
        }
        client.close();
        assertThat(connect().rateLimiter(name, rate).peek().remaining()).isGreaterThanOrEqualTo(98_000);
        assertThatThrownBy(limiter::tryAcquire).isInstanceOf(ClosedException.class);
    }

    @Test
    void sharesAndCostsThatCannotBeAreRefused() {
        Client client = connect();
        Rate rate = Rate.of(5, SECOND);
        for (double share : new double[] {0, -0.0, -0.1, 1.1, Double.NaN, Double.POSITIVE_INFINITY}) {
            assertThatThrownBy(() -> client.rateLimiter(name, rate, Absent.FAIL, share))
                    .isInstanceOf(InvalidArgumentException.class)
                    .hasMessageContaining("prefetch");
        }
        RateLimiter limiter = client.rateLimiter(name, rate, Absent.FAIL, 1);
        for (long cost : new long[] {-1, Long.MIN_VALUE}) {
            assertThatThrownBy(() -> limiter.tryAcquire(cost)).isInstanceOf(InvalidArgumentException.class);
        }
        assertThat(limiter.tryAcquire(6).retryAfter()).as("never").isNull();
        assertThat(limiter.keyed("a").tryAcquire(2).remaining()).isEqualTo(3);
    }

    private long scripts() {
        long count = 0;
        Object stats = server.command("INFO", "commandstats");
        for (String line : String.valueOf(stats).split("\r\n", -1)) {
            if (line.startsWith("cmdstat_eval")) {
                count += Long.parseLong(line.split("calls=", -1)[1].split(",", -1)[0]);
            }
        }
        return count;
    }
}
