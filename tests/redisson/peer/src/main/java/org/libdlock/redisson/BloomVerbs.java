package org.libdlock.redisson;

import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.List;
import java.util.function.LongFunction;
import java.util.stream.LongStream;
import org.redisson.api.RBloomFilter;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.ByteArrayCodec;
import org.redisson.client.codec.StringCodec;

/**
 * What a thread can do with a Bloom filter, of texts or of bytes. Items are those of numbers, from FROM on and before TO: a text with the
 * number behind a word, and eight bytes that spread it.
 *
 * <pre>
 *   bloom-init KIND EXPECTED RATE    tryInit(EXPECTED, RATE)
 *   bloom-add KIND FROM TO           add(items): how many were new
 *   bloom-contains KIND FROM TO      contains(items): how many were found
 *   bloom-count KIND                 count()
 *   bloom-config KIND                getSize(), getHashIterations(), getExpectedInsertions(), getFalseProbability()
 *   bloom-delete KIND                delete()
 * </pre>
 */
final class BloomVerbs {
    /** As many at a time. */
    private static final long AT_ONCE = 1_000;

    private BloomVerbs() {}

    static String run(RedissonClient client, String name, String verb, List<String> rest) {
        return switch (rest.get(0)) {
            case "texts" -> run(client.<String>getBloomFilter(name, StringCodec.INSTANCE), n -> "item é " + n, verb, rest);
            case "bytes" -> run(client.<byte[]>getBloomFilter(name, ByteArrayCodec.INSTANCE), BloomVerbs::bytes, verb, rest);
            default -> throw new IllegalArgumentException("cannot read " + rest);
        };
    }

    private static byte[] bytes(long number) {
        return ByteBuffer.allocate(Long.BYTES).putLong(number * 0x9E3779B97F4A7C15L).array();
    }

    private static <T> String run(RBloomFilter<T> filter, LongFunction<T> item, String verb, List<String> rest) {
        return switch (verb) {
            case "bloom-init" ->
                String.valueOf(filter.tryInit(Long.parseLong(rest.get(1)), Double.parseDouble(rest.get(2))));
            case "bloom-add" -> sum(rest, item, filter::add);
            case "bloom-contains" -> sum(rest, item, filter::contains);
            case "bloom-count" -> String.valueOf(filter.count());
            case "bloom-config" ->
                filter.getSize() + " " + filter.getHashIterations() + " " + filter.getExpectedInsertions() + " "
                        + filter.getFalseProbability();
            case "bloom-delete" -> String.valueOf(filter.delete());
            default -> throw new IllegalArgumentException("cannot read " + verb);
        };
    }

    /** What a method of many items answers, of all of them. */
    private interface OfMany<T> {
        long of(Collection<T> items);
    }

    private static <T> String sum(List<String> rest, LongFunction<T> item, OfMany<T> method) {
        long from = Long.parseLong(rest.get(1)), to = Long.parseLong(rest.get(2)), sum = 0;
        for (long at = from; at < to; at += AT_ONCE) {
            sum += method.of(LongStream.range(at, Math.min(at + AT_ONCE, to)).mapToObj(item).toList());
        }
        return String.valueOf(sum);
    }
}
