import java.util.List;
import org.libdlock.BloomFilter;
import org.libdlock.Client;
import org.libdlock.Dlock;
import org.libdlock.WrongTypeException;

/** Names that are taken: only for those that the filter may contain, a data base would be asked. */
public final class BloomFilters {
    public static void main(String[] arguments) {
        String url = System.getenv().getOrDefault("REDIS_URL", "redis://127.0.0.1:6379");
        try (Client client = Dlock.connect(url)) {
            BloomFilter taken = client.bloomFilter("example-names", 1_000, 0.01);
            taken.clear();
            System.out.println(taken.size() + " bits, " + taken.hashes() + " of them for each name");
            boolean[] added = taken.addEach(List.of("ada", "grace", "ada"));
            System.out.println("new: " + added[0] + " " + added[1] + " " + added[2]);
            boolean[] found = taken.containsEach(List.of("grace", "linus"));
            System.out.println("taken: " + found[0] + " " + found[1]);
            System.out.println("about " + taken.count() + " names");

            BloomFilter other = client.bloomFilter("example-names", 2_000, 0.01);
            try {
                System.out.println(other.contains("ada"));
            } catch (WrongTypeException refused) {
                System.out.println("another size is refused");
            }
        }
    }
}
