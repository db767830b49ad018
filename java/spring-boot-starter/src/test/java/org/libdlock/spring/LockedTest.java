package org.libdlock.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.libdlock.Client;
import org.libdlock.Dlock;
import org.libdlock.InvalidNameException;
import org.libdlock.LockHandle;
import org.libdlock.support.RedisServer;
import org.springframework.beans.factory.annotation.Autowired;

class LockedTest {
    record Item(long id, @Nullable String shelf) {}

    static class Shop {
        @Autowired
        private Client client;

        public String getPrefix() {
            return "own";
        }

        /** Whether the lock of this name is held by this thread, and by nobody else in the cluster otherwise. */
        private String held(String name) {
            return name + " " + client.lock(name).isHeldByCurrentThread() + " "
                    + (client.lock(name).token() > 0);
        }

        @Locked("shop")
        public String plain() {
            return held("shop");
        }

        @Locked(value = "item", key = "#item.id")
        public String byParameter(@Nullable Item item) {
            return held("item:" + (item == null ? "" : item.id()));
        }

        @Locked(value = "${shop.name:store}", key = "#p0 + '/' + prefix + '/' + @ids.next()")
        public String byMany(String first) {
            return held("store:" + first + "/own/7");
        }

        @Locked(value = "shelf", key = "#item.shelf")
        public void byShelf(Item item) {}

        @Locked(value = "big", key = "#key")
        public void byText(String key) {}

        @Locked(value = "failing", key = "@ids.fail()")
        public void byFailing() {}

        @Locked("throwing")
        public void throwing() {
            throw new IllegalStateException("as it is");
        }

        @Locked("nested")
        public int nested(Shop through, int depth) {
            return depth == 0 ? client.lock("nested").getHoldCount() : through.nested(through, depth - 1);
        }

        @Locked(value = "busy", waitTime = "50ms")
        public void waiting() {}

        @Locked(value = "busy", waitTime = "0s", whenBusy = WhenBusy.SKIP)
        public @Nullable String skipping() {
            return "ran";
        }

        @Locked(value = "busy", waitTime = "0s", whenBusy = WhenBusy.SKIP)
        public Optional<String> skippingOptional() {
            return Optional.of("ran");
        }

        @Locked(value = "busy", waitTime = "0s", whenBusy = WhenBusy.SKIP)
        public CompletableFuture<@Nullable String> skippingStage() {
            return CompletableFuture.completedFuture("ran");
        }

        @Locked(value = "busy", waitTime = "0s")
        public CompletableFuture<String> throwingStage() {
            return CompletableFuture.completedFuture("ran");
        }

        @Locked(value = "leased", lease = "300ms")
        public boolean leased() throws InterruptedException {
            boolean before = client.lock("leased").isValid();
            TimeUnit.MILLISECONDS.sleep(500);
            return before && !client.lock("leased").isValid();
        }

        @Locked("stage")
        public CompletableFuture<String> stage(CompletableFuture<String> work) {
            return work;
        }
    }

    static class Ids {
        public int next() {
            return 7;
        }

        public int fail() {
            throw new IllegalArgumentException("no more ids");
        }
    }

    private static void withShop(BiConsumer<Shop, Client> test) {
        Contexts.withServer()
                .withBean(Shop.class)
                .withBean("ids", Ids.class)
                .run(context -> test.accept(context.getBean(Shop.class), context.getBean(Client.class)));
    }

    /** Another process holds it. */
    private static void heldElsewhere(String name, Runnable test) {
        try (Client other = Dlock.connect(RedisServer.shared().url());
                LockHandle handle = other.lock(name).tryAcquire()) {
            assertThat(handle).isNotNull();
            test.run();
        }
    }

    @Test
    void aMethodRunsWhileItsLockIsHeld() {
        withShop((shop, client) -> {
            assertThat(shop.plain()).isEqualTo("shop true true");
            assertThat(client.lock("shop").isLocked()).isFalse();
        });
    }

    @Test
    void aKeyIsOfParametersBeansAndTheObject() {
        withShop((shop, client) -> {
            assertThat(shop.byParameter(new Item(42, null))).isEqualTo("item:42 true true");
            assertThat(shop.byMany("first")).isEqualTo("store:first/own/7 true true");
        });
    }

