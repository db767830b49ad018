import java.time.Duration;
import org.libdlock.Client;
import org.libdlock.DistributedSemaphore;
import org.libdlock.Dlock;
import org.libdlock.PermitsHandle;

/** Two clients share three permits. */
public final class Semaphores {
    public static void main(String[] arguments) throws InterruptedException {
        String url = System.getenv().getOrDefault("REDIS_URL", "redis://127.0.0.1:6379");
        try (Client first = Dlock.connect(url);
                Client second = Dlock.connect(url)) {
            DistributedSemaphore mine = first.semaphore("example-semaphore", 3);
            DistributedSemaphore theirs = second.semaphore("example-semaphore", 3);
            mine.acquire(2);
            try {
                System.out.println("the first client holds two of three permits");
                if (!theirs.tryAcquire(2)) System.out.println("the second client finds no two available");
            } finally {
                // Those of a process that dies come back when its lease ends.
                mine.release(2);
            }

            // A hold that belongs to its object, which any thread may release.
            try (PermitsHandle held = theirs.take(2, Duration.ofSeconds(5), null)) {
                System.out.println("the second client holds two");
            }
        }
    }
}
