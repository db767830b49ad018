import org.libdlock.Client;
import org.libdlock.DistributedReadWriteLock;
import org.libdlock.Dlock;

/** Two clients share a read-write lock. */
public final class ReadWrite {
    public static void main(String[] arguments) {
        String url = System.getenv().getOrDefault("REDIS_URL", "redis://127.0.0.1:6379");
        try (Client mine = Dlock.connect(url);
                Client theirs = Dlock.connect(url)) {
            DistributedReadWriteLock first = mine.rwLock("example-rw-lock");
            DistributedReadWriteLock second = theirs.rwLock("example-rw-lock");

            first.readLock().lock();
            second.readLock().lock();
            System.out.println("both clients read at the same time");
            second.readLock().unlock();

            if (!second.writeLock().tryLock()) {
                System.out.println("the second client cannot write while the first reads");
            }
            first.readLock().unlock();

            second.writeLock().lock();
            System.out.println("the second client writes alone");

            // From now on others may read too, and nobody has written in between.
            second.readLock().lock();
            second.writeLock().unlock();
            first.readLock().lock();
            System.out.println("it goes on as a reader, and the first client reads again");
            first.readLock().unlock();
            second.readLock().unlock();
        }
    }
}
