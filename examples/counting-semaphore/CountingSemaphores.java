import org.libdlock.Client;
import org.libdlock.DistributedCountingSemaphore;
import org.libdlock.Dlock;

/** Two clients, of which one takes permits and the other brings them back. */
public final class CountingSemaphores {
    public static void main(String[] arguments) throws InterruptedException {
        String url = System.getenv().getOrDefault("REDIS_URL", "redis://127.0.0.1:6379");
        try (Client first = Dlock.connect(url);
                Client second = Dlock.connect(url)) {
            DistributedCountingSemaphore slots = first.countingSemaphore("example-counting-semaphore");
            slots.drainPermits();
            slots.addPermits(2);
            slots.acquire(2);
            System.out.println("the first client has taken both permits");

            DistributedCountingSemaphore same = second.countingSemaphore("example-counting-semaphore");
            if (!same.tryAcquire()) System.out.println("the second client finds none available");

            // By whomever: a permit has no owner.
            same.release(2);
            System.out.println("the second client has brought " + slots.availablePermits() + " back");
        }
    }
}
