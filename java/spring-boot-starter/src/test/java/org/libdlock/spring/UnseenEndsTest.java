package org.libdlock.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.libdlock.Client;
import org.libdlock.ClosedException;
import org.springframework.test.util.AopTestUtils;

/** Methods whose work goes on after they have returned, and what ends it. */
class UnseenEndsTest {
    static class Exports {
        final CompletableFuture<String> work = new CompletableFuture<>();

        @Locked("exports")
        public CompletableFuture<String> export() {
            return work;
        }

        @Locked("anything")
        public Object anything() {
            return work;
        }
    }

    static class Progress extends CompletableFuture<String> {}

    static class WithSubclass {
        @Locked("exports")
        public Progress export() {
            return new Progress();
        }
    }

    @Test
    void aStageEndsAlthoughTheClientWasClosed() {
        Contexts.withServer().withBean(Exports.class).run(context -> {
            Exports exports = context.getBean(Exports.class);
            CompletableFuture<String> result = exports.export();
            context.getBean(Client.class).close();
            Exports target = AopTestUtils.getTargetObject(exports);
            target.work.complete("done");
            assertThatThrownBy(() -> result.get(5, TimeUnit.SECONDS)).hasCauseInstanceOf(ClosedException.class);
        });
    }

    @Test
    void aStageOfAMethodThatReturnsAnythingIsRefused() {
        Contexts.withServer().withBean(Exports.class).run(context -> {
            Exports exports = context.getBean(Exports.class);
            assertThatExceptionOfType(IllegalStateException.class)
                    .isThrownBy(exports::anything)
                    .withMessageContaining("Exports.anything()")
                    .withMessageContaining("CompletableFuture");
            assertThat(context.getBean(Client.class).lock("anything").isLocked())
                    .isFalse();
        });
    }

    @Test
    void aSubclassOfCompletableFutureIsRefused() {
        Contexts.withServer().withBean(WithSubclass.class).run(context -> assertThat(context)
                .getFailure()
                .hasRootCauseInstanceOf(LibdlockConfigurationException.class)
                .rootCause()
                .hasMessageContaining("WithSubclass.export()"));
    }
}
