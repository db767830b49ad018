package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.ref.WeakReference;
import java.lang.reflect.Method;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.libdlock.support.Background;
import org.libdlock.support.Jvm;

/** Applications of one JVM that have the jar in different class loaders: an undeployed one leaves nothing. */
class LoadersTest extends WithServer {
    private static final int ROUNDS = 4;

    /** Deploys two applications in each round, and says what is left when both have closed their clients: {@code main URL NAME}. */
    static final class Redeploying {
        private static final List<WeakReference<ClassLoader>> LOADERS = new ArrayList<>();

        public static void main(String[] args) throws Exception {
            for (int round = 0; round < ROUNDS; round++) {
                deploy(args[0], args[1]);
                for (int i = 0; i < 500 && (alive() > 0 || threads() > 0); i++) {
                    System.gc();
                    Thread.sleep(20);
                }
                System.out.println(alive() + " loaders, " + threads() + " threads, " + libraries() + " libraries");
            }
        }

        private static void deploy(String url, String name) throws Exception {
            Object first = connect(url);
            Object second = connect(url);
            Object lock = call(first, "lock", name);
            call(lock, "lock");
            Object other = call(second, "lock", name);
            if ((boolean) call(other, "tryLock")) {
                throw new AssertionError("both hold it");
            }
            call(lock, "unlock");
            call(((CompletableFuture<?>) call(other, "lockAsync")).get(), "close");
            call(first, "close");
            call(second, "close");
        }

        private static Object connect(String url) throws Exception {
            URLClassLoader loader = new URLClassLoader(classPath(), ClassLoader.getPlatformClassLoader());
            LOADERS.add(new WeakReference<>(loader));
            return loader.loadClass("org.libdlock.Dlock")
                    .getMethod("connect", String.class)
                    .invoke(null, url);
        }

        private static URL[] classPath() throws MalformedURLException {
            List<URL> urls = new ArrayList<>();
            for (String entry : System.getProperty("java.class.path").split(":", -1)) {
                urls.add(Path.of(entry).toUri().toURL());
            }
            return urls.toArray(new URL[0]);
        }

        private static Object call(Object of, String name, Object... arguments) throws Exception {
            Class<?>[] types = Arrays.stream(arguments).map(Object::getClass).toArray(Class<?>[]::new);
            Method method = of.getClass().getMethod(name, types);
            return method.invoke(of, arguments);
        }

        private static long alive() {
            return LOADERS.stream().filter(loader -> loader.get() != null).count();
        }

        private static long threads() {
            return Thread.getAllStackTraces().keySet().stream()
                    .filter(thread -> thread.getName().startsWith("libdlock"))
                    .count();
        }

        private static long libraries() throws IOException {
            try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
                return maps.filter(map -> map.contains("libdlock-"))
                        .map(map -> map.substring(map.lastIndexOf('/')))
                        .distinct()
                        .count();
            }
        }
    }

    /** Opens and closes clients on several threads, so that the last one often closes while another is opened: {@code main URL}. */
    static final class Reconnecting {
        private static final int THREADS = 4;
        private static final int TIMES = 200;

        public static void main(String[] args) {
            List<Background<Integer>> threads = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                int number = i;
                threads.add(Background.run(() -> reconnect(args[0], "reconnecting-" + number)));
            }
            System.out.println(threads.stream().mapToInt(Background::get).sum());
        }

        private static int reconnect(String url, String name) throws Exception {
            for (int i = 0; i < TIMES; i++) {
                DistributedLock lock;
                try (Client client = Dlock.connect(url)) {
                    lock = client.lock(name);
                    lock.lockAsync().get(20, TimeUnit.SECONDS).close();
                }
                // An operation of a closed client needs a thread, too.
                assertThat(lock.tryLockAsync()).failsWithin(20, TimeUnit.SECONDS);
            }
            return TIMES;
        }
    }

    @Test
    void clientsThatComeAndGoAtTheSameTimeGetTheirAnswers() {
        try (Jvm jvm = Jvm.start(Reconnecting.class, "memory://")) {
            assertThat(jvm.end()).isEqualTo(Reconnecting.THREADS * Reconnecting.TIMES + "\n");
        }
    }

    @Test
    void undeployedApplicationsLeaveNeitherLoadersNorThreads() {
        try (Jvm jvm = Jvm.start(Redeploying.class, server.url(), name)) {
            assertThat(jvm.end().lines())
                    .as("one library serves all loaders")
                    .hasSize(ROUNDS)
                    .containsOnly("0 loaders, 0 threads, 1 libraries");
        }
    }
}
