package org.libdlock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** What editors show of the properties. */
class MetadataTest {
    private static Map<String, JsonObject> properties() throws IOException {
        Map<String, JsonObject> properties = new TreeMap<>();
        String name = "/META-INF/spring-configuration-metadata.json";
        // The first on the class path is that of this module.
        try (Reader reader = new InputStreamReader(
                Objects.requireNonNull(LibdlockProperties.class.getResourceAsStream(name)), StandardCharsets.UTF_8)) {
            for (JsonElement each :
                    JsonParser.parseReader(reader).getAsJsonObject().getAsJsonArray("properties")) {
                properties.put(each.getAsJsonObject().get("name").getAsString(), each.getAsJsonObject());
            }
        }
        return properties;
    }

    @Test
    void everyPropertyHasADescription() throws IOException {
        assertThat(properties())
                .containsKeys("libdlock.url", "libdlock.options", "libdlock.limiters", "libdlock.metrics.client-name")
                .allSatisfy((name, property) ->
                        assertThat(property.get("description").getAsString()).isNotBlank());
    }

    @Test
    void editorsOfferTheOptions() throws IOException {
        Path added = Path.of(
                System.getProperty("root"),
                "java/spring-boot-starter/src/main/resources/META-INF/additional-spring-configuration-metadata.json");
        JsonObject hint = JsonParser.parseString(Files.readString(added))
                .getAsJsonObject()
                .getAsJsonArray("hints")
                .get(0)
                .getAsJsonObject();
        assertThat(hint.get("name").getAsString()).isEqualTo("libdlock.options.keys");
        assertThat(hint.getAsJsonArray("values"))
                .extracting(value -> value.getAsJsonObject().get("value").getAsString())
                .contains("key-prefix", "lazy-connect", "lock.token-ttl", "password-file");
    }
}
