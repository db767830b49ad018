package org.libdlock;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Reads {@code api} and {@code tests/vectors}: what all languages agree on. */
final class Vectors {
    private Vectors() {}

    static List<JsonObject> rows(String file, String table) throws IOException {
        List<JsonObject> rows = new ArrayList<>();
        for (JsonElement row : tables(file).getAsJsonArray(table)) {
            rows.add(row.getAsJsonObject());
        }
        return rows;
    }

    static JsonObject tables(String file) throws IOException {
        Path root = Path.of(System.getProperty("root"));
        Path fact = root.resolve("api/" + file + ".json");
        Path path = Files.exists(fact) ? fact : root.resolve("tests/vectors/" + file + ".json");
        return JsonParser.parseString(Files.readString(path)).getAsJsonObject();
    }
}
