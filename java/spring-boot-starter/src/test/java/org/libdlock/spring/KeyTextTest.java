package org.libdlock.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

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
}
