package org.libdlock.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.function.Consumer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.libdlock.Client;
import org.libdlock.InvalidNameException;
import org.libdlock.Rate;
import org.libdlock.RateLimiter;
import org.libdlock.support.RedisServer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

class RateLimitedTest {
    static class Mails {
        int sent;

        @RateLimited("mails")
        public void send() {
            sent++;
        }

        @RateLimited(value = "mails", key = "#to", cost = "#size", skip = "#to == 'boss'")
        public void sendTo(String to, long size) {
            sent++;
        }

        @RateLimited(value = "mails", cost = "#p0")
        public void sendText(String cost) {
            sent++;
        }

        @RateLimited(value = "quick", waitTime = "5s")
        public void sendInTurn() {
            sent++;
        }

        @RateLimited("mails")
        @RateLimited("ofBean")
        public void sendByTwo() {
            sent++;
        }
    }

    @Configuration
    static class Limits {
        @Bean
        RateLimiter ofBean(Client client) {
            return client.rateLimiter("of-bean", Rate.of(1, Duration.ofHours(1)));
        }
    }

    @BeforeEach
    void allTokensAreThere() {
        RedisServer.shared().command("FLUSHALL");
    }

    private static void withMails(Consumer<Mails> test) {
        Contexts.withServer()
                .withPropertyValues(
                        "libdlock.limiters.mails.tokens=3",
                        "libdlock.limiters.mails.per=1h",
                        "libdlock.limiters.mails.algorithm=fixed-window",
                        "libdlock.limiters.quick.tokens=1",
                        "libdlock.limiters.quick.per=50ms")
                .withUserConfiguration(Limits.class)
                .withBean(Mails.class)
                .run(context -> test.accept(context.getBean(Mails.class)));
    }

    private static int sent(Mails mails) {
        return ((Mails) org.springframework.test.util.AopTestUtils.getTargetObject(mails)).sent;
    }

    @Test
    void callsAreGrantedUntilTheTokensAreSpent() {
        withMails(mails -> {
            for (int call = 0; call < 3; call++) {
                mails.send();
            }
            assertThatThrownBy(mails::send)
                    .isInstanceOfSatisfying(RateLimitedException.class, refused -> {
                        assertThat(refused.limiter()).isEqualTo("mails");
                        assertThat(refused.decision().retryAfter())
                                .isBetween(Duration.ofMinutes(59), Duration.ofHours(1));
                    })
                    .hasMessageMatching("rate limit mails reached; try again in 3\\d{6} ms");
            assertThat(sent(mails)).isEqualTo(3);
        });
    }

    @Test
    void aKeyACostAndAnExemptionAreOfTheParameters() {
        withMails(mails -> {
            mails.sendTo("ada", 2);
            assertThatThrownBy(() -> mails.sendTo("ada", 2)).isInstanceOf(RateLimitedException.class);
            mails.sendTo("ada", 1);
            mails.sendTo("grace", 3);
            for (int call = 0; call < 5; call++) {
                mails.sendTo("boss", 3);
            }
            assertThat(sent(mails)).isEqualTo(8);
        });
    }

    @Test
    void aCostMayBeATextThatIsANumber() {
        withMails(mails -> {
            mails.sendText("3");
            assertThatThrownBy(() -> mails.sendText("1")).isInstanceOf(RateLimitedException.class);
            assertThatThrownBy(() -> mails.sendText("one"))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("cost of @RateLimited on Mails.sendText(String) yields a text that is no whole number");
        });
    }

    @Test
    void aCostAboveTheBurstIsNeverGranted() {
        withMails(mails -> assertThatThrownBy(() -> mails.sendTo("ada", 4))
                .hasMessage("rate limit mails reached; a call of this cost can never be granted"));
    }

    @Test
    void aKeyOf10KbIsRefused() {
        withMails(mails ->
                assertThatThrownBy(() -> mails.sendTo("x".repeat(10_000), 1)).isInstanceOf(InvalidNameException.class));
    }

    @Test
    void aCallMayWaitForItsTokens() {
        withMails(mails -> {
            for (int call = 0; call < 4; call++) {
                mails.sendInTurn();
            }
            assertThat(sent(mails)).isEqualTo(4);
        });
    }

    @Test
    void severalLimitersApplyOneAfterTheOther() {
        withMails(mails -> {
            mails.sendByTwo();
            assertThatThrownBy(mails::sendByTwo).hasMessageStartingWith("rate limit ofBean reached");
            assertThatThrownBy(mails::sendByTwo).hasMessageStartingWith("rate limit ofBean reached");
            assertThatThrownBy(mails::sendByTwo).hasMessageStartingWith("rate limit mails reached");
        });
    }
}
