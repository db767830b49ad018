package org.libdlock.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.libdlock.Client;
import org.springframework.beans.factory.annotation.Autowired;

/** Keys that name the object in memory would exclude nobody: each caller has another one. */
class KeyTextTest {
    record Named(long id) {}

    static class Nameless {}

    static class Shop {
        @Autowired
        private Client client;

        @Locked(value = "key", key = "#key")
        public boolean by(Object key) {
            return client.lock("key:" + key).isHeldByCurrentThread();
        }
    }

    private static void refused(Shop shop, Object key, String type) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> shop.by(key))
                .withMessageContaining("key of @Locked on Shop.by(Object)")
                .withMessageContaining(type);
    }

    @Test
    void anObjectWithoutATextOfItsOwnIsNoKey() {
        Contexts.withServer().withBean(Shop.class).run(context -> {
            Shop shop = context.getBean(Shop.class);
            refused(shop, new Nameless(), Nameless.class.getName());
            refused(shop, new byte[] {1}, "byte[]");
            refused(shop, new String[] {"a"}, "java.lang.String[]");
            assertThat(shop.by(new Named(1))).isTrue();
            assertThat(shop.by(1L)).isTrue();
        });
    }

    record Holding(@Nullable Object held) {}

    @Test
    void whatHasSuchAnObjectInItIsNone() {
        Contexts.withServer().withBean(Shop.class).run(context -> {
            Shop shop = context.getBean(Shop.class);
            String nameless = Nameless.class.getName();
            refused(shop, List.of("a", new Nameless()), nameless);
            refused(shop, List.of(List.of(new Nameless())), nameless);
            refused(shop, Map.of("a", new Nameless()), nameless);
            refused(shop, Map.entry(new Nameless(), "a"), nameless);
            refused(shop, Optional.of(new Nameless()), nameless);
            refused(shop, new Holding(new Nameless()), nameless);
            refused(shop, List.of(new int[] {1}), "int[]");
            assertThat(shop.by(List.of(new Named(1), "a", 2))).isTrue();
            assertThat(shop.by(Arrays.asList("a", null))).isTrue();
            assertThat(shop.by(new Holding(null))).isTrue();
            List<Object> itself = new ArrayList<>();
            itself.add(itself);
            assertThat(shop.by(itself)).isTrue();
        });
    }

    /** {@link Set#of} has another order in each JVM. */
    @Test
    void whatHasNoOrderIsNone() {
        Contexts.withServer().withBean(Shop.class).run(context -> {
            Shop shop = context.getBean(Shop.class);
            refused(shop, Set.of("a", "b"), "a sorted one");
            refused(shop, Map.of("a", 1, "b", 2), "a sorted one");
            refused(shop, List.of(new HashSet<>(List.of("a", "b"))), "java.util.HashSet");
            assertThat(shop.by(Set.of("a"))).isTrue();
            assertThat(shop.by(new TreeSet<>(Set.of("a", "b")))).isTrue();
            assertThat(shop.by(new LinkedHashSet<>(List.of("b", "a")))).isTrue();
            assertThat(shop.by(new TreeMap<>(Map.of("a", 1, "b", 2)))).isTrue();
        });
    }
}
