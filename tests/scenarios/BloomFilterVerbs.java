import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.libdlock.BloomFilter;
import org.libdlock.Client;

/** The verbs of Bloom filters. */
final class BloomFilterVerbs implements Verbs {
    private final Map<String, Client> clients;
    private final Map<String, BloomFilter> filters = new HashMap<>();

    BloomFilterVerbs(Map<String, Client> clients) {
        this.clients = clients;
    }

    @Override
    public void addTo(Map<String, Verb> all) {
        all.put("bloom_filter", step -> {
            filters.put(step.object(2), open(clients.get(step.object(0)), step));
            return "";
        });
        all.put("bloom_sizes", step -> "size=" + named(step).size() + " hashes=" + named(step).hashes());
        all.put("bloom_add", step -> "new=" + digits(named(step).addEach(items(step))));
        all.put("bloom_contains", step -> "found=" + digits(named(step).containsEach(items(step))));
        all.put("bloom_count", step -> {
            String rate = named(step).falsePositiveRate() < 0.001 ? "low" : "high";
            return "count=" + named(step).count() + " rate=" + rate;
        });
        all.put("bloom_clear", step -> "cleared=" + named(step).clear());
        all.put("bloom_gone", step -> {
            boolean gone = false;
            for (int tries = 0; tries < 10_000 && !gone; tries++) {
                gone = !named(step).contains(step.option("item", ""));
            }
            return "gone=" + gone;
        });
    }

    private static BloomFilter open(Client client, Step step) {
        String name = step.object(1);
        long expected = step.number("expected");
        double rate = Double.parseDouble(step.option("rate", ""));
        return step.options().containsKey("ttl_ms")
                ? client.bloomFilter(name, expected, rate, Duration.ofMillis(step.number("ttl_ms")))
                : client.bloomFilter(name, expected, rate);
    }

    private static List<String> items(Step step) {
        return List.of(step.option("items", "").split(","));
    }

    private static String digits(boolean[] answers) {
        StringBuilder digits = new StringBuilder();
        for (boolean answer : answers) {
            digits.append(answer ? '1' : '0');
        }
        return digits.toString();
    }

    @Override
    public void forget() {
        filters.clear();
    }

    private BloomFilter named(Step step) {
        return filters.get(step.object(0));
    }
}
