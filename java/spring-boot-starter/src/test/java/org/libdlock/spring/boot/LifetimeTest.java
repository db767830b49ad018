package org.libdlock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.libdlock.Client;
import org.libdlock.Dlock;
import org.libdlock.UnavailableException;
import org.libdlock.spring.Contexts;
import org.libdlock.support.Eventually;
import org.libdlock.support.RedisServer;
import org.springframework.boot.actuate.health.HealthIndicator;
import org.springframework.boot.actuate.health.Status;

class LifetimeTest {
    private static final String[] QUICK = {
        "libdlock.options.operation-timeout=300ms", "libdlock.options.response_timeout=200ms"
    };

    @Test
    void theClientIsClosedWithTheApplication() {
        List<Client> seen = new ArrayList<>();
        Contexts.withServer().run(context -> {
            seen.add(context.getBean(Client.class));
            assertThat(seen.get(0).isClosed()).isFalse();
        });
        assertThat(seen.get(0).isClosed()).isTrue();
    }

    @Test
    void aClientOfTheApplicationReplacesTheStarters() {
        Contexts.withoutUrl()
                .withBean(Client.class, () -> Dlock.connect("memory://"))
                .run(context -> assertThat(context).hasNotFailed().hasSingleBean(Client.class));
    }

    @Test
    void anApplicationMayHaveTwoClients() {
        Contexts.withoutUrl()
                .withBean("first", Client.class, () -> Dlock.connect("memory://"))
                .withBean("second", Client.class, () -> Dlock.connect("memory://"))
                .withBean(SimpleMeterRegistry.class)
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(HealthIndicator.class));
    }

    @Test
    void optionsHaveAnySpellingOfProperties() {
        Contexts.withoutUrl()
                .withPropertyValues(
                        "libdlock.url=memory://",
                        "libdlock.options.key-prefix=shop:",
                        "libdlock.options.poll_interval=1s",
                        "libdlock.options.lock.token-ttl=2h")
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    LibdlockProperties properties = context.getBean(LibdlockProperties.class);
                    assertThat(properties.getOptions()).containsEntry("key-prefix", "shop:");
                });
        assertThat(Clients.named(Map.of("PING.INTERVAL", "1", "lock.token.ttl", "2", "key-prefix", "3")))
                .isEqualTo(Map.of("ping_interval", "1", "lock.token_ttl", "2", "key_prefix", "3"));
    }

    @Test
    void anApplicationStartsBeforeItsServer() {
        try (RedisServer server = new RedisServer()) {
            server.kill();
            Contexts.withoutUrl()
                    .withPropertyValues(QUICK)
                    .withPropertyValues("libdlock.url=" + server.url())
                    .run(context -> {
                        assertThat(context).hasNotFailed();
                        Client client = context.getBean(Client.class);
                        HealthIndicator health = context.getBean(HealthIndicator.class);
                        assertThatThrownBy(() -> client.lock("a").tryLock()).isInstanceOf(UnavailableException.class);
                        assertThat(health.health().getStatus()).isEqualTo(Status.DOWN);
                        assertThat(health.health().getDetails()).containsEntry("error", "CONNECTION");

                        server.start();
                        Eventually.holds(
                                "the server is seen again",
                                () -> health.health().getStatus().equals(Status.UP));
                        assertThat(health.health().getDetails()).containsKey("roundTrip");
                        assertThat(client.lock("a").tryLock()).isTrue();
                    });
        }
    }

    @Test
    void anApplicationMayWantItsServerAtTheStart() {
        try (RedisServer server = new RedisServer()) {
            server.kill();
            for (String lazy : new String[] {"libdlock.options.lazy-connect=false", "other=1"}) {
                String query = lazy.equals("other=1") ? "?lazy_connect=false" : "";
                Contexts.withoutUrl()
                        .withPropertyValues(QUICK)
                        .withPropertyValues(lazy, "libdlock.url=" + server.url() + query)
                        .run(context ->
                                assertThat(context).getFailure().hasRootCauseInstanceOf(UnavailableException.class));
            }
        }
    }

    @Test
    void healthCanBeTurnedOff() {
        Contexts.withServer()
                .withPropertyValues("management.health.libdlock.enabled=false")
                .run(context -> assertThat(context).doesNotHaveBean(HealthIndicator.class));
    }
}
