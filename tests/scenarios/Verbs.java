import java.util.Map;
import java.util.concurrent.ExecutionException;

/** The verbs of one primitive, and its objects of one scenario. */
interface Verbs {
    /** Does a step; gives the values of its answer as words. */
    interface Verb {
        String run(Step step) throws InterruptedException, ExecutionException;
    }

    /** Adds its verbs by their names. */
    void addTo(Map<String, Verb> all);

    /** The scenario is over. */
    void forget();
}
