package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.libdlock.support.Background;
import org.libdlock.support.Proxy;
import org.libdlock.support.RedisServer;

/** Rate limits in Java. Decisions are checked by tests/scenarios, what holds under every clock in the core. */
class RateLimiterTest extends WithServer {
    private static final Duration HOUR = Duration.ofHours(1);
    private static final Duration CENTURY = Duration.ofDays(36_500);

    @Test
    void aDecisionSaysWhenByTheServersClock() {
        Decision decision = connect().rateLimiter(name, Rate.of(10, HOUR)).tryAcquire();
        Instant at = Instant.EPOCH.plus(decision.serverTimeUs().orElseThrow(), ChronoUnit.MICROS);
        assertThat(at).isCloseTo(Instant.now(), within(1, ChronoUnit.SECONDS));
        assertThat((Long) server.command("PTTL", "dlock_limit:{" + name + "}")).isPositive();
    }

    @Test
    void acquireWaitsForItsTurn() throws Exception {
        RateLimiter limiter =
                connect().rateLimiter(name, Rate.of(10, Duration.ofSeconds(1)).burst(1));
        assertThat(limiter.acquire().allowed()).isTrue();
        long began = System.nanoTime();
        assertThat(limiter.acquire(1, Duration.ofSeconds(5)).allowed()).isTrue();
        assertThat(limiter.acquireAsync(1, null).get(5, TimeUnit.SECONDS).allowed())
                .isTrue();
        assertThat(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began)).isGreaterThanOrEqualTo(150);
    }

    @Test
    void aWaitThatCannotBeLongEnoughIsRefusedAtOnce() throws Exception {
        RateLimiter limiter = connect().rateLimiter(name, Rate.of(1, HOUR));
        assertThat(limiter.tryAcquire().allowed()).isTrue();
        Decision refused = limiter.acquire(1, Duration.ofMinutes(1));
        assertThat(refused.allowed()).isFalse();
        assertThat(refused.retryAfter()).isPositive();
        assertThat(limiter.tryAcquire().allowed()).isFalse();
        assertThat(limiter.peek().granted()).isZero();
        limiter.reset();
        assertThat(limiter.peek().remaining()).isEqualTo(1);
        assertThat(limiter.tryAcquireAsync(1).get(5, TimeUnit.SECONDS).allowed())
                .isTrue();
    }

    @Test
    void keysAreToldApartInEveryCall() throws Exception {
        RateLimiter limiter = connect().rateLimiter(name, Rate.of(2, HOUR));
        RateLimiter one = limiter.keyed("user:1");
        assertThat(one.name()).isEqualTo(name + ":user:1");
        assertThat(one.tryAcquire(2).allowed()).isTrue();
        assertThat(one.acquire(1, Duration.ofMillis(5)).allowed()).isFalse();
        assertThat(one.tryAcquireAsync(1).get(5, TimeUnit.SECONDS).allowed()).isFalse();
        assertThat(limiter.keyed("user:2").peek().remaining()).isEqualTo(2);
        assertThat(limiter.peek().remaining()).isEqualTo(2);
        assertThat(limiter.keyed("user").keyed("1").peek().remaining()).isZero();
        one.reset();
        assertThat(limiter.keyed("user")
                        .tryAcquireMany(List.of(new KeyedCost("1", 2)))
                        .get(0)
                        .allowed())
                .isTrue();
        assertThat(one.peek().remaining()).isZero();
    }

    @Test
    @SuppressWarnings("NullAway") // for a key that is null
    void whatCanBeNoKeyIsRefusedInWords() {
        RateLimiter limiter = connect().rateLimiter(name, Rate.of(2, HOUR));
        for (String key : List.of("", "k".repeat(10_000), "{", "{}", "a\0", "\ud800")) {
            RateLimiter keyed = limiter.keyed(key);
            assertThatThrownBy(keyed::tryAcquire).isInstanceOf(InvalidNameException.class);
            assertThatThrownBy(keyed::acquire).isInstanceOf(InvalidNameException.class);
            assertThatThrownBy(keyed::peek).isInstanceOf(InvalidNameException.class);
            assertThatThrownBy(keyed::reset).isInstanceOf(InvalidNameException.class);
            Answer answer =
                    limiter.tryAcquireMany(List.of(new KeyedCost(key, 1))).get(0);
            assertThat(answer.allowed()).isFalse();
            assertThat(((Undecided) answer).error()).isInstanceOf(InvalidNameException.class);
        }
        assertThatThrownBy(() -> limiter.keyed(null)).isInstanceOf(NullPointerException.class);
        assertThat(limiter.keyed("a\nb").tryAcquire().allowed()).isTrue();
    }

    @Test
    void aBatchAnswersEachItemByItself() throws Exception {
        RateLimiter limiter = connect().rateLimiter(name, Rate.of(3, HOUR));
        List<KeyedCost> items = List.of(
                new KeyedCost("a", 2),
                new KeyedCost("b", 4),
                new KeyedCost("a", 2),
                new KeyedCost("", 1),
                new KeyedCost("c", -1));
        List<Answer> answers = limiter.tryAcquireMany(items);
        assertThat(answers).extracting(Answer::allowed).containsExactly(true, false, false, false, false);
        assertThat(((Decision) answers.get(2)).remaining()).isEqualTo(1);
        assertThat(((Decision) answers.get(1)).retryAfter()).as("never").isNull();
        assertThat(((Undecided) answers.get(3)).error()).isInstanceOf(InvalidNameException.class);
        assertThat(((Undecided) answers.get(4)).error()).isInstanceOf(InvalidArgumentException.class);
        List<KeyedCost> many = new ArrayList<>();
        assertThatThrownBy(() -> limiter.tryAcquireMany(many)).isInstanceOf(InvalidArgumentException.class);
        for (int number = 0; number < 10_000; number++) {
            many.add(new KeyedCost("user:" + number, 1));
        }
        assertThat(limiter.tryAcquireManyAsync(many).get(30, TimeUnit.SECONDS))
                .hasSize(10_000)
                .allMatch(Answer::allowed);
        many.add(new KeyedCost("one more", 1));
        assertThatThrownBy(() -> limiter.tryAcquireMany(many))
                .isInstanceOf(InvalidArgumentException.class)
                .hasMessageContaining("1 to 10000 items");
    }

    /** A decision is an answer, also that it can never be: whoever passes the cost of a request hears no in one way. */
    @Test
    void aCostAboveTheBurstIsAnsweredWithNever() throws Exception {
        RateLimiter limiter = connect().rateLimiter(name, Rate.of(5, HOUR));
        for (Decision never : List.of(
                limiter.tryAcquire(6),
                limiter.tryAcquire(Long.MAX_VALUE),
                limiter.acquire(6, null),
                limiter.acquireAsync(6, null).get(5, TimeUnit.SECONDS),
                limiter.reserve(6, null))) {
            assertThat(never.allowed()).isFalse();
            assertThat(never.retryAfter()).isNull();
            assertThat(never.refusedBy()).hasValue(0);
        }
        assertThat(limiter.peek().remaining()).as("nothing was spent").isEqualTo(5);
    }

    @ParameterizedTest
    @EnumSource(Algorithm.class)
    void everyAlgorithmGrantsItsTokensAndNoMore(Algorithm algorithm) {
        Client client = connect();
        RateLimiter limiter = client.rateLimiter(name, Rate.of(5, HOUR).by(algorithm));
        assertThat(limiter.rates()).containsExactly(Rate.of(5, HOUR).by(algorithm));
        assertThat(limiter.tryAcquire(3).remaining()).isEqualTo(2);
        assertThat(limiter.tryAcquire(2).allowed()).isTrue();
        Decision refused = limiter.tryAcquire();
        assertThat(refused.allowed()).isFalse();
        assertThat(refused.refusedBy()).hasValue(0);
        assertThat(refused.retryAfter()).isPositive();
        if (algorithm != Algorithm.GCRA) {
            Rate burst = Rate.of(5, HOUR).burst(4).by(algorithm);
            assertThatThrownBy(() -> client.rateLimiter(name, burst)).isInstanceOf(InvalidArgumentException.class);
        }
    }

    @Test
    void redissonsRateIsOfEachClientOrOfAll() {
        for (Algorithm algorithm : List.of(Algorithm.REDISSON, Algorithm.REDISSON_PER_CLIENT)) {
            Rate rate = Rate.of(1, HOUR).by(algorithm);
            assertThat(connect()
                            .rateLimiter(name + algorithm, rate)
                            .tryAcquire()
                            .allowed())
                    .isTrue();
            RateLimiter other = connect().rateLimiter(name + algorithm, rate);
            assertThat(other.tryAcquire().allowed()).isEqualTo(algorithm == Algorithm.REDISSON_PER_CLIENT);
            assertThatThrownBy(() -> other.reserve(1, null)).isInstanceOf(InvalidArgumentException.class);
            assertThatThrownBy(() -> other.block(HOUR)).isInstanceOf(InvalidArgumentException.class);
        }
    }

    @Test
    @SuppressWarnings("NullAway") // for a rate that is null
    void severalRatesAreChargedAllOrNone() {
        Client client = connect();
        Rate daily = Rate.of(3, Duration.ofDays(1)).by(Algorithm.SLIDING_LOG);
        List<Rate> rates = List.of(Rate.of(2, HOUR), daily);
        RateLimiter limiter = client.rateLimiter(name, rates);
        assertThat(limiter.rates()).isEqualTo(rates);
        assertThat(limiter.keyed("user").rates()).isEqualTo(rates);
        assertThat(limiter.tryAcquire(2).allowed()).isTrue();
        assertThat(limiter.tryAcquire().refusedBy()).hasValue(0);
        RateLimiter longer = client.rateLimiter(name, List.of(daily, Rate.of(9, Duration.ofDays(2))));
        assertThat(longer.peek().remaining())
                .as("not charged for what the first refused")
                .isEqualTo(1);
        assertThat(longer.tryAcquire(2).refusedBy()).hasValue(0);
        List<List<Rate>> wrong = List.of(List.of(), List.of(daily, daily), Collections.nCopies(9, Rate.of(1, HOUR)));
        for (List<Rate> none : wrong) {
            assertThatThrownBy(() -> client.rateLimiter(name, none)).isInstanceOf(InvalidArgumentException.class);
        }
        assertThatThrownBy(() -> client.rateLimiter(name, Collections.singletonList(null)))
                .isInstanceOf(NullPointerException.class)
                .hasMessage("rate is null");
        assertThat(client.rateLimiter(name, rates, Absent.DENY).peek().allowed())
                .isFalse();
    }

    @Test
    void aReservationSaysWhenItsTokensMayBeUsed() throws Exception {
        RateLimiter limiter = connect().rateLimiter(name, Rate.of(1, HOUR));
        assertThat(limiter.reserve(1, Duration.ZERO).usableAfter()).isZero();
        assertThat(limiter.reserve(1, Duration.ofMinutes(1)).allowed()).isFalse();
        Decision later = limiter.reserveAsync(1, null).get(5, TimeUnit.SECONDS);
        assertThat(later.allowed()).isTrue();
        assertThat(later.usableAfter()).isBetween(Duration.ofMinutes(59), HOUR);
        assertThat(limiter.keyed("user").reserve(1, Duration.ZERO).allowed()).isTrue();
    }

    @Test
    void penaltiesAndRewardsCountOutsideOfDecisions() throws Exception {
        RateLimiter whole = connect().rateLimiter(name, Rate.of(5, HOUR));
        for (RateLimiter limiter : List.of(whole, whole.keyed("user"))) {
            limiter.penalty(3);
            assertThat(limiter.peek().remaining()).isEqualTo(2);
            limiter.reward(2);
            assertThat(limiter.peek().remaining()).isEqualTo(4);
            limiter.penaltyAsync(4).get(5, TimeUnit.SECONDS);
            limiter.penaltyAsync(5).get(5, TimeUnit.SECONDS);
            assertThat(limiter.tryAcquire().allowed()).isFalse();
            limiter.rewardAsync(5).get(5, TimeUnit.SECONDS);
            for (long tokens : new long[] {0, -1, 6, Long.MIN_VALUE}) {
                assertThatThrownBy(() -> limiter.penalty(tokens)).isInstanceOf(InvalidArgumentException.class);
                assertThatThrownBy(() -> limiter.reward(tokens)).isInstanceOf(InvalidArgumentException.class);
            }
        }
    }

    @Test
    void aBlockRefusesEverybodyUntilItEnds() throws Exception {
        RateLimiter limiter = connect().rateLimiter(name, Rate.of(5, HOUR));
        limiter.block(HOUR);
        Decision refused = limiter.tryAcquire();
        assertThat(refused.allowed()).isFalse();
        assertThat(refused.refusedBy()).as("no rate did").isEmpty();
        assertThat(refused.remaining()).isZero();
        assertThat(refused.resetAfter()).isEqualTo(refused.retryAfter());
        assertThat(refused.retryAfter()).isBetween(Duration.ofMinutes(59), HOUR);
        assertThat(limiter.keyed("user").tryAcquire().allowed()).isTrue();
        limiter.blockAsync(Duration.ofMillis(50)).get(5, TimeUnit.SECONDS);
        assertThat(limiter.acquire(1, Duration.ofSeconds(10)).allowed()).isTrue();
        limiter.block(HOUR);
        limiter.block(Duration.ZERO);
        assertThat(limiter.tryAcquire().allowed()).isTrue();
        for (Duration length : List.of(Duration.ofMillis(-1), Duration.ofSeconds(Long.MAX_VALUE))) {
            assertThatThrownBy(() -> limiter.block(length)).isInstanceOf(InvalidArgumentException.class);
        }
    }

    @Test
    void aWaitCanBeInterruptedCancelledAndClosed() throws Exception {
        Client client = connect();
        RateLimiter limiter = client.rateLimiter(name, Rate.of(1, HOUR));
        assertThat(limiter.tryAcquire().allowed()).isTrue();
        Background<Decision> interrupted =
                Background.run(() -> limiter.acquire()).waits();
        interrupted.thread().interrupt();
        assertThat(interrupted.thrown()).isInstanceOf(InterruptedException.class);
        CompletableFuture<Decision> cancelled = limiter.acquireAsync(1, null);
        assertThat(cancelled.cancel(true)).isTrue();
        Background<Decision> closed = Background.run(() -> limiter.acquire()).waits();
        client.close();
        assertThat(closed.thrown()).isInstanceOf(ClosedException.class);
        assertThatThrownBy(limiter::tryAcquire).isInstanceOf(ClosedException.class);
        assertThatThrownBy(() -> client.rateLimiter(name, Rate.of(1, HOUR))).isInstanceOf(ClosedException.class);
    }

    @Test
    void threadsShareOneBucket() {
        RateLimiter limiter = connect().rateLimiter(name, Rate.of(1, HOUR).burst(100));
        List<Background<Integer>> threads = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            threads.add(Background.run(() -> {
                int granted = 0;
                for (int call = 0; call < 50; call++) {
                    granted += limiter.tryAcquire().allowed() ? 1 : 0;
                }
                return granted;
            }));
        }
        assertThat(threads.stream().mapToInt(Background::get).sum()).isEqualTo(100);
    }

    @Test
    void whatIsOutOfBoundsIsRefusedAndNamed() {
        Client client = connect();
        for (Rate rate : List.of(
                Rate.of(-1, HOUR),
                Rate.of(Long.MAX_VALUE, HOUR),
                Rate.of(1, Duration.ZERO),
                Rate.of(1, Duration.ofSeconds(-1)),
                Rate.of(1, CENTURY.plusDays(366)),
                Rate.of(1, Duration.ofSeconds(Long.MAX_VALUE)),
                Rate.of(1, HOUR).burst(0),
                Rate.of(1, HOUR).burst(-1),
                Rate.of(1, HOUR).burst(Long.MAX_VALUE))) {
            assertThatThrownBy(() -> client.rateLimiter(name, rate))
                    .as("%s", rate)
                    .isInstanceOf(InvalidArgumentException.class);
        }
        RateLimiter limiter = client.rateLimiter(name, Rate.of(5, HOUR));
        for (long cost : new long[] {-1, Long.MIN_VALUE}) {
            assertThatThrownBy(() -> limiter.tryAcquire(cost))
                    .isInstanceOf(InvalidArgumentException.class)
                    .hasMessageContaining(Long.toString(cost));
        }
        assertThat(limiter.peek().remaining()).as("nothing was spent").isEqualTo(5);
        Decision never =
                client.rateLimiter(name + "-zero", Rate.of(0, HOUR).burst(1)).tryAcquire();
        assertThat(never.allowed()).isFalse();
        assertThat(never.retryAfter()).isNull();
        assertThatThrownBy(() -> client.rateLimiter("a{", Rate.of(1, HOUR))).isInstanceOf(InvalidNameException.class);
        assertThatThrownBy(() -> client.rateLimiter("\ud800", Rate.of(1, HOUR)))
                .isInstanceOf(InvalidNameException.class);
        assertThatThrownBy(() -> client.rateLimiter(name, Rate.of(1, HOUR), Absent.localShare(0)))
                .isInstanceOf(InvalidArgumentException.class);
        Rate extreme = Rate.of(1_000_000_000_000L, Duration.ofNanos(1000)).burst(1);
        assertThat(client.rateLimiter(name + "-fast", extreme).tryAcquire().allowed())
                .isTrue();
    }

    @Test
    void microsecondsAreRoundedUp() {
        assertThat(Arguments.micros(Duration.ofNanos(1))).isEqualTo(1);
        assertThat(Arguments.micros(Duration.ofNanos(1000))).isEqualTo(1);
        assertThat(Arguments.micros(CENTURY)).isEqualTo(CENTURY.toSeconds() * 1_000_000);
        assertThat(Arguments.micros(Duration.ofSeconds(Long.MAX_VALUE))).isEqualTo(Long.MAX_VALUE);
        assertThat(Arguments.micros(Duration.ofSeconds(-5))).isEqualTo(-5_000_000);
        assertThat(Arguments.micros(Duration.ofNanos(-500))).isEqualTo(-1);
        assertThat(Arguments.micros(Duration.ofSeconds(Long.MIN_VALUE))).isEqualTo(-Long.MAX_VALUE);
    }

    @Test
    void anAbsentServerIsAnErrorUnlessAPolicySaysOtherwise() {
        try (RedisServer own = new RedisServer()) {
            Options quick =
                    Options.defaults().operationTimeout(Duration.ofSeconds(1)).responseTimeout(Duration.ofMillis(500));
            Client client = closing(Dlock.connect(own.url(), quick));
            Rate rate = Rate.of(4, HOUR);
            RateLimiter fail = client.rateLimiter(name, rate);
            RateLimiter deny = client.rateLimiter(name, rate, Absent.DENY);
            RateLimiter allow = client.rateLimiter(name, rate, Absent.ALLOW);
            RateLimiter share = client.rateLimiter(name, rate, Absent.localShare(2));
            own.kill();
            assertThatThrownBy(fail::tryAcquire)
                    .isInstanceOfAny(ConnectionException.class, OutcomeUnknownException.class);
            assertThat(deny.tryAcquire().allowed()).isFalse();
            Decision allowed = allow.tryAcquire();
            assertThat(allowed.allowed()).isTrue();
            assertThat(allowed.serverTimeUs()).as("there was no server").isEmpty();
            assertThat(share.tryAcquire(2).allowed()).isTrue();
            assertThat(share.tryAcquire().allowed()).as("half of 4 are ours").isFalse();
        }
    }

    @Test
    void aLostReplyCountsAsSpent() {
        try (Proxy proxy = new Proxy(server)) {
            // Without blocking connections: the reply that is lost is the decision's, not that of one being opened.
            Client client = closing(Dlock.connect(proxy.url() + "?blocking_connections=0"));
            RateLimiter limiter = client.rateLimiter(name, Rate.of(5, HOUR));
            assertThat(limiter.tryAcquire().remaining()).isEqualTo(4);
            proxy.resetAtNextReplies(1);
            assertThatThrownBy(limiter::tryAcquire).isInstanceOf(OutcomeUnknownException.class);
            assertThat(connect().rateLimiter(name, Rate.of(5, HOUR)).peek().remaining())
                    .isEqualTo(3);
        }
    }

    @Test
    void aKeyOfAnotherKindIsLeftAlone() {
        String key = "dlock_limit:{" + name + "}";
        server.command("SET", key, "'); redis.call('FLUSHALL')");
        RateLimiter limiter = connect().rateLimiter(name, Rate.of(5, HOUR));
        assertThatThrownBy(limiter::tryAcquire)
                .isInstanceOf(WrongTypeException.class)
                .hasMessageNotContaining("user_script");
        assertThat(server.command("GET", key)).isEqualTo("'); redis.call('FLUSHALL')");
        limiter.reset();
        assertThat(limiter.tryAcquire().allowed()).isTrue();
        RateLimiter other = connect().rateLimiter(name, Rate.of(5, HOUR).by(Algorithm.SLIDING_LOG));
        assertThatThrownBy(other::tryAcquire)
                .isInstanceOf(WrongTypeException.class)
                .hasMessageContainingAll(name, "no rate limit by sliding_log", "same algorithm everywhere", "reset");
    }
}
