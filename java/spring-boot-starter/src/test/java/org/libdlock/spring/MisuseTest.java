package org.libdlock.spring;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.libdlock.Client;
import org.libdlock.Rate;
import org.libdlock.support.Eventually;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.jdbc.DataSourceAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Configuration;
import reactor.core.publisher.Mono;

@ExtendWith(OutputCaptureExtension.class)
class MisuseTest {
    @Configuration
    @EnableAutoConfiguration(exclude = DataSourceAutoConfiguration.class)
    static class Application {}

    private static void failsToStart(String... properties) {
        SpringApplication application = new SpringApplicationBuilder(Application.class)
                .web(WebApplicationType.NONE)
                .build();
        try {
            application.run(properties).close();
        } catch (RuntimeException expected) {
            return;
        }
        throw new AssertionError("it has started");
    }

    @Test
    void withoutAUrlTheApplicationSaysWhatToSet(CapturedOutput output) {
        failsToStart();
        assertThat(output)
                .contains("APPLICATION FAILED TO START", "the property libdlock.url is not set")
                .contains("Set libdlock.url, such as redis://127.0.0.1:6379", "libdlock.enabled=false");
    }

    @Test
    void anOptionThatThereIsNotIsNamed(CapturedOutput output) {
        failsToStart("--libdlock.url=memory://", "--libdlock.options.leese=3s");
        assertThat(output).contains("APPLICATION FAILED TO START", "leese", "Correct libdlock.url, or the option");
    }

    @Test
    void aPasswordIsNotShown(CapturedOutput output) {
        failsToStart("--libdlock.url=redis://user:hunter2@127.0.0.1:port");
        assertThat(output).contains("APPLICATION FAILED TO START").doesNotContain("hunter2");
    }

    @Test
    void aLimiterWithoutARateIsNamed(CapturedOutput output) {
        failsToStart("--libdlock.url=memory://", "--libdlock.limiters.api.tokens=3");
        assertThat(output).contains("libdlock.limiters.api.per is not set");
    }

    @Test
    void anApplicationMayDoWithoutAClient() {
        Contexts.withoutUrl()
                .withPropertyValues("libdlock.enabled=false")
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(Client.class));
    }

    static class BadExpression {
        @Locked(value = "a", key = "#id +")
        public void sell(long id) {}
    }

    static class BadVariable {
        @Locked(value = "a", key = "#idd")
        public void sell(long id) {}
    }

    static class BadCost {
        @RateLimited(value = "a", cost = "")
        public void sell(long id) {}
    }

    static class BadWait {
        @Locked(value = "a", waitTime = "soon")
        public void sell(long id) {}
    }

    static class NoName {
        @Locked("")
        public void sell(long id) {}
    }

    static class Unseen {
        @Locked("a")
        private long sell(long id) {
            return id;
        }

        public long call() {
            return sell(1);
        }
    }

    static class Reactive {
        @Locked("a")
        public Mono<String> sell(long id) {
            return Mono.just("sold");
        }
    }

    static class PlainFuture {
        @Locked("a")
        public Future<String> sell(long id) {
            return CompletableFuture.completedFuture("sold");
        }
    }

    static class SkippedNumber {
        @Locked(value = "a", waitTime = "0s", whenBusy = WhenBusy.SKIP)
        public int sell(long id) {
            return 1;
        }
    }

    static class NeverSkipped {
        @Locked(value = "a", whenBusy = WhenBusy.SKIP)
        public void sell(long id) {}
    }

    static class NoLimiter {
        @RateLimited("nowhere")
        public void sell(long id) {}
    }

    @RateLimited("a")
    static class LimitedClass {
        public void sell(long id) {}
    }

    private static final ApplicationContextRunner RUNNER =
            Contexts.withoutUrl().withPropertyValues("libdlock.url=memory://");

    private static void refused(Class<?> type, String... words) {
        RUNNER.withBean(type).run(context -> {
            Throwable failure = context.getStartupFailure();
            while (failure != null && !(failure instanceof LibdlockConfigurationException)) {
                failure = failure.getCause();
            }
            assertThat(failure).isNotNull().hasMessageContainingAll(words);
        });
    }

    @Test
    void anExpressionThatIsNoneIsNamedWithItsMethod() {
        refused(BadExpression.class, "key of @Locked on BadExpression.sell(long)", "#id +", "no SpEL expression");
        refused(BadCost.class, "cost of @RateLimited on BadCost.sell(long)");
    }

    @Test
    void aVariableThatIsNoneIsNamedWithItsMethod() {
        refused(BadVariable.class, "key of @Locked on BadVariable.sell(long)", "#idd", "there are [id, p0, a0]");
    }

    @Test
    void aDurationThatIsNoneIsNamedWithItsMethod() {
        refused(BadWait.class, "waitTime of @Locked on BadWait.sell(long) is \"soon\", which is no duration");
    }

    @Test
    void aLockWithoutANameIsRefused() {
        refused(NoName.class, "value of @Locked on NoName.sell(long) is empty");
    }

    @Test
    void aMethodWhoseCallsAreNotSeenIsRefused() {
        refused(Unseen.class, "@Locked on Unseen.sell(long) has no effect: the method is private");
    }

    @Test
    void returnTypesWhoseEndIsNotSeenAreRefused() {
        refused(Reactive.class, "@Locked on Reactive.sell(long)", "reactor.core.publisher.Mono");
        refused(PlainFuture.class, "@Locked on PlainFuture.sell(long)", "java.util.concurrent.Future");
    }

    @Test
    void aLimitOfAClassWithoutHandlersIsRefused() {
        refused(LimitedClass.class, "@RateLimited on the class", "LimitedClass has no effect");
    }

    @Test
    void methodsThatCannotBeSkippedAreRefused() {
        refused(SkippedNumber.class, "@Locked on SkippedNumber.sell(long) cannot skip: the method returns int");
        refused(NeverSkipped.class, "@Locked on NeverSkipped.sell(long)", "never skips");
    }

    @Test
    void aLimiterThatThereIsNotIsNamed() {
        refused(NoLimiter.class, "there is no rate limiter \"nowhere\"");
    }

    @Test
    void twoRatesForOneNameAreTold(CapturedOutput output) {
        SpringApplication application = new SpringApplicationBuilder(Application.class)
                .web(WebApplicationType.NONE)
                .build();
        try (var context = application.run(
                "--libdlock.url=memory://", "--libdlock.limiters.api.tokens=3", "--libdlock.limiters.api.per=1m")) {
            context.getBean(RateLimiters.class).get("api");
            context.getBean(Client.class).rateLimiter("api", Rate.of(4, Duration.ofMinutes(1)));
            Eventually.holds("the warning is logged", () -> output.getOut().contains("have different rates"));
        }
        assertThat(output.getOut().lines().filter(line -> line.contains("have different rates")))
                .singleElement()
                .asString()
                .contains("WARN", "org.libdlock", "api");
    }
}
