package org.libdlock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.libdlock.Client;
import org.libdlock.Dlock;
import org.libdlock.LockHandle;
import org.libdlock.spring.Contexts;
import org.libdlock.spring.Locked;
import org.libdlock.support.Eventually;
import org.libdlock.support.Logged;
import org.libdlock.support.RedisServer;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.support.DefaultLifecycleProcessor;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;

/** An application ends while its locks are held: its tasks release them, and none is left until its lease is over. */
class ShutdownTest {
    private static final RedisServer SERVER = RedisServer.shared();

    /** A task that is interrupted when the application ends, and then needs a while to clean up. */
    static class Tasks {
        private final CountDownLatch begun = new CountDownLatch(2);

        @Locked("shutdown-renewed")
        public void renewed() throws InterruptedException {
            work();
        }

        @Locked(value = "shutdown-fixed", lease = "10m")
        public void fixed() throws InterruptedException {
            work();
        }

        private void work() throws InterruptedException {
            begun.countDown();
            try {
                Thread.sleep(TimeUnit.HOURS.toMillis(1));
            } catch (InterruptedException stopped) {
                Thread.sleep(200);
                throw stopped;
            }
        }

        public CountDownLatch begun() {
            return begun;
        }
    }

    private static ApplicationContextRunner application() {
        return Contexts.withServer()
                .withPropertyValues("libdlock.shutdown-grace=20s")
                .withBean("lifecycleProcessor", DefaultLifecycleProcessor.class, ShutdownTest::impatient);
    }

    /** Has the scheduler interrupt its tasks soon. */
    private static DefaultLifecycleProcessor impatient() {
        DefaultLifecycleProcessor processor = new DefaultLifecycleProcessor();
        processor.setTimeoutPerShutdownPhase(100);
        return processor;
    }

    private static ThreadPoolTaskScheduler scheduler() {
        ThreadPoolTaskScheduler scheduler = new ThreadPoolTaskScheduler();
        scheduler.setPoolSize(2);
        return scheduler;
    }

    private static boolean isTaken(String name) {
        return SERVER.command("EXISTS", name).equals(1L);
    }

    /** Ends the application while both tasks run. */
    private static void endsWithNothingTaken(ApplicationContextRunner application) {
        application.run(context -> {
            Tasks tasks = context.getBean(Tasks.class);
            ThreadPoolTaskScheduler scheduler = context.getBean(ThreadPoolTaskScheduler.class);
            scheduler.submit(() -> {
                tasks.renewed();
                return null;
            });
            scheduler.submit(() -> {
                tasks.fixed();
                return null;
            });
            assertThat(tasks.begun().await(20, TimeUnit.SECONDS)).isTrue();
        });
        assertThat(isTaken("shutdown-renewed")).as("renewed").isFalse();
        assertThat(isTaken("shutdown-fixed")).as("with a fixed lease").isFalse();
    }

    @Test
    void interruptedTasksReleaseTheirLocks() {
        endsWithNothingTaken(
                application().withBean(Tasks.class).withBean(ThreadPoolTaskScheduler.class, ShutdownTest::scheduler));
    }

    /** A bean that was made before the client is destroyed after it. */
    @Test
    void theClientIsOpenUntilTheFirstBeanHasEnded() {
        List<Client> client = new ArrayList<>();
        List<Boolean> closed = new ArrayList<>();
        application()
                .withBean(
                        "first",
                        DisposableBean.class,
                        () -> () -> closed.add(client.get(0).isClosed()))
                .run(context -> client.add(context.getBean(Client.class)));
        assertThat(closed).containsExactly(false);
        assertThat(client.get(0).isClosed()).isTrue();
    }

    @Test
    void tasksWithAClientOfTheApplicationDoToo() {
        endsWithNothingTaken(application()
                .withBean(Client.class, () -> Dlock.connect(SERVER.url()))
                .withBean(Tasks.class)
                .withBean(ThreadPoolTaskScheduler.class, ShutdownTest::scheduler));
    }

    /** Sees at its end whether the client is closed, which was not injected into it. */
    static class Closing implements DisposableBean {
        private static final List<Boolean> CLOSED = new ArrayList<>();

        @Autowired
        private BeanFactory beans;

        @Locked("shutdown-closing")
        public void locks() {}

        @Override
        public void destroy() {
            CLOSED.add(beans.getBean(Client.class).isClosed());
        }
    }

    @Test
    void beansThatLockEndBeforeAClientOfTheApplication() {
        application()
                .withBean(Closing.class)
                .withBean(Client.class, () -> Dlock.connect("memory://"))
                .run(context -> context.getBean(Closing.class).locks());
        assertThat(Closing.CLOSED).containsExactly(false);
    }

    @Test
    void aHoldThatNobodyEndsIsLeftAfterTheGrace() throws Exception {
        List<LockHandle> held = new ArrayList<>();
        try (Logged log = new Logged()) {
            long[] began = {0};
            application().withPropertyValues("libdlock.shutdown-grace=300ms").run(context -> {
                held.add(context.getBean(Client.class).lock("shutdown-left").acquire());
                began[0] = System.nanoTime();
            });
            assertThat(Duration.ofNanos(System.nanoTime() - began[0])).isGreaterThanOrEqualTo(Duration.ofMillis(300));
            assertThat(log.warned("1 holds that did not end within libdlock.shutdown-grace (300 ms)"))
                    .isTrue();
        }
        assertThat(held.get(0).isValid()).isFalse();
        assertThat(isTaken("shutdown-left")).as("until its lease is over").isTrue();
        SERVER.command("DEL", "shutdown-left");
    }

    @Test
    void anApplicationThatHoldsNothingEndsAtOnce() {
        long[] began = {0};
        application().withPropertyValues("libdlock.shutdown-grace=1h").run(context -> {
            Client client = context.getBean(Client.class);
            client.lock("shutdown-nothing").lock();
            client.lock("shutdown-nothing").unlock();
            Eventually.holds("it is free", () -> !isTaken("shutdown-nothing"));
            began[0] = System.nanoTime();
        });
        assertThat(Duration.ofNanos(System.nanoTime() - began[0])).isLessThan(Duration.ofMinutes(1));
    }
}
