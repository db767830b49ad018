import java.time.Duration;
import org.libdlock.Client;
import org.libdlock.DistributedLockAll;
import org.libdlock.Dlock;
import org.libdlock.LockAllHandle;

/** Two clients transfer between the same accounts. */
public final class LockAll {
    public static void main(String[] arguments) throws InterruptedException {
        String url = System.getenv().getOrDefault("REDIS_URL", "redis://127.0.0.1:6379");
        String seven = "example-account/7";
        String fortyTwo = "example-account/42";
        try (Client one = Dlock.connect(url);
                Client other = Dlock.connect(url)) {
            DistributedLockAll first = one.lockAll(seven, fortyTwo);
            DistributedLockAll second = other.lockAll(fortyTwo, seven, seven);

            first.lock();
            try {
                if (first.token(seven) > 0 && first.token(fortyTwo) > 0)
                    System.out.println("both accounts are held, each with a token of its own");
                if (!second.tryLock()) System.out.println("a second client finds them busy, and takes neither");
            } finally {
                first.unlock();
            }

            // A hold that belongs to its object, which any thread may release.
            try (LockAllHandle held = second.acquire(Duration.ofSeconds(5), null)) {
                System.out.println("it has both as soon as they are released");
                if (held.tokens().size() == 2) System.out.println("a name that is given twice counts once");
            }
        }
    }
}
