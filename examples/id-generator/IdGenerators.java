import org.libdlock.Client;
import org.libdlock.Dlock;
import org.libdlock.IdGenerator;

/** Ids of orders and their lines, from two clients that take a block each. */
public final class IdGenerators {
    public static void main(String[] arguments) {
        String url = System.getenv().getOrDefault("REDIS_URL", "redis://127.0.0.1:6379");
        try (Client shop = Dlock.connect(url);
                Client other = Dlock.connect(url)) {
            IdGenerator ids = shop.idGenerator("example-orders", 100);
            System.out.println("order " + ids.nextId());
            long[] lines = ids.nextIds(3);
            System.out.println("lines " + lines[0] + ", " + lines[1] + " and " + lines[2]);

            IdGenerator others = other.idGenerator("example-orders");
            System.out.println("another process has " + others.nextId());
            System.out.println("blocks of " + others.blockSize());
        }
    }
}
