package org.libdlock.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Filter;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;
import org.libdlock.support.Uninterrupted;

/** How completions reach those who wait, in a JVM in need too. */
class DeliveryTest {
    /** Where no thread can be started the same completion is delivered again: a second hold of it must not be made, and given back. */
    @Test
    void aPromiseToldTwiceDeliversOnce() throws Exception {
        Callbacks callbacks = new Callbacks("test", 1);
        AtomicInteger converted = new AtomicInteger();
        List<Object> unwanted = new ArrayList<>();
        Promise<Object> promise = new Promise<>(
                callbacks,
                callbacks,
                reply -> {
                    converted.incrementAndGet();
                    return reply;
                },
                unwanted::add);
        promise.done("a hold");
        promise.done("a hold");
        assertThat(promise.get(5, TimeUnit.SECONDS)).isEqualTo("a hold");
        CountDownLatch after = new CountDownLatch(1);
        callbacks.execute(after::countDown);
        assertThat(after.await(5, TimeUnit.SECONDS)).isTrue();
        assertThat(converted).hasValue(1);
        assertThat(unwanted).isEmpty();
    }

    @Test
    void aLoggerThatThrowsStopsNothing() {
        Logger logger = Logger.getLogger("org.libdlock");
        Filter before = logger.getFilter();
        OutOfMemoryError same = new OutOfMemoryError("a test's");
        logger.setFilter(record -> {
            throw same;
        });
        try {
            assertThatCode(() -> Log.failed("what failed", same)).doesNotThrowAnyException();
        } finally {
            logger.setFilter(before);
        }
    }

    @Test
    void blockedCallbacksGetHelpUpToALimit() throws Exception {
        Callbacks callbacks = new Callbacks("test-blocked", 3);
        CountDownLatch never = new CountDownLatch(1);
        CountDownLatch entered = new CountDownLatch(3);
        for (int i = 0; i < 5; i++) {
            callbacks.execute(() -> {
                entered.countDown();
                Uninterrupted.run(() -> never.await(1, TimeUnit.MINUTES));
            });
        }
        while (!entered.await(Callbacks.STALL_MS, TimeUnit.MILLISECONDS)) {
            callbacks.watch();
        }
        assertThat(callbacks.watch()).as("there is no more help to send").isFalse();
        assertThat(callbacks.executeUnless(2, () -> {})).as("two wait already").isFalse();
        never.countDown();
        CountDownLatch after = new CountDownLatch(1);
        callbacks.execute(after::countDown);
        assertThat(after.await(5, TimeUnit.SECONDS)).isTrue();
    }
}
