package org.libdlock.shedlock;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicInteger;
import net.javacrumbs.shedlock.core.LockAssert;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.spring.annotation.EnableSchedulerLock;
import net.javacrumbs.shedlock.spring.annotation.SchedulerLock;
import org.junit.jupiter.api.Test;
import org.libdlock.Client;
import org.libdlock.Dlock;
import org.libdlock.support.Eventually;
import org.libdlock.support.RedisServer;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;

/** Spring applications whose scheduled methods carry {@code @SchedulerLock}. */
class SchedulerLockTest extends WithProvider {
    private static final AtomicInteger RUNS = new AtomicInteger();
    private static final AtomicInteger AT_ONCE = new AtomicInteger();
    private static final AtomicInteger MOST_AT_ONCE = new AtomicInteger();
    private static final AtomicInteger RARE = new AtomicInteger();

    @Configuration
    @EnableScheduling
    @EnableSchedulerLock(defaultLockAtMostFor = "PT30S")
    static class Application {
        @Bean
        Client client() {
            return Dlock.connect(RedisServer.shared().url());
        }

        @Bean
        LockProvider lockProvider(Client client) {
            return new LibdlockLockProvider(client);
        }

        @Bean
        Tasks tasks() {
            return new Tasks();
        }
    }

    static class Tasks {
        @Scheduled(fixedDelay = 10)
        @SchedulerLock(name = "SchedulerLockTest-often")
        public void often() throws InterruptedException {
            LockAssert.assertLocked();
            MOST_AT_ONCE.accumulateAndGet(AT_ONCE.incrementAndGet(), Math::max);
            Thread.sleep(5);
            AT_ONCE.decrementAndGet();
            RUNS.incrementAndGet();
        }

        @Scheduled(fixedDelay = 10)
        @SchedulerLock(name = "SchedulerLockTest-rare", lockAtMostFor = "PT1M", lockAtLeastFor = "PT1M")
        public void rare() {
            RARE.incrementAndGet();
        }
    }

    @Test
    void twoApplicationsShareTheirTasks() {
        try (AnnotationConfigApplicationContext first = new AnnotationConfigApplicationContext(Application.class);
                AnnotationConfigApplicationContext second = new AnnotationConfigApplicationContext(Application.class)) {
            assertThat(first.getBean(Client.class)).isNotSameAs(second.getBean(Client.class));
            Eventually.holds("tasks run", () -> RUNS.get() >= 20);
        }
        assertThat(MOST_AT_ONCE).hasValue(1);
        assertThat(RARE).as("once within lockAtLeastFor").hasValue(1);
        // The applications are gone, and the minute is not over. A task that still ran keeps its lock for
        // lockAtMostFor, so that
        // nothing is said of the other one.
        assertThat(client.lock("SchedulerLockTest-rare:at-least").isLocked()).isTrue();
    }
}
