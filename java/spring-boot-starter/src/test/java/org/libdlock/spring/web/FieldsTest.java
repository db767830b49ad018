package org.libdlock.spring.web;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.libdlock.Algorithm;
import org.libdlock.Decision;
import org.libdlock.Rate;

class FieldsTest {
    private static Stream<Arguments> of(String list, String title) throws IOException {
        String text = Files.readString(Path.of(System.getProperty("root"), "tests/vectors/http.json"));
        JsonObject vectors = JsonParser.parseString(text).getAsJsonObject();
        return StreamSupport.stream(vectors.getAsJsonArray(list).spliterator(), false)
                .map(JsonElement::getAsJsonObject)
                .map(vector -> Arguments.of(vector.get(title).getAsString(), vector));
    }

    static Stream<Arguments> vectors() throws IOException {
        return of("vectors", "case");
    }

    static Stream<Arguments> addresses() throws IOException {
        return of("addresses", "address");
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("vectors")
    void fieldsAreThoseOfTheVectors(String title, JsonObject vector) {
        List<Rate> rates = new ArrayList<>();
        vector.getAsJsonArray("rates").forEach(rate -> rates.add(rate(rate.getAsJsonObject())));
        RateLimitFields fields = new RateLimitFields(vector.get("name").getAsString(), rates);
        Decision decision = decision(vector.getAsJsonObject("decision"));
        Long retryAfter = RateLimitFields.retryAfter(decision);

        assertThat(fields.policy()).isEqualTo(text(vector, "policy"));
        assertThat(fields.limit(decision)).isEqualTo(text(vector, "limit"));
        assertThat(retryAfter == null ? null : retryAfter.toString()).isEqualTo(text(vector, "retry_after"));
        assertThat(decision.allowed()).isEqualTo(vector.get("status").isJsonNull());
    }

    @ParameterizedTest(name = "\"{0}\"")
    @MethodSource("addresses")
    void addressesHaveTheKeysOfTheVectors(String address, JsonObject vector) {
        assertThat(ClientAddress.key(address)).isEqualTo(text(vector, "key"));
    }

    private static Rate rate(JsonObject rate) {
        return new Rate(
                rate.get("tokens").getAsLong(),
                micros(rate.get("per_us").getAsLong()),
                rate.get("burst").isJsonNull() ? null : rate.get("burst").getAsLong(),
                Algorithm.valueOf(rate.get("algorithm").getAsString().toUpperCase(Locale.ROOT)));
    }

    private static Decision decision(JsonObject decision) {
        boolean isAllowed = decision.get("allowed").getAsBoolean();
        JsonElement retryAfter = decision.get("retry_after_us");
        return new Decision(
                isAllowed,
                isAllowed ? 1 : 0,
                decision.get("remaining").getAsLong(),
                retryAfter.isJsonNull() ? null : micros(retryAfter.getAsLong()),
                micros(decision.get("reset_after_us").getAsLong()),
                decision.get("limit").getAsLong(),
                number(decision, "refused_by"),
                Duration.ZERO,
                number(decision, "server_time_us"));
    }

    private static Duration micros(long number) {
        return Duration.of(number, ChronoUnit.MICROS);
    }

    private static OptionalLong number(JsonObject of, String name) {
        return of.get(name).isJsonNull()
                ? OptionalLong.empty()
                : OptionalLong.of(of.get(name).getAsLong());
    }

    private static @Nullable String text(JsonObject of, String name) {
        return of.get(name).isJsonNull() ? null : of.get(name).getAsString();
    }
}
