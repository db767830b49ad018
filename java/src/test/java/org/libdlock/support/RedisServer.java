package org.libdlock.support;

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
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A redis-server of the tests' own: on a free loopback port, keeping nothing, ended by its process. */
public final class RedisServer implements AutoCloseable {
    private static @Nullable RedisServer shared;

    private final Path folder;
    private final int port;
    private @Nullable Process process;

    public RedisServer() {
        try (ServerSocket probe = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = probe.getLocalPort();
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

    public void start() {
        try {
            process = new ProcessBuilder(
                            "redis-server",
                            "--bind",
                            "127.0.0.1",
                            "--port",
                            Integer.toString(port),
                            "--save",
                            "",
                            "--appendonly",
                            "no",
                            "--dir",
                            folder.toString())
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
        List<byte[]> bytes = new ArrayList<>();
        for (String word : words) {
            bytes.add(word.getBytes(StandardCharsets.UTF_8));
        }
        return command(bytes);
    }

    public Object command(List<byte[]> words) {
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 5000);
            socket.setSoTimeout(10_000);
            ByteArrayOutputStream request = new ByteArrayOutputStream();
            request.writeBytes(("*" + words.size() + "\r\n").getBytes(StandardCharsets.US_ASCII));
            for (byte[] word : words) {
                request.writeBytes(("$" + word.length + "\r\n").getBytes(StandardCharsets.US_ASCII));
                request.writeBytes(word);
                request.writeBytes("\r\n".getBytes(StandardCharsets.US_ASCII));
            }
            socket.getOutputStream().write(request.toByteArray());
            return reply(new BufferedInputStream(socket.getInputStream()));
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
