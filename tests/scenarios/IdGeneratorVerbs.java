import java.util.HashMap;
import java.util.Map;
import java.util.stream.IntStream;
import org.libdlock.Client;
import org.libdlock.IdGenerator;

/** The verbs of id generators. */
final class IdGeneratorVerbs implements Verbs {
    private final Map<String, Client> clients;
    private final Map<String, IdGenerator> generators = new HashMap<>();

    IdGeneratorVerbs(Map<String, Client> clients) {
        this.clients = clients;
    }

    @Override
    public void addTo(Map<String, Verb> all) {
        all.put("id_generator", step -> {
            generators.put(step.object(2), open(clients.get(step.object(0)), step));
            return "";
        });
        all.put("next_id", step -> "id=" + named(step).nextId());
        all.put("next_ids", step -> {
            long[] made = named(step).nextIds(Math.toIntExact(step.number("count")));
            boolean grow = IntStream.range(1, made.length).allMatch(at -> made[at - 1] < made[at]);
            return "first=" + made[0] + " last=" + (grow ? made[made.length - 1] : "unsorted") + " count="
                    + made.length;
        });
        all.put("block_size", step -> "size=" + named(step).blockSize());
    }

    private static IdGenerator open(Client client, Step step) {
        long block = Long.parseLong(step.option("block", "5000"));
        if (step.options().containsKey("start")) {
            return client.idGenerator(step.object(1), block, step.number("start"));
        }
        return step.options().containsKey("block")
                ? client.idGenerator(step.object(1), block)
                : client.idGenerator(step.object(1));
    }

    @Override
    public void forget() {
        generators.clear();
    }

    private IdGenerator named(Step step) {
        return generators.get(step.object(0));
    }
}
