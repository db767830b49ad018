import java.util.stream.IntStream;
import org.libdlock.Snowflake;

/** Ids that grow with time, without a server. The pair of numbers has to belong to this process alone. */
public final class Ids {
    public static void main(String[] arguments) {
        Snowflake ids = new Snowflake(1, 7);
        long[] many = ids.nextIds(1000);
        if (IntStream.range(1, many.length).allMatch(at -> many[at - 1] < many[at])) {
            System.out.println(many.length + " ids, each larger than the one before");
        }
        Snowflake.Parts parts = ids.decode(many[0]);
        System.out.println("made by worker " + parts.worker() + " of datacenter " + parts.datacenter());
        if (Snowflake.parse(Snowflake.encode(many[0], 62), 62) == many[0]) {
            System.out.println("the text in base 62 stands for the same id");
        }
    }
}
