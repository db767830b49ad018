import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A step taken apart. */
record Step(String verb, List<String> objects, Map<String, String> options) {
    static Step of(String line) {
        List<String> words = new ArrayList<>(Arrays.asList(line.split(" ")));
        Step step = new Step(words.remove(0), new ArrayList<>(), new HashMap<>());
        for (String word : words) {
            int at = word.indexOf('=');
            if (at < 0) {
                step.objects.add(word);
            } else {
                step.options.put(word.substring(0, at), word.substring(at + 1));
            }
        }
        return step;
    }

    String object(int at) {
        return objects.get(at);
    }

    String option(String name, String otherwise) {
        return options.getOrDefault(name, otherwise);
    }

    long number(String name) {
        return Long.parseLong(options.get(name));
    }

    Duration millis(String name) {
        return options.containsKey(name) ? Duration.ofMillis(number(name)) : null;
    }
}
