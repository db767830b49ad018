package org.libdlock;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Reads {@code tests/vectors}: what all languages agree on. */
final class Vectors {
    private Vectors() {}

    static List<JsonObject> rows(String file, String table) throws IOException {
        Path path = Path.of(System.getProperty("root"), "tests/vectors", file + ".json");
        List<JsonObject> rows = new ArrayList<>();
        for (JsonElement row :
                JsonParser.parseString(Files.readString(path)).getAsJsonObject().getAsJsonArray(table)) {
            rows.add(row.getAsJsonObject());
        }
        return rows;
    }

    static @Nullable Long number(JsonObject row, String field) {
        return row.get(field).isJsonNull() ? null : row.get(field).getAsLong();
    }
}
