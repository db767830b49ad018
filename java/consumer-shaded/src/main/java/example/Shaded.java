package example;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.libdlock.Client;
import org.libdlock.DistributedLock;
import org.libdlock.Dlock;
import org.libdlock.LockHandle;
import org.libdlock.NotHeldException;
import org.libdlock.Rate;
import org.libdlock.Snowflake;

/** Uses a libdlock whose packages were moved; with the argument {@code both} also one that lies beside it unmoved. */
public final class Shaded {
    private Shaded() {}

    public static void main(String[] arguments) throws Exception {
        String name = Dlock.class.getName();
        if (!name.startsWith("example.hidden.")) {
            throw new AssertionError("not moved: " + name);
        }
        try (Client client = Dlock.connect("memory://")) {
            DistributedLock lock = client.lock("moved");
            lock.lock();
            lock.unlock();
            try {
                lock.unlock();
                throw new AssertionError("released twice");
            } catch (NotHeldException expected) {
                // Made by native code, from a class that was moved, too.
            }
            try (LockHandle handle = lock.lockAsync().get(5, TimeUnit.SECONDS)) {
                client.rateLimiter("moved", Rate.of(1, Duration.ofSeconds(1))).acquire();
                System.out.println(name + " held with token " + handle.token());
            }
            new Snowflake(1, 1).nextId();
        }
        if (arguments.length > 0) {
            // In parts: the shader moves what looks like our package.
            Class<?> unmoved = Class.forName(String.join(".", "org", "libdlock", "Dlock"));
            try (AutoCloseable client =
                    (AutoCloseable) unmoved.getMethod("connect", String.class).invoke(null, "memory://")) {
                System.out.println(
                        unmoved.getName() + " beside it: " + client.getClass().getName());
            }
        }
    }
}
