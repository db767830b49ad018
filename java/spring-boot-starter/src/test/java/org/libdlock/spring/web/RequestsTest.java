package org.libdlock.spring.web;

import static org.assertj.core.api.Assertions.assertThat;

import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.libdlock.Client;
import org.libdlock.Rate;
import org.libdlock.spring.LibdlockConfigurationException;
import org.libdlock.spring.Locked;
import org.libdlock.spring.RateLimited;
import org.libdlock.support.RedisServer;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.jdbc.DataSourceAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.web.servlet.context.ServletWebServerApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.servlet.config.annotation.InterceptorRegistry;
import org.springframework.web.servlet.config.annotation.WebMvcConfigurer;

/** Requests to a real server. tests/http has what every framework answers. */
class RequestsTest {
    @Configuration
    @EnableAutoConfiguration(exclude = DataSourceAutoConfiguration.class)
    static class Application {
        @Bean
        Users users() {
            return new Users();
        }

        @Bean
        Reports reports(Client client) {
            return new Reports(client);
        }

        @Bean
        WebMvcConfigurer paths(Client client) {
            Rate rate = Rate.of(1, Duration.ofHours(1));
            return new WebMvcConfigurer() {
                @Override
                public void addInterceptors(InterceptorRegistry registry) {
                    registry.addInterceptor(new RateLimitInterceptor(client.rateLimiter("paths", rate))
                                    .name("shown")
                                    .key(request -> request.getHeader("X-User"))
                                    .cost(request -> 1)
                                    .skip(request -> request.getHeader("X-Skip") != null)
                                    .onRefused((refusal, request, response) -> {
                                        response.setStatus(418);
                                        response.getWriter()
                                                .print(refusal.problem().getTitle());
                                    }))
                            .addPathPatterns("/paths/**");
                }
            };
        }
    }

    @RestController
    @RateLimited(value = "all", key = "null")
    static class Users {
        @GetMapping("/users/{id}")
        @RateLimited(value = "users", key = "#id")
        public String user(@PathVariable String id) {
            return id;
        }
    }

    @RestController
    static class Reports {
        private final Client client;

        Reports(Client client) {
            this.client = client;
        }

        @GetMapping("/later")
        @RateLimited(value = "users", key = "null")
        public Callable<String> later() {
            return () -> "later";
        }

        @GetMapping("/failing")
        @RateLimited(value = "users", key = "null")
        public String failing() {
            throw new IllegalStateException("as it is");
        }

        @GetMapping("/own")
        @RateLimited(value = "users", key = "null")
        public ResponseEntity<String> own() {
            return ResponseEntity.ok().header("RateLimit", "\"own\";r=1").body("own");
        }

        @GetMapping("/locked/{id}")
        @Locked(value = "report", key = "#id")
        public String locked(@PathVariable("id") String id) {
            return Boolean.toString(client.lock("report:" + id).isHeldByCurrentThread());
        }

        @GetMapping("/unknown/{id}")
        @RateLimited(value = "users", key = "#idd")
        public String unknown(@PathVariable String id) {
            return id;
        }

        @GetMapping("/paths/one")
        public void paths(HttpServletResponse response) throws IOException {
            response.getWriter().print("ok");
        }
    }

    private static ConfigurableApplicationContext context;
    private static String url = "";
    private static final HttpClient HTTP = HttpClient.newHttpClient();

    @BeforeAll
    static void start() {
        context = new SpringApplicationBuilder(Application.class)
                .run(
                        "--libdlock.url=" + RedisServer.shared().url(),
                        "--libdlock.limiters.users.tokens=2",
                        "--libdlock.limiters.users.per=1h",
                        "--libdlock.limiters.all.tokens=4",
                        "--libdlock.limiters.all.per=1h",
                        "--server.address=127.0.0.1",
                        "--server.port=0");
        int port = ((ServletWebServerApplicationContext) context).getWebServer().getPort();
        url = "http://127.0.0.1:" + port;
    }

    @AfterAll
    static void stop() {
        context.close();
    }

    @BeforeEach
    void allTokensAreThere() {
        RedisServer.shared().command("FLUSHALL");
    }

