package org.libdlock.support;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A redis-server of the tests' own: on a free loopback port, keeping nothing, ended by its process. */
public final class RedisServer implements AutoCloseable {
    /** The server that is started: scripts/servers.sh names another. */
    private static final String PROGRAM = System.getenv().getOrDefault("DLOCK_TEST_SERVER", "redis-server");

    /** The user of the tests' own commands, who may do everything. */
    private static final List<String> AUTH = List.of("AUTH", "test-admin", "any password");

    private static @Nullable RedisServer shared;

    private final Path folder;
    private final int port;
    private @Nullable Process process;

    public RedisServer() {
        port = freePort();
        try {
            folder = Files.createTempDirectory("libdlock-java-redis-");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        start();
    }

    /** One for all tests that do nothing to the server itself; they use names of their own. */
    public static synchronized RedisServer shared() {
        if (shared == null) {
            RedisServer server = new RedisServer();
            Runtime.getRuntime().addShutdownHook(new Thread(server::close));
            shared = server;
        }
        return shared;
    }

    /** Below the ports that systems give to connections: one of these could take it between {@code kill} and {@code start}. */
    private static int freePort() {
        for (int attempt = 0; attempt < 1000; attempt++) {
            int port = ThreadLocalRandom.current().nextInt(10_000, 20_000);
            try (ServerSocket probe = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
                return probe.getLocalPort();
            } catch (IOException taken) {
                // Another one.
            }
        }
        throw new IllegalStateException("no free port between 10000 and 20000");
    }

    public void start() {
        try {
            List<String> command = new ArrayList<>(List.of(PROGRAM, "--bind", "127.0.0.1"));
            command.addAll(List.of("--port", Integer.toString(port), "--dir", folder.toString()));
            command.addAll(List.of("--save", "", "--appendonly", "no"));
            command.addAll(users());
            process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(folder.resolve("log").toFile())
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Eventually.holds("the server answers", () -> {
            try {
                return command("PING").equals("PONG");
            } catch (UncheckedIOException notYet) {
                return false;
            }
        });
    }

    /** The default user, which libdlock's connections are, gets the documented minimal rights. */
    private static List<String> users() throws IOException {
        Path path = Path.of(System.getProperty("root"), "tests/vectors/access.json");
        JsonObject table = JsonParser.parseString(Files.readString(path)).getAsJsonObject();
        List<String> users =
                new ArrayList<>(List.of("--user", "default", "reset", "on", "nopass", "~*", "&*", "-@all"));
        for (String list : List.of("connection", "scripts")) {
            table.getAsJsonArray(list).forEach(name -> users.add("+" + name.getAsString()));
        }
        users.addAll(List.of("--user", AUTH.get(1), "on", "nopass", "~*", "&*", "+@all"));
        return users;
    }

    /** Ends it as a crash would. */
    public void kill() {
        Process running = process;
        if (running != null) {
            running.destroyForcibly();
            Uninterrupted.run(() -> running.waitFor(10, TimeUnit.SECONDS));
        }
    }

    /** SIGSTOP or SIGCONT. */
    public void signal(String signal) {
        if (process != null) {
            Jvm.signal(process, signal);
        }
    }

    public int port() {
        return port;
    }

    public String url() {
        return "redis://127.0.0.1:" + port + "/0";
    }

    @Override
    public void close() {
        kill();
        try (Stream<Path> files = Files.walk(folder)) {
            files.sorted(Comparator.reverseOrder())
                    .forEach(file -> file.toFile().delete());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** One command on a connection of its own: String, Long, List, or the string "nil". */
    public Object command(String... words) {
        return command(bytes(List.of(words)));
    }

    private static List<byte[]> bytes(List<String> words) {
        return words.stream().map(word -> word.getBytes(StandardCharsets.UTF_8)).toList();
    }

    private static void encode(ByteArrayOutputStream request, List<byte[]> words) {
        request.writeBytes(("*" + words.size() + "\r\n").getBytes(StandardCharsets.US_ASCII));
        for (byte[] word : words) {
            request.writeBytes(("$" + word.length + "\r\n").getBytes(StandardCharsets.US_ASCII));
            request.writeBytes(word);
            request.writeBytes("\r\n".getBytes(StandardCharsets.US_ASCII));
        }
    }

    public Object command(List<byte[]> words) {
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 5000);
            socket.setSoTimeout(10_000);
            ByteArrayOutputStream requests = new ByteArrayOutputStream();
            encode(requests, bytes(AUTH));
            encode(requests, words);
            socket.getOutputStream().write(requests.toByteArray());
            BufferedInputStream replies = new BufferedInputStream(socket.getInputStream());
            reply(replies);
            return reply(replies);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Object reply(InputStream in) throws IOException {
        int kind = in.read();
        String line = line(in);
        return switch (kind) {
            case '+' -> line;
            case ':' -> Long.parseLong(line);
            case '$' -> {
                int length = Integer.parseInt(line);
                if (length < 0) {
                    yield "nil";
                }
                byte[] bytes = in.readNBytes(length);
                in.skipNBytes(2);
                yield new String(bytes, StandardCharsets.UTF_8);
            }
            case '*' -> {
                List<Object> parts = new ArrayList<>();
                for (int left = Integer.parseInt(line); left > 0; left--) {
                    parts.add(reply(in));
                }
                yield parts;
            }
            default -> throw new IOException("the server said " + line);
        };
    }

    private static String line(InputStream in) throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        for (int next = in.read(); next != '\r'; next = in.read()) {
            if (next < 0) {
                throw new IOException("the server hung up");
            }
            line.write(next);
        }
        in.skipNBytes(1);
        return line.toString(StandardCharsets.UTF_8);
    }
}
