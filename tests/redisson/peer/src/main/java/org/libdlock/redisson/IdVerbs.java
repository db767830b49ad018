package org.libdlock.redisson;

import java.util.List;
import java.util.stream.LongStream;
import org.redisson.api.RIdGenerator;

/**
 * What a thread can do with an id generator:
 *
 * <pre>
 *   ids-init VALUE SIZE    tryInit(VALUE, SIZE)
 *   ids-next COUNT         nextId(), so often; all of them with commas between
 *   ids-delete             delete()
 * </pre>
 */
final class IdVerbs {
    private IdVerbs() {}

    static String run(RIdGenerator ids, String verb, List<String> rest) {
        return switch (verb) {
            case "ids-init" -> String.valueOf(ids.tryInit(Long.parseLong(rest.get(0)), Long.parseLong(rest.get(1))));
            case "ids-next" -> next(ids, Long.parseLong(rest.get(0)));
            case "ids-delete" -> String.valueOf(ids.delete());
            default -> throw new IllegalArgumentException("cannot read " + verb);
        };
    }

    private static String next(RIdGenerator ids, long count) {
        return String.join(",", LongStream.generate(ids::nextId).limit(count).mapToObj(String::valueOf).toList());
    }
}
