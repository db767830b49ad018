package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.libdlock.support.Background;
import org.libdlock.support.Stopwatch;

/** The same rules for the JDK's latch and for ours: every test here runs on both. */
class LatchRulesTest {
    /** The verbs that both have. */
    interface Verbs {
        void await() throws InterruptedException;

        boolean await(long timeout, TimeUnit unit) throws InterruptedException;

        void countDown();

        long getCount();
    }

    /** The rules. */
    abstract static class Rules extends WithServer {
        abstract Verbs latch(int count);

        private static Callable<Boolean> waiting(Verbs latch) {
            return () -> {
                latch.await();
                return true;
            };
        }

        @Test
        void theCountComesDownToZeroAndStaysThere() throws Exception {
            Verbs latch = latch(2);
            assertThat(latch.getCount()).isEqualTo(2);
            latch.countDown();
            assertThat(latch.getCount()).isEqualTo(1);
            latch.countDown();
            assertThat(latch.getCount()).isZero();
            latch.countDown();
            assertThat(latch.getCount()).isZero();
            latch.await();
            assertThat(latch.await(0, TimeUnit.SECONDS)).isTrue();
        }

        @Test
        void theLastCountDownWakesAllThatWait() throws Exception {
            Verbs latch = latch(2);
            List<Callable<Boolean>> ways =
                    List.of(waiting(latch), waiting(latch), () -> latch.await(1, TimeUnit.HOURS));
            List<Background<Boolean>> waiters =
                    ways.stream().map(Background::run).map(Background::waits).toList();
            latch.countDown();
            assertThat(waiters).noneMatch(Background::isDone);
            latch.countDown();
            assertThat(waiters).allMatch(Background::get);
        }

        @Test
        void aTimedWaitEndsWhenItsTimeIsOver() throws Exception {
            Verbs latch = latch(1);
            Stopwatch watch = Stopwatch.start();
            assertThat(latch.await(150, TimeUnit.MILLISECONDS)).isFalse();
            assertThat(watch.elapsed()).isGreaterThanOrEqualTo(150);
            // Nothing else would end it; a second is for a busy machine.
            assertThat(watch.unhindered()).isLessThan(1150);
        }

        @Test
        void zeroOrLessDoesNotWait() throws Exception {
            Verbs latch = latch(1);
            for (long time : new long[] {0, -1, Long.MIN_VALUE}) {
                Stopwatch watch = Stopwatch.start();
                assertThat(latch.await(time, TimeUnit.SECONDS)).isFalse();
                assertThat(watch.unhindered()).isLessThan(1000);
            }
            latch.countDown();
            assertThat(latch.await(-1, TimeUnit.NANOSECONDS)).isTrue();
        }

        @Test
        void anInterruptEndsTheWait() throws Exception {
            Verbs latch = latch(1);
            for (Callable<Boolean> way :
                    List.<Callable<Boolean>>of(waiting(latch), () -> latch.await(1, TimeUnit.HOURS))) {
                Background<Boolean> waiter = Background.run(way).waits();
                waiter.thread().interrupt();
                assertThat(waiter.thrown()).isInstanceOf(InterruptedException.class);
                assertThat(waiter.thread().isInterrupted()).isFalse();
            }
            assertThat(latch.getCount()).isEqualTo(1);
        }

        @Test
        void anInterruptBeforehandEndsItAlsoWhenItIsOpen() {
            Verbs latch = latch(1);
            latch.countDown();
            List<Callable<Boolean>> ways = List.of(waiting(latch), () -> latch.await(1, TimeUnit.HOURS));
            for (Callable<Boolean> way : ways) {
                Background<Boolean> waiter = Background.run(() -> {
                    Thread.currentThread().interrupt();
                    return way.call();
                });
                assertThat(waiter.thrown()).isInstanceOf(InterruptedException.class);
            }
        }

        @Test
        void anInterruptedThreadStillCountsDown() {
            Verbs latch = latch(2);
            Thread.currentThread().interrupt();
            latch.countDown();
            assertThat(latch.getCount()).isEqualTo(1);
            assertThat(Thread.interrupted()).isTrue();
        }
    }

    @Nested
    class OfTheJdk extends Rules {
        private static final class Local extends CountDownLatch implements Verbs {
            Local(int count) {
                super(count);
            }
        }

        @Override
        Verbs latch(int count) {
            return new Local(count);
        }
    }

    /** Ours, under that interface. */
    private record Ours(DistributedCountDownLatch latch) implements Verbs {
        static Ours of(Client client, String name, int count) {
            DistributedCountDownLatch latch = client.latch(name);
            assertThat(latch.trySetCount(count)).isTrue();
            return new Ours(latch);
        }

        @Override
        public void await() throws InterruptedException {
            latch.await();
        }

        @Override
        public boolean await(long timeout, TimeUnit unit) throws InterruptedException {
            return latch.await(timeout, unit);
        }

        @Override
        public void countDown() {
            latch.countDown();
        }

        @Override
        public long getCount() {
            return latch.getCount();
        }
    }

    @Nested
    class OfDistributedCountDownLatch extends Rules {
        @Override
        Verbs latch(int count) {
            return Ours.of(connect(), name, count);
        }
    }

    @Nested
    class OfDistributedCountDownLatchInMemory extends Rules {
        @Override
        Verbs latch(int count) {
            return Ours.of(closing(Dlock.connect("memory://")), name, count);
        }
    }
}