    @Test
    void aKeyOfNothingIsAnErrorThatNamesTheMethod() {
        withShop((shop, client) -> {
            assertThatThrownBy(() -> shop.byShelf(new Item(1, null)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContainingAll("key of @Locked on Shop.byShelf(Item)", "#item.shelf", "null");
            assertThatThrownBy(() -> shop.byShelf(new Item(1, ""))).hasMessageContaining("an empty text");
        });
    }

    @Test
    void aKeyOf10KbIsRefused() {
        withShop((shop, client) ->
                assertThatThrownBy(() -> shop.byText("x".repeat(10_000))).isInstanceOf(InvalidNameException.class));
    }

    @Test
    void whatAKeyThrowsReachesTheCaller() {
        withShop((shop, client) -> {
            assertThatThrownBy(shop::byFailing)
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("no more ids");
            assertThatThrownBy(() -> shop.byParameter(null))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContainingAll("key of @Locked on Shop.byParameter(Item)", "#item.id");
        });
    }

    @Test
    void whatTheMethodThrowsReleasesTheLock() {
        withShop((shop, client) -> {
            assertThatThrownBy(shop::throwing).hasMessage("as it is");
            assertThat(client.lock("throwing").isLocked()).isFalse();
        });
    }

    @Test
    void aMethodMayCallAnotherOneWithTheSameLock() {
        withShop((shop, client) -> assertThat(shop.nested(shop, 2)).isEqualTo(3));
    }

    @Test
    void aCallThatDoesNotGetTheLockThrows() {
        withShop((shop, client) -> heldElsewhere("busy", () -> {
            assertThatThrownBy(shop::waiting)
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessage("lock \"busy\": not acquired within 50 ms");
            assertThatThrownBy(() -> shop.throwingStage().join())
                    .isInstanceOf(CompletionException.class)
                    .hasCauseInstanceOf(LockUnavailableException.class);
        }));
    }

    @Test
    void aCallThatDoesNotGetTheLockIsSkipped() {
        withShop((shop, client) -> {
            heldElsewhere("busy", () -> {
                assertThat(shop.skipping()).isNull();
                assertThat(shop.skippingOptional()).isEmpty();
                assertThat(shop.skippingStage()).isCompletedWithValue(null);
            });
            assertThat(shop.skipping()).isEqualTo("ran");
            assertThat(shop.skippingOptional()).contains("ran");
            assertThat(shop.skippingStage().join()).isEqualTo("ran");
        });
    }

    @Test
    void aFixedLeaseIsNotRenewed() {
        withShop((shop, client) -> assertThatThrownBy(shop::leased).hasMessageContaining("leased"));
    }

    @Test
    void anInterruptEndsAWait() {
        withShop((shop, client) -> heldElsewhere("busy", () -> {
            Thread.currentThread().interrupt();
            assertThatThrownBy(shop::waiting)
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessageContaining("interrupted");
            assertThat(Thread.interrupted()).isTrue();
        }));
    }

    @Test
    void theLockOfAStageIsHeldUntilItEnds() {
        withShop((shop, client) -> {
            CompletableFuture<String> work = new CompletableFuture<>();
            CompletableFuture<String> result = shop.stage(work);
            assertThat(client.lock("stage").isLocked()).isTrue();
            assertThat(result).isNotDone();
            work.complete("done");
            assertThat(result.join()).isEqualTo("done");
            assertThat(client.lock("stage").isLocked()).isFalse();
        });
    }

    @Test
    void aStageThatFailsReleasesItsLock() {
        withShop((shop, client) -> {
            CompletableFuture<String> work = new CompletableFuture<>();
            CompletableFuture<String> result = shop.stage(work);
            work.completeExceptionally(new IllegalStateException("as it is"));
            assertThatThrownBy(result::join).hasRootCauseMessage("as it is");
            assertThat(client.lock("stage").isLocked()).isFalse();
        });
    }

    @Test
    void cancellingAStageCancelsTheWork() {
        withShop((shop, client) -> {
            CompletableFuture<String> work = new CompletableFuture<>();
            shop.stage(work).cancel(true);
            assertThat(work).isCancelled();
            assertThat(client.lock("stage")
                            .lockAsync(Duration.ofSeconds(5), null)
                            .join()
                            .token())
                    .isPositive();
        });
    }
}
