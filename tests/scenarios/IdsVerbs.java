import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.IntStream;
import org.libdlock.Layout;
import org.libdlock.Snowflake;

/** The verbs of ids. None of them waits. */
final class IdsVerbs implements Verbs {
    private final Map<String, Snowflake> generators = new HashMap<>();

    @Override
    public void addTo(Map<String, Verb> all) {
        all.put("generator", this::open);
        all.put("ids", this::ids);
        all.put("decode", this::decode);
        all.put("encode", step -> "text=" + Snowflake.encode(step.number("id"), (int) step.number("base")));
        all.put("parse", step -> "id=" + Snowflake.parse(step.options().get("text"), (int) step.number("base")));
    }

    @Override
    public void forget() {
        generators.clear();
    }

    void keep(String name, Snowflake generator) {
        generators.put(name, generator);
    }

    private Snowflake generator(Step step) {
        return generators.get(step.object(0));
    }

    private String open(Step step) {
        Duration beginsIn = step.millis("begins_in_ms");
        Layout layout = beginsIn == null
                ? Layout.named(step.option("layout", "default"))
                : new Layout(System.currentTimeMillis() + beginsIn.toMillis(), 41, 5, 5, 12);
        generators.put(
                step.object(0),
                Snowflake.builder(step.number("datacenter"), step.number("worker"))
                        .layout(layout)
                        .build());
        return "";
    }

    private String ids(Step step) {
        long[] ids = generator(step).nextIds((int) step.number("count"));
        boolean increasing = IntStream.range(1, ids.length).allMatch(at -> ids[at - 1] < ids[at]);
        return "first=" + ids[0] + " last=" + ids[ids.length - 1] + " increasing=" + increasing;
    }

    private String decode(Step step) {
        Snowflake.Parts parts = generator(step).decode(step.number("id"));
        return "datacenter=" + parts.datacenter() + " worker=" + parts.worker() + " sequence=" + parts.sequence();
    }
}
