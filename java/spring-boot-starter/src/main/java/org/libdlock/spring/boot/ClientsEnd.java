package org.libdlock.spring.boot;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.libdlock.Client;
import org.libdlock.Stats;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.config.DestructionAwareBeanPostProcessor;

/**
 * Lets tasks that are being stopped release their locks before their client is closed: the end of a client waits for its holds, for the
 * grace at most, and that of the starter's comes after the end of all other beans.
 *
 * <p>Beans are destroyed in the reverse order in which they were made, and a post-processor of the bean factory is made before all beans of
 * an application.
 */
final class ClientsEnd
        implements BeanFactoryPostProcessor,
                DestructionAwareBeanPostProcessor,
                SmartInitializingSingleton,
                DisposableBean {
    private static final System.Logger LOGGER = System.getLogger("org.libdlock");
    private static final long LOOK_EVERY_MS = 5;

    private final ObjectProvider<LibdlockProperties> properties;
    private Duration grace = Duration.ZERO;
    private @Nullable Client last;

    ClientsEnd(ObjectProvider<LibdlockProperties> properties) {
        this.properties = properties;
    }

    /** Has nothing to change: it is made for this, and so before other beans. */
    @Override
    public void postProcessBeanFactory(ConfigurableListableBeanFactory beanFactory) {}

    @Override
    public void afterSingletonsInstantiated() {
        grace = properties.getObject().getShutdownGrace();
    }

    /** Closes this client when all other beans have been destroyed. */
    Client closesLast(Client client) {
        last = client;
        return client;
    }

    @Override
    public boolean requiresDestruction(Object bean) {
        return bean instanceof Client && bean != last;
    }

    /** A client of the application has its place among the beans, and is closed as the application says. */
    @Override
    public void postProcessBeforeDestruction(Object bean, String beanName) {
        if (bean instanceof Client client && bean != last) {
            awaitEnds(client);
        }
    }

    @Override
    public void destroy() {
        if (last != null) {
            try {
                awaitEnds(last);
            } finally {
                last.close();
            }
        }
    }

    private void awaitEnds(Client client) {
        long deadline = System.nanoTime() + grace.toNanos();
        long held = held(client);
        try {
            while (held > 0 && !client.isClosed() && System.nanoTime() - deadline < 0) {
                Thread.sleep(LOOK_EVERY_MS);
                held = held(client);
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
        if (held > 0 && !client.isClosed()) {
            LOGGER.log(
                    System.Logger.Level.WARNING,
                    "the application ends with " + held + " holds that did not end within libdlock.shutdown-grace ("
                            + grace.toMillis() + " ms): each is taken until its lease is over");
        }
    }

    /** Locks, permits and deliveries. A worker number is left out: nobody waits for that one. */
    private static long held(Client client) {
        Stats stats = client.stats();
        return stats.lock().held()
                + stats.rwLock().held()
                + stats.semaphore().held()
                + stats.queue().held();
    }
}