    private static HttpResponse<String> get(String path, String... headers) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url + path));
        if (headers.length > 0) {
            request.headers(headers);
        }
        return HTTP.send(request.build(), HttpResponse.BodyHandlers.ofString());
    }

    private static List<String> limits(HttpResponse<String> answer) {
        return answer.headers().allValues("RateLimit").stream()
                .flatMap(value -> Arrays.stream(value.split(", ")))
                .map(entry -> entry.replaceAll(";t=.*", ""))
                .toList();
    }

    @Test
    void limitersOfTheClassComeFirst() throws Exception {
        HttpResponse<String> answer = get("/users/ada");
        assertThat(answer.body()).isEqualTo("ada");
        assertThat(limits(answer)).containsExactly("\"all\";r=3", "\"users\";r=1");
    }

    @Test
    void aVariableOfThePathIsAKey() throws Exception {
        assertThat(get("/users/ada").statusCode()).isEqualTo(200);
        assertThat(get("/users/ada").statusCode()).isEqualTo(200);
        assertThat(get("/users/ada").statusCode()).isEqualTo(429);
        assertThat(limits(get("/users/grace"))).containsExactly("\"all\";r=0", "\"users\";r=1");
    }

    @Test
    void aVariableThatIsNotInThePathIsAnError() throws Exception {
        assertThat(get("/unknown/1").statusCode()).isEqualTo(500);
    }

    @Test
    void anAsynchronousHandlerIsCountedOnce() throws Exception {
        assertThat(limits(get("/later"))).containsExactly("\"users\";r=1");
        HttpResponse<String> answer = get("/later");
        assertThat(answer.body()).isEqualTo("later");
        assertThat(limits(answer)).containsExactly("\"users\";r=0");
        assertThat(get("/later").statusCode()).isEqualTo(429);
    }

    @Test
    void aHandlerThatFailsIsCountedOnce() throws Exception {
        HttpResponse<String> answer = get("/failing");
        assertThat(answer.statusCode()).isEqualTo(500);
        assertThat(limits(get("/own"))).contains("\"users\";r=0");
    }

    @Test
    void fieldsOfTheHandlerAreKept() throws Exception {
        assertThat(limits(get("/own"))).containsExactlyInAnyOrder("\"own\";r=1", "\"users\";r=1");
    }

    @Test
    void aHandlerMayHaveALock() throws Exception {
        assertThat(get("/locked/7").body()).isEqualTo("true");
    }

    @Test
    void pathsHaveALimiterOfTheirOwn() throws Exception {
        HttpResponse<String> granted = get("/paths/one", "X-User", "ada");
        assertThat(granted.body()).isEqualTo("ok");
        assertThat(limits(granted)).containsExactly("\"shown\";r=0");
        HttpResponse<String> refused = get("/paths/one", "X-User", "ada");
        assertThat(refused.statusCode()).isEqualTo(418);
        assertThat(refused.body()).isEqualTo("Too Many Requests");
        assertThat(refused.headers().firstValue("Retry-After")).isPresent();
        assertThat(get("/paths/one", "X-User", "ada", "X-Skip", "1").statusCode())
                .isEqualTo(200);
        assertThat(get("/paths/one", "X-User", "grace").statusCode()).isEqualTo(200);
    }

    @RestController
    static class BadHandler {
        @GetMapping("/bad")
        @RateLimited(value = "users", key = "getHeader(")
        public String bad() {
            return "";
        }
    }

    @Test
    void anExpressionThatIsNoneEndsTheStart() {
        Throwable failure = null;
        try {
            new SpringApplicationBuilder(Application.class, BadHandler.class)
                    .run("--libdlock.url=memory://", "--server.port=0", "--server.address=127.0.0.1")
                    .close();
        } catch (RuntimeException expected) {
            failure = expected;
        }
        while (failure != null && !(failure instanceof LibdlockConfigurationException)) {
            failure = failure.getCause();
        }
        assertThat(failure)
                .isNotNull()
                .hasMessageContainingAll("key of @RateLimited on BadHandler.bad()", "getHeader(");
    }
}
