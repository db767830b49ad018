import java.util.concurrent.TimeUnit;
import org.libdlock.Client;
import org.libdlock.DistributedLock;
import org.libdlock.Dlock;

/** Two clients take turns on one lock. */
public final class Lock {
    public static void main(String[] arguments) throws InterruptedException {
        String url = System.getenv().getOrDefault("REDIS_URL", "redis://127.0.0.1:6379");
        try (Client first = Dlock.connect(url);
                Client second = Dlock.connect(url)) {
            DistributedLock mine = first.lock("example-lock");
            DistributedLock theirs = second.lock("example-lock");
            if (!mine.tryLock(5, TimeUnit.SECONDS)) System.exit(1);
            long token;
            try {
                System.out.println("the first client holds the lock");
                // Send the token with every write: the resource refuses one that is lower than the highest it has seen.
                token = mine.token();
                if (!theirs.tryLock()) System.out.println("the second client finds it busy");
            } finally {
                mine.unlock();
            }

            if (!theirs.tryLock(5, TimeUnit.SECONDS)) System.exit(1);
            try {
                if (theirs.token() > token) System.out.println("the second client holds it, with a larger token");
            } finally {
                theirs.unlock();
            }
        }
    }
}
