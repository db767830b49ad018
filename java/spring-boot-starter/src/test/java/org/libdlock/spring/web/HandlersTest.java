package org.libdlock.spring.web;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.libdlock.Client;
import org.libdlock.Rate;
import org.libdlock.spring.RateLimited;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.jdbc.DataSourceAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.web.servlet.context.ServletWebServerApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.stereotype.Controller;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.ResponseBody;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.service.annotation.GetExchange;
import org.springframework.web.servlet.config.annotation.InterceptorRegistry;
import org.springframework.web.servlet.config.annotation.WebMvcConfigurer;

/** Each kind of handler is limited once for a request. */
class HandlersTest {
    @Configuration
    @EnableAutoConfiguration(exclude = DataSourceAutoConfiguration.class)
    static class Application {
        @Bean
        Exchange exchange() {
            return new Exchange();
        }

        @Bean
        Forwarding forwarding() {
            return new Forwarding();
        }

        @Bean
        WebMvcConfigurer paths(Client client) {
            Rate rate = Rate.of(3, Duration.ofHours(1));
            RateLimitInterceptor all = new RateLimitInterceptor(client.rateLimiter("paths", rate));
            return new WebMvcConfigurer() {
                @Override
                public void addInterceptors(InterceptorRegistry registry) {
                    registry.addInterceptor(all).addPathPatterns("/from/**", "/to/**");
                }
            };
        }
    }

    @RestController
    static class Exchange {
        @GetExchange("/exchange")
        @RateLimited(value = "exchange", key = "null")
        public String get() {
            return "ok";
        }
    }

    @Controller
    static class Forwarding {
        @GetMapping("/from/here")
        public String from() {
            return "forward:/to/there";
        }

        @GetMapping("/to/there")
        @ResponseBody
        public String to() {
            return "there";
        }
    }

    private static HttpResponse<String> last(String path, int times) throws Exception {
        try (ConfigurableApplicationContext context = new SpringApplicationBuilder(Application.class)
                .run(
                        "--libdlock.url=memory://",
                        "--libdlock.limiters.exchange.tokens=3",
                        "--libdlock.limiters.exchange.per=1h",
                        "--server.address=127.0.0.1",
                        "--server.port=0")) {
            int port = ((ServletWebServerApplicationContext) context)
                    .getWebServer()
                    .getPort();
            HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
                    .build();
            HttpResponse<String> answer = null;
            for (int i = 0; i < times; i++) {
                answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
            }
            return Objects.requireNonNull(answer);
        }
    }

    @Test
    void aHandlerOfAnExchangeIsCountedOnce() throws Exception {
        HttpResponse<String> answer = last("/exchange", 2);
        assertThat(answer.body()).isEqualTo("ok");
        assertThat(answer.headers().firstValue("RateLimit").orElseThrow()).startsWith("\"exchange\";r=1;");
    }

    @Test
    void aForwardedRequestIsCountedOnce() throws Exception {
        HttpResponse<String> answer = last("/from/here", 2);
        assertThat(answer.body()).isEqualTo("there");
        assertThat(answer.headers().firstValue("RateLimit").orElseThrow()).startsWith("\"paths\";r=1;");
    }
}
