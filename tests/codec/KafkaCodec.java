// Reads messages with Kafka's own classes and writes them again.
//
// A line on the standard input is `<api key or record class> <version> <request|response|record> <hex|default>`; the line that answers it
// is the hex of the message as Kafka encodes it and how many bytes were left, or `error` and why. `default` is a message as constructed.
// A version `4:9` means to read version 4 and to write version 9.
// A line `- - framed <hex>` is a metadata record with its frame; its answer is the record's class and version and the hex of its frame.

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;

public final class KafkaCodec {
    public static void main(String[] arguments) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        BufferedWriter out = new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.US_ASCII));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.write(answer(line.split(" ", -1)));
            out.newLine();
        }
        out.flush();
    }

    private static String answer(String[] words) {
        try {
            if (words[2].equals("framed")) {
                return framed(ByteBuffer.wrap(HexFormat.of().parseHex(words[3])));
            }
            String[] versions = words[1].split(":");
            short version = Short.parseShort(versions[0]);
            short encodedVersion = Short.parseShort(versions[versions.length - 1]);
            Message message = newMessage(words[0], words[2]);
            int bytesLeft = 0;
            if (!words[3].equals("default")) {
                ByteBuffer bytes = ByteBuffer.wrap(HexFormat.of().parseHex(words[3]));
                message.read(new ByteBufferAccessor(bytes), version);
                bytesLeft = bytes.remaining();
            }
            ObjectSerializationCache cache = new ObjectSerializationCache();
            ByteBuffer encoded = ByteBuffer.allocate(message.size(cache, encodedVersion));
            message.write(new ByteBufferAccessor(encoded), cache, encodedVersion);
            return HexFormat.of().formatHex(encoded.array(), 0, encoded.position()) + " " + bytesLeft;
        } catch (ReflectiveOperationException | RuntimeException error) {
            return "error " + error.toString().replace('\n', ' ');
        }
    }

    private static String framed(ByteBuffer bytes) {
        MetadataRecordSerde serde = new MetadataRecordSerde();
        ApiMessageAndVersion record = serde.read(new ByteBufferAccessor(bytes), bytes.remaining());
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer encoded = ByteBuffer.allocate(serde.recordSize(record, cache));
        serde.write(record, cache, new ByteBufferAccessor(encoded));
        String name = record.message().getClass().getSimpleName();
        return name + " " + record.version() + " " + HexFormat.of().formatHex(encoded.array());
    }

    private static Message newMessage(String name, String kind) throws ReflectiveOperationException {
        switch (kind) {
            case "request":
                return ApiMessageType.fromApiKey(Short.parseShort(name)).newRequest();
            case "response":
                return ApiMessageType.fromApiKey(Short.parseShort(name)).newResponse();
            default:
                return (Message) Class.forName(name).getDeclaredConstructor().newInstance();
        }
    }
}
