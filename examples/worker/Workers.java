import org.libdlock.Client;
import org.libdlock.Dlock;
import org.libdlock.NotHeldException;
import org.libdlock.Snowflake;
import org.libdlock.Worker;

/** Two processes lease worker numbers of one pool and make ids under them. Nobody has to hand the numbers out. */
public final class Workers {
    public static void main(String[] arguments) {
        String url = System.getenv().getOrDefault("REDIS_URL", "redis://127.0.0.1:6379");
        try (Client one = Dlock.connect(url);
                Client two = Dlock.connect(url);
                Worker first = one.worker("example-worker");
                Worker second = two.worker("example-worker")) {
            System.out.println("leased " + first.number() + " and " + second.number());

            Snowflake ids = first.snowflake();
            long last = ids.nextIds(1000)[999];
            first.release();
            try {
                ids.nextId();
            } catch (NotHeldException released) {
                System.out.println("no ids without a number");
            }

            try (Worker again = one.worker("example-worker")) {
                System.out.println("leased " + again.number() + " again");
                if (again.snowflake().nextId() > last) {
                    System.out.println("its ids go on behind the last");
                }
            }
        }
    }
}
